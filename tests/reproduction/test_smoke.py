"""Every experiment, small, in one pass: it keeps its contract, and finds what it found before."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from certiformer.reproduction.reproduce import recorded, reproduce, time_left
from certiformer.reproduction.study_registry import PAPERS, SCALES, find, studies
from certiformer.reproduction.sweep import Inline, Ledger, read
from certiformer.reproduction.sweep.origin import same_arithmetic
from certiformer.reproduction.sweep.replicate import compare
from certiformer.reproduction.sweep.run import canonical
from certiformer.reproduction.verdicts import WORDS

pytestmark = pytest.mark.timeout(1800)  # the first test waits for every experiment

IDS = [study.id for study in studies()]
SMOKE = Path(__file__).parents[1] / "vectors" / "smoke"


def certiformer(*arguments: str) -> str:
    command = [sys.executable, "-m", "certiformer", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("smoke")


@pytest.fixture(scope="module")
def everything(place):
    """All experiments at scale smoke, by one worker: each program is compiled once."""
    options = ("--ledger", str(place / "ledger.db"), "--out", str(place / "out"), "--scale", "smoke", "--workers", "1")
    return json.loads(certiformer("reproduce", "all", *options, "--json"))


@pytest.mark.parametrize("position", range(len(IDS)), ids=IDS)
def test_an_experiment_keeps_its_contract(everything, position):
    document = everything["experiments"][position]
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


@pytest.mark.parametrize("id", ["arda.fig2", "li.rates", "deora.training"])
def test_the_second_time_nothing_is_run(everything, place, id):
    again = reproduce(id, scale="smoke", ledger=place / "ledger.db", out=place / "again", engine=Inline()).document
    (once,) = [document for document in everything["experiments"] if document["id"] == id]
    assert again["reused"] == again["runs"]
    assert [once[name] for name in ("rows", "fits", "ledger")] == [again[name] for name in ("rows", "fits", "ledger")]


def numbers_of_the_first_steps(row):
    """The first entries of every curve; of a run without curves, what it found."""
    arrays = {name: np.atleast_1d(array)[:2].astype(float) for name, array in row.arrays.items() if array.size}
    return arrays or {name: np.array(value) for name, value in row.values.items() if isinstance(value, float)}


@pytest.mark.parametrize("name", sorted({study.experiment("smoke").name for study in studies()}))
def test_runs_find_what_they_found_before(everything, place, name):
    """In every bit on the processor of the committed values, elsewhere in their first steps.

    Numbers that were to change: raise the `version` of the experiment, then `python tools/generate_smoke.py`.
    """
    kept = {row.key: row for row in read(SMOKE / f"{name}.runs").rows}
    with Ledger(place / "ledger.db", read_only=True) as book:
        found = {row.key: row for row in book.rows(name)}
    assert kept.keys() == found.keys(), "another grid or version: python tools/generate_smoke.py"
    for key, row in kept.items():
        if same_arithmetic(row.origin, found[key].origin):
            comparison = compare(row, found[key])
            assert comparison.agrees, f"{row.name}: {comparison.values}"
        else:
            before, now = numbers_of_the_first_steps(row), numbers_of_the_first_steps(found[key])
            assert before.keys() == now.keys()
            for number, value in before.items():
                np.testing.assert_allclose(now[number], value, rtol=1e-5, atol=1e-9, err_msg=f"{row.name}: {number}")


@pytest.mark.parametrize("id", IDS)
def test_any_part_of_a_grid_can_be_told_and_drawn(everything, place, id):
    """Such as `--only` leaves: the runs with one value of an entry, and the first of them alone."""
    rows = recorded(find(id), place / "ledger.db")
    entries = sorted({(name, canonical(value)) for row in rows for name, value in row.config.items()})
    parts = [[row for row in rows if canonical(row.config.get(name)) == value] for name, value in entries]
    parts = [part for part in parts if len(part) < len(rows)] + [part[:1] for part in parts]
    for part in {tuple(row.key for row in part): part for part in parts}.values():
        analysis = find(id).analyse(part)
        assert "nan" not in analysis.headline
        assert all(plot.figure.axes for plot in analysis.plots.values())


def test_the_index_leads_to_every_experiment(everything):
    index = Path(everything["index"]).read_text()
    for id in IDS:
        assert f'href="{id}/report.html"' in index


def test_every_scale_is_a_grid_whose_time_can_be_told():
    for study in studies():
        assert study.paper in PAPERS
        for scale in SCALES:
            told = time_left(study.experiment(scale), None)
            assert told.typical is not None, study.id
            assert told.work > 0.0
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
