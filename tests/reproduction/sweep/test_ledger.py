"""The ledger: round trips, claims, takeovers, refusals."""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from certiformer.reproduction.sweep import Experiment, Failure, Inline, Ledger, LedgerError, Outcome, sweep
from certiformer.reproduction.sweep import ledger as ledger_module
from certiformer.reproduction.sweep.ledger import fingerprint
from certiformer.reproduction.sweep.origin import described, origin, same_arithmetic
from certiformer.reproduction.sweep.run import Finished
from certiformer.theory.core.errors import CertiformerError

WALK = "reproduction.sweep.toy_runs:walk"


def walk(count=4, name="walk", **options):
    return Experiment(name, WALK, [{"seed": s} for s in range(count)], **options)


def finished(loss=1.0, **arrays):
    return Finished(Outcome({"loss": loss}, arrays), 0.5, "here:1")


def failed(error="ValueError: no"):
    return Finished(Failure(error, "Traceback ..."), 0.1, "here:1")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "runs.db"


def test_results_come_back_as_they_went_in(path):
    experiment = walk(2)
    arrays = {
        "f": np.linspace(0, 1, 6).reshape(2, 3),
        "i": np.arange(3, dtype=np.int16),
        "b": np.array([True, False]),
        "c": np.array([1 + 2j]),
        "zero": np.float64(3.0),
        "empty": np.zeros((0, 4)),
    }
    outcome = Outcome({"loss": 0.1, "worst": float("inf"), "odd": float("nan"), "text": "é"}, arrays)
    with Ledger(path) as ledger, ledger.claims() as claims:
        ledger.enrol(experiment)
        mine, theirs = claims.take(experiment.runs)
        assert (len(mine), theirs) == (2, [])
        claims.record(mine, [Finished(outcome, 1.5, "host:7"), failed()])
    with Ledger(path) as ledger:
        row, bad = ledger.rows(experiment)
        assert (row.config, row.state, row.attempts, row.seconds, row.worker) == ({"seed": 0}, "done", 1, 1.5, "host:7")
        assert row.values["loss"] == 0.1
        assert row.values["worst"] == float("inf")
        assert np.isnan(row.values["odd"])
        for name, array in outcome.arrays.items():
            np.testing.assert_array_equal(row.arrays[name], array)
            assert row.arrays[name].dtype == array.dtype
            assert row.arrays[name].shape == array.shape
        assert (bad.state, bad.error, bad.traceback, bad.values, bad.arrays) == (
            "failed",
            "ValueError: no",
            "Traceback ...",
            {},
            {},
        )


def test_rows_keep_the_order_of_the_configurations_and_versions_apart(path):
    first, second = walk(5), walk(3, version=2)
    with Ledger(path) as ledger:
        ledger.enrol(first)
        ledger.enrol(second)
        assert [row.config["seed"] for row in ledger.rows(first)] == [0, 1, 2, 3, 4]
        assert [row.version for row in ledger.rows(second)] == [2] * 3
        assert len(ledger.rows("walk")) == len(ledger.rows()) == 8
        assert ledger.rows("other") == []


def test_the_counts(path):
    experiment = walk(6)
    with Ledger(path) as ledger:
        assert ledger.status(experiment).pending == 6
        ledger.enrol(experiment)
        with ledger.claims() as claims:
            mine, _ = claims.take(experiment.runs[:4])
            claims.record(mine[:2], [finished(), failed()])
            status = ledger.status(experiment)
            assert (status.pending, status.running, status.done, status.failed) == (2, 2, 1, 1)
            assert status.seconds == 0.5
        assert ledger.status(experiment).pending == 4


def test_the_work_of_finished_runs_is_the_processors_where_it_is_known(path):
    experiment = walk(2)
    with Ledger(path) as ledger:
        ledger.enrol(experiment)
        with ledger.claims() as claims:
            mine, _ = claims.take(experiment.runs)
            claims.record(mine, [finished(), dataclasses.replace(finished(), cpu=0.125)])
        assert ledger.status(experiment).seconds == 0.5 + 0.125


def test_runs_of_another_version_are_counted_where_they_are_missing(path):
    with Ledger(path) as ledger:
        sweep(walk(3, version=1), ledger, Inline())
        sweep(walk(4, version=2), ledger, Inline())
        assert ledger.older(walk(5, version=3)) == 4
        sweep(walk(2, version=3), ledger, Inline())
        assert ledger.older(walk(5, version=3)) == 2
        assert ledger.older(walk(5, name="other")) == 0


def test_finished_runs_are_never_claimed_again_and_failed_ones_on_request(path):
    experiment = walk(3)
    with Ledger(path) as ledger:
        ledger.enrol(experiment)
        with ledger.claims() as claims:
            mine, _ = claims.take(experiment.runs)
            claims.record(mine[:2], [finished(x=np.ones(2)), failed()])
        ledger.enrol(experiment)
        with ledger.claims() as claims:
            assert claims.take(experiment.runs) == ([experiment.runs[2]], [])
        ledger.enrol(experiment, retry=True)
        with ledger.claims() as claims:
            assert claims.take(experiment.runs) == (list(experiment.runs[1:]), [])
            claims.record(experiment.runs[1:], [finished(), finished()])
        assert [row.attempts for row in ledger.rows(experiment)] == [1, 2, 3]
        assert ledger.rows(experiment)[1].error is None


def test_two_owners_share_the_work_and_never_a_run(path):
    experiment = walk(10)
    with Ledger(path) as one, Ledger(path) as two, one.claims() as mine, two.claims() as yours:
        one.enrol(experiment)
        two.enrol(experiment)
        taken, _ = mine.take(experiment.runs[:6])
        rest, held = yours.take(experiment.runs[4:])
        assert [run.config["seed"] for run in taken] == [0, 1, 2, 3, 4, 5]
        assert [run.config["seed"] for run in rest] == [6, 7, 8, 9]
        assert [run.config["seed"] for run in held] == [4, 5]
        # a result for a run that is not one's own is not put down
        yours.record(held, [finished(9.0), finished(9.0)])
        assert {row.state for row in one.rows(experiment)} == {"running"}
        with pytest.raises(LedgerError, match="another process"):
            two.forget(experiment)


def test_the_claims_of_a_dead_process_are_taken_over_at_once(path):
    experiment = walk(3)
    with Ledger(path) as ledger:
        ledger.enrol(experiment)
        with ledger.claims() as claims:
            claims.take(experiment.runs[:2])
            process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            born = ledger_module._born(process.pid)
            # as if the other process had made the claims
            ledger._db.execute("UPDATE owners SET pid = ?, born = ?", (process.pid, born))
            with Ledger(path) as other, other.claims() as mine:
                assert mine.take(experiment.runs) == ([experiment.runs[2]], list(experiment.runs[:2]))
                process.kill()
                deadline = time.monotonic() + 60.0
                while ledger_module._born(process.pid) and time.monotonic() < deadline:
                    time.sleep(0.01)
                # not reaped yet: a zombie is dead
                assert mine.take(experiment.runs[:2]) == (list(experiment.runs[:2]), [])
            process.communicate(timeout=60)


def test_a_process_number_that_came_back_is_not_the_owner(path):
    experiment = walk(1)
    with Ledger(path) as ledger, Ledger(path) as other, ledger.claims() as claims, other.claims() as mine:
        ledger.enrol(experiment)
        claims.take(experiment.runs)
        ledger._db.execute("UPDATE owners SET born = 'another time' WHERE id = ?", (claims.owner,))
        assert mine.take(experiment.runs) == (list(experiment.runs), [])


def test_owners_elsewhere_live_as_long_as_their_heart_beats(path, monkeypatch):
    experiment = walk(2)
    with Ledger(path) as ledger, Ledger(path) as other, ledger.claims() as claims, other.claims() as mine:
        ledger.enrol(experiment)
        claims.take(experiment.runs)
        ledger._db.execute("UPDATE owners SET machine = 'elsewhere' WHERE id = ?", (claims.owner,))
        assert mine.take(experiment.runs) == ([], list(experiment.runs))
        late = time.time() + ledger_module.LEASE_SECONDS + 1.0
        monkeypatch.setattr(ledger_module.time, "time", lambda: late)
        assert other.status(experiment).pending == 2
        assert mine.take(experiment.runs) == (list(experiment.runs), [])
        # the sleeper wakes: its results are not wanted any more, and it may go on with other runs
        claims.record(experiment.runs[:1], [finished()])
        monkeypatch.setattr(ledger_module, "BEAT_SECONDS", 0.0)
        claims.beat()
        assert claims.owner in ledger._living_owners()
        assert {row.state for row in ledger.rows(experiment)} == {"running"}


def test_where_the_system_names_no_machine_the_lease_decides(monkeypatch):
    monkeypatch.setattr(ledger_module, "_machine", lambda: "")
    assert ledger_module.process_alive("", 1, "", time.time())
    assert not ledger_module.process_alive("", os.getpid(), "", time.time() - 2 * ledger_module.LEASE_SECONDS)


def test_an_exception_gives_the_claims_back(path):
    experiment = walk(3)
    with Ledger(path) as ledger:
        ledger.enrol(experiment)

        def interrupted():
            with ledger.claims() as claims:
                mine, _ = claims.take(experiment.runs)
                claims.record(mine[:1], [finished()])
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert sorted(ledger.states(experiment).values()) == ["done", "pending", "pending"]
        assert ledger._living_owners() == set()


def test_recording_is_all_or_nothing(path):
    experiment = walk(2)
    with Ledger(path) as ledger, ledger.claims() as claims:
        ledger.enrol(experiment)
        claims.take(experiment.runs)
        with pytest.raises(ValueError, match="zip"):
            claims.record(experiment.runs, [finished(x=np.ones(2))])
        assert {row.state for row in ledger.rows(experiment)} == {"running"}
        assert all(not row.arrays for row in ledger.rows(experiment))


def test_fresh_forgets_these_runs_and_no_others(path):
    small, large = walk(2), walk(4)
    with Ledger(path) as ledger:
        ledger.enrol(large)
        with ledger.claims() as claims:
            claims.take(large.runs)
            claims.record(large.runs, [finished(x=np.ones(3))] * 4)
        ledger.forget(small)
        assert [row.config["seed"] for row in ledger.rows(large)] == [2, 3]
        assert ledger._db.execute("SELECT COUNT(*) FROM arrays").fetchone() == (2,)


def test_the_digest_is_of_the_results_not_of_their_order_or_speed(tmp_path):
    experiment = walk(4)

    def digest(name, order, loss=1.0, seconds=0.5, array=(1.0, 2.0), bad="a"):
        with Ledger(tmp_path / name) as ledger:
            ledger.enrol(experiment)
            with ledger.claims() as claims:
                for i in order:
                    claims.take([experiment.runs[i]])
                    good = Finished(Outcome({"loss": loss}, {"x": np.array(array)}), seconds, f"host:{i}")
                    claims.record([experiment.runs[i]], [failed(bad) if i == 3 else good])
            return ledger.digest(experiment)

    reference = digest("a", [0, 1, 2, 3])
    assert reference == digest("b", [3, 1, 0, 2], seconds=7.0, bad="b")
    others = [
        digest("c", [0, 1, 2, 3], loss=1.0 + 2**-52),
        digest("d", [0, 1, 2, 3], array=(1.0, 2.0000001)),
        digest("e", [0, 1, 2, 3], array=(1, 2)),
        digest("f", [0, 1, 2, 3], array=((1.0, 2.0),)),
        digest("g", [0, 1, 3]),
        digest("h", [0, 1, 2]),
    ]
    assert len({reference, *others}) == 7


def made(path):
    with Ledger(path) as ledger:
        ledger.enrol(walk(200))
    return path


def refused(path, match):
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=match) as error:
        Ledger(path)
    assert isinstance(error.value, CertiformerError)
    assert str(path) in str(error.value)
    assert path.read_bytes() == before


def test_a_newer_ledger_is_refused_and_left_alone(path):
    made(path)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {ledger_module.SCHEMA_VERSION + 1}")
    db.close()
    refused(path, "newer certiformer.*schema 3, this one knows 2.*Upgrade")


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("dear diary, " * 1000)
    refused(text, "not a ledger")
    other = tmp_path / "other.db"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE runs (key TEXT)")
    db.commit()
    db.close()
    refused(other, "another program")
    db = sqlite3.connect(other)
    db.execute("DROP TABLE runs")
    db.execute("PRAGMA user_version = 3")
    db.close()
    refused(other, "another program")


@pytest.mark.parametrize("damage", ["noise", "truncated", "header"])
def test_a_damaged_ledger_is_refused_and_left_alone(path, damage):
    made(path)
    data = bytearray(path.read_bytes())
    rng = random.Random(0)
    if damage == "noise":
        data[4096:] = rng.randbytes(len(data) - 4096)
    elif damage == "truncated":
        del data[len(data) // 2 :]
    else:
        data[:16] = rng.randbytes(16)
    path.write_bytes(data)
    refused(path, "damaged")


def test_a_name_that_is_no_text_is_refused(path):
    made(path)
    db = sqlite3.connect(path)
    db.execute("UPDATE runs SET experiment = x'00ff'")
    db.commit()
    db.close()
    with Ledger(path, read_only=True) as ledger, pytest.raises(LedgerError, match="no text"):
        ledger.rows()


def test_damage_found_later_is_reported_too(path):
    experiment = walk(200)
    made(path)
    with Ledger(path) as ledger:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(random.Random(0).randbytes(size - 4096))
        ledger._db.execute("PRAGMA cache_size = 0")
        with pytest.raises(LedgerError, match=r"damaged|cannot use"):
            ledger.rows(experiment)


def test_a_place_where_no_file_can_be_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="cannot open"):
        Ledger(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot open"):
        Ledger(tmp_path / "file" / "runs.db")


def test_an_empty_file_becomes_a_ledger(path):
    path.parent.mkdir()
    path.touch()
    with Ledger(path) as ledger:
        assert ledger.rows() == []
        assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_many_processes_may_open_a_new_ledger_at_once(path):
    program = "import sys; from certiformer.reproduction.sweep import Ledger; input(); Ledger(sys.argv[1]).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", program, path], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(5)
    ]
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (0, b"")


def test_a_ledger_can_be_read_where_nothing_can_be_written(path, tmp_path):
    experiment = walk(3)
    with Ledger(path) as ledger:
        sweep(experiment, ledger, Inline())
        before = ledger.digest(experiment)
        with Ledger(path, read_only=True) as reader:
            # somebody may be writing meanwhile
            assert reader.digest(experiment) == before
    bytes_before = path.read_bytes()
    # SQLite may not make the file that it shares with writers
    path.with_name(f"{path.name}-shm").mkdir()
    with Ledger(path, read_only=True) as reader:
        assert reader.digest(experiment) == before
        assert reader.status(experiment).done == 3
        with pytest.raises(LedgerError, match="readonly"):
            reader.enrol(walk(5))
    assert path.read_bytes() == bytes_before
    with pytest.raises(LedgerError, match="no file"):
        Ledger(tmp_path / "nothing.db", read_only=True)
    assert not (tmp_path / "nothing.db").exists()
    (tmp_path / "text.db").write_text("no database at all, but some text of some length")
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(tmp_path / "text.db", read_only=True)


def left_by_a_killed_writer(path, place, *endings):
    """The files of a ledger with three runs, all of them still in the file of latest transactions."""
    with Ledger(path) as ledger:
        ledger._db.execute("PRAGMA wal_autocheckpoint = 0")
        sweep(walk(3), ledger, Inline())
        place.mkdir()
        for ending in ("", *endings):
            shutil.copy(f"{path}{ending}", place)
        return ledger.digest(walk(3))


@pytest.mark.parametrize("endings", [("-wal",), ("-wal", "-shm")])
def test_a_reader_sees_the_latest_transactions_and_leaves_all_files_as_they_were(path, tmp_path, endings):
    place = tmp_path / "killed"
    digest = left_by_a_killed_writer(path, place, *endings)
    before = {file.name: file.read_bytes() for file in place.iterdir() if file.suffix != ".db-shm"}
    with Ledger(place / path.name, read_only=True) as reader:
        assert reader.digest(walk(3)) == digest
        copy = reader._copy
    assert sorted(file.name for file in place.iterdir()) == sorted(f"{path.name}{e}" for e in ("", *endings))
    assert {name: (place / name).read_bytes() for name in before} == before
    assert (copy is None) == ("-shm" in endings)
    assert copy is None or not os.path.exists(copy.name)


def test_the_latest_transactions_are_not_lost_where_nothing_can_be_written(path, tmp_path):
    place = tmp_path / "killed"
    digest = left_by_a_killed_writer(path, place, "-wal")
    (place / f"{path.name}-shm").symlink_to(tmp_path / "nowhere" / "index")  # SQLite cannot make it
    with Ledger(place / path.name, read_only=True) as reader:
        assert reader.digest(walk(3)) == digest
        copy = reader._copy.name
        with pytest.raises(LedgerError, match="readonly"):
            reader.enrol(walk(5))
    assert not os.path.exists(copy)


@pytest.mark.parametrize("writable", [True, False])
def test_a_reader_leaves_nothing_behind(path, monkeypatch, writable):
    with Ledger(path) as ledger:
        sweep(walk(3), ledger, Inline())
    before = path.read_bytes()
    monkeypatch.setattr("certiformer.reproduction.sweep.readonly.os.access", lambda *_: writable)
    with Ledger(path, read_only=True) as reader:
        assert reader.status(walk(3)).done == 3
        with pytest.raises(LedgerError, match="readonly"):
            reader.enrol(walk(5))
    assert list(path.parent.iterdir()) == [path]
    assert path.read_bytes() == before


def test_a_writer_may_come_while_somebody_reads(path):
    with Ledger(path) as ledger:
        sweep(walk(3), ledger, Inline())
    with Ledger(path, read_only=True) as reader:
        with Ledger(path) as ledger:
            sweep(walk(5), ledger, Inline())
        assert reader.status(walk(5)).done == 5
    assert list(path.parent.iterdir()) == [path]
    with Ledger(path) as ledger:
        assert ledger.status(walk(5)).done == 5


def test_runs_keep_their_origin_and_the_time_of_the_processor(path):
    with Ledger(path) as ledger:
        sweep(walk(1), ledger, Inline())
        (row,) = ledger.rows(walk(1))
    assert row.cpu >= 0.0
    assert row.origin == origin()
    assert {"numpy", "jax"} <= set(row.origin["libraries"])
    assert row.origin["cpu"]
    assert same_arithmetic(row.origin, origin())
    assert not same_arithmetic({}, {})
    assert not same_arithmetic(row.origin, {**origin(), "cpu": "another"})
    assert origin()["certiformer"] in described(row.origin)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET result = replace(result, '\"n\":5', '\"n\":6') WHERE config = '{\"seed\":1}'",
        "UPDATE runs SET config = '{\"seed\":10}' WHERE config = '{\"seed\":1}'",
        "UPDATE runs SET fingerprint = NULL WHERE config = '{\"seed\":1}'",
        "UPDATE runs SET result = 'text' WHERE config = '{\"seed\":1}'",
        "UPDATE arrays SET data = zeroblob(40) WHERE name = 'steps' AND key = ?",
        "UPDATE arrays SET shape = '[7]' WHERE name = 'steps' AND key = ?",
        "UPDATE arrays SET name = x'7374657073' WHERE name = 'steps' AND key = ?",
        "DELETE FROM arrays WHERE name = 'steps' AND key = ?",
    ],
)
def test_a_changed_digit_is_refused_with_the_runs_name(path, change):
    with Ledger(path) as ledger:
        sweep(walk(3), ledger, Inline())
        ledger._db.execute(change, (walk(3).runs[1].key,) if "?" in change else ())
        with pytest.raises(LedgerError, match=r'the stored result of walk \{"seed":1'):
            ledger.rows("walk")
        if "config =" not in change.split("WHERE")[0]:
            sweep(walk(3), ledger, Inline(), fresh=True)
            assert len(ledger.rows("walk")) == 3


def test_ledgers_can_be_merged(path, tmp_path):
    with Ledger(path) as one, Ledger(tmp_path / "other.db") as other:
        sweep(walk(3), one, Inline())
        sweep(walk(5), other, Inline())
        other.enrol(walk(6))
        kept = [fingerprint(row) for row in one.rows(walk(3))]
        assert one.absorb(other.rows()) == 2
        assert one.absorb(other.rows()) == 0
        assert one.status(walk(6)).done == 5
        assert one.digest(walk(5)) == other.digest(walk(5))
        assert [fingerprint(row) for row in one.rows(walk(3))] == kept
        assert one.rows(walk(5))[4].origin == origin()
