"""What `certiformer check` says of a result that is not finished."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certiformer.auditing.completeness import checkout, gaps
from certiformer.cli import application
from certiformer.theory.core import Paper, Quantity, Result, Status, count, find, printed_value, real, upper_bound

ROOT = Path(__file__).parents[2]
PAPER = Paper("unfinished", "A. Author", "A Draft")


def told(result, root=None):
    return " | ".join(gap.what for gap in gaps(result, root))


class Draft(Result):
    """A draft."""

    paper, place = PAPER, "Lemma 1"
    bounds, status = Quantity.GAP, Status.FALSE
    monotone = "+n"
    n: int = count("sample size")
    c: float | None = real("range", default=None)

    def printed(self):
        return {"value": printed_value(1.0 / self.n)}

    def sound(self):
        return {"value": upper_bound(self.n**-0.5)}


def test_a_draft_hears_everything_that_it_lacks():
    words = told(Draft, ROOT)
    for expected in (
        "no Sound:", "no Because:", "no Printed:", "without Defects:", "when c is left out", "no attack",
        "no proof note", "no vector", "mark independent", "mark property_of", "mark counterexample", "docs/results.md",
    ):  # fmt: skip
        assert expected in words
    assert "no vector" not in told(Draft)


def test_a_promise_that_is_not_kept_is_found():
    class Lemma2(Result):
        """A promise.

        Sound: gap <= 1/sqrt(n)
        Because: of nothing
        """

        paper, place = PAPER, "Lemma 2"
        bounds, status = Quantity.GAP, Status.NONE
        monotone = "+n"
        n: int = count("sample size")

        def sound(self):
            return {"value": upper_bound(self.n**-0.5)}

    assert "monotone = '+n' does not hold" in told(Lemma2)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda at: {}, "returns nothing"),
        (lambda at: {"value": upper_bound(at.n / 0.0)}, "its example fails"),
        (lambda at: {"value": upper_bound(1.0, bounds=Quantity.CONSTANT)}, "no variant bounds the generalization gap"),
    ],
)
def test_an_example_that_gives_no_bound(body, words):
    namespace = {
        "__doc__": "A title.\n\nSound: something\nBecause: of something",
        "__annotations__": {"n": int},
        "paper": PAPER,
        "place": "Lemma 3",
        "bounds": Quantity.GAP,
        "status": Status.NONE,
        "n": count("sample size"),
        "sound": body,
    }
    assert words in told(type("Lemma3", (Result,), namespace))


def test_an_input_must_not_hide_what_results_have():
    namespace = {"__doc__": "T.", "__annotations__": {"listing": int}, "listing": count("x"), "sound": lambda at: {}}
    result = type("Lemma4", (Result,), {**namespace, "paper": PAPER, "place": "Lemma 4", "status": Status.NONE})
    result.bounds = Quantity.GAP
    assert "the input listing hides an attribute of Result" in told(result)


def test_the_verb(monkeypatch, tmp_path):
    run = CliRunner().invoke(application(("check",)), ["check", "trauger.lem3.6", "--json"])
    assert (run.exit_code, json.loads(run.output)["lacks"]) == (0, [])
    monkeypatch.setattr("certiformer.cli.check.find", lambda id: Draft)
    run = CliRunner().invoke(application(("check",)), ["check", "unfinished.lem1"])
    assert run.exit_code == 1
    assert "things are missing" in run.output
    monkeypatch.chdir(tmp_path)
    assert checkout(tmp_path) is None
    told = CliRunner().invoke(application(("check",)), ["check", "unfinished.lem1"]).output
    assert "in a checkout only" in " ".join(told.split())
    assert find("trauger.lem3.6").id == "trauger.lem3.6"
