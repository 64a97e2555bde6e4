"""`certiformer audit` as a user meets it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import certiformer
from certiformer.auditing import audit_report, runner
from certiformer.cli import application
from certiformer.theory.core import InputError, results

IDS = ["trauger.lem3.1", "arda.fact1"]


def invoke(*words):
    return CliRunner().invoke(application(), ["audit", *words])


def test_a_few_claims_are_told_in_full():
    done = invoke(*IDS, "--budget", "0.1")
    assert done.exit_code == 0
    assert "trauger.lem3.1 printed: refuted" in done.stdout
    assert "trauger.lem3.1 sound: survived" in done.stdout
    assert "certiformer audit --recheck" in done.stdout


def test_json_and_the_command_that_checks_again(tmp_path):
    done = invoke("trauger.lem3.1", "--budget", "0.1", "--seed", "2", "--json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["seed"] == 2
    command = document["claims"][0]["counterexample"]["command"]
    words = shlex.split(command)
    assert words[:2] == ["certiformer", "audit"]
    again = CliRunner().invoke(application(), words[1:])
    assert again.exit_code == 0
    assert "trauger.lem3.1 printed: refuted" in again.stdout
    file = tmp_path / "audit.json"
    file.write_text(done.stdout)
    from_file = json.loads(invoke("--recheck", str(file), "--json").stdout)
    assert [claim["verdict"] for claim in from_file["claims"]] == ["refuted"]


def test_figure(tmp_path):
    path = tmp_path / "audit.svg"
    done = invoke(*IDS, "--budget", "0.1", "--plot", str(path))
    assert done.exit_code == 0
    assert path.read_text().startswith("<?xml")


def test_figure_of_every_kind_of_verdict():
    audit = runner.run([*IDS, "deora.eq14", "strata"], budget=0.1)
    figure = audit_report.audit_figure(audit)
    labels = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert any(label.startswith("false") for label in labels)
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [
        id for id, _ in audit_report.pairs(audit) if id != "strata"
    ]


def test_table_has_a_row_per_result(capsys):
    from rich.console import Console

    audit = runner.run([*IDS, "strata"], budget=0.1)
    console = Console(width=120)
    console.print(audit_report.audit_table(audit))
    text = capsys.readouterr().out
    assert all(id in text for id in [*IDS, "strata"])
    assert "not attackable" in text
    assert audit_report.summary(audit) in text
    assert "printed: 1 refuted, 1 survived" in audit_report.summary(audit)


@pytest.mark.parametrize(
    "words",
    [
        ["--recheck", "nowhere.json"],
        ["--recheck", "[1]"],
        ["--recheck", '{"claims": ' + "[" * 200],
        ["--recheck", '{"claims": [1]}'],
        ["--recheck", '{"claims": [{"id": "trauger.lem3.1", "counterexample": {"attack": "trauger.lem3.1"}}]}'],
        ["--recheck", '{"id": "trauger.lem3.1", "version": "printed", "attack": "trauger.lem3.1", "data": {}}'],
        ["--recheck", '{"id": "deora.eq14", "version": "printed", "attack": "deora.eq14", "data": [["a", 1]]}'],
        ["nosuch.thm1"],
        ["--budget", "0"],
    ],
)
def test_mistakes_are_named(words):
    done = invoke(*words)
    assert done.exit_code != 0
    assert isinstance(done.exception, certiformer.theory.core.errors.CertiformerError)


def test_api():
    audit = certiformer.audit("arda.fact1", seed=1, budget=0.1)
    assert audit.of("arda.fact1", "sound").outcome == "survived"
    with pytest.raises(InputError):
        certiformer.audit("arda.fact1", budget=0.0)


def test_the_page_knows_every_result():
    """docs/audit.md is written by tools/generate_audit.py; a new result or attack calls for a new page."""
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
    assert [id for id in results() if f"`{id}`" not in page] == []
    assert "not attacked |" not in page
