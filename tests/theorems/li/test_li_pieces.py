"""Pieces of the results on covering numbers: defaults, overflow, and when a printed formula claims nothing."""

import math

import pytest

from certiformer.calculus import truncation
from certiformer.core import InputError, find
from certiformer.theorems.li import _architecture as architecture
from certiformer.theorems.li import _printed as printed
from certiformer.theorems.li import _truncated

NORMS = architecture.Norms(d=4, k=3, Bw=1.1, Bc=1.2, Bv=1.3, BQK=1.4, L_sigma=0.9)


def test_one_head_unless_told():
    assert NORMS.growth() == pytest.approx(0.9 * 1.1 * 1.2 * 1.3) == NORMS.growth(1)
    assert architecture.growth(1.1, 1.2, 1.3, 0.9) == NORMS.growth()
    assert NORMS.growth(3) == pytest.approx(3 * NORMS.growth())
    ranks = {"rw": 1, "rc": 2, "rv": 2, "rqk": 3}
    assert printed.gamma_one_layer(NORMS, 2.0) == printed.gamma_one_layer(NORMS, 2.0, 1)
    assert printed.rank_sum_one_layer(NORMS, 2.0, 0.1, ranks) == printed.rank_sum_one_layer(NORMS, 2.0, 0.1, ranks, 1)
    assert printed.gamma_one_layer(NORMS, 2.0) < printed.gamma_one_layer(NORMS, 2.0, 2)
    one, two = (architecture.one_layer(NORMS, b=1.0, **more) for more in ({}, {"H": 2}))
    assert {weight.copies for weight in one.weights} == {1}
    assert two.output_bound == pytest.approx(2 * one.output_bound)
    vector = architecture.Weight("u", 1.0, 1.0, 3, 1, None)
    assert (vector.ln_beta, vector.copies) == (0.0, 1)


def test_the_unit_ball_unless_told():
    bare, told = (architecture.many_layers(NORMS, layers=2, b=1.0, **more) for more in ({}, {"rho": 1.0, "xi": 1.0}))
    assert bare.output_bound == told.output_bound
    assert [weight.ln_beta for weight in bare.weights] == [weight.ln_beta for weight in told.weights]
    for other in ({"rho": 1.1}, {"xi": 1.1}):
        changed = architecture.many_layers(NORMS, layers=2, b=1.0, **other)
        assert changed.output_bound > bare.output_bound or changed.ln_gamma > bare.ln_gamma


def test_logarithms_at_both_ends():
    for x in (-3.0, -0.5, 0.0, 0.5, 3.0):
        assert architecture._log1p_exp(x) == pytest.approx(math.log(1.0 + math.exp(x)), rel=1e-15)
    assert architecture._log1p_exp(1000.0) == 1000.0
    assert printed.log_or_inf(0.5) == math.log(0.5)
    assert printed.log_or_inf(0.0) == printed.log_or_inf(-1.0) == math.inf
    assert printed._ln(0.5) == math.log(0.5)
    assert printed._ln(0.0) == -math.inf


@pytest.mark.parametrize(
    ("inside", "states"),
    [
        (2.0, ["verified", "verified"]),
        (-1.0, ["verified", "verified"]),
        (-1.05, ["verified", "fails"]),
        (math.inf, ["fails", "verified"]),
    ],
)
def test_when_a_printed_rate_claims_nothing(inside, states):
    found = printed.fast_rate(0.1, inside, 1.0, 0.01, 0.2)
    assert [hypothesis.state for hypothesis in found.hypotheses] == states
    if math.isfinite(inside):
        assert found.value == pytest.approx(0.1 * (1.0 + inside) + 0.08 + 0.2)


def example(id):
    return {entry.name: entry.example for entry in find(id).inputs if entry.required}


def hypothesis(bound, id):
    return next(one for one in bound.hypotheses if one.id == id)


def test_who_vouches_for_kappa():
    given = example("li.thm5.3")
    said = {None: ("vouched", "kappa"), True: ("vouched", "honest_kappa=1"), False: ("fails", "")}
    for honest, (state, by) in said.items():
        more = {} if honest is None else {"honest_kappa": honest}
        found = hypothesis(find("li.thm5.3").evaluate({**given, **more}).sound["S4_opt"], "honest-kappa")
        assert found.state in (state, "open")
        assert by in found.why
    assert "honest_kappa" not in hypothesis(find("li.thm5.3").evaluate(given).sound["S4_opt"], "honest-kappa").why


def test_ceilings_are_those_of_the_loss():
    at = find("li.thm5.3")(**{**example("li.thm5.3"), "n": 1})
    found = at.sound()
    distance = at.distance(at.network(at.Bx).output_bound)
    assert found["S2"].trivial == found["S2_opt"].trivial == pytest.approx(distance**2)
    assert found["S4_opt"].trivial == pytest.approx(at.kappa * distance)
    assert found["S4_opt"].value <= at.kappa * distance * (1.0 + 1e-9)


def test_a_tilt_has_a_range():
    at = find("li.thm5.3")(**{**example("li.thm5.3"), "sigma": 0.5})
    assert at.tilt_or(None) is None
    assert at.tilt_or(1.95) == 1.95
    for tilt in (2.0, 2.05):
        with pytest.raises(InputError, match="tilt"):
            at.tilt_or(tilt)


@pytest.mark.parametrize(("id", "variant", "far"), [("li.ass6.2", "series", {"t": 1e-3}), ("li.rem6.7", "P_at_M", {})])
def test_probabilities_are_at_most_one(id, variant, far):
    given = {**example(id), **far, **({"n": 2, "a": 1e9} if id == "li.rem6.7" else {})}
    assert all(bound.value <= 1.0 for name, bound in find(id).evaluate(given).sound.items() if name.startswith(variant))


def test_tails_are_vouched_for_by_whoever_gives_them():
    for id in ("li.thm6.4", "li.thm6.9"):
        result = find(id)
        given = example(id)
        tail = hypothesis(result.evaluate(given).sound["P"], "tail")
        named = [entry.name for entry in result.inputs if entry.name in ("a", "v", "C", "beta")]
        left_out = [name for name in named if name not in given]
        assert tail.state == ("open" if left_out else "vouched")
        assert all(name in tail.why for name in left_out or named)
        told = result.evaluate({**given, **dict.fromkeys(named, 3.0)}).sound["P"]
        assert hypothesis(told, "tail").state == "vouched"
        assert told.value <= 1.0


def test_truncation_by_hand():
    assert _truncated.truncation_error(kappa=2.0, nu=0.5, T=3, d=4, M=1.5) == pytest.approx(7.0 * math.exp(-4.5))
    assert _truncated.bias(kappa=2.0, C=3.0, beta=2.1, M=10.0) == pytest.approx(6.0 * 2.1 / 0.1 * 10.0**-0.1)
    assert _truncated.bias(kappa=2.0, C=3.0, beta=4.0, M=10.0) == pytest.approx(6.0 * 4.0 / 2.0 / 100.0)
    assert _truncated.bias(kappa=2.0, C=3.0, beta=2.0, M=10.0) == math.inf
    assert _truncated.tail_name(truncation.SubGaussian(3.0, 2.0)) == "3 exp(-t^2/4)"
    assert _truncated.tail_name(truncation.Power(3.0, 2.5)) == "3 t^-2.5"


def test_states_of_the_printed_side():
    given = example("li.cor4.5")
    for logN, state in ((0.5, "verified"), (0.0, "verified")):
        found = find("li.cor4.5")(**{**given, "logN": logN}).printed()["value"]
        assert [one.state for one in found.hypotheses] == [state]
    for id, index in (("li.thm6.9", 2.1), ("li.rem6.12", 2.1)):
        for beta, state in ((index, "verified"), (2.0, "fails")):
            name = "bias" if id == "li.thm6.9" else "M"
            found = find(id)(**{**example(id), "beta": beta}).printed()[name]
            assert any("tail index" in one.requires and one.state == state for one in found.hypotheses)


def test_the_loss_of_a_misspecified_class_is_measured_against_its_best():
    given = example("li.thm5.3")
    for more, over in (({}, "class"), ({"approx": 0.5}, ""), ({"well_specified": True}, "")):
        found = find("li.thm5.3")(**{**given, **more}).over
        assert (over in found.value) if over else found is None
