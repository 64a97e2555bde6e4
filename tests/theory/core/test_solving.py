"""A bound inverted in one input: the answer holds, its neighbour does not, and what cannot be solved is refused."""

import json
import math

import pytest
from typer.testing import CliRunner

from certiformer.cli import application
from certiformer.theory.core import InputError, UnknownNameError, find
from certiformer.theory.core.solving import solve

LAYER = {"Bw": 1, "Bc": 2, "L_sigma": 1, "Bv": 1.5, "Bx": 1, "C": 0.5, "d": 64}


def test_a_whole_number_is_the_least_that_suffices():
    theorem = find("trauger.thm4.1")
    found = solve(theorem, LAYER, "m", below=0.1)  # an alias of n
    for crossing, side in ((found.sound, "sound"), (found.printed, "printed")):
        assert crossing.neighbour == crossing.answer - 1
        here, beyond = (getattr(theorem(**LAYER, n=n).evaluated(), side) for n in (crossing.answer, crossing.neighbour))
        assert here[crossing.variant].value == crossing.value <= 0.1 < crossing.neighbour_value
        assert beyond[crossing.variant].value > 0.1
    assert found.sound.answer > found.printed.answer


def test_a_rising_bound_has_a_largest_input():
    given = {name: value for name, value in LAYER.items() if name != "Bx"} | {"n": 10**6}
    found = solve(find("trauger.thm4.1"), given, "Bx", below=0.1)
    assert not found.least
    assert found.sound.value <= 0.1 < found.sound.neighbour_value
    assert found.sound.neighbour > found.sound.answer


def test_the_zero_error_holdout_by_its_formula():
    found = solve(find("holdout"), {"errors": 0, "delta": 0.05}, "n", below=0.01)
    assert found.sound.answer == math.ceil(math.log(0.05) / math.log(0.99)) == 299
    assert found.printed is None
    assert found.reasons["printed"] == "nothing was printed"


def test_what_holds_everywhere_has_no_neighbour_and_what_holds_nowhere_no_answer():
    everywhere = solve(find("holdout"), {"errors": 0, "delta": 0.05}, "n", below=1.0)
    assert (everywhere.sound.answer, everywhere.sound.neighbour) == (1, None)
    nowhere = solve(find("holdout"), {"errors": 0, "delta": 0.05}, "n", below=-1.0)
    assert nowhere.sound is None
    assert nowhere.reasons["sound"].startswith("even at n = 1e+18")


@pytest.mark.parametrize(
    ("id", "given", "name", "limits", "words"),
    [
        ("trauger.thm4.1", LAYER, "N", {}, "--below VALUE"),
        ("trauger.thm4.1", LAYER, "n", {"above": 0.1}, "--below VALUE"),
        ("trauger.thm4.1", {**LAYER, "n": 5}, "n", {"below": 0.1}, "not both"),
        ("trauger.thm4.1", {**LAYER, "d": 0}, "n", {"below": 0.1}, "^d: got 0"),
        ("trauger.thm4.1", {}, "n", {"below": 0.1}, "Missing"),
        ("trauger.thm4.1", LAYER, "odd", {"below": 0.1}, "known to be monotone: "),
        ("arda.rem7", {"nu_c": 1, "nu_u": 1}, "nu_w", {"below": 2.0}, "gives a constant"),
    ],
)
def test_what_cannot_be_solved_is_refused(id, given, name, limits, words):
    with pytest.raises(InputError, match=words):
        solve(find(id), given, name, **limits)


def test_an_unknown_input_is_named():
    with pytest.raises(UnknownNameError, match="nn"):
        solve(find("trauger.thm4.1"), LAYER, "nn", below=0.1)


def test_lower_bounds_are_solved_from_above():
    margin = find("deora.prop2")
    given = {entry.name: entry.example for entry in margin.inputs if entry.required}
    name, sign = next((name, sign) for name, sign in margin.directions().items() if name in given)
    value = given.pop(name)
    reached = margin(**given, **{name: value}).evaluated()
    target = reached.sound[reached.best].value
    found = solve(margin, given, name, above=target)
    assert found.least is (sign > 0)
    assert found.sound.value >= target
    with pytest.raises(InputError, match="--above VALUE"):
        solve(margin, given, name, below=target)


def test_the_verb_prints_both_sides_apart():
    words = ["bound", "trauger.thm4.1", *(f"{name}={value}" for name, value in LAYER.items())]
    run = CliRunner().invoke(application(("bound",)), [*words, "--solve", "n", "--below", "0.1", "--json"])
    document = json.loads(run.output)
    assert document["solve"] == {"name": "n", "below": 0.1, "answer_is": "least"}
    assert document["sound"]["answer"] > document["printed"]["answer"]
    shown = CliRunner().invoke(application(("bound",)), [*words, "--solve", "n", "--below", "0.1"]).output
    assert str(document["sound"]["answer"]) in shown
    assert "need not hold" in shown
    assert isinstance(CliRunner().invoke(application(("bound",)), [*words, "--below", "0.1"]).exception, InputError)
