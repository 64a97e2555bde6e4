"""Pieces of the results on attention heads: defaults and corner cases."""

import math

import pytest

from certiformer.theory.core import find
from certiformer.theory.theorems.deora._mixture import Mixture
from certiformer.theory.theorems.deora.softmax_facts import SoftmaxFacts


def test_a_mixture_without_noise():
    bare = Mixture(8, 0.25, 3, 1.2)
    assert bare == Mixture(8, 0.25, 3, 1.2, Zmu=0.0, Znu=0.0, Z=0.0)
    assert pytest.approx(1.2) == bare.R


def test_the_margin_holds_up_to_noise_of_half_the_square():
    # 2 Zmu is between S^3 and S^2
    assert math.isfinite(Mixture(8, 0.9, 3, 0.9, Zmu=0.39).margin_W(0.0))
    assert Mixture(8, 0.9, 3, 0.9, Zmu=0.41).margin_W(0.0) == -math.inf


def test_softmax_facts_by_hand():
    # probabilities 1/4 and 3/4
    apart, same = (SoftmaxFacts(v=(0.0, math.log(3.0)), i=i, j=2) for i in (1, 2))
    assert apart.sound()["norm_here"].value == pytest.approx(2.0 * 0.25 * 0.75)
    assert apart.sound()["entry"].value == pytest.approx(-0.25 * 0.75)
    assert apart.printed()["entry"].value == pytest.approx(0.0)
    assert same.printed()["entry"].value == pytest.approx(0.75 - math.log(3.0) ** 2)


def states(bound):
    return {hypothesis.requires: hypothesis.state for hypothesis in bound.hypotheses}


def example(id):
    return {entry.name: entry.example for entry in find(id).inputs if entry.required}


def test_the_printed_corollary_on_training_says_when_it_applies():
    given = {**example("deora.cor2"), "BPhi": 1.5, "B2": 1.2, "gamma": 5.0}
    limit = 4.0 * 1.5**2 / (25.0 * math.log(1.0 + math.exp(1.5)))
    assert limit < 1.0

    def found(**more):
        known = states(find("deora.cor2")(**{**given, "eta": 0.1, **more}).printed()["train"])
        return [next(state for words, state in known.items() if part in words) for part in ("B2, BPhi", "BPhi^2")]

    assert found() == ["verified", "verified"]
    assert found(B2=0.95) == found(BPhi=0.95) == ["fails", "verified"]
    assert found(B2=1.0) == ["verified", "verified"]
    assert found(eta=0.99 * limit) == ["verified", "verified"]
    assert found(eta=1.01 * limit) == ["verified", "fails"]
    assert found(gamma=0.5, eta=0.99)[1] == "verified"
    assert found(gamma=0.5, eta=1.05)[1] == "fails"


@pytest.mark.parametrize("id", ["deora.cor1", "deora.thm1", "deora.thm2"])
def test_pooling_is_not_what_was_printed(id):
    for readout, state in (("pooling", "fails"), (None, "verified")):
        more = {} if readout is None else {"readout": readout}
        printed = find(id)(**{**example(id), **more}).printed().values()
        known = {words: state for bound in printed for words, state in states(bound).items()}
        said = {
            known[words] for words in known if "not pooled" in words or "pooling" in words or words == "logistic loss"
        }
        assert state in said


def test_distances_are_measured_against_the_target():
    given = {**example("deora.thm1"), "H": 10**14}
    for D in (0.25, 0.5, 2.0):
        found = find("deora.thm1")(**{**given, "D": D}).sound()
        assert found["r"].value == pytest.approx(found["distance"].value / D)
    # From the target itself a run may still move away, unless its loss is zero: no multiple of D = 0 covers that.
    for loss, ratio in ((1e-9, math.inf), (0.0, 1.0)):
        found = find("deora.thm1")(**{**given, "D": 0.0, "Lt": loss}).sound()
        assert found["distance"].value < 0.01
        assert found["r"].value == ratio


def test_heads_of_a_small_positive_margin():
    for zeta in (0.06, 0.3):
        found = find("deora.prop2")(**{**example("deora.prop2"), "zeta": zeta}).printed()
        assert 0.0 < found["gamma"].value < 1.0
        assert math.isfinite(found["H_needed"].value)


def test_the_printed_assumption_says_when_it_applies():
    given = {**example("deora.ass2"), "BPhi": 1.5, "B2": 1.2}
    for more, state in (
        ({}, "verified"),
        ({"B2": 1.0}, "verified"),
        ({"B2": 1.05}, "verified"),
        ({"BPhi": 0.95}, "fails"),
    ):
        known = states(find("deora.ass2")(**{**given, **more}).printed()["g0"])
        assert next(state for words, state in known.items() if "B2, BPhi" in words) == state


def test_printed_heads_grow_with_the_tenth_power_of_the_tokens():
    given = {**example("deora.cor2"), "d": 3, "BPhi": 1.5, "B2": 1.2}
    one, two = (find("deora.cor2")(**{**given, "R": R}).printed()["H_needed"].value for R in (1.0, 2.0))
    assert two / one == pytest.approx(2.0**10)
