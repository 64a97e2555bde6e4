"""From an experiment's name to its files: the API, the command line, resuming, failing, parts of a grid."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import re

import pytest
from typer.testing import CliRunner

import certiformer
from certiformer.cli import application
from certiformer.cli.reproduce.arguments import lists
from certiformer.report import reproduction as shown
from certiformer.reproduction import reproduce as module
from certiformer.reproduction.sweep import Experiment, Inline, Ledger, Row, read
from certiformer.reproduction.sweep.time_estimate import shape, shape_name
from certiformer.reproduction.verdicts import WORDS
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from reproduction import toy_studies
from subprocesses import python_path


@pytest.fixture(autouse=True)
def only_the_toy(monkeypatch):
    toy_studies.alone(monkeypatch, toy_studies.TOY)


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.db"


def reproduce(tmp_path, **options):
    places = {"ledger": tmp_path / "ledger.db", "out": tmp_path / "out"}
    return certiformer.reproduce("li.toy", **{**places, "engine": Inline(), "progress": False, **options})


def command(tmp_path, *arguments, code=0):
    given = ["reproduce", *map(str, arguments), "--ledger", str(tmp_path / "ledger.db")]
    result = CliRunner().invoke(application(), given)
    assert result.exit_code == code, result.output
    return result


def test_the_document_keeps_its_contract(tmp_path):
    found = reproduce(tmp_path, scale="smoke")
    document = json.loads((tmp_path / "out" / "li.toy" / "report.json").read_text())
    assert document == found.document
    assert {"id", "scale", "runs", "reused", "rows", "fits", "figures"} <= set(document)
    assert (document["id"], document["scale"], document["runs"], document["reused"]) == ("li.toy", "smoke", 6, 0)
    printed, sound = document["rows"]
    for row in (printed, sound):
        assert {"setting", "paper", "ours", "ci", "verdict", "detail", "margin", "sound"} <= set(row)
        assert row["verdict"] in WORDS
        assert row["ours"] == pytest.approx(-1.0, abs=0.05)
    assert (printed["paper"], sound["sound"]) == ("-0.5", "-1")
    assert document["covered"] == {"cells": 0, "of": 3}
    assert document["headline"].startswith(
        "Self-test, none of the 3 cells of the full grid: the risk falls with exponent"
    )
    assert document["tally"] == {"cannot tell": 2}
    assert [path.rpartition(".")[2] for path in document["figures"]] == ["pdf", "png"]
    assert all(path.stat().st_size > 1000 for path in found.figures)


def test_finished_runs_are_never_repeated_and_files_come_out_the_same(tmp_path):
    first = reproduce(tmp_path, scale="smoke")
    before = {path.name: path.read_bytes() for path in first.figures}
    again = reproduce(tmp_path, scale="smoke")
    assert (again.document["reused"], again.document["runs"]) == (6, 6)
    assert again.document["ledger"] == first.document["ledger"]
    assert {path.name: path.read_bytes() for path in again.figures} == before
    assert reproduce(tmp_path, scale="smoke", fresh=True).document["reused"] == 0


def test_the_page_says_where_it_comes_from(tmp_path):
    found = reproduce(tmp_path, scale="smoke")
    page = found.page.read_text()
    ledger = found.document["ledger"][:16]
    for text in ("A toy &amp; its risk", "A remark &lt;b&gt;.", ledger, "seeds 0–1", "data:image/svg"):
        assert text in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_a_part_of_the_grid_shares_its_runs_with_the_whole(tmp_path):
    assert reproduce(tmp_path, scale="smoke", only={"n": 10}).document["runs"] == 2
    assert reproduce(tmp_path, scale="smoke", only={"n": [10, 100], "seed": [0]}).document["runs"] == 2
    assert reproduce(tmp_path, scale="smoke").document["reused"] == 3
    with pytest.raises(UnknownNameError, match="width"):
        reproduce(tmp_path, scale="smoke", only={"width": 3})
    with pytest.raises(InputError, match="10, 100, 1000"):
        reproduce(tmp_path, scale="smoke", only={"n": 11})
    with pytest.raises(InputError, match="10, 100, 1000"):
        reproduce(tmp_path, scale="smoke", only={"n": [10, 11]})


def test_a_failed_run_stops_nobody_and_is_retried_on_request(tmp_path, monkeypatch):
    switch = tmp_path / "fails"
    switch.touch()
    monkeypatch.setenv("CERTIFORMER_TOY_FAILS", str(switch))
    with pytest.raises(CertiformerError, match="all 2 runs failed: ValueError: no luck with n = 10"):
        reproduce(tmp_path, scale="smoke", only={"n": 10})
    switch.unlink()
    partial = reproduce(tmp_path, scale="smoke")
    assert (partial.document["failed"], partial.document["runs"]) == (2, 6)
    assert partial.document["errors"] == ["ValueError: no luck with n = 10"]
    assert "no luck with n = 10" in partial.page.read_text()
    assert reproduce(tmp_path, scale="smoke", retry=True).document["failed"] == 0


def test_mistakes_are_named(tmp_path):
    with pytest.raises(UnknownNameError, match=r"li\.toy"):
        certiformer.reproduce("li.tox", ledger=tmp_path / "l.db")
    with pytest.raises(InputError, match="smoke, quick, paper"):
        reproduce(tmp_path, scale="huge")
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="--out"):
        reproduce(tmp_path, scale="smoke")


def test_the_list(tmp_path):
    (entry,) = json.loads(command(tmp_path, "--list", "--json").stdout)
    assert entry == {
        "id": "li.toy",
        "paper": "li",
        "title": "A toy & its risk",
        "runs": {"smoke": 6, "quick": 15, "paper": 60},
    }
    assert "A toy & its risk" in command(tmp_path).stdout


def test_estimates_run_nothing(tmp_path, ledger):
    result = command(tmp_path, "li.toy", "--scale", "paper", "--estimate", "--workers", 1, "--json")
    (entry,) = json.loads(result.stdout)["experiments"]
    assert (entry["runs"], entry["missing"], entry["unknown"], entry["work_seconds"]) == (60, 60, 60, 0.0)
    assert "time unknown" in command(tmp_path, "li.toy", "--scale", "paper", "--estimate").stdout
    assert not ledger.exists()
    reproduce(tmp_path, scale="smoke")
    (entry,) = json.loads(command(tmp_path, "li.toy", "--scale", "paper", "--estimate", "--json").stdout)["experiments"]
    # six are there already, and tell how long the others take
    assert (entry["missing"], entry["unknown"]) == (54, 0)


def test_published_times_answer_without_running_anything(tmp_path, monkeypatch):
    times = {shape_name(shape({"n": n})): 10.0 for n in (10, 100, 1000)}
    monkeypatch.setattr(module, "published_times", lambda: {"li.toy": times})
    (entry,) = json.loads(command(tmp_path, "li.toy", "--scale", "paper", "--estimate", "--json").stdout)["experiments"]
    assert [entry[name] for name in ("missing", "unknown", "published")] == [60, 0, 60]
    assert entry["work_seconds"] == 600.0
    assert "published times of 60 runs" in command(tmp_path, "li.toy", "--scale", "paper", "--estimate").stdout


def test_status_looks_and_does_not_touch(tmp_path, ledger):
    assert "nothing in the ledger" in command(tmp_path, "--status").stdout
    assert not ledger.exists()
    reproduce(tmp_path, scale="smoke", only={"n": 10})
    begun = json.loads(command(tmp_path, "--status", "--json").stdout)["experiments"]
    # the two runs belong to the larger grids as well
    assert [(e["scale"], e["done"], e["pending"]) for e in begun] == [
        ("smoke", 2, 4),
        ("quick", 2, 13),
        ("paper", 2, 58),
    ]
    assert len(json.loads(command(tmp_path, "li.toy", "--status", "--json").stdout)["experiments"]) == 3
    part = json.loads(command(tmp_path, "li.toy", "--status", "--only", "n=10", "--json").stdout)["experiments"]
    assert [(e["scale"], e["done"], e["pending"]) for e in part] == [("smoke", 2, 0), ("quick", 2, 3), ("paper", 2, 18)]


def test_runs_of_another_version_are_pointed_out(tmp_path, ledger):
    first = reproduce(tmp_path, scale="smoke")
    with Ledger(ledger) as book:
        book.forget(toy_studies.experiment("smoke"))
        book.absorb([dataclasses.replace(row, key=f"a{row.key}", version=7) for row in first.rows])
    hint = f"6 runs of another version in {ledger} give other numbers and are not counted; --from {ledger} redraws them"
    assert f"li.toy: {hint}" in command(tmp_path, "li.toy", "--status").stdout
    assert hint in command(tmp_path, "--status").stdout
    (entry,) = json.loads(command(tmp_path, "li.toy", "--status", "--scale", "smoke", "--json").stdout)["experiments"]
    assert (entry["scale"], entry["done"], entry["older"]) == ("smoke", 0, 6)
    assert hint in command(tmp_path, "li.toy", "--scale", "paper", "--estimate").stdout
    part = command(tmp_path, "li.toy", "--scale", "smoke", "--set", "seed=1", "--estimate", "--csv").stdout
    assert part.splitlines()[1].endswith(",3")
    said = []
    reproduce(tmp_path, scale="smoke", only={"n": 10}, announce=said.append)
    assert "2 runs of another version" in said[0]
    reproduce(tmp_path, scale="smoke")
    assert "another version" not in command(tmp_path, "li.toy", "--status", "--scale", "smoke").stdout


def test_status_is_that_of_the_grid_that_was_asked_for(tmp_path):
    reproduce(tmp_path, scale="smoke")
    told = command(tmp_path, "li.toy", "--status", "--scale", "smoke", "--set", "seed=1:4", "--json").stdout
    (entry,) = json.loads(told)["experiments"]
    assert (entry["scale"], entry["done"], entry["pending"]) == ("smoke", 3, 6)


def test_the_command_line_runs_processes_exports_and_indexes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", python_path())
    monkeypatch.chdir(tmp_path)
    result = command(tmp_path, "all", "--scale", "smoke", "--json", "--export", "runs.csv", "--workers", 1)
    found = json.loads(result.stdout)
    assert [each["id"] for each in found["experiments"]] == ["li.toy"]
    index = (tmp_path / "out" / "index.html").read_text()
    assert 'href="li.toy/report.html"' in index
    assert 'src="li.toy/risk.png"' in index
    with open("runs.csv") as file:
        assert len(list(csv.DictReader(file))) == 6
    with open("runs.series.csv") as file:
        points = list(csv.DictReader(file))
    assert {(p["figure"], p["kind"]) for p in points} == {("risk", "measured"), ("risk", "printed"), ("risk", "sound")}
    assert [float(p["x"]) for p in points if p["kind"] == "sound"] == [10.0, 100.0, 1000.0]
    # names of axes in columns of their own, and curves without the slope that the legend adds
    assert {(p["panel"], p["title"], p["x_label"], p["y_label"]) for p in points} == {("1", "", "n, examples", "risk")}
    assert {p["series"] for p in points} == {"risk", "printed", "1/n"}
    table = command(tmp_path, "li.toy", "--scale", "smoke", "--workers", 1).stdout
    assert "6 runs reused" in table
    assert "slope in n" in table
    command(tmp_path, "li.toy", "--status", "--scale", "smoke", "--export", "again.json", "--out", "again")
    assert len(json.loads((tmp_path / "again.json").read_text())) == 6


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nope"], "nope"),
        (["li.toy", "--scale", "huge"], "--scale"),
        (["li.toy", "--only", "n"], "--only"),
        (["li.toy", "--scheduler", "host:1"], "scheduler"),
        (["li.toy", "--workers", "0"], "--workers"),
        (["li.toy", "--scheduler", "tcp://h:1", "--slurm"], "--slurm"),
        (["li.toy", "--export", "runs.xlsx"], "--export"),
        (["li.toy", "--export", "nowhere/runs.csv"], "--export"),
        (["--only", "n=10"], "ID"),
        (["--fresh"], "ID"),
        (["li.toy", "--set", "seed"], "--set"),
        (["li.toy", "--set", "width=3"], "width"),
        (["li.toy", "--from", "nothing.runs"], "no such file"),
        (["upgrade", "nothing.db"], "no file"),
        (["merge", "nothing.db"], "no file"),
    ],
)
def test_the_command_line_names_mistakes(tmp_path, monkeypatch, arguments, named):
    monkeypatch.chdir(tmp_path)
    places = {"merge": ["--ledger", "l.db"], "upgrade": []}.get(arguments[0], ["--ledger", "l.db", "--out", "out"])
    result = CliRunner().invoke(application(), ["reproduce", *arguments, *places])
    assert isinstance(result.exception, CertiformerError), result.output
    assert named in str(result.exception)


def test_words():
    assert shown.seeds([0, 1, 2, 5, 7, 8]) == "0–2, 5, 7–8"
    assert [shown.span(s) for s in (0.04, 42, 300, 7200, 300000)] == ["0.0 s", "42 s", "5 min", "2 h", "3.5 d"]
    assert shown.interval(["-inf", "inf"]) == "–"
    assert shown.interval([-0.5, "inf"]) == "[-0.5, ∞]"


def test_the_environment_of_workers_is_theirs_alone(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    assert "certiformer" in module.worker_environment()["JAX_COMPILATION_CACHE_DIR"]


def test_wall_time_counts_no_pause_and_no_overlap_twice():
    def row(worker, finished, seconds):
        return Row("k", "e", 1, {}, "done", finished=finished, seconds=seconds, worker=worker)

    # two workers side by side, then a batch of two that ended at 100
    rows = [row("a", 10.0, 4.0), row("b", 12.0, 4.0), row("a", 100.0, 3.0), row("a", 100.00001, 3.0)]
    assert module.wall_seconds(rows) == pytest.approx(6.0 + 6.0, abs=1e-3)
    assert module.wall_seconds([]) == 0.0
    # what ran side by side is not known
    assert module.wall_seconds([*rows, row(None, 100.0, 3.0)]) is None


def test_an_experiment_that_fails_altogether_stops_no_other(tmp_path, monkeypatch):
    def hopeless(scale):
        return Experiment("li.hopeless", run="reproduction.toy_studies:raises", configs=[{"seed": 0}])

    bad = dataclasses.replace(toy_studies.TOY, id="li.hopeless", experiment=hopeless)
    toy_studies.alone(monkeypatch, bad, toy_studies.TOY)
    monkeypatch.setattr("certiformer.reproduction.sweep.Local", lambda *_, **__: Inline())
    result = command(tmp_path, "all", "--scale", "smoke", "--json", "--out", tmp_path / "out", code=1)
    assert [each["id"] for each in json.loads(result.stdout)["experiments"]] == ["li.toy"]
    assert "li.hopeless: all 1 runs failed" in result.stderr


@pytest.fixture
def two_studies(monkeypatch):
    """The toy, and another with runs of its own."""

    def experiment(scale):
        return dataclasses.replace(toy_studies.experiment(scale), name="li.other")

    other = dataclasses.replace(toy_studies.TOY, id="li.other", experiment=experiment)
    toy_studies.alone(monkeypatch, toy_studies.TOY, other)
    monkeypatch.setattr("certiformer.reproduction.sweep.Local", lambda *_, **__: Inline())


def test_experiments_without_published_runs_are_no_failure(tmp_path, two_studies):
    folder = tmp_path / "runs"
    folder.mkdir()
    reproduce(tmp_path, scale="paper")
    options = ("--scale", "paper", "--out", tmp_path / "out")
    command(tmp_path, "li.toy", *options, "--export", folder / "li.toy.runs")
    again = ("all", "--from", folder, "--out", tmp_path / "again", "--json")
    result = command(tmp_path, *again)
    told = json.loads(result.stdout)
    assert (told["scale"], [each["id"] for each in told["experiments"]]) == ("paper", ["li.toy"])
    assert f"1 of 2 experiments have no runs in {folder}: li.other" in result.stderr
    assert "--retry" not in result.stderr
    assert "scale paper" in (tmp_path / "again" / "index.html").read_text()
    verified = command(tmp_path, "all", "--from", folder, "--verify", 1)
    assert "li.toy: 1 runs done again" in verified.stdout
    assert "1 of 2 experiments have no runs" in verified.stderr
    (folder / "li.other.runs").write_text("damaged")
    assert "li.other.runs is no file of published runs" in command(tmp_path, *again, code=1).stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CertiformerError, match="no finished run of any experiment"):
        raise CliRunner().invoke(application(), ["reproduce", "all", "--from", str(empty)]).exception


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--export", "x.runs"], "--export.*runs of one experiment, not of 2.*Name one"),
        (["--only", "n=10"], "--only"),
        (["--set", "n=10"], "--set"),
        (["--from", "nowhere"], "--from.*no such file"),
    ],
)
def test_what_cannot_be_asked_of_all_is_refused_at_once(tmp_path, two_studies, monkeypatch, arguments, named):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(application(), ["reproduce", "all", *arguments, "--ledger", "l.db", "--scale", "smoke"])
    with pytest.raises(InputError, match=named):
        raise result.exception
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["merge", "nothing.db"], ["merge", "nothing.runs"]])
def test_what_is_missing_makes_no_ledger(tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(application(), ["reproduce", *arguments, "--ledger", "new.db"])
    assert isinstance(result.exception, CertiformerError)
    assert list(tmp_path.iterdir()) == []


def test_fresh_forgets_nothing_before_the_rest_is_checked(tmp_path):
    reproduce(tmp_path, scale="smoke")
    (tmp_path / "file").write_text("")
    places = ["--ledger", str(tmp_path / "ledger.db"), "--out", str(tmp_path / "file")]
    result = CliRunner().invoke(application(), ["reproduce", "li.toy", "--scale", "smoke", "--fresh", *places])
    assert isinstance(result.exception, InputError)
    assert reproduce(tmp_path, scale="smoke").document["reused"] == 6


def test_published_runs_are_redrawn_verified_and_merged(tmp_path, monkeypatch):
    monkeypatch.setattr("certiformer.reproduction.sweep.Local", lambda *_, **__: Inline())
    first = reproduce(tmp_path, scale="smoke").document
    file = tmp_path / "li.toy.runs"
    command(tmp_path, "li.toy", "--scale", "smoke", "--export", file, "--out", tmp_path / "out")
    assert read(file).digest == first["ledger"]
    # the scale is the one that the runs fit; a folder of files will do as well
    for source in (file, tmp_path, tmp_path / "ledger.db"):
        result = command(tmp_path, "li.toy", "--from", source, "--out", tmp_path / "again", "--json")
        again = json.loads(result.stdout)
        assert again["scale"] == "smoke"
        assert [again[name] for name in ("rows", "ledger", "headline")] == [
            first[name] for name in ("rows", "ledger", "headline")
        ]
    # published runs do not say which worker did them: only their work can be told
    told = module.redraw("li.toy", file, out=tmp_path / "again")
    assert told.document["wall_seconds"] is None
    assert "wall time" not in told.page.read_text()
    assert "of work" in told.page.read_text()
    assert "wall time" in module.redraw("li.toy", tmp_path / "ledger.db", out=tmp_path / "again").page.read_text()
    assert "all agree in every bit" in command(tmp_path, "li.toy", "--from", file, "--verify", 2).stdout
    told = json.loads(command(tmp_path, "li.toy", "--from", file, "--verify", 2, "--json").stdout)
    assert told["agrees"]
    other = tmp_path / "other.db"
    merged = CliRunner().invoke(application(), ["reproduce", "merge", str(file), "--ledger", str(other), "--json"])
    assert json.loads(merged.stdout) == {str(file): 6}
    assert reproduce(tmp_path / "elsewhere", scale="smoke", ledger=other).document["reused"] == 6


def test_what_was_verified_is_listed_with_both_values(tmp_path, two_studies):
    first = reproduce(tmp_path, scale="smoke", only={"n": 10})
    told = json.loads(command(tmp_path, "li.toy", "--verify", 1, "--json").stdout)
    (run,) = told["runs"]
    (kept,) = [row for row in first.rows if row.config == run["config"]]
    assert (run["agrees"], run["asked"], run["difference"]) == (True, "every bit", 0.0)
    assert run["values"] == {"risk": {"kept": kept.values["risk"], "again": kept.values["risk"]}}
    said = command(tmp_path, "li.toy", "--verify", 1).stdout
    assert re.search(r"\n  n = 10, seed = [01]: agrees\n    risk: kept (\S+), again \1\n", said)
    header, line = command(tmp_path, "li.toy", "--verify", 1, "--csv").stdout.splitlines()
    assert header == "id,config,agrees,number,kept,again"
    assert line.startswith("li.toy,")


@pytest.mark.parametrize("older", [0, 7])
def test_of_several_runs_of_one_configuration_that_of_the_present_version_is_redrawn(tmp_path, ledger, older):
    first = reproduce(tmp_path, scale="smoke")
    stale = [
        dataclasses.replace(row, key=f"{older}{row.key}", version=older, values={"risk": 1.0}, finished=1e12)
        for row in first.rows
    ]
    with Ledger(ledger) as book:
        book.absorb(stale)
    assert module.redraw("li.toy", ledger, out=tmp_path / "again").document["ledger"] == first.document["ledger"]
    before = tmp_path / "before.db"
    with Ledger(before) as book:
        book.absorb([dataclasses.replace(row, key=f"a{row.key}", version=3, finished=1e11) for row in first.rows])
        book.absorb(stale)
    rows = module.redraw("li.toy", before, out=tmp_path / "before").rows
    assert {row.version for row in rows} == {older}


def test_a_page_names_every_version_and_commit_that_its_runs_come_from(tmp_path, ledger):
    first = reproduce(tmp_path, scale="smoke")
    assert first.document["version"] == 1
    (own,) = first.document["code"]
    assert (own["version"], own["runs"]) == (1, 6)
    assert own["commit"] == first.rows[0].origin["commit"]
    old = {**first.rows[0].origin, "commit": "e763ce4"}
    mixed = [
        dataclasses.replace(row, version=0, key=f"a{row.key}", origin=old) if row.config["n"] == 10 else row
        for row in first.rows
    ]
    with Ledger(tmp_path / "mixed.db") as book:
        book.absorb(mixed)
    found = module.redraw("li.toy", tmp_path / "mixed.db", out=tmp_path / "mixed")
    assert found.document["code"][1] == {"version": 0, "commit": "e763ce4", "runs": 2}
    assert ", 2 runs of version 0 (commit e763ce4) ·" in shown.provenance(found.document)
    assert shown.code([{"version": 2, "commit": None, "runs": 1}]) == "version 2"


def test_a_part_that_occurs_at_one_scale_only_is_redrawn_and_verified(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr("certiformer.reproduction.sweep.Local", lambda *_, **__: Inline())
    reproduce(tmp_path, scale="paper", only={"seed": [10, 11]})
    places = ("--from", ledger, "--out", tmp_path / "again")
    told = json.loads(command(tmp_path, "li.toy", *places, "--only", "seed=10", "--json").stdout)
    assert (told["scale"], told["finished"]) == ("paper", 3)
    assert "2 runs done again" in command(tmp_path, "li.toy", *places, "--only", "seed=10", "--verify", 2).stdout
    with pytest.raises(InputError, match="17, 18, 19"):
        module.redraw("li.toy", ledger, out=tmp_path, only={"seed": 20})
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        module.redraw("li.toy", ledger, out=tmp_path, only={"seed": 10}, scale="smoke")


def test_another_grid_has_the_same_analysis(tmp_path):
    found = reproduce(tmp_path, scale="smoke", values={"seed": range(4), "n": [10, 50]})
    assert found.document["runs"] == 8
    assert found.document["set"] == {"seed": [0, 1, 2, 3], "n": [10, 50]}
    assert found.document["rows"][0]["ours"] == pytest.approx(-1.0, abs=0.05)
    assert shown.command(found.document).endswith("--set seed=0,1,2,3 --set n=10,50")
    assert lists("--set", ["seed=0:3,7", "kind=a"]) == {"seed": [0, 1, 2, 7], "kind": ["a"]}
    assert lists("--only", ["lag=4", "seed=0", "lag=2"]) == {"lag": [4, 2], "seed": [0]}


def test_the_share_of_cells_opens_the_headline(tmp_path):
    found = reproduce(tmp_path, scale="paper", only={"n": 10})
    assert found.document["covered"] == {"cells": 1, "of": 3}
    assert found.document["headline"].startswith("In 1 of 3 cells: ")
    whole = reproduce(tmp_path, scale="paper").document
    assert whole["covered"] == {"cells": 3, "of": 3}
    assert whole["headline"].startswith("The risk falls")
    assert whole["tally"] == {"agrees": 1, "differs": 1}


def test_files_obey_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        found = reproduce(tmp_path, scale="smoke")
    finally:
        os.umask(before)
    for path in (*found.figures, found.page):
        assert path.stat().st_mode & 0o777 == 0o640
