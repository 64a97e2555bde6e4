"""Good initializations, the targets they provide, and the bounds of Corollary 2, against constructed parameters."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from certiformer.theory.core import find
from theory.theorems.deora.attention import Problem, mixture


def evaluate(id, **inputs):
    return find(id).evaluate(inputs)


# --- a certified margin ---


@pytest.mark.independent("deora.def1")
@given(st.integers(0, 10**6))
def test_certified_margin_is_below_the_best_one(seed):
    """In the plane the best margin is found by turning a direction; any candidate certifies at most that."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(4, 2)) + rng.normal(size=2) * 2
    angles = np.linspace(0, 2 * math.pi, 20001)
    best = math.sqrt(2) * np.max(np.min(G @ np.stack([np.cos(angles), np.sin(angles)]), axis=0))
    w = G.mean(axis=0) * 3
    bound = evaluate(
        "deora.def1",
        achieved=float(np.min(G @ w)),
        norm=float(np.linalg.norm(w)),
        feature_norm=float(np.max(np.linalg.norm(G, axis=1))),
        N=2,
    ).sound["gamma"]
    assert bound.value <= best + 1e-6
    assert bound.applies == (np.min(G @ w) > 1e-12)


@pytest.mark.independent("deora.def1")
@given(st.integers(0, 10**6), st.integers(0, 6))
def test_rounding_allowance_covers_the_arithmetic(seed, decades):
    """The exact inner product in rationals, with rows and entries of very different size."""
    rng = np.random.default_rng(seed)
    N = 40
    g, w = rng.normal(size=N) * 10.0 ** rng.uniform(-decades, decades, N), rng.normal(size=N)
    w -= (g @ w) / (g @ g) * g  # nearly orthogonal: the sign of the computed product is noise
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(g.tolist(), w.tolist(), strict=True))
    norm = math.sqrt(sum(Fraction(b) ** 2 for b in w.tolist()))
    bound = evaluate(
        "deora.def1",
        achieved=float(g @ w),
        norm=float(np.linalg.norm(w)),
        feature_norm=float(np.linalg.norm(g)),
        N=N,
    ).sound["gamma"]
    assert bound.value <= math.sqrt(2) * float(exact) / norm
    assert not bound.applies


@pytest.mark.property_of("deora.def1")
def test_no_direction_certifies_inseparable_data():
    """A row and its negative: whatever a solver returns, the achieved margin is not positive."""
    rng = np.random.default_rng(0)
    for scale in (1e-5, 1.0, 1e5):
        G = rng.normal(size=(5, 8))
        G = np.vstack([G, -scale * G[:1]])
        for _ in range(50):
            w = np.abs(rng.normal(size=6)) @ G
            result = evaluate(
                "deora.def1",
                achieved=float(np.min(G @ w)),
                norm=float(np.linalg.norm(w)),
                feature_norm=float(np.max(np.linalg.norm(G, axis=1))),
                N=8,
            )
            assert result.best is None


def test_margin_formula_and_consistency():
    inputs = {"achieved": 0.5, "norm": 2.0, "feature_norm": 3.0, "N": 10**9}
    assert evaluate("deora.def1", **inputs).sound["gamma"].value == pytest.approx(
        math.sqrt(2) * (0.25 - (10**9 + 4) * 2.0**-52 * 3.0), rel=1e-11
    )
    assert evaluate("deora.def1", **inputs).printed["gamma"].value == pytest.approx(math.sqrt(2) / 4)
    assert evaluate("deora.def1", **{**inputs, "N": 4, "achieved": 5.99}).sound["gamma"].applies
    assert not evaluate("deora.def1", **{**inputs, "N": 4, "achieved": 6.01}).sound["gamma"].applies
    assert not evaluate("deora.def1", **{**inputs, "achieved": 0.0}).sound["gamma"].applies
    tiny = evaluate("deora.def1", achieved=2e-15, norm=1.0, feature_norm=1.0, N=1).sound["gamma"]
    assert tiny.applies
    assert tiny.value == pytest.approx(math.sqrt(2) * (2e-15 - 5 * 2.0**-52), rel=1e-6)


# --- realizability ---


def head_outputs(X, U, W):
    """<U, softmax(X W X^T) X> for one head."""
    problem = Problem(X, np.ones(len(X)))
    return problem.outputs(U[None], W[None])


def one_step_target(multiple, H, zeta, patterns, T):
    """The two kinds of heads (alpha = +1, -1) of theta_1 + multiple theta_*, with theta_* of section 5.2."""
    plus, minus, nu = patterns
    u, both = plus - minus, plus + minus
    W = np.outer(plus, plus) + np.outer(minus, minus) + sum(np.outer(pattern, both) for pattern in nu)
    U_bar, W_bar = np.tile(u, (T, 1)), W / np.linalg.norm(W)
    U_bar = U_bar / np.linalg.norm(U_bar)
    for sign in (1.0, -1.0):
        start = sign * np.tile(zeta / 4 * u, (T, 1))
        yield start + multiple / math.sqrt(H) * U_bar, multiple / math.sqrt(H) * sign * W_bar


@pytest.mark.independent("deora.ass2")
@pytest.mark.parametrize(("H", "eps"), [(10_000, 0.02), (100_000, 0.02), (100_000, 0.1), (10**7, 1e-3)])
def test_target_has_the_promised_loss_distance_and_norm(H, eps):
    """theta_1 + lambda theta_* on the noiseless mixture after one balanced step, built head by head."""
    T, zeta, M, S = 2, 0.5, 1, 1.0
    problem, patterns = mixture(np.random.default_rng(0), 8, T, zeta, M, S)
    margins = evaluate(
        "deora.prop2", T=T, zeta=zeta, M=M, S=S, Zmu=0, Znu=0, Z=0, P=0, n=8, delta=0.1, balanced=1
    ).sound
    assert margins["gamma_sum"].value == pytest.approx(0.53125)
    bounds = evaluate(
        "deora.ass2",
        eps=eps,
        gamma=margins["gamma_sum"].value,
        BPhi=margins["BPhi"].value,
        B2=margins["B2"].value,
        T=T,
        R=1,
        H=H,
        even=1,
    ).sound
    multiple = bounds["lambda"].value
    heads = list(one_step_target(multiple, H, zeta, patterns, T))
    outputs = sum(head_outputs(problem.X, U, W) for U, W in heads) * (H / 2) / math.sqrt(H)
    assert float(np.mean(np.logaddexp(0.0, -problem.y * outputs))) <= eps
    at_zero = list(one_step_target(0.0, H, zeta, patterns, T))
    moved = sum(np.sum((U - U0) ** 2) + np.sum((W - W0) ** 2) for (U, W), (U0, W0) in zip(heads, at_zero, strict=True))
    assert math.sqrt(moved * H / 2) <= bounds["g0"].value
    assert max(np.linalg.norm(U) for U, _ in heads) <= bounds["g"].value


def margin_left(multiple, gamma, BPhi, B2, ninf, T, R, H):
    beta3 = evaluate("deora.cor1", b=B2 + multiple * ninf, T=T, R=R, d=1, H=H).sound["beta3"].value
    return -BPhi + multiple * gamma - multiple**2 * beta3 / math.sqrt(H)


@pytest.mark.property_of("deora.ass2")
@given(
    st.floats(1e-4, 2.0),
    st.floats(0.05, 3),
    st.floats(0, 4),
    st.floats(0, 3),
    st.integers(1, 8),
    st.floats(0.2, 2),
    st.floats(0, 12),
    st.floats(0, 1.41),
)
def test_multiple_is_the_least_solution(eps, gamma, BPhi, B2, T, R, decades, ninf):
    H = int(10**decades)
    arguments = {"gamma": gamma, "BPhi": BPhi, "B2": B2, "ninf": ninf, "T": T, "R": R, "H": H}
    bounds = evaluate("deora.ass2", eps=eps, **arguments).sound
    wanted = -math.log(math.expm1(eps))
    multiple = bounds["lambda"].value
    if not bounds["g0"].applies:
        assert multiple == math.inf
        grid = np.geomspace(1e-4, 1e6, 200)
        assert max(margin_left(x, **arguments) for x in grid) < wanted + 1e-6 * (1 + abs(wanted))
        return
    assert margin_left(multiple, **arguments) >= wanted - 1e-9 * (1 + abs(wanted))
    assert bounds["g0"].value == pytest.approx(math.sqrt(2) * multiple)
    assert bounds["g"].value == pytest.approx(B2 + multiple * ninf)
    if multiple > 0:
        assert margin_left(multiple * (1 - 1e-6), **arguments) < wanted
    else:
        assert -BPhi >= wanted


@pytest.mark.property_of("deora.ass2", "deora.cor2")
def test_multiple_is_never_negative():
    """A target worse than the start needs no move: lambda = 0, not the negative solution."""
    bounds = evaluate("deora.ass2", eps=1.0, gamma=0.3, BPhi=0, B2=0, T=2, R=1, H=100).sound
    assert bounds["lambda"].value == 0.0
    assert bounds["g0"].value == 0.0
    corollary = evaluate("deora.cor2", K=1, eta=0.5, H=100, gamma=0.3, BPhi=0, B2=0, T=2, R=1, n=10)
    assert corollary.sound["lambda"].value == 0.0
    assert corollary.sound["train"].applies
    assert corollary.sound["train"].value == pytest.approx(math.log(2))


def test_spread_of_the_direction():
    """ninf as given, else sqrt(2/H) if even, else sqrt 2."""
    inputs = {"eps": 0.1, "gamma": 1, "BPhi": 0, "B2": 0.5, "T": 2, "R": 1, "H": 10**8}
    free, even = evaluate("deora.ass2", **inputs).sound, evaluate("deora.ass2", **inputs, even=1).sound
    given_ = evaluate("deora.ass2", **inputs, ninf=0.3, even=1).sound
    assert free["g"].value == pytest.approx(0.5 + free["lambda"].value * math.sqrt(2))
    assert even["g"].value == pytest.approx(0.5 + even["lambda"].value * math.sqrt(2e-8))
    assert given_["g"].value == pytest.approx(0.5 + given_["lambda"].value * 0.3)


@pytest.mark.property_of("deora.ass2")
def test_last_number_of_heads_with_a_target():
    """T = R = gamma = 1, B2 = ninf = 0: lambda - lambda^2/sqrt(H) peaks at sqrt(H)/4, so H = (4 wanted)^2."""
    wanted = -math.log(math.expm1(0.01))
    threshold = (4 * wanted) ** 2
    inputs = {"eps": 0.01, "gamma": 1, "BPhi": 0, "B2": 0, "T": 1, "R": 1, "ninf": 0}
    assert not evaluate("deora.ass2", **inputs, H=math.floor(threshold)).sound["g0"].applies
    enough = evaluate("deora.ass2", **inputs, H=math.ceil(threshold)).sound
    assert enough["g0"].applies
    root = math.sqrt(math.ceil(threshold))
    assert enough["lambda"].value == pytest.approx((root - math.sqrt(root**2 - 4 * wanted * root)) / 2, rel=1e-6)


def test_no_target_with_too_few_heads():
    bounds = evaluate("deora.ass2", eps=0.01, gamma=0.5, BPhi=1, B2=1, T=4, R=1, H=10)
    assert bounds.sound["g0"].value == math.inf
    assert bounds.sound["g"].value == math.inf
    assert not bounds.sound["g0"].applies
    corollary = evaluate("deora.cor2", K=100, eta=0.1, H=10, gamma=0.5, BPhi=1, B2=1, T=4, R=1, n=100)
    assert corollary.best is None
    for name in ("gap", "train", "stability", "lambda"):
        assert corollary.sound[name].value == math.inf
    assert corollary.sound["H_needed"].value > 10


@pytest.mark.counterexample("deora.ass2")
def test_printed_distance_is_too_short():
    """Zero start, no noise, many heads: linear in U, so Jensen bounds the loss within the printed distance."""
    T, zeta, M, S, K = 8, 0.5, 1, 1.0, 10**4
    problem, _ = mixture(np.random.default_rng(1), 2, T, zeta, M, S)
    H = 1
    gU, _ = problem.output_gradients(np.zeros((H, T, 3)), np.zeros((H, 3, 3)))
    mean_feature = np.linalg.norm(np.mean(problem.y[:, None, None, None] * gU, axis=0))
    gamma = (
        evaluate("deora.prop2", T=T, zeta=zeta, M=M, S=S, Zmu=0, Znu=0, Z=0, P=0, n=2, delta=0.1)
        .sound["gamma_zero"]
        .value
    )
    assert mean_feature == pytest.approx(gamma / math.sqrt(2))
    # BPhi = 1 as P2 asks; the outputs are 0
    g0 = evaluate("deora.ass2", eps=1 / K, gamma=gamma, BPhi=1, B2=1, T=T, R=1, H=10**12, even=1)
    assert g0.printed["g0"].value == pytest.approx(7.9269, rel=1e-4)
    best_loss = math.log1p(math.exp(-g0.printed["g0"].value * mean_feature))
    assert best_loss > 3.5 / K
    assert math.log1p(math.exp(-g0.sound["g0"].value * mean_feature)) <= 1 / K


def test_printed_sides_ask_for_ones():
    good = {"gamma": 1, "BPhi": 1, "B2": 1, "T": 2, "R": 1, "H": 100}
    assert evaluate("deora.ass2", eps=0.1, **good).printed["g0"].applies
    for name in ("BPhi", "B2"):
        assert not evaluate("deora.ass2", eps=0.1, **{**good, name: 0.9}).printed["g0"].applies
    limit = 4 / math.log(1 + math.e)  # above one: the limit is 1
    assert limit > 1
    assert evaluate("deora.cor2", **good, K=5, eta=1, n=5).printed["train"].applies
    assert not evaluate("deora.cor2", **good, K=5, eta=1.001, n=5).printed["train"].applies
    steep = {**good, "gamma": 3.0}
    limit = 4 / (9 * math.log(1 + math.e))
    assert evaluate("deora.cor2", **steep, K=5, eta=0.999 * limit, n=5).printed["train"].applies
    assert not evaluate("deora.cor2", **steep, K=5, eta=1.001 * limit, n=5).printed["train"].applies
    assert not evaluate("deora.cor2", **{**good, "B2": 0.9}, K=5, eta=1, n=5).printed["train"].applies
    printed = evaluate("deora.cor2", **{**good, "T": 4, "R": 2, "B2": 3}, K=5, eta=1, n=5, d=7).printed
    assert printed["H_needed"].value == pytest.approx((7 * 2 * 32 * 9 * (2 + math.log(5)) ** 3) ** 2)
    assert "H_needed" not in evaluate("deora.cor2", **good, K=5, eta=1, n=5).printed


# --- Corollary 2 ---


ZERO = {"K": 100, "eta": 1, "gamma": math.sqrt(0.5), "BPhi": 0, "B2": 0, "T": 2, "R": 1, "n": 1000, "even": 1}


@pytest.mark.independent("deora.cor2")
@pytest.mark.parametrize("H", [30_000, 10**6])
def test_training_from_zero_on_the_mixture(H):
    """All heads are equal from the zero start, so one head with the factor sqrt(H) is the whole run."""
    T, zeta, M, S, K, eta = 2, 0.5, 1, 1.0, 100, 1.0
    problem, _ = mixture(np.random.default_rng(2), 8, T, zeta, M, S)
    bounds = evaluate("deora.cor2", **ZERO, H=H).sound
    U, W, losses = np.zeros((1, T, 3)), np.zeros((1, 3, 3)), []
    for _ in range(K):
        z = problem.y * math.sqrt(H) * problem.outputs(U, W)
        gU, gW = problem.output_gradients(U, W)
        slope = -problem.y / (1 + np.exp(z)) / len(problem.y) / math.sqrt(H)
        U, W = U - eta * np.tensordot(slope, gU, 1), W - eta * np.tensordot(slope, gW, 1)
        losses.append(float(np.mean(np.logaddexp(0.0, -problem.y * math.sqrt(H) * problem.outputs(U, W)))))
    for name in ("train", "train_opt"):
        assert bounds[name].applies
        assert np.mean(losses) <= bounds[name].value
        assert losses[-1] <= bounds[name].value
    assert bounds["train_opt"].value <= bounds["train"].value
    assert bounds["train_opt"].value < 6 * np.mean(losses)


@pytest.mark.property_of("deora.cor2")
def test_heads_for_the_mixture_grow_slowly_with_the_horizon():
    """22804 heads at K = 100, and about log(K)^4 from there; the printed formula asks for far more."""
    needed = {
        K: evaluate("deora.cor2", **{**ZERO, "K": K}, H=10**6, d=3).sound["H_needed"].value for K in (10, 100, 1000)
    }
    assert needed[100] == pytest.approx(22804, abs=2)
    assert needed[10] == pytest.approx(2.18e3, rel=0.01)
    assert needed[1000] == pytest.approx(9.81e4, rel=0.01)


@pytest.mark.property_of("deora.cor2")
def test_corollary_is_the_composition_of_its_parts():
    inputs = {"K": 200, "eta": 0.05, "H": 10**9, "gamma": 0.8, "BPhi": 0.5, "B2": 0.7, "T": 3, "R": 1.2, "n": 500}
    corollary = evaluate("deora.cor2", **inputs, ninf=0.01, independent=1, almost_sure=1)
    target = evaluate("deora.ass2", eps=1 / 200, gamma=0.8, BPhi=0.5, B2=0.7, T=3, R=1.2, H=10**9, ninf=0.01).sound
    run = {
        "D": math.sqrt(2) * target["lambda"].value,
        "b": 0.7 + 0.01 * target["lambda"].value,
        "b0": 0.7,
        "Lt": 1 / 200,
        "L0": math.log(1 + math.exp(0.5)),
        "H": 10**9,
        "K": 200,
        "eta": 0.05,
        "T": 3,
        "R": 1.2,
        "d": 1,
    }
    second = evaluate("deora.thm2", **run, n=500, independent=1, almost_sure=1).sound
    assert corollary.sound["lambda"].value == target["lambda"].value
    assert corollary.sound["gap"].value == pytest.approx(second["gap"].value, rel=1e-9)
    assert corollary.sound["stability"].value == pytest.approx(second["stability"].value, rel=1e-9)
    assert corollary.sound["train"].value == pytest.approx(second["train"].value, rel=1e-9)
    assert corollary.sound["gap_opt"].value <= corollary.sound["gap"].value
    assert corollary.best == "gap_opt"
    assert evaluate("deora.cor2", **inputs, ninf=0.01).best is None
    lower = evaluate("deora.cor2", **inputs, ninf=0.01, L0=0.5).sound
    assert lower["train"].value < corollary.sound["train"].value


def test_fixed_points_agree_with_the_vectors_to_eight_digits():
    rows = json.loads((Path(__file__).parents[3] / "vectors" / "deora.json").read_text())
    for row in rows:
        if row["id"] in ("deora.thm1", "deora.thm2", "deora.cor2"):
            bounds = find(row["id"]).evaluate(row["inputs"]).sound
            for name, expected in row["sound"].items():
                assert bounds[name].value == pytest.approx(expected, rel=1e-8)


@pytest.mark.property_of("deora.cor2")
def test_choosing_the_target_beats_the_printed_choice():
    """The best target's loss lies between a hundredth of 1/K and the loss at the start; a finer grid gains little."""
    bounds = evaluate("deora.cor2", **{**ZERO, "eta": 0.5}, H=10**6).sound
    assert bounds["gap_opt"].value < 0.5 * bounds["gap"].value
    assert bounds["train_opt"].value < 0.5 * bounds["train"].value
    best = math.inf
    for loss in np.geomspace(0.003, 0.693, 60):
        target = evaluate("deora.ass2", eps=loss, gamma=ZERO["gamma"], BPhi=0, B2=0, T=2, R=1, H=10**6, even=1).sound
        multiple = target["lambda"].value
        run = {"D": math.sqrt(2) * multiple, "b": target["g"].value, "b0": 0, "Lt": loss, "L0": math.log(2)}
        found = find("deora.thm2").evaluate(
            {**run, "H": 10**6, "K": 100, "eta": 0.5, "T": 2, "R": 1, "d": 1, "n": 1000}
        )
        best = min(best, found.sound["gap"].value)
    assert bounds["gap_opt"].value == pytest.approx(best, rel=0.02)


# --- (12) ---


@pytest.mark.independent("deora.eq12")
@given(
    st.floats(0.3, 4),
    st.floats(0, 2),
    st.integers(1, 5),
    st.floats(0.3, 2),
    st.integers(1, 500),
    st.floats(0, 0.5),
    st.floats(0.1, 2),
)
def test_closed_form_heads_give_the_printed_conclusion(D, b, T, R, K, Lt, L0):
    """At the heads of the closed form the certificate exists and is at most 2 Lt + 5 D^2/(4 eta K)."""
    H = math.ceil(evaluate("deora.eq12", D=D, b=b, T=T, R=R).sound["H_needed"].value)
    beta2 = evaluate("deora.cor1", b=b + 4 * D + 1, T=T, R=R, d=1, H=H).sound["beta2"].value
    eta = min(1 / beta2, D**2 / (K * Lt) if Lt > 0 else 1.0, D**2 / L0) * 0.999
    assume(eta * math.sqrt(T) * R / math.sqrt(H) <= D + 1)
    run = find("deora.thm2").evaluate(
        {"D": D, "b": b, "b0": 0, "Lt": Lt, "L0": L0, "H": H, "K": K, "eta": eta, "T": T, "R": R, "d": 1, "n": 2}
    )
    assert run.sound["train"].value <= 2 * Lt + 5 * D**2 / (4 * eta * K)


@pytest.mark.property_of("deora.eq12")
@given(st.floats(0.5, 10), st.floats(0, 5), st.integers(1, 9), st.floats(0.5, 3))
def test_closed_form_heads_formula(D, b, T, R):
    result = evaluate("deora.eq12", D=D, b=b, T=T, R=R)
    beta3 = evaluate("deora.cor1", b=b + 3 * D, T=T, R=R, d=1, H=1).sound["beta3"].value
    assert result.sound["H_needed"].value == pytest.approx((18 * beta3 * D**2) ** 2)
    assert result.printed["H_needed"].value == pytest.approx(R**10 * D**6)


@pytest.mark.property_of("deora.eq12")
@given(st.floats(-5, 5), st.floats(0.01, 100), st.integers(3, 10**6), st.floats(0, 30))
def test_no_scaling_reaches_the_saturated_attention(p, C, n, ln_H):
    """H^{p-2} >= C and H^{p-3/4} <= C/log(n)^{5/2} exclude each other for log n > 1."""
    assert not ((p - 2) * ln_H >= math.log(C) and (p - 0.75) * ln_H <= math.log(C) - 2.5 * math.log(math.log(n)))
