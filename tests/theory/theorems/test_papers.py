"""The papers are quoted letter by letter, every item of theirs has a row, and a defect is told only where it holds."""

import hashlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certiformer.cli import application
from certiformer.report.explanation import explanation_json
from certiformer.theory.core import Status, find, results
from certiformer.theory.core.registry import places_in

ROOT = Path(__file__).parents[3]
HASHES = json.loads((ROOT / "tests" / "vectors" / "quotations.json").read_text())
LABELS = json.loads((ROOT / "tests" / "vectors" / "labels.json").read_text())
NOTES = tomllib.loads((ROOT / "docs" / "papers" / "items.toml").read_text())
LISTED = json.loads((ROOT / "tests" / "vectors" / "quotations_items.json").read_text())
WHAT = {"part of", "definition only", "assumption", "proof step", "experiment", "not implemented", "lost in our copy"}


def digest(words):
    return hashlib.sha256(re.sub(r"\s+", "", words).encode()).hexdigest()[:16]


def test_every_quotation_was_compared_with_the_text():
    shown = {id: result.sections.quoted for id, result in results().items() if result.sections.quoted}
    for id, words in shown.items():
        assert HASHES.get(id) == digest(words), f"{id}: run tools/quotations.py --texts DIR"
    assert HASHES.keys() == shown.keys()


def test_every_claim_without_a_number_is_quoted_and_was_compared_with_the_text():
    shown = {key: {label: digest(said[2]) for label, said in of.items() if len(said) > 2} for key, of in NOTES.items()}
    assert shown == LISTED, "run tools/quotations.py --texts DIR"
    for key, of in NOTES.items():
        unnumbered = {label for label in of if label not in LABELS[key] and not label.startswith("Equations")}
        assert unnumbered == shown[key].keys()


def test_what_is_called_false_is_quoted_and_says_how_it_is_refuted():
    for result in results().values():
        if result.status is Status.FALSE:
            assert result.sections.quoted or result.paper.key not in LABELS, result.id
            assert result.counterexample.startswith("certiformer audit "), result.id
            assert result.reason, result.id
            assert explanation_json(result)["quoted"] == (result.sections.quoted or None)
        else:
            assert not result.counterexample, result.id
    shown = CliRunner().invoke(application(("explain",)), ["explain", "mwigo.lem1"]).output
    assert "“" in shown
    assert "certiformer audit mwigo.lem1" in shown


def test_the_counterexamples_of_the_published_audit_cover_what_is_called_false():
    page = (ROOT / "docs" / "audit.md").read_text()
    for result in results().values():
        if result.counterexample:
            id = result.counterexample.split()[-1]
            assert f"| `{id}` | **refuted** |" in page, result.id


@pytest.mark.parametrize("paper", LABELS)
def test_every_label_of_a_paper_has_a_row(paper):
    covered = {
        f"{kind} {number}" for r in results().values() if r.paper.key == paper for kind, number in places_in(r.place)
    }
    notes = NOTES[paper]
    assert sorted(set(LABELS[paper]) - covered - notes.keys()) == []
    assert not covered & notes.keys(), "it has a result: the note is not needed"
    for label, (what, where, *_) in notes.items():
        assert what in WHAT, label
        assert where, label
        for id in re.findall(r"`([a-z]+\.[A-Za-z0-9.]+)`", where):
            if what != "experiment":
                assert find(id).id == id, label


def test_the_page_of_items_is_up_to_date():
    import importlib.util

    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools" / "generate_docs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "papers" / "items.md").read_text()
    assert tool.items() == page, "run `make docs`"
    assert [r.id for r in results().values() if r.paper.key in LABELS and f"`{r.id}`" not in page] == []


@pytest.mark.parametrize(
    ("words", "has", "has_not"),
    [
        ("risk that is bounded is that of the base loss", ("li.thm6.9", "li.thm6.10"), ("li.thm6.11",)),
        ("the estimator that is defined is f_n^(M)", ("li.thm6.4", "li.thm6.5"), ("li.thm6.6",)),
        ("gamma lacks B_QK altogether", ("li.thmB.1", "li.thmB.2"), ("li.thm5.3",)),
        ("grows like sqrt(T)", ("li.thmB.1", "li.thmB.2"), ("li.thm5.3",)),
        ("with and without the factor 2", ("li.thm4.4", "li.thm4.7"), ("li.thm4.11",)),
    ],
)
def test_an_inherited_defect_is_told_only_of_the_heirs_it_holds_for(words, has, has_not):
    for id in has:
        assert any(words in defect for defect in find(id).defects), id
    for id in has_not:
        assert not any(words in defect for defect in find(id).defects), id


def test_section_4_2_is_not_called_false():
    told = find("trauger.sec4.2")
    assert r"\sup_{Y_1,\dots,Y_H}" in told.sections.printed_latex
    assert "fails" not in told.reason


@pytest.mark.parametrize("id", ["li.thm6.4", "li.thm6.5", "li.thm6.9", "li.thm6.10"])
def test_the_reading_of_an_input_bound_that_does_not_exist_is_called_ours(id):
    result = find(id)
    at = result(**{entry.name: entry.example for entry in result.inputs if entry.required})
    assert "our reading" in at.printed()["value"].note
    assert "BX" in result.sections.printed
