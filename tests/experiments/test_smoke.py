"""Every experiment, small: the command that CI runs. Then again, from the ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from certiformer.experiments import PAPERS, SCALES, find, studies
from certiformer.experiments.reproduce import recorded
from certiformer.experiments.verdicts import WORDS
from certiformer.sweep.run import canonical

pytestmark = pytest.mark.timeout(1800)  # the first test waits for every experiment, twice

IDS = [study.id for study in studies()]


def certiformer(*arguments: str) -> str:
    command = [sys.executable, "-m", "certiformer", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """All experiments at scale smoke, twice on one ledger."""
    place = tmp_path_factory.mktemp("smoke")
    options = ("--ledger", str(place / "ledger.db"), "--out", str(place / "out"), "--scale", "smoke", "--json")
    first = json.loads(certiformer("reproduce", "all", *options))
    again = json.loads(certiformer("reproduce", "all", *options))
    return first, again


@pytest.mark.parametrize("position", range(len(IDS)), ids=IDS)
def test_an_experiment_keeps_its_contract(everything, position):
    document = everything[0]["experiments"][position]
    assert document["id"] == IDS[position]
    assert document["failed"] == 0
    assert document["headline"].startswith("Self-test, none of the ")
    assert document["headline"].endswith(".")
    assert sum(document["tally"].values()) == len(document["rows"])
    assert document["covered"]["cells"] == 0 < document["covered"]["of"]
    for row in document["rows"]:
        assert row["setting"].strip()
        assert row["verdict"] in WORDS
        assert row["ci"] is None or len(row["ci"]) == 2
    if "has learned" in document["headline"]:
        return  # such networks are not drawn
    assert {Path(path).suffix for path in document["figures"]} == {".pdf", ".png"}
    for path in map(Path, document["figures"]):
        assert path.stat().st_size > 2000
    assert len(document["ledger"]) == 64
    page = Path(document["figures"][0]).parent / "report.html"
    assert document["ledger"][:16] in page.read_text()


def test_the_second_time_nothing_is_run(everything):
    first, again = everything
    for once, twice in zip(first["experiments"], again["experiments"], strict=True):
        assert twice["reused"] == twice["runs"]
        assert once["rows"] == twice["rows"]
        assert once["fits"] == twice["fits"]
        assert once["ledger"] == twice["ledger"]


@pytest.mark.parametrize("id", IDS)
def test_any_part_of_a_grid_can_be_told_and_drawn(everything, id):
    """Such as `--only` leaves: the runs with one value of an entry, and the first of them alone."""
    rows = recorded(find(id), Path(everything[0]["index"]).parents[1] / "ledger.db")
    entries = sorted({(name, canonical(value)) for row in rows for name, value in row.config.items()})
    parts = [[row for row in rows if canonical(row.config.get(name)) == value] for name, value in entries]
    parts = [part for part in parts if len(part) < len(rows)] + [part[:1] for part in parts]
    for part in {tuple(row.key for row in part): part for part in parts}.values():
        analysis = find(id).analyse(part)
        assert "nan" not in analysis.headline
        assert all(plot.figure.axes for plot in analysis.plots.values())


def test_the_index_leads_to_every_experiment(everything):
    index = Path(everything[0]["index"]).read_text()
    for id in IDS:
        assert f'href="{id}/report.html"' in index


def test_every_scale_is_a_grid_whose_time_can_be_told():
    for study in studies():
        assert study.paper in PAPERS
        for scale in SCALES:
            grid = study.experiment(scale)
            assert grid.shorten is not None
            for config in grid.configs[:: max(1, len(grid.configs) // 20)]:
                (short, first), (long, second) = grid.shorten(dict(config))
                assert set(short) == set(long) == set(config)
                assert 0.0 < first < second <= 1.0 or (first == second == 1.0 and short == long)
        quick = study.experiment("quick")
        assert len({config["seed"] for config in quick.configs}) >= 5, study.id
        assert study.claim
        assert study.title


def test_studies_that_share_runs_share_them_in_the_ledger():
    names = {}
    for study in studies():
        names.setdefault(study.experiment("smoke").name, []).append(study)
    for sharing in names.values():
        if len(sharing) > 1:
            keys = [{run.key for run in study.experiment("quick").runs} for study in sharing]
            assert any(keys[0] & other for other in keys[1:])
