"""What the evaluations say: scaling laws, orderings, which variants apply, what happens at the edges."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus import excess_risk, offset, robust, truncation
from certiformer.theory.core import InputError, Quantity, find, results
from theory.calculus.tiny_problems import erm, law, samples

LI = [result for id, result in results().items() if id.startswith("li.")]
HEAD = {"Bw": 1.0, "Bc": 1.2, "Bv": 0.9, "L_sigma": 1.0}
NETWORK = {"d": 4, "k": 3, **HEAD, "BQK": 0.7}
SETTING = {**NETWORK, "kappa": 2.0, "B": 1.0, "Bx": 1.0, "BX": 1.5, "sigma": 0.5, "n": 1000, "radius": 0.01}
RANKS = {"rw": 1, "rc": 2, "rv": 2, "rqk": 1}
UNBOUNDED = {name: value for name, value in SETTING.items() if name not in ("Bx", "BX")}


def evaluate(id, **inputs):
    return find(id).evaluate(inputs)


def sound(id, **inputs):
    return {name: bound.value for name, bound in evaluate(id, **inputs).sound.items()}


def printed(id, **inputs):
    return {name: bound.value for name, bound in evaluate(id, **inputs).printed.items()}


# --- Section 4 ---------------------------------------------------------------------------------------------------


@pytest.mark.independent("li.thm4.4", "li.thm4.7", "li.thm4.11")
def test_the_offset_theorem_on_an_enumerated_problem():
    """Variant A through the front door, with every complexity and risk enumerated."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        p = law(rng, 4)
        losses = rng.choice([0.0, 0.4, 1.0], size=(3, 4))
        n, a = 4, 0.7
        actual, empirical = erm(p, losses, losses @ p, n)
        counts, weights = samples(p, n)
        complexity = sum(
            weight * offset.exact(losses[:, np.repeat(np.arange(4), count)], a / (1 + a))
            for count, weight in zip(counts, weights, strict=True)
        )
        common = {"kappa": 1.0, "B": 1.0, "Roff": 0.1, "Roff_loss": complexity, "emp": empirical, "a": a, "M": 1.0}
        finite = {"n": n, "logN": math.log(3)}
        for id, extra in (
            ("li.thm4.4", {**HEAD, "BX": 1.0}),
            ("li.thm4.7", {**HEAD, "BX": 1.0, "H": 2}),
            ("li.thm4.11", {"Bw": 1.0}),
        ):
            values = sound(id, **extra, **common, **finite)
            assert actual <= min(values["A"], 1.0) + 1e-12
            assert values["A"] <= values["A_finite"] + 1e-12


@pytest.mark.property_of("li.thm4.4", "li.thm4.7", "li.thm4.11")
@given(roff=st.floats(0, 1), approx=st.floats(0, 1))
def test_the_printed_offset_theorem_is_below_its_sound_form(roff, approx):
    for id, extra in (
        ("li.thm4.4", {**HEAD, "BX": 1.5, "Bx": 1.0}),
        ("li.thm4.7", {**HEAD, "BX": 1.5, "Bx": 1.0, "H": 2}),
        ("li.thm4.11", {"Bw": 1.0, "rho": 2.0}),
    ):
        inputs = {**extra, "kappa": 2.0, "B": 1.0, "Roff": roff, "approx": approx}
        assert printed(id, **inputs)["value"] == pytest.approx(4 * roff + approx)
        assert sound(id, **inputs)["C"] == pytest.approx(4 * roff + 3 * approx)
        without = evaluate(id, **inputs)
        assert "A" not in without.sound
        assert "B" not in without.sound
        assert without.best is None
        assert evaluate(id, **{**inputs, "approx": 0.0}, noise_free=1).best is None  # is Bayes in reach?
        free = evaluate(id, **inputs, noise_free=1, well_specified=1)
        assert free.best == "C"


def test_scales_and_finite_forms_of_the_offset_theorems():
    common = {"kappa": 2.0, "B": 1.0, "Roff": 0.02, "n": 500, "logN": 3.0, "sigma": 0.5, "approx": 0.01}
    head = evaluate("li.thm4.4", **HEAD, BX=1.5, Bx=1.0, squared_loss=1, **common)
    b = (1 + 1.08) ** 2
    assert head.sound["M_SH"].value == pytest.approx(8.32)
    assert head.sound["B"].value == pytest.approx((4 * b + 24 * 0.25) * 3 / 500 + 6 * 0.01)
    assert head.best == "B"
    assert "A_finite" not in head.sound
    with_risk = sound("li.thm4.4", **HEAD, BX=1.5, emp=0.1, M=2.0, a=0.5, **common)
    assert with_risk["A_finite"] == pytest.approx(2 * 0.1 + 1.5**2 * 2 * 3 / (0.5 * 500))
    assert with_risk["M_SH"] == pytest.approx(10.48)  # without Bx the spectral norm stands in
    layers = sound("li.thm4.11", Bw=1.0, rho=2.0, **common)
    assert layers["M_ML"] == pytest.approx(2 * 2 * 3)
    assert layers["B"] == pytest.approx((4 * 9 + 24 * 0.25) * 3 / 500 + 0.06)
    small = sound("li.thm4.11", Bw=0.1, **{**common, "B": 0.1, "n": 5})
    assert small["B"] == pytest.approx(0.04)  # clipped at |f - f0|^2


@pytest.mark.property_of("li.cor4.5")
@given(
    M=st.floats(0.1, 50),
    share=st.floats(0.01, 1.0),
    log_size=st.floats(0, 500),
    n=st.integers(10, 10**7),
    radius=st.floats(1e-8, 1e-2),
)
def test_under_a_strong_bernstein_condition_the_printed_corollary_holds(M, share, log_size, n, radius):
    """V <= 5M/3 with M = M_SH/2: S1 is at most the printed value."""
    inputs = {"n": n, "logN": log_size, "kappa": 1.5, "M_SH": 2 * M, "V": share * 5 * M / 3, "M": M, "radius": radius}
    assert sound("li.cor4.5", **inputs)["S1"] <= printed("li.cor4.5", **inputs)["value"] * (1 + 1e-9)


def test_which_variants_of_the_corollary_apply():
    inputs = {"n": 1000, "logN": 20.0, "kappa": 2.0, "M_SH": 8.0, "V": 3.0, "M": 4.0, "radius": 0.001}
    plain = evaluate("li.cor4.5", **inputs)
    # Without a word on the Bayes predictor, S4 speaks of the best of the class only.
    assert plain.best is None
    assert plain.sound["S4"].bounds is Quantity.EXCESS_OVER_CLASS
    assert evaluate("li.cor4.5", **inputs, well_specified=1).best == "S4"
    assert set(plain.sound) == {"S1", "S4", "A", "inverse_lambda"}
    assert plain.sound["inverse_lambda"].value <= 2 * 3 + 2 * 4 / 3
    fast = evaluate("li.cor4.5", **inputs, bernstein=1, well_specified=1)
    assert fast.best == "S1"
    dishonest = evaluate("li.cor4.5", **inputs, bernstein=1, well_specified=1, honest_kappa=0)
    assert dishonest.best is None
    robustly = {**POWER, "moment": 4.0, "eta": 0.05, "fraction": 0.0, "clipped": 1}
    assert not evaluate("li.thm6.9", **robustly).sound["S9"].applies  # Bayes may be out of reach
    robustly["well_specified"] = 1
    assert evaluate("li.thm6.9", **robustly).sound["S9"].applies
    assert not evaluate("li.thm6.9", **robustly, honest_kappa=0).sound["S9"].applies
    assert not evaluate("li.thm6.9", **{**robustly, "clipped": 0}).sound["S9"].applies
    off = evaluate("li.cor4.5", **inputs, bernstein=1)
    assert not off.sound["S1"].applies
    near = evaluate("li.cor4.5", **inputs, bernstein=1, approx=0.01)
    assert near.sound["S1"].applies
    assert near.sound["S1"].value == pytest.approx(fast.sound["S1"].value + 0.01 * near.sound["A"].value)
    assert near.sound["S4"].value == pytest.approx(plain.sound["S4"].value + 0.01)
    assert near.printed["value"].value == pytest.approx(plain.printed["value"].value + 0.01)
    full = evaluate("li.cor4.5", **inputs, b_h=4.0, sigma=0.5, emp=0.3, eta=0.05, squared_loss=1, well_specified=1)
    assert full.best == "S2"
    assert full.sound["S3_kl"].value <= full.sound["S3_hp"].value
    assert full.sound["S3"].value <= full.sound["S3_hp"].value
    assert full.sound["S1_hp"].value >= full.sound["S1"].value
    assert "S1_hp" not in fast.sound
    assert "S3" not in fast.sound
    rough = sound("li.cor4.5", **{**inputs, "n": 1}, emp=0.3)
    assert rough["S4"] == 4.0
    assert rough["S3"] == 4.0


@pytest.mark.property_of("li.cor4.8", "li.cor4.13")
@given(c=st.floats(0.1, 10))
def test_squared_loss_bounds_scale_with_the_square_of_the_outputs(c):
    base = {"kappa": 2.0, "n": 5000, "logN": 20.0}
    scaled = {"B": 1.0, "sigma": 0.5, "radius": 0.01}
    moved = {name: value * c for name, value in scaled.items()}
    head = {"Bc": 1.2, "Bv": 0.9, "L_sigma": 1.0, "Bx": 1.0, "BX": 1.5, "H": 2}
    one = sound("li.cor4.8", **base, **scaled, **head, Bw=1.0)["S2"]
    assert sound("li.cor4.8", **base, **moved, **head, Bw=c)["S2"] == pytest.approx(c**2 * one, rel=1e-9)
    one = sound("li.cor4.13", **base, **scaled, Bw=1.0)["S2"]
    assert sound("li.cor4.13", **base, **moved, Bw=c)["S2"] == pytest.approx(c**2 * one, rel=1e-9)


def test_corollaries_with_the_network_s_own_bounds():
    common = {"kappa": 2.0, "B": 1.0, "sigma": 0.5, "n": 10_000, "logN": 20.0, "radius": 0.001}
    values = evaluate("li.cor4.13", **common, Bw=1.0, rho=1.5, V=3.0, bernstein=1, approx=0.02)
    cover = excess_risk.given_cover(20.0)
    slow = excess_risk.slow(cover, 0.001, 10_000, loss_range=2 * 2 * 1.5, kappa=2.0, approximation=0.02)
    first = excess_risk.bernstein(cover, 0.001, 10_000, V=3.0, M=2 * 2.5, kappa=2.0, approximation=0.02)
    assert values.sound["S4"].value == pytest.approx(slow.value)
    assert values.sound["S1"].value == pytest.approx(first.value)
    assert values.best == "S1"
    heads = sound("li.cor4.8", **common, **HEAD, Bx=1.0, BX=1.5, H=2, well_specified=1)
    expected = excess_risk.squared(cover, 0.001, 10_000, b_h=(2.16 + 1.0) ** 2, sigma=0.5).value
    assert heads["S2"] == pytest.approx(expected)
    # A Bayes predictor of the class obeys the bound of the class.
    inside = sound("li.cor4.13", **{**common, "B": 7.0}, Bw=1.0, well_specified=1)
    assert inside["S2"] == pytest.approx(excess_risk.squared(cover, 0.001, 10_000, b_h=4.0, sigma=0.5).value)


# --- Section 5 ---------------------------------------------------------------------------------------------------


@pytest.mark.property_of("li.thmB.4", "li.thmB.5", "li.thm5.8")
@pytest.mark.parametrize(("id", "extra"), [("li.thmB.4", {}), ("li.thmB.5", {"H": 2}), ("li.thm5.8", {"layers": 2})])
def test_rank_based_bounds_have_the_fast_rate_and_scale(id, extra):
    inputs = {**SETTING, **RANKS, **extra}
    values = [sound(id, **{**inputs, "n": n})["S2_opt"] for n in (10**8, 10**11)]
    slope = math.log(values[1] / values[0]) / math.log(10**3)
    assert -1.0 < slope < -0.94
    at = sound(id, **{**inputs, "n": 10**6, "radius": 1e-6})
    assert at["S2_opt"] <= at["S2"] * (1 + 1e-9) <= at["closed"] * (1 + 1e-6)
    # Outputs, noise and radius scaled together: squared errors scale with the square.
    moved = {**inputs, "n": 10**6, "radius": 3e-6, "Bw": 3.0, "B": 3.0, "sigma": 1.5}
    scaled = sound(id, **moved)
    for name in ("S2", "S2_opt"):
        assert scaled[name] == pytest.approx(9 * at[name], rel=1e-6)
    assert scaled["logN"] == pytest.approx(at["logN"], rel=1e-9)


@pytest.mark.property_of("li.thmB.1", "li.thmB.2", "li.thm5.3")
@pytest.mark.parametrize(("id", "extra"), [("li.thmB.1", {}), ("li.thmB.2", {"H": 2}), ("li.thm5.3", {"layers": 2})])
def test_norm_based_bounds_are_slow_without_a_condition(id, extra):
    inputs = {**SETTING, **extra, "d": 400, "k": 200}  # far more parameters than the norms need
    small, large = (sound(id, **{**inputs, "n": n}) for n in (10**11, 10**12))
    slope = math.log(large["S4chain"] / small["S4chain"]) / math.log(10)
    assert -0.51 < slope < -0.3
    assert large["S4chain"] <= large["S4chain_closed"] * (1 + 1e-9)
    moved = sound(id, **{**inputs, "n": 10**11, "kappa": 6.0})
    assert moved["S4chain"] == pytest.approx(3 * small["S4chain"], rel=1e-9)


def test_the_closed_form_of_theorem_b_4():
    values = sound("li.thmB.4", **{**SETTING, "n": 100_000}, **RANKS, approx=0.001)
    b = (1 + 1.08) ** 2
    parameters = {"u": 3, "v": 12, "QK": 8}  # W_v: min((4+3)*2, 12); W_QK: 2*4*1
    reach = {"u": 1.2 * 0.9, "v": 0.9 * 1.2, "QK": 0.7 * 1.2 * 0.9}
    total = sum(parameters.values())
    entropy = sum(p * math.log(1 + 4 * reach[j] * total * 100_000 / p) for j, p in parameters.items())
    oracle = 2 + b / (4 * 0.25)
    expected = (
        (b + 8 * 0.25) * entropy / 1e5 + 2 / 1e5 * (math.sqrt(b) + oracle * (math.sqrt(b) + 0.5)) + oracle * 0.001
    )
    assert values["closed"] == pytest.approx(expected, rel=1e-9)


def test_flags_decide_which_variant_is_best():
    for id, extra in (("li.thmB.4", RANKS), ("li.thmB.1", {}), ("li.thm5.8", {**RANKS, "layers": 1})):
        inputs = {**SETTING, "n": 10**7, **extra}
        assert evaluate(id, **inputs).best is None
        assert evaluate(id, **inputs, squared_loss=1).best is None
        assert evaluate(id, **inputs, well_specified=1).best in ("S4_opt", "S4chain")
        assert evaluate(id, **inputs, squared_loss=1, well_specified=1).best == "S2_opt"
        with_v = evaluate(id, **inputs, V=1.0, bernstein=1, well_specified=1)
        assert with_v.best == "S1_opt"
        assert with_v.sound["S1_opt"].value <= with_v.sound["S1"].value
        assert evaluate(id, **inputs, honest_kappa=0).best is None
        approximate = evaluate(id, **inputs, approx=0.01)
        for name in ("S4_opt", "S4chain"):
            plain = evaluate(id, **inputs).sound[name].value
            assert approximate.sound[name].value == pytest.approx(plain + 0.01, rel=1e-6)


def test_trivial_values_clip():
    poor = sound("li.thmB.4", **{**SETTING, "n": 1}, **RANKS, V=5.0)
    assert poor["S2"] == poor["S2_opt"] == poor["closed"] == pytest.approx(2.08**2)
    assert poor["S1"] == poor["S1_opt"] == pytest.approx(2 * 2.08)
    assert poor["S4_opt"] <= 2 * 2.08
    norm = sound("li.thmB.1", **{**SETTING, "n": 1})
    assert norm["S4chain_closed"] == pytest.approx(2 * 2.08)


# --- Section 6 ---------------------------------------------------------------------------------------------------

SUBG = {**UNBOUNDED, "T": 5, "nu": 1.0, "M": 6.0, "n": 100_000}
POWER = {**UNBOUNDED, **RANKS, "C": 2.0, "beta": 4.0, "M": 30.0, "n": 100_000}


@pytest.mark.property_of("li.thm6.4", "li.thm6.5", "li.thm6.9", "li.thm6.10")
@pytest.mark.parametrize(
    ("id", "inputs"),
    [
        ("li.thm6.4", {**SUBG, "a": 9.0, "v": 1.0}),
        ("li.thm6.5", {**SUBG, "a": 9.0, "v": 1.0, "H": 2}),
        ("li.thm6.9", POWER),
        ("li.thm6.10", {**POWER, "H": 2}),
    ],
)
def test_units_of_the_inputs_do_not_matter(id, inputs):
    """Inputs c times larger, W_v c times and W_QK c^2 times smaller: the same class, the same bounds."""
    c = 2.5
    moved = {**inputs, "M": c * inputs["M"], "Bv": inputs["Bv"] / c, "BQK": inputs["BQK"] / c**2, "V": 5.0}
    if "v" in inputs:
        moved["v"] = c**2
    else:
        moved["C"] = inputs["C"] * c ** inputs["beta"]
    before, after = sound(id, **inputs, V=5.0), sound(id, **moved)
    for name in ("logN", "P", "tau1", "tau2", "S7", "S8", "S8_opt", "S7clip_lip", "S7clip_sq", "S4_opt"):
        assert after[name] == pytest.approx(before[name], rel=1e-6)


@pytest.mark.property_of("li.thm6.6", "li.thm6.11")
def test_without_a_tail_the_normalised_network_is_that_of_the_bounded_theorem():
    bounded = sound("li.thm5.8", **{**SETTING, "Bx": 6.0, "n": 100_000}, **RANKS, layers=2, V=5.0)
    thin = {**SUBG, "a": 1e-30, "v": 1e-3, "rc": 2, "rv": 2, "rqk": 1, "layers": 2, "V": 5.0}
    heavy = {**POWER, "C": 1e-300, "M": 6.0, "layers": 2, "V": 5.0}
    for values in (sound("li.thm6.6", **thin), sound("li.thm6.11", **heavy)):
        assert values["logN"] == pytest.approx(bounded["logN"])
        assert values["S7clip_sq"] == pytest.approx(bounded["S2"])
        assert values["S7clip_sq_opt"] == pytest.approx(bounded["S2_opt"], rel=1e-6)
        assert values["S7clip_lip"] == pytest.approx(bounded["S1"])
        assert values["S4clip_opt"] == pytest.approx(bounded["S4_opt"], rel=1e-6)


@pytest.mark.property_of("li.thm6.11", "li.thm6.9")
@pytest.mark.parametrize("beta", [0.5, 1.5, 3.0])
def test_confined_outputs_keep_the_fast_rate_for_every_tail(beta):
    """M = n^{1/beta}: the bound decays like log n/n even where the inputs have no mean."""
    values = []
    for n in (10**8, 10**11):
        inputs = {**UNBOUNDED, **RANKS, "C": 1.0, "beta": beta, "M": n ** (1 / beta), "n": n}
        values.append(sound("li.thm6.11", **inputs, layers=1)["S7clip_sq_opt"])
        if beta <= 1:
            assert sound("li.thm6.9", **inputs)["S8"] == math.inf
    slope = math.log(values[1] / values[0]) / math.log(10**3)
    assert -1.0 < slope < -0.9


def test_truncated_variants_are_those_of_the_calculus():
    inputs = {**POWER, "V": 5.0, "eta": 0.05, "fraction": 0.01, "moment": 4.0, "alpha": 1.5, "approx": 0.001}
    values = sound("li.thm6.9", **inputs)
    tail, growth = truncation.Power(2.0, 4.0), 1.08
    tau_1, tau_2 = growth * truncation.first_moment(tail, 30.0), growth**2 * truncation.second_moment(tail, 30.0)
    assert (values["tau1"], values["tau2"]) == pytest.approx((tau_1, tau_2))
    cover = excess_risk.given_cover(values["logN"])
    outside = 2.0 * 30.0**-4
    assert values["P"] == pytest.approx(outside)
    seven = truncation.lipschitz_best(
        cover, 0.01, 100_000, V=5.0, M_g=2 * 2 * growth * 30, kappa=2.0, outside=outside, tau_1=tau_1
    )
    assert values["S7"] == pytest.approx(seven.value, rel=1e-9)
    eight = truncation.squared(cover, 0.01, 100_000, reach=2 * growth * 30, sigma=0.5, tau_1=tau_1, tau_2=tau_2)
    assert values["S8"] == pytest.approx(min(eight, (2 * growth * 30 + math.sqrt(tau_2)) ** 2))
    common = {"V": 5.0, "M": 2 * 2.0, "kappa": 2.0}
    clip = excess_risk.bernstein(cover, 0.01, 100_000, **common, approximation=0.001, widen=2 * outside)
    assert values["S7clip_lip"] == pytest.approx(clip.value)
    high = excess_risk.bernstein_hp(
        cover, 0.01, 100_000, **common, ln_inverse_eta=math.log(20), widen=2 * outside, widen_observed=0.02
    )
    assert values["S7clip_hp"] == pytest.approx(high.value)
    squared = excess_risk.squared(cover, 0.01, 100_000, b_h=4.0, sigma=0.5, approximation=0.001, widen=2 * outside)
    assert values["S7clip_sq"] == pytest.approx(min(4.0, squared.value))
    nine = robust.truncated_erm(100_000, values["logN"], 4.0, 0.05, alpha=1.5)
    nine += robust.truncated_erm_discretisation(2.0, robust.slope(1.5), 0.01, 2 * outside, 0.02) + 0.001
    assert values["S9"] == pytest.approx(nine)
    assert values["S9_scale"] == pytest.approx(robust.truncated_erm_scale(100_000, values["logN"], 4.0, 0.05, 1.5))
    layers = sound("li.thm6.11", **inputs, layers=2, rho=1.5)
    cover = excess_risk.given_cover(layers["logN"])
    clip = excess_risk.bernstein(
        cover, 0.01, 100_000, V=5.0, M=2 * 2.5, kappa=2.0, approximation=0.001, widen=3 * outside
    )
    assert layers["S7clip_lip"] == pytest.approx(min(clip.value, 5.0))
    nine = robust.truncated_erm(100_000, layers["logN"], 4.0, 0.05, alpha=1.5)
    nine += robust.truncated_erm_discretisation(2.0, robust.slope(1.5), 0.01, 3 * outside, 0.03) + 0.001
    assert layers["S9"] == pytest.approx(nine)


def test_truncated_evaluations_say_what_they_need():
    assert evaluate("li.thm6.4", **SUBG, well_specified=1).best is None  # nobody vouches for the tail
    given = {**SUBG, "a": 9.0, "v": 1.0}
    plain = evaluate("li.thm6.4", **given)
    assert "S7" not in plain.sound
    assert "S7clip_lip" not in plain.sound
    assert "S7clip_hp" not in plain.sound
    assert plain.best is None
    assert evaluate("li.thm6.4", **given, well_specified=1).best == "S4_opt"
    assert evaluate("li.thm6.4", **given, clipped=1, well_specified=1).best == "S4clip_opt"
    assert evaluate("li.thm6.4", **given, squared_loss=1, well_specified=1).sound["S8"].applies
    assert evaluate("li.thm6.4", **given, clipped=1, squared_loss=1, well_specified=1).best == "S7clip_sq_opt"
    given_v = evaluate("li.thm6.4", **given, V=5.0, bernstein=1, well_specified=1)
    assert given_v.sound["S7"].applies
    assert not given_v.sound["S7clip_lip"].applies
    assert not evaluate("li.thm6.4", **given, V=5.0, well_specified=1).sound["S7"].applies
    assert not evaluate("li.thm6.4", **given, V=5.0, bernstein=1).sound["S7"].applies
    assert not evaluate("li.thm6.4", **given, clipped=1, squared_loss=1).sound["S7clip_sq"].applies
    assert evaluate("li.thm6.4", **given, clipped=1, squared_loss=1, approx=0.1).sound["S7clip_sq"].applies
    assert not evaluate("li.thmB.4", **SETTING, **RANKS, squared_loss=1).sound["S2"].applies
    assert "S9" not in sound("li.thm6.9", **POWER, moment=4.0)
    assert evaluate("li.thm6.6", **SUBG, layers=2).best is None
    assert evaluate("li.thm6.6", **given, layers=2, well_specified=1).best == "S4clip_opt"
    hp = evaluate("li.thm6.6", **given, layers=2, V=5.0, bernstein=1, approx=0.1, eta=0.05, fraction=0.0)
    assert hp.sound["S7clip_lip"].applies
    assert not hp.sound["S7clip_hp"].applies


def test_ranks_define_the_class_once_given():
    norm, rank = sound("li.thm6.4", **SUBG), sound("li.thm6.4", **SUBG, rv=1, rqk=1)
    assert rank["logN"] < norm["logN"]
    assert sound("li.thm6.4", **SUBG, rv=3)["logN"] == pytest.approx(sound("li.thm6.4", **SUBG, rqk=4)["logN"])
    for name in ("rc", "rv", "rqk"):
        assert sound("li.thm6.6", **SUBG, layers=2, **{name: 1})["logN"] > 0
    full = sound("li.thm6.6", **SUBG, layers=2, rc=9)["logN"]
    assert full == pytest.approx(
        sound("li.thm5.8", **{**SETTING, "Bx": 6.0}, rw=1, rc=3, rv=3, rqk=4, layers=2)["logN"]
    )


def test_default_tails_are_those_of_the_lemma():
    default = sound("li.thm6.4", **SUBG)
    assert default["P"] == pytest.approx(9 * math.exp(-18.0))
    assert sound("li.thm6.4", **SUBG, a=9.0, v=1.0) == default
    assert sound("li.thm6.4", **SUBG, a=20.0)["P"] == pytest.approx(20 * math.exp(-18.0))
    assert sound("li.thm6.4", **{**SUBG, "nu": 2.0})["P"] == pytest.approx(9 * math.exp(-9.0))
    check = evaluate("li.thm6.4", **SUBG).sound["S8"].hypotheses[0]
    assert "9 exp(-t^2/2)" in check.requires
    assert check.state == "open"
    assert "2 t^-4" in evaluate("li.thm6.9", **POWER).sound["S8"].hypotheses[0].requires


def test_truncation_errors_as_printed():
    values = printed("li.thm6.4", **{**UNBOUNDED, "d": 5, "kappa": 1.0}, T=5, nu=1.0, M=3.0)
    assert values["T_err"] == pytest.approx(0.1110899654)
    values = printed("li.thm6.4", **{**UNBOUNDED, "d": 32, "kappa": 2.0}, T=16, nu=2.0, M=10.0)
    assert values["T_err"] == pytest.approx(0.000715517409)
    # The proof has (M^2 + 2 nu^2) where the theorem has nu.
    assert pytest.approx(0.03863794009) == (10.0**2 + 2 * 4) / 2.0 * 0.000715517409
    heavy = evaluate("li.thm6.9", **{**POWER, "beta": 1.5})
    assert heavy.printed["value"].value == math.inf
    assert not heavy.printed["value"].applies
    assert printed("li.thm6.9", **{**POWER, "beta": 3.0, "M": 10.0})["bias"] == pytest.approx(1.2)


@pytest.mark.property_of("li.lem6.1", "li.ass6.2")
@given(c=st.floats(0.1, 10), t=st.floats(0.1, 20))
def test_tails_do_not_depend_on_units(c, t):
    lemma = sound("li.lem6.1", v=5.0, d1=5, d2=7, t=t)
    moved = sound("li.lem6.1", v=5.0 * c**2, d1=5, d2=7, t=t * c)
    assert moved["tail"] == pytest.approx(lemma["tail"], rel=1e-9, abs=1e-300)
    assert moved["E"] == pytest.approx(c * lemma["E"])
    assert lemma["tail"] <= 1.0
    base = {"T": 5, "d": 7, "nu": 5.0, "spectral": 2.0, "t": t}
    scaled = {**base, "nu": 5.0 * c**2, "spectral": 2.0 * c**2, "t": t * c}
    assert sound("li.ass6.2", **scaled) == pytest.approx(sound("li.ass6.2", **base), rel=1e-9)
    assert sound("li.ass6.2", **base)["tokens"] == pytest.approx(min(1.0, 5 * 2**3.5 * math.exp(-(t**2) / 8)))
    assert sound("li.ass6.2", **base)["series"] == pytest.approx(min(1.0, 12 * math.exp(-(t**2) / 10)))
    not_claimed = evaluate("li.ass6.2", **base, series=0, gaussian=0)
    assert not_claimed.best is None


@pytest.mark.property_of("li.rem6.7")
@given(n=st.integers(2, 10**12), a=st.floats(1, 1e6), v=st.floats(0.01, 100))
def test_the_threshold_is_exact(n, a, v):
    values = sound("li.rem6.7", a=a, v=v, n=n)
    assert values["P_at_M"] == pytest.approx(1 / n, rel=1e-9)
    assert values["M"] == pytest.approx(math.sqrt(2 * v * math.log(a * n)))
    assert values["P_at_printed_M"] == pytest.approx(min(1.0, a * n ** (-1 / (2 * v))), rel=1e-9)
    log = math.log(n)
    rates = [values[name] * n for name in ("rate_clipped", "rate_lipschitz", "rate_squared")]
    assert rates == pytest.approx([log, log**1.5, log**2])
    assert printed("li.rem6.7", a=a, v=v, n=n)["rate"] == pytest.approx(math.sqrt(log) / n)


@pytest.mark.property_of("li.rem6.12")
@given(beta=st.floats(0.3, 9))
def test_heavier_tails_are_slower_but_not_when_outputs_are_confined(beta):
    small, large = (sound("li.rem6.12", n=n, beta=beta) for n in (10**4, 10**6))
    slope = math.log(large["rate_lipschitz"] / small["rate_lipschitz"]) / math.log(100)
    assert slope == pytest.approx(-max(0.0, beta - 1) / beta, abs=1e-9)
    slope = math.log(large["rate_squared"] / small["rate_squared"]) / math.log(100)
    assert slope == pytest.approx(-max(0.0, beta - 2) / beta, abs=1e-9)
    assert large["M"] == pytest.approx(10 ** (6 / beta))
    assert large["rate_clipped"] == pytest.approx(math.log(10**6) / 10**6)
    edge = evaluate("li.rem6.12", n=10**6, beta=beta).printed["M"]
    assert edge.applies == (beta > 2)


# --- edges -------------------------------------------------------------------------------------------------------


EDGES = ("radius", "BQK", "eps", "M", "beta", "t", "nu", "C", "v", "Roff", "logN")


@pytest.mark.parametrize("result", LI, ids=lambda r: r.id)
def test_no_exception_and_no_nan_at_the_edges(result):
    """Tiny and huge values, one input at a time; a long sample of a single point."""
    base = {entry.name: entry.example for entry in result.inputs if entry.required}
    by_name = {entry.name: entry for entry in result.inputs}
    slow = (
        "sigma" in base and "rv" not in base and "layers" in base
    )  # many Maurey covers: the ends of two inputs will do
    names = [name for name in (EDGES[:2] if slow else EDGES) if name in base and by_name[name].kind == "real"]
    changes = [{name: edge} for name in names for edge in (1e-30, 1e30)]
    if not slow:
        changes += [{name: max(1, int(by_name[name].low))} for name in ("n", "d", "k") if name in base]
    for change in changes:
        evaluation = result.evaluate({**base, **change})
        assert json.dumps(evaluation.as_json(), allow_nan=False)
        for name, bound in evaluation.sound.items():
            if bound.bounds is None and name != "value":
                assert bound.value >= 0.0, (name, change)


def test_definition_inputs():
    values = {"values": [0, 0, 1, 1], "n": 2, "beta": 0.5, "logN": math.log(2)}
    plain = evaluate("li.def3.1", **values)
    assert plain.sound["finite"].value == pytest.approx(math.log(2) / 2)
    assert plain.best == "value"
    assert "estimate" in plain.sound["value"].note
    assert "half_width" not in plain.sound
    drawn = sound("li.def3.1", **values, draws=100, eta=0.1)
    assert drawn["half_width"] == pytest.approx(math.sqrt(2 * math.log(20) / 200))
    assert sound("li.def3.1", **values, draws=100, eta=0.1, bound=3.0)["half_width"] == pytest.approx(
        3 * drawn["half_width"]
    )
    assert "half_width" not in sound("li.def3.1", n=5, beta=0.5, logN=1.0, draws=100)
    few = evaluate("li.def3.1", **{**values, "logN": 0.1})
    assert not few.sound["finite"].applies
    assert not few.printed["finite"].applies
    wide = evaluate("li.def3.1", n=5, beta=0.5, logN=1.0, bound=2.0)
    assert not wide.printed["finite"].applies
    assert wide.sound["finite"].applies
    assert evaluate("li.def3.1", n=5, beta=0.5, logN=1.0, bound=1.0).printed["finite"].applies
    long = evaluate("li.def3.1", n=19, beta=0.5, logN=0.0, values=[0.0] * 19)
    assert "value" not in long.sound
    assert "value" not in long.printed
    with pytest.raises(InputError, match="multiple of n"):
        evaluate("li.def3.1", n=3, beta=0.5, logN=1.0, values=[1.0, 2.0])


def test_printed_bounds_say_when_they_claim_nothing():
    big = evaluate("li.thmB.4", **{**SETTING, "radius": 50.0}, **RANKS)
    assert big.printed["N_rank"].value < 0
    assert big.printed["value"].value == math.inf
    assert not big.printed["value"].applies
    negative = evaluate("li.thmB.1", **{**SETTING, "n": 1, "B": 1000.0, "radius": 1000.0})
    assert not negative.printed["value"].applies
    assert not evaluate("li.lemB.6", r=1, d=2, k=2, B=1.0, Bx=1.0, eps=5.0).printed["value"].applies
    assert not evaluate("li.ass5.7", r=1, d=2, k=2, B=1.0, Bx=1.0, eps=5.0).printed["value"].applies
    assert not evaluate("li.lemB.3", B=1.0, eps=2.0, d=2, k=2, Bx=1.0).printed["value"].applies
    assert not evaluate("li.thm5.3", **SETTING, layers=1, rho=2.0).printed["value"].applies
    assert not evaluate("li.thm5.8", **SETTING, **RANKS, layers=1, rho=2.0).printed["value"].applies
    assert evaluate("li.thm5.8", **SETTING, **RANKS, layers=1).printed["value"].applies
    assert not evaluate("li.lem6.1", v=5.0, d1=5, d2=5, t=1.0).printed["tail"].applies
    assert not evaluate("li.ass6.2", T=5, d=5, nu=1.0, t=0.5).printed["value"].applies


def test_every_result_of_the_paper_is_here():
    expected = (
        "def3.1 thm4.4 cor4.5 thm4.7 cor4.8 thm4.11 cor4.13 lem5.2 thm5.3 rem5.4 cor5.6 ass5.7 thm5.8 rem5.9 lem6.1 "
        "ass6.2 thm6.4 thm6.5 thm6.6 rem6.7 thm6.9 thm6.10 thm6.11 rem6.12 thmB.1 thmB.2 lemB.3 thmB.4 thmB.5 lemB.6"
    )
    assert [result.id for result in LI] == [f"li.{tail}" for tail in expected.split()]


def test_defaults_and_ranges_of_the_inputs():
    half = {"n": 100, "beta": 0.5, "logN": 1.0, "bound": 1.0, "draws": 1000}
    assert sound("li.def3.1", **half) == sound("li.def3.1", **half, eta=0.05)
    common = {**HEAD, "BX": 1.0, "kappa": 1.0, "B": 1.0, "Roff": 0.1, "Roff_loss": 0.02, "emp": 0.1}
    assert sound("li.thm4.4", **common)["A"] == pytest.approx(sound("li.thm4.4", **common, a=1.0)["A"])
    robustly = {**POWER, "moment": 4.0, "eta": 0.05, "fraction": 0.0}
    assert sound("li.thm6.9", **robustly)["S9"] == sound("li.thm6.9", **robustly, alpha=2.0)["S9"]
    tilt = {**SUBG, "tilt": 1.0}
    assert sound("li.thm6.4", **tilt)["S8"] == sound("li.thm6.4", **SUBG)["S8"]  # 1/(4 sigma^2) at sigma = 1/2
    for id, inputs, wrong in (
        ("li.def3.1", half, {"eta": 1.0}),
        ("li.def3.1", half, {"logN": -0.1}),
        ("li.thm6.9", robustly, {"alpha": 1.0}),
        ("li.thm6.9", robustly, {"alpha": 2.1}),
        ("li.thm6.9", robustly, {"eta": 1.0}),
        ("li.thm6.9", robustly, {"fraction": 1.1}),
        ("li.thm6.9", robustly, {"tilt": 2.0}),  # not below 1/(2 sigma^2)
        ("li.rem6.7", {"a": 9.0, "v": 1.0}, {"n": 1}),
        ("li.rem6.12", {"beta": 3.0}, {"n": 1}),
        ("li.thmB.4", {**SETTING, **RANKS}, {"approx": -0.1}),
        ("li.cor4.5", {"n": 10, "logN": 1, "kappa": 1, "M_SH": 1, "V": 1, "M": 1, "radius": 0.1}, {"eta": 1.0}),
    ):
        with pytest.raises(InputError):
            evaluate(id, **{**inputs, **wrong})
    assert sound("li.thm6.9", **{**robustly, "fraction": 1.0})["S9"] > sound("li.thm6.9", **robustly)["S9"]
    assert sound("li.rem6.7", a=9.0, v=1.0, n=2)["M"] > 0
    assert sound("li.lem6.1", v=1.0, d1=2, d2=2, t=0.0)["tail"] == 1.0


def test_promises_of_monotonicity_are_made():
    """Every bound says how it answers to the sample size, the rank-based ones to the dimensions too."""
    for result in LI:
        names = {entry.name for entry in result.inputs if entry.required}
        if "n" in names and result.id not in ("li.rem6.12",):
            assert result.directions()["n"] == -1
        if "rv" in names:
            assert all(result.directions()[name] == 1 for name in ("d", "k", "rv", "rqk"))


def test_the_printed_allocation_knows_its_range():
    inputs = {"r": (1, 1), "C": (1, 1), "beta": (1, 1), "BX": 3.0}
    assert not evaluate("li.cor5.6", **inputs, eps=10.0).printed["value"].applies
    assert evaluate("li.cor5.6", **inputs, eps=0.1).printed["value"].applies


def test_rates_beyond_floats():
    assert evaluate("li.rem6.12", n=10**6, beta=1.007).printed["rate"].value == math.inf


@pytest.mark.parametrize("id", ["li.thm4.4", "li.thm4.7", "li.thm4.11"])
def test_a_class_that_misses_the_target_has_no_fast_rate(id):
    """f0 = 1, F = {0, 0.1}, noise sub-Gaussian: the excess is 0.81 for every n."""
    norms = {"Bc": 1, "Bv": 1, "L_sigma": 1, "BX": 0.1} if id != "li.thm4.11" else {"rho": 0.1}
    inputs = {"Bw": 1, "kappa": 2, "B": 1, "Roff": 0, "n": 10**6, "logN": 0.7, "sigma": 0.1, "squared_loss": 1, **norms}
    if id == "li.thm4.7":
        inputs["H"] = 1
    silent = evaluate(id, **inputs)
    assert silent.best != "B"
    assert silent.sound["B"].value < 0.81
    assert {h.id: h.state for h in silent.sound["B"].hypotheses}["reference"] == "open"
    assert evaluate(id, **inputs, approx=0.81).sound["B"].value >= 0.81
    assert evaluate(id, **inputs, well_specified=1).best == "B"


def test_robust_loss_says_that_bayes_must_be_in_reach():
    inputs = {**POWER, "moment": 1.01, "eta": 0.05, "fraction": 0.0, "clipped": 1}
    assert not evaluate("li.thm6.9", **inputs).sound["S9"].applies
    assert evaluate("li.thm6.9", **inputs, approx=1.0).sound["S9"].applies


def test_long_tokens_and_flat_tails_are_answered():
    assert sound("li.ass6.2", T=5, d=3000, nu=1.0, t=2.0, spectral=1.0)["tokens"] == 1.0
    assert sound("li.rem6.12", n=10_000, beta=1.0)["rate_clipped"] > 0


def test_a_tilt_out_of_range_is_called_by_its_name():
    with pytest.raises(InputError, match=r"^tilt: got 100\.0"):
        evaluate("li.thm6.4", **SUBG, tilt=100.0)
