"""Published runs: written, read, done again; grids that are changed; time that is estimated."""

from __future__ import annotations

import dataclasses
import zipfile

import numpy as np
import pytest

from certiformer.reproduction.sweep import (
    Experiment,
    Inline,
    Ledger,
    estimate,
    extended,
    part,
    publish,
    read,
    sweep,
    time_estimate,
    verify,
)
from certiformer.reproduction.sweep.ledger import fingerprint
from certiformer.reproduction.sweep.replicate import compare
from certiformer.theory.core.errors import CertiformerError, InputError

WALK = "reproduction.sweep.toy_runs:walk"


def walk(count=4, **options):
    return Experiment("walk", WALK, [{"seed": s, "n": 5} for s in range(count)], **options)


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "runs.db") as ledger:
        yield ledger


def test_runs_survive_being_published(ledger, tmp_path):
    sweep(walk(), ledger, Inline())
    rows = ledger.rows(walk())
    written = publish(rows, tmp_path / "deep" / "walk.runs")
    found = read(tmp_path / "deep" / "walk.runs")
    assert found.digest == written.digest == ledger.digest(walk())
    assert found.origins == (rows[0].origin,)
    assert found.date.startswith("20")
    assert sorted(map(fingerprint, found.rows)) == sorted(map(fingerprint, rows))
    by_key = {row.key: row for row in rows}
    for row in found.rows:
        before = by_key[row.key]
        for name in ("config", "version", "cpu", "origin", "seconds", "attempts"):
            assert getattr(row, name) == getattr(before, name)
        assert abs(row.finished - before.finished) <= 1.0
        for name, array in row.arrays.items():
            np.testing.assert_array_equal(array, before.arrays[name], strict=True)
    publish(reversed(rows), tmp_path / "again.runs")
    assert (tmp_path / "again.runs").read_bytes() == (tmp_path / "deep" / "walk.runs").read_bytes()
    with Ledger(tmp_path / "other.db") as other:
        assert other.absorb(found.rows) == 4
        assert other.digest(walk()) == written.digest


def test_a_changed_or_foreign_file_is_refused(ledger, tmp_path):
    sweep(walk(1), ledger, Inline())
    path = tmp_path / "walk.runs"
    publish(ledger.rows(walk(1)), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def with_changed(name, old, new):
        changed = tmp_path / "changed.runs"
        with zipfile.ZipFile(changed, "w") as archive:
            for member, data in members.items():
                assert member != name or old in data
                archive.writestr(member, data.replace(old, new) if member == name else data)
        return changed

    with pytest.raises(CertiformerError, match=r'changed after it was written: the run walk .*"seed":0'):
        read(with_changed("runs.jsonl", b'"n":5', b'"n":6'))
    with pytest.raises(CertiformerError, match="do not have the digest"):
        read(with_changed("header.json", b'"digest": "', b'"digest": "0'))
    with pytest.raises(CertiformerError, match="newer certiformer"):
        read(with_changed("header.json", b'"format_version": 2', b'"format_version": 3'))
    with pytest.raises(CertiformerError, match="no file of published runs"):
        read(with_changed("header.json", b"certiformer-runs", b"something else"))
    (tmp_path / "text.runs").write_text("text")
    with pytest.raises(CertiformerError, match="damaged"):
        read(tmp_path / "text.runs")
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "nothing.runs")
    with pytest.raises(InputError, match=r"\.runs"):
        publish(ledger.rows(walk(1)), tmp_path / "walk.zip")
    with pytest.raises(InputError, match="one experiment"):
        publish([], tmp_path / "empty.runs")


def test_runs_done_again_agree_in_every_bit(ledger):
    sweep(walk(), ledger, Inline())
    rows = ledger.rows(walk())
    found = verify(walk(), rows, 2, Inline(), seed=1)
    assert found.agrees
    assert str(found) == "2 runs done again (chosen with seed 1): all agree in every bit"
    assert len(verify(walk(), rows, 99, Inline()).comparisons) == 4
    nudged = [dataclasses.replace(r, values={**r.values, "last": r.values["last"] * (1.0 + 1e-9)}) for r in rows]
    wrong = verify(walk(), nudged, 2, Inline(), seed=1)
    assert not wrong.agrees
    assert "2 differ, by up to 1e-09" in str(wrong)
    elsewhere = [dataclasses.replace(r, origin={**r.origin, "cpu": "another"}) for r in nudged]
    close = verify(walk(), elsewhere, 2, Inline(), seed=1)
    assert close.agrees
    assert "all agree to 1e-06" in str(close)
    with pytest.raises(InputError, match="at least 1"):
        verify(walk(), rows, 0, Inline())
    with pytest.raises(CertiformerError, match="nothing to do again"):
        verify(walk(), [], 1, Inline())


def test_what_was_done_again_is_listed_with_both_values(ledger):
    sweep(walk(), ledger, Inline())
    rows = [dataclasses.replace(r, values={**r.values, "last": r.config["seed"] + 0.5}) for r in ledger.rows(walk())]
    for run in verify(walk(), rows, 2, Inline()).comparisons:
        again = ledger.rows(walk())[run.config["seed"]].values
        assert run.values["last"] == (run.config["seed"] + 0.5, again["last"])
        assert run.values["n"] == (5, 5)
        told = run.as_json()
        assert (told["config"], told["agrees"], told["asked"]) == (run.config, False, "every bit")
        assert told["values"]["last"] == {"kept": run.config["seed"] + 0.5, "again": again["last"]}


@pytest.mark.parametrize("latest", [0.0, 1e12])
def test_runs_of_another_version_are_named_and_not_compared(ledger, latest):
    sweep(walk(), ledger, Inline())
    rows = ledger.rows(walk())
    old = [
        dataclasses.replace(r, version=0, values={**r.values, "n": 6}, finished=latest, origin={"commit": "abc"})
        for r in rows
    ]
    assert verify(walk(), [*rows, *old], 2, Inline()).agrees
    mixed = verify(walk(), [*rows[:3], *old], 9, Inline(), seed=1)
    assert str(mixed) == (
        "3 runs done again (chosen with seed 1): all agree in every bit; 1 run is of version 0 (commit abc)"
    )
    alone = verify(walk(), old, 2, Inline())
    assert str(alone) == "no run of the present version to do again; 4 runs are of version 0 (commit abc)"
    assert alone.agrees


def test_another_form_is_a_difference(ledger):
    sweep(walk(1), ledger, Inline())
    (row,) = ledger.rows(walk(1))
    assert compare(row, row).agrees
    for change in (
        {"values": {**row.values, "n": 6}},
        {"values": {**row.values, "more": 1}},
        {"arrays": {**row.arrays, "steps": row.arrays["steps"][:-1]}},
        {"arrays": {}},
        {"state": "failed"},
    ):
        assert not compare(row, dataclasses.replace(row, **change)).agrees


def test_a_batch_is_done_again_as_a_whole(ledger):
    grid = Experiment("walk", WALK, walk(6).configs, run_batch="reproduction.sweep.toy_runs:walks", batch_size=3)
    sweep(grid, ledger, Inline())
    found = verify(grid, ledger.rows(grid), 1, Inline())
    assert len(found.comparisons) == 3
    assert found.agrees


def test_a_grid_can_be_cut_and_extended():
    configs = [{"width": w, "steps": 10 * w, "seed": s, "kind": "a"} for w in (8, 16) for s in range(2)]
    grid = Experiment("walk", WALK, configs)
    assert [run.config for run in part(grid, {"width": 8}).runs] == configs[:2]
    more = extended(grid, {"seed": [0, 1, 2]})
    assert len(more.runs) == 6
    assert {run.key for run in grid.runs} <= {run.key for run in more.runs}
    wide = extended(grid, {"width": [16, 64]})
    assert [(c["width"], c["steps"]) for c in wide.configs] == [(16, 160), (16, 160), (64, 160), (64, 160)]
    assert len(extended(grid, {"width": [4], "seed": [7]}).configs) == 1
    with pytest.raises(InputError, match="a number, or one of a"):
        extended(grid, {"kind": ["b"]})
    with pytest.raises(CertiformerError, match="widht"):
        extended(grid, {"widht": [1]})
    with pytest.raises(InputError, match="values that occur"):
        part(grid, {"width": 9})


def test_values_are_those_of_the_grid_however_they_are_typed():
    configs = [{"width": w, "rate": r, "seed": s} for w in (8, 16) for r in (0.5, 1.0) for s in range(2)]
    grid = Experiment("walk", WALK, configs)
    keys = {run.key for run in grid.runs}
    assert {run.key for run in extended(grid, {"width": [8.0], "rate": [1]}).runs} < keys
    assert {run.key for run in part(grid, {"width": 8.0, "rate": 1}).runs} < keys
    assert repr(extended(grid, {"width": [32.0], "rate": [2]}).configs[0]) == "{'width': 32, 'rate': 2.0, 'seed': 0}"
    for refused in ({"seed": [True]}, {"width": [8.5]}, {"width": [float("inf")]}, {"rate": ["fast"]}, {"seed": []}):
        with pytest.raises(InputError, match="--set"):
            extended(grid, refused)
    with pytest.raises(InputError, match="values that occur"):
        part(grid, {"seed": True})


def test_time_is_taken_from_the_ledger(ledger):
    grid = walk(4)
    sweep(walk(2), ledger, Inline())
    rows = [dataclasses.replace(row, cpu=3.0, seconds=100.0) for row in ledger.rows(walk(2))]
    found = estimate(grid, grid.runs[2:], rows)
    assert (found.missing, found.unknown, found.published) == (2, 0, 0)
    assert found.work == 6.0
    assert found.on(2) == found.on(4) == 3.0
    older = [dataclasses.replace(row, version=0, cpu=50.0) for row in rows]
    assert estimate(grid, grid.runs[2:], [*rows, *older]).work == 6.0
    assert estimate(grid, grid.runs[2:], older).work == 100.0
    nothing = estimate(grid, grid.runs)
    assert (nothing.unknown, nothing.typical, nothing.work) == (4, None, 0.0)


def test_time_is_taken_from_what_was_published():
    grid = Experiment("walk", WALK, [{"seed": s, "n": n} for n in (1, 3, 50) for s in (0, 1)])
    published = {time_estimate.shape_name(time_estimate.shape({"n": n})): float(n) for n in (1, 3)}
    found = estimate(grid, grid.runs, published=published)
    assert (found.published, found.missing, found.unknown) == (4, 6, 2)
    assert found.work == pytest.approx(12.0)  # the others as long as these on average
    other = Experiment("walk", WALK, [{"seed": 0, "n": 7}])
    assert estimate(other, other.runs, published=published).work == 2.0
