"""Pieces of the results on covering numbers: defaults, overflow, and when a printed formula claims nothing."""

import math

import pytest

from certiformer.theory.calculus import entropies, truncation
from certiformer.theory.core import InputError, find
from certiformer.theory.theorems.li import _architecture as architecture
from certiformer.theory.theorems.li import _printed as printed
from certiformer.theory.theorems.li import _truncated

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
        assert entropies.ln_one_plus_exp(x) == pytest.approx(math.log(1.0 + math.exp(x)), rel=1e-15)
    assert entropies.ln_one_plus_exp(1000.0) == 1000.0
    assert printed.log_or_inf(0.5) == math.log(0.5)
    assert printed.log_or_inf(0.0) == printed.log_or_inf(-1.0) == math.inf
    assert entropies.log(0.5) == math.log(0.5)
    assert entropies.log(0.0) == -math.inf


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
    said = {None: ("stated", "kappa"), True: ("stated", "honest_kappa=1"), False: ("fails", "")}
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
        assert tail.state == ("open" if left_out else "stated")
        assert all(name in tail.why for name in left_out or named)
        told = result.evaluate({**given, **dict.fromkeys(named, 3.0)}).sound["P"]
        assert hypothesis(told, "tail").state == "stated"
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


def test_ceilings_of_given_covers():
    # 2 heads of 1.2 * 0.9 and |f0| <= 1: |f - f0| <= 3.16
    found = find("li.cor4.8")(**{**example("li.cor4.8"), "n": 1}).sound()
    assert found["S2"].value == found["S2"].trivial == pytest.approx(3.16**2)
    assert found["S4"].value == found["S4"].trivial == pytest.approx(2 * 3.16)


def test_the_slow_forms_by_hand():
    """2 kappa D sqrt(ln N/2n) + 2 kappa delta at the best delta; 2 kappa min_K (D e^-K + K e sqrt(2 gamma^3/n))."""
    at = find("li.thmB.1")(**example("li.thmB.1"))
    found, cover, kappa, n, output = at.sound(), at.network(at.Bx).norm_cover(), 2.0, 1_000_000, 1.2 * 0.9
    tried = [
        2.0 * kappa * (output * math.sqrt(cover.log_size(radius) / (2.0 * n)) + radius)
        for radius in (1e-4, 3e-4, 1e-3, 1.5e-3, 2e-3, 3e-3, 1e-2)
    ]
    assert 0.97 * min(tried) <= found["S4_opt"].value <= min(tried) * (1.0 + 1e-9)
    step = math.e * math.sqrt(2.0 * found["gamma"].value ** 3 / n)
    closed = 2.0 * kappa * min(output * math.exp(-links) + links * step for links in range(40))
    assert found["S4chain_closed"].value == pytest.approx(closed, rel=1e-9)


def test_a_normalisation_beyond_the_unit_ball_is_not_what_was_printed():
    for rho, state in ((0.9, "verified"), (1.0, "verified"), (1.05, "fails")):
        found = find("li.thm5.3")(**{**example("li.thm5.3"), "rho": rho}).printed()["value"]
        assert [one.state for one in found.hypotheses if "unit ball" in one.requires] == [state]


def test_terms_that_are_zero_are_left_out():
    given = example("li.cor4.8")
    terms = [find("li.cor4.8")(**{**given, "approx": approx}).sound()["S4"].terms for approx in (0.0, 1.0)]
    assert set(terms[0]) == {"estimation", "discretisation"}
    assert set(terms[1]) == {"approximation", "estimation", "discretisation"}


def test_clipped_outputs_by_hand():
    given = example("li.thm6.9")
    few = find("li.thm6.9")(**{**given, "n": 1}).sound()
    for name in ("S7clip_sq", "S7clip_sq_opt"):
        assert few[name].value == few[name].trivial == pytest.approx(4.0)  # (2 B)^2
    # with endless data only inputs beyond M are left: they widen the cover by 2 B P, and 2 kappa times that is paid
    endless = find("li.thm6.9")(**{**given, "n": 10**17}).sound()
    assert endless["P"].value == pytest.approx(6.0**-3)
    assert endless["S4clip_opt"].value == pytest.approx(2.0 * 2.0 * 2.0 * 6.0**-3, rel=1e-3)


@pytest.mark.parametrize(
    ("id", "variant"), [("li.thm6.9", "P"), ("li.rem6.7", "P_at_M"), ("li.rem6.7", "P_at_printed_M")]
)
def test_of_a_probability_one_is_trivial(id, variant):
    assert find(id)(**example(id)).sound()[variant].trivial == 1.0


def test_weights_that_are_out_of_reach_or_larger_than_the_class_cost_nothing():
    given = {"r": (2.0, 3.0), "C": (1.0, 2.0), "BX": 3.0, "eps": 0.1}
    found = find("li.cor5.6")(**given, beta=(1.0, 0.0)).sound()
    assert found["value"].value == pytest.approx(2.0 * (math.log(2.0) + 2.0 * math.log(3.0 / (0.1 * 2.0 / 8.0))))
    assert find("li.cor5.6")(**{**given, "BX": 1e-3}, beta=(1.0, 1.0)).sound()["value"].value == 0.0


def test_the_range_of_the_penalty():
    for beta, state in ((0.5, "verified"), (0.52, "fails")):
        found = find("li.def3.1")(beta=beta, n=2, logN=0.7, bound=1.0).printed()["finite"]
        assert [one.state for one in found.hypotheses] == [state]


def test_printed_truncation_and_rate_next_to_their_poles():
    assert find("li.rem6.12")(n=2, beta=2.1).printed()["M"].value == pytest.approx(2.0**10)
    assert find("li.rem6.12")(n=2, beta=1.05).printed()["rate"].value == pytest.approx(2.0**19)
    assert find("li.rem6.12")(n=2, beta=2.0).printed()["M"].value == math.inf
