"""The tokenized mixture: constants, first phase, margins and logits against samples and corners of the noise box."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from certiformer.theory.core import find
from theory.theorems.deora.attention import Problem, mixture, softmax


def evaluate(id, **inputs):
    return find(id).evaluate(inputs)


def value(id, name, **inputs):
    return evaluate(id, **inputs).sound[name].value


def targets(plus, minus, nu):
    """W_* and u_* of section 5.2."""
    both = plus + minus
    W = np.outer(plus, plus) + np.outer(minus, minus) + sum(np.outer(pattern, both) for pattern in nu)
    return W, plus - minus


# --- constants ---


@pytest.mark.independent("deora.dm1")
@given(st.integers(1, 4), st.floats(0.3, 3), st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6))
def test_token_radius_covers_every_token(M, S, share, size, seed):
    """Random noise; Z and Znu are read off it, R must cover nu_j + z."""
    rng = np.random.default_rng(seed)
    d = M + 3
    basis = np.linalg.qr(rng.normal(size=(d, d)))[0]
    z = size * rng.normal(size=d) * (share + 0.1)
    if seed % 3 == 0:
        z = size * basis[0]  # aligned with a pattern: the bound is attained
    patterns = S * basis[: M + 2]
    Z, Zmu = float(np.linalg.norm(z)), float(np.max(np.abs(patterns[M:] @ z)))
    Znu = float(M * np.max(np.abs(patterns[:M] @ z)))
    bounds = evaluate("deora.dm1", T=4, zeta=0.5, M=M, S=S, Zmu=Zmu, Znu=Znu, Z=Z)
    norms = np.linalg.norm(patterns[:M] + z, axis=1)
    assert max(norms.max(), S) <= bounds.sound["R"].value + 1e-12
    assert bounds.sound["R"].value <= bounds.printed["R"].value * (1 + 1e-9)
    if seed % 3 == 0:
        assert norms.max() == pytest.approx(bounds.sound["R"].value)


@pytest.mark.property_of("deora.dm1")
def test_target_norms_and_checks():
    rng = np.random.default_rng(0)
    _, (plus, minus, nu) = mixture(rng, 2, 8, 0.25, 3, 1.3)
    W, u = targets(plus, minus, nu)
    inputs = {"T": 8, "zeta": 0.25, "M": 3, "S": 1.3, "Zmu": 0, "Znu": 0, "Z": 0}
    bounds = evaluate("deora.dm1", **inputs).sound
    assert bounds["W_norm"].value == pytest.approx(np.linalg.norm(W))
    assert bounds["U_norm"].value == pytest.approx(np.linalg.norm(np.tile(u, (8, 1))))
    assert bounds["R"].value == pytest.approx(1.3)
    assert bounds["R"].applies
    assert evaluate("deora.dm1", **inputs, d=5).sound["R"].applies
    assert not evaluate("deora.dm1", **inputs, d=4).sound["R"].applies
    for T, zeta, fine in (
        (8, 0.3, False),
        (2, 0.999, False),
        (8, 0.125, True),
        (8, 0.875, True),
        (1, 0.5, False),
        (9, 1 / 9, True),
    ):
        assert evaluate("deora.dm1", **{**inputs, "T": T, "zeta": zeta}).sound["R"].applies is fine, (T, zeta)
    assert not evaluate("deora.dm1", **{**inputs, "S": 0.9}).printed["R"].applies
    assert evaluate("deora.dm1", **{**inputs, "S": 1.0}).printed["R"].applies
    # S + Z wins where the noise is long but its bound along the patterns is generous
    assert value("deora.dm1", "R", **{**inputs, "Z": 0.1, "Znu": 9.0}) == pytest.approx(1.4)


# --- the first phase ---


def first_phase(rng, n1, T, zeta, M, S, Zmu, Znu):
    problem, patterns = mixture(rng, n1, T, zeta, M, S, Zmu, Znu)
    y = rng.choice([-1.0, 1.0], n1)  # labels drawn, not balanced
    flip = y != problem.y
    plus, minus, _ = patterns
    X = problem.X.copy()
    for i in np.flatnonzero(flip):
        old, new = (plus, minus) if problem.y[i] > 0 else (minus, plus)
        X[i][np.all(X[i] == old, axis=1)] = new
    sample = Problem(X, y)
    H = 3
    zero = (np.zeros((H, T, X.shape[2])), np.zeros((H, X.shape[2], X.shape[2])))
    gU, gW = sample.gradient(*zero)
    return -math.sqrt(H) * gU, -math.sqrt(H) * gW, plus - minus


@pytest.mark.independent("deora.lem2")
@pytest.mark.counterexample("deora.lem2")
def test_first_step_points_along_zeta_quarter():
    """One gradient step: the coefficient of u_* is zeta/4, and with zeta/2 the remainder does not vanish."""
    rng = np.random.default_rng(2)
    T, zeta, M, S, Zmu, Znu = 8, 0.25, 2, 1.3, 0.04, 0.04
    U, W, u = first_phase(rng, 4000, T, zeta, M, S, Zmu, Znu)
    assert np.max(np.abs(W)) == 0.0
    row = U[0, 0]
    assert np.max(np.abs(U - row)) < 1e-15
    inputs = {"n1": 4000, "delta": 0.05, "S": S, "Z": 0.07, "Znu": Znu, "M": M, "zeta": zeta, "d": M + 2}
    result = evaluate("deora.lem2", **inputs)
    assert float(row @ u / (u @ u)) == pytest.approx(result.sound["coefficient"].value, rel=0.02)
    assert np.linalg.norm(row - result.sound["coefficient"].value * u) <= result.sound["P"].value
    wrong = np.linalg.norm(row - result.printed["coefficient"].value * u)
    assert wrong == pytest.approx(zeta * S / (2 * math.sqrt(2)), rel=0.1)
    assert wrong > 3 * result.sound["P"].value


@pytest.mark.independent("deora.lem2")
def test_first_phase_coverage():
    """||p|| <= P at delta = 0.2 over repeated first phases."""
    rng = np.random.default_rng(3)
    failures = 0
    P = value("deora.lem2", "P", n1=10, delta=0.2, S=1.0, Z=0.1 * math.sqrt(2) + 0.1, Znu=0.1, M=2, zeta=0.5, d=4)
    for _ in range(200):
        U, _, u = first_phase(rng, 10, 4, 0.5, 2, 1.0, 0.1, 0.1)
        failures += bool(np.linalg.norm(U[0, 0] - 0.125 * u) > P)
    assert failures <= 40


@pytest.mark.property_of("deora.lem2")
@given(st.integers(1, 10**6), st.floats(0.001, 0.9), st.floats(0.1, 3), st.integers(1, 500))
def test_first_phase_scales(n1, delta, S, d):
    inputs = {"n1": n1, "delta": delta, "S": S, "Z": 0, "Znu": 0, "M": 1, "zeta": 0.5, "d": d}
    P = value("deora.lem2", "P", **inputs)
    assert pytest.approx(S / (2 * math.sqrt(n1)) * (1 + math.sqrt(2 * math.log(1 / delta)))) == P
    assert value("deora.lem2", "P", **{**inputs, "n1": 4 * n1}) == pytest.approx(P / 2)
    assert evaluate("deora.lem2", **inputs).printed["P"].value >= P


# --- margins after the first phase ---


def margins(problem, patterns, zeta, p, H, signs):
    """y <grad, theta_*> of every sample at the first-phase iterate, parts of U and of W."""
    plus, minus, nu = patterns
    W_star, u_star = targets(plus, minus, nu)
    T, d = problem.X.shape[1:]
    U = signs[:, None, None] * np.tile(zeta / 4 * u_star + p, (T, 1))
    gU, gW = problem.output_gradients(U, np.zeros((H, d, d)))
    U_bar = np.tile(u_star, (T, 1)) / np.linalg.norm(np.tile(u_star, (T, 1)))
    W_bar = signs[:, None, None] * (W_star / np.linalg.norm(W_star))
    part_U = problem.y * np.einsum("nhtd,td->n", gU, U_bar) / math.sqrt(H)
    part_W = problem.y * np.einsum("nhij,hij->n", gW, W_bar) / math.sqrt(H)
    return part_U, part_W


@pytest.mark.independent("deora.prop2", "deora.sec5.3")
def test_margins_hold_on_the_corners_of_the_noise():
    """Every sample of the mixture has at least the claimed margin, for any signs and number of heads."""
    rng = np.random.default_rng(4)
    closest = math.inf
    for T, zeta, M, S, Zmu, Znu, P in (
        (4, 0.5, 1, 1.0, 0.05, 0.05, 0.0),
        (4, 0.25, 2, 1.3, 0.1, 0.04, 0.01),
        (8, 0.5, 2, 0.8, 0.2, 0.1, 0.02),
        (10, 0.4, 3, 2.0, 0.1, 0.2, 0.0),
        (5, 0.6, 1, 1.0, 0.0, 0.0, 0.0),
    ):
        problem, patterns = mixture(rng, 400, T, zeta, M, S, Zmu, Znu, corners=True)
        Z = math.hypot(math.sqrt(2) * Zmu, Znu / math.sqrt(M)) / S
        p = rng.normal(size=M + 2)
        p *= P / np.linalg.norm(p)
        inputs = {"T": T, "zeta": zeta, "M": M, "S": S, "Zmu": Zmu, "Znu": Znu, "Z": Z, "P": P, "n": 100, "delta": 0.05}
        bounds = evaluate("deora.prop2", **inputs).sound
        for H in (1, 5):
            part_U, part_W = margins(problem, patterns, zeta, p, H, rng.choice([-1.0, 1.0], H))
            assert part_U.min() >= bounds["gamma_U"].value - 1e-12
            assert part_W.min() >= bounds["gamma_W"].value - 1e-12
            assert (part_U + part_W).min() >= bounds["gamma_sum"].value
            weights = np.array([max(bounds["gamma_U"].value, 0), max(bounds["gamma_W"].value, 0)])
            weights *= math.sqrt(2) / np.linalg.norm(weights)
            assert (weights[0] * part_U + weights[1] * part_W).min() >= bounds["gamma_opt"].value
            assert (math.sqrt(2) * part_U).min() >= bounds["gamma_zero"].value
        closest = min(closest, part_W.min() / bounds["gamma_W"].value if bounds["gamma_W"].value > 0 else math.inf)
        if P == 0:
            ordering = evaluate("deora.sec5.3", T=T, zeta=zeta, M=M, S=S, Zmu=Zmu, Znu=Znu).sound
            assert ordering["gamma_star"].value == pytest.approx(bounds["gamma_opt"].value)
            assert ordering["gamma_lin"].value == pytest.approx(bounds["gamma_zero"].value)
        if Zmu == 0:
            assert part_W.max() == pytest.approx(bounds["gamma_W"].value, rel=1e-9)
            assert part_U.max() == pytest.approx(bounds["gamma_U"].value, rel=1e-9)
    assert closest < 1.2


@pytest.mark.independent("deora.prop2")
def test_attention_margin_against_exhaustive_corners():
    """T = 4, M = 1: all corners of the noise of both irrelevant tokens; the bound is close to the worst one."""
    zeta, S = 0.5, 1.0
    basis = np.eye(3)
    for noise, tight in ((0.02, 0.97), (0.1, 0.85), (0.2, 0.7)):
        X = []
        for first, second in itertools.product(itertools.product((-noise, noise), repeat=3), repeat=2):
            X.append([basis[0], basis[0], basis[2] + np.array(first), basis[2] + np.array(second)])
        problem = Problem(np.array(X), np.ones(len(X)))
        _, part_W = margins(problem, (basis[0], basis[1], basis[2:]), zeta, np.zeros(3), 1, np.ones(1))
        bound = value(
            "deora.prop2", "gamma_W", T=4, zeta=zeta, M=1, S=S, Zmu=noise, Znu=noise, Z=1, P=0, n=10, delta=0.1
        )
        assert tight * part_W.min() < bound <= part_W.min()


@pytest.mark.independent("deora.prop2")
def test_norm_and_output_at_the_first_phase_iterate():
    """B2 surely, BPhi with probability 1 - delta over the signs, 0 when they are balanced."""
    rng = np.random.default_rng(6)
    T, zeta, M, S, P, H = 4, 0.5, 2, 1.0, 0.1, 8
    problem, (plus, minus, _) = mixture(rng, 60, T, zeta, M, S)
    inputs = {"T": T, "zeta": zeta, "M": M, "S": S, "Zmu": 0, "Znu": 0, "Z": 0, "P": P, "n": 60, "delta": 0.3}
    bounds = evaluate("deora.prop2", **inputs).sound
    u = plus - minus
    p = P * u / np.linalg.norm(u)
    failures = 0
    for _ in range(300):
        signs = rng.choice([-1.0, 1.0], H)
        U = signs[:, None, None] * np.tile(zeta / 4 * u + p, (T, 1))
        assert np.max(np.linalg.norm(U.reshape(H, -1), axis=1)) <= bounds["B2"].value
        failures += bool(np.max(np.abs(problem.outputs(U, np.zeros((H, M + 2, M + 2))))) > bounds["BPhi"].value)
    assert failures <= 90
    assert np.linalg.norm(U[0]) == pytest.approx(bounds["B2"].value)
    assert value("deora.prop2", "BPhi", **inputs, balanced=1) == 0.0
    balanced = np.array([1.0, -1.0] * 4)[:, None, None] * np.tile(zeta / 4 * u + p, (T, 1))
    assert np.max(np.abs(problem.outputs(balanced, np.zeros((H, M + 2, M + 2))))) < 1e-12


@pytest.mark.property_of("deora.prop2")
@given(
    st.integers(2, 10),
    st.floats(0.05, 0.95),
    st.integers(1, 5),
    st.floats(0.5, 3),
    st.floats(0, 0.05),
    st.floats(0, 0.05),
    st.floats(0, 0.02),
)
def test_sound_margin_is_at_least_the_printed_one(T, zeta, M, S, Zmu, Znu, P):
    inputs = {"T": T, "zeta": zeta, "M": M, "S": S, "Zmu": Zmu * S**2, "Znu": Znu * S**2, "Z": 0.05, "P": P}
    result = evaluate("deora.prop2", **inputs, n=100, delta=0.1)
    assert result.sound["gamma_sum"].value >= result.printed["gamma"].value * (1 - 1e-9) - 1e-12
    if result.sound["gamma_W"].value >= 0 and result.sound["gamma_U"].value >= 0:
        assert result.sound["gamma_opt"].value >= result.sound["gamma_sum"].value * (1 - 1e-9)
        assert result.sound["gamma_opt"].value >= result.sound["gamma_zero"].value * (1 - 1e-9)
    assert result.printed["margin"].value == result.printed["gamma"].value / 2
    noiseless = evaluate("deora.prop2", **{**inputs, "Zmu": 0, "Znu": 0, "P": 0}, n=100, delta=0.1).sound
    assert noiseless["gamma_W"].value == pytest.approx(T * zeta**2 * (1 - zeta) * S**4 / (4 * math.sqrt(2 * (M + 1))))


def test_margin_is_withheld_when_the_noise_is_too_large():
    inputs = {"T": 4, "zeta": 0.5, "M": 1, "S": 1, "Znu": 0, "Z": 1, "P": 0, "n": 10, "delta": 0.1}
    loud = evaluate("deora.prop2", **inputs, Zmu=0.51)
    assert loud.sound["gamma_sum"].value == -math.inf
    assert not loud.sound["gamma_sum"].applies
    assert loud.sound["gamma_W"].value == -math.inf
    assert not evaluate("deora.prop2", **inputs, Zmu=0.6).sound["gamma_opt"].applies
    assert not evaluate("deora.prop2", **inputs, Zmu=0.6).sound["gamma_zero"].applies
    # the guard C >= 0: (1 - zeta)(S^2 - Zmu - Znu) turns negative
    assert value("deora.prop2", "gamma_W", **{**inputs, "Znu": 0.96}, Zmu=0.05) == -math.inf
    assert value("deora.prop2", "gamma_W", **{**inputs, "Znu": 0.94}, Zmu=0.05) > -math.inf
    # the guard S^2 >= 2 Zmu, and A (S^2 - Zmu) >= C Zmu at the corners: 2.55 * 2.1 < 3.45 * 1.9
    assert value("deora.prop2", "gamma_W", **inputs, Zmu=0.49) > -math.inf
    assert value("deora.prop2", "gamma_W", **{**inputs, "S": 2, "Znu": 1.0}, Zmu=1.9) == -math.inf
    assert value("deora.prop2", "gamma_W", **{**inputs, "S": 2, "Znu": 0.0}, Zmu=1.9) > -math.inf
    assert evaluate("deora.prop2", **inputs, Zmu=0.05).sound["gamma_sum"].applies
    gone = evaluate("deora.prop2", **{**inputs, "P": 5.0}, Zmu=0.05)
    assert not gone.sound["gamma_sum"].applies
    assert not gone.printed["gamma"].applies
    assert gone.printed["H_needed"].value == math.inf


def test_printed_heads_for_the_margin():
    """(R^4 T (S + P) sqrt(2 log(n/delta))/gamma_*)^2 with constant one."""
    row = {"T": 4, "zeta": 0.5, "M": 1, "S": 2, "Zmu": 0, "Znu": 0, "Z": 0, "P": 0, "n": 100, "delta": 0.05}
    result = evaluate("deora.prop2", **row).printed
    assert result["H_needed"].value == pytest.approx(
        (16 * 4 * 2 * math.sqrt(2 * math.log(2000)) / result["gamma"].value) ** 2
    )


@pytest.mark.counterexample("deora.sec5.3")
def test_margins_are_not_ordered_as_printed():
    """gamma_attn < gamma_* for a strong signal; gamma_* < gamma_lin with noise."""
    strong = evaluate("deora.sec5.3", T=8, zeta=0.5, M=1, S=4, Zmu=0, Znu=0)
    assert strong.printed["gamma_attn"].value == pytest.approx(8)
    assert strong.printed["gamma_star"].value == pytest.approx(36)
    assert not strong.printed["gamma_star"].applies
    noisy = evaluate("deora.sec5.3", T=4, zeta=0.5, M=1, S=1, Zmu=0.1, Znu=0.1)
    assert noisy.printed["gamma_star"].value < noisy.printed["gamma_lin"].value
    assert not noisy.printed["gamma_star"].applies
    assert evaluate("deora.sec5.3", T=4, zeta=0.5, M=1, S=1, Zmu=0, Znu=0).printed["gamma_star"].applies
    # at equal norm sqrt 2 the paper's own gamma_* is below the linear margin even without noise
    quiet = evaluate("deora.sec5.3", T=4, zeta=0.5, M=1, S=1, Zmu=0, Znu=0)
    assert quiet.printed["gamma_star"].value < quiet.sound["gamma_lin"].value <= quiet.sound["gamma_star"].value


@pytest.mark.property_of("deora.sec5.3")
@given(st.integers(2, 20), st.floats(0.05, 0.95), st.integers(1, 9), st.floats(0.3, 4))
def test_crossing_decides_the_printed_order(T, zeta, M, S):
    result = evaluate("deora.sec5.3", T=T, zeta=zeta, M=M, S=S, Zmu=0, Znu=0)
    crossing = result.sound["crossing"].value
    assume(abs(crossing - 1) > 1e-6)
    assert (result.printed["gamma_attn"].value >= result.printed["gamma_star"].value) == (crossing < 1)
    assert result.sound["gamma_star"].value >= result.sound["gamma_lin"].value


# --- logits and saturated attention ---


def noise_corners(Zmu, Znu, M):
    """Noise of one token at every corner of its box (coordinates along mu_+, mu_-, nu_l)."""
    return itertools.product((-Zmu, Zmu), (-Zmu, Zmu), *[(-Znu / M, Znu / M)] * M)


def logits(S, query, key):
    """x_t^T W_* x_t' in coordinates along mu_+, mu_-, nu_l, each coordinate an inner product with the pattern."""
    q = np.sum(query[2:])
    return query[0] * key[0] + query[1] * key[1] + q * (key[0] + key[1])


def tokens(S, Zmu, Znu, M):
    relevant = np.array([S**2, 0.0, *[0.0] * M])
    pattern = np.array([0.0, 0.0, S**2, *[0.0] * (M - 1)])
    return relevant, [pattern + np.array(corner) for corner in noise_corners(Zmu, Znu, M)]


@pytest.mark.independent("deora.eq8", "deora.prop3")
@given(st.floats(0.5, 2), st.floats(0, 0.7), st.floats(0, 1.2), st.sampled_from([1, 2]))
def test_logits_over_all_corners(S, mu, nu, M):
    """Least relevant logit, largest irrelevant one, least gap: enumerated; gap and relevant logit are attained."""
    Zmu, Znu = mu * S**2, nu * S**2
    relevant, irrelevant = tokens(S, Zmu, Znu, M)
    queries = [relevant, *irrelevant]
    gaps = [logits(S, q, relevant) - logits(S, q, k) for q in queries for k in irrelevant]
    bounds = evaluate("deora.eq8", S=S, Zmu=Zmu, Znu=Znu).sound
    assert min(logits(S, q, relevant) for q in queries) == pytest.approx(bounds["relevant"].value, abs=1e-9)
    assert max(abs(logits(S, q, k)) for q in queries for k in irrelevant) <= bounds["irrelevant"].value + 1e-9
    assert min(gaps) == pytest.approx(bounds["gap"].value, abs=1e-9)
    assert bounds["gap"].applies == (bounds["gap"].value > 0)
    if bounds["gap"].applies:
        assert 2 * Zmu <= S**2
        closed = min(S**2 * (S**2 - Zmu), (S**2 - Znu) * (S**2 - 2 * Zmu) - Zmu * S**2)
        assert bounds["gap"].value == pytest.approx(closed)


@pytest.mark.counterexample("deora.eq8")
def test_irrelevant_logits_are_not_of_order_s_squared():
    """At the noise level of Proposition 3, Zmu = S^2/8, a corner has logit above S^4/4."""
    ratios = []
    for S in (1.0, 10.0, 100.0):
        relevant, irrelevant = tokens(S, S**2 / 8, 0.0, 1)
        worst = max(logits(S, q, k) for q in [relevant, *irrelevant] for k in irrelevant)
        assert worst >= S**4 / 4
        ratios.append(worst / evaluate("deora.eq8", S=S, Zmu=S**2 / 8, Znu=0).printed["irrelevant"].value)
    assert ratios[1] == pytest.approx(100 * ratios[0])
    assert ratios[2] == pytest.approx(10000 * ratios[0])


@pytest.mark.property_of("deora.eq8")
def test_logits_without_noise():
    bounds = evaluate("deora.eq8", S=1.5, Zmu=0, Znu=0)
    assert bounds.sound["relevant"].value == pytest.approx(1.5**4)
    assert bounds.printed["relevant"].value == 1.5**4
    assert bounds.sound["irrelevant"].value == 0.0
    assert bounds.sound["gap"].value == pytest.approx(1.5**4)
    assert value("deora.eq8", "irrelevant", S=1.5, Zmu=0.1, Znu=0.2) == pytest.approx(2 * (2.25 + 0.3) * 0.1)


def worst_case(T, zeta, M, S, Zmu, Znu, Gamma):
    """Largest irrelevant mass and least margin of (U_opt, Gamma W_opt) over queries and corners."""
    relevant, irrelevant = tokens(S, Zmu, Znu, M)
    scale = Gamma / (S**2 * math.sqrt(2 * (M + 1)))
    count = round(zeta * T)
    mass = 0.0
    for query in [relevant, *irrelevant]:
        for key in irrelevant:
            scores = np.array([logits(S, query, relevant)] * count + [logits(S, query, key)] * (T - count))
            mass = max(mass, float(np.sum(softmax(scale * scores)[count:])))
    # every row at the worst mass, every irrelevant token with y u_*.x = -2 Zmu
    return mass, math.sqrt(T) / (math.sqrt(2) * S) * (S**2 * (1 - mass) - 2 * Zmu * mass)


@pytest.mark.independent("deora.prop3")
@pytest.mark.parametrize(
    ("T", "zeta", "M", "S", "Zmu", "Znu", "eps"),
    [
        (8, 0.25, 2, 1.0, 0.125, 0.125, 0.01),
        (6, 0.5, 1, 2.0, 0.5, 0.5, 0.05),
        (10, 0.1, 2, 1.5, 0.1, 0.05, 0.001),
        (4, 0.5, 1, 1.0, 0.2, 0.1, 0.3),
        (4, 0.5, 1, 1.0, 0.0, 0.0, 0.2),
    ],
)
def test_saturated_attention_over_all_corners(T, zeta, M, S, Zmu, Znu, eps):
    inputs = {"eps": eps, "zeta": zeta, "M": M, "S": S, "Zmu": Zmu, "Znu": Znu, "T": T}
    result = evaluate("deora.prop3", **inputs)
    for name in ("Gamma", "Gamma_tight"):
        mass, margin = worst_case(T, zeta, M, S, Zmu, Znu, result.sound[name].value)
        assert mass <= eps * (1 + 1e-9)
        assert margin >= result.sound["gamma_attn"].value
    assert mass == pytest.approx(eps, rel=1e-6)  # the tight scale is exactly enough
    if result.printed["Gamma"].applies:
        assert result.sound["Gamma"].value <= result.printed["Gamma"].value * (1 + 1e-9)
        assert worst_case(T, zeta, M, S, Zmu, Znu, result.printed["Gamma"].value)[0] <= eps
    assert result.sound["per_norm"].value == pytest.approx(
        result.sound["gamma_attn"].value / math.hypot(1, result.sound["Gamma"].value)
    )


@pytest.mark.counterexample("deora.prop3")
def test_negative_scale_is_not_enough():
    """eps > 1/zeta - 1: the printed limit is negative, and attention with it favours the irrelevant tokens."""
    inputs = {"eps": 0.5, "zeta": 0.9, "M": 1, "S": 1, "Zmu": 0, "Znu": 0, "T": 10}
    result = evaluate("deora.prop3", **inputs)
    Gamma = result.printed["Gamma"].value
    assert Gamma == pytest.approx(8 * 2 / 3 * math.log((1 / 9) / 0.5))
    assert not result.printed["Gamma"].applies
    assert worst_case(10, 0.9, 1, 1.0, 0.0, 0.0, Gamma)[0] > 0.85
    assert result.sound["Gamma"].value == 0.0
    assert worst_case(10, 0.9, 1, 1.0, 0.0, 0.0, 0.0)[0] <= 0.5


@pytest.mark.counterexample("deora.prop3")
def test_no_scale_when_the_noise_exceeds_half_the_signal():
    """S = 1, Zmu = 0.9, Znu = 10: the product formula for the gap is positive, yet a corner has mass one."""
    result = evaluate("deora.prop3", eps=0.01, zeta=0.5, M=1, S=1, Zmu=0.9, Znu=10, T=4)
    assert result.sound["Gamma"].value == math.inf
    assert result.sound["Gamma_tight"].value == math.inf
    assert result.sound["gamma_attn"].value == -math.inf
    assert result.sound["per_norm"].value == 0.0
    assert result.best is None
    assert worst_case(4, 0.5, 1, 1.0, 0.9, 10.0, 92.1)[0] > 0.99
    assert not result.printed["Gamma"].applies


@pytest.mark.property_of("deora.prop3")
def test_scale_constant_at_the_printed_noise_level():
    """At Zmu = Znu = S^2/8 the sound constant is 32/17 where 8/3 is printed, and the noise limit is sharp."""
    result = evaluate("deora.prop3", eps=0.01, zeta=0.25, M=2, S=1.7, Zmu=1.7**2 / 8, Znu=1.7**2 / 8, T=8)
    assert result.sound["Gamma"].value / result.printed["Gamma"].value == pytest.approx((32 / 17) / (8 / 3))
    assert result.printed["Gamma"].applies
    louder = evaluate("deora.prop3", eps=0.01, zeta=0.25, M=2, S=1.7, Zmu=0.37, Znu=0.1, T=8)
    assert not louder.printed["Gamma"].applies
    assert louder.sound["Gamma"].applies


@pytest.mark.property_of("deora.prop2", "deora.prop3", "deora.eq8", "deora.sec5.3")
def test_weak_signals_keep_their_small_positive_margins():
    """Margins scale with S; nothing but their sign decides whether they count."""
    S = 0.1
    inputs = {"T": 4, "zeta": 0.5, "M": 1, "S": S, "Zmu": 0, "Znu": 0}
    U, W = S * 0.5 * math.sqrt(2), 4 * 0.125 * S**4 / 8
    after = evaluate("deora.prop2", **inputs, Z=0, P=0, n=10, delta=0.1)
    assert after.sound["gamma_sum"].value == pytest.approx(U + W)
    assert after.sound["gamma_opt"].value == pytest.approx(math.sqrt(2) * math.hypot(U, W))
    assert after.sound["gamma_zero"].value == pytest.approx(math.sqrt(2) * U)
    assert all(bound.applies for bound in (*after.sound.values(), *after.printed.values()))
    order = evaluate("deora.sec5.3", **inputs)
    assert order.sound["gamma_star"].value == pytest.approx(math.sqrt(2) * math.hypot(U, W))
    assert order.sound["gamma_attn"].value == pytest.approx(S * math.sqrt(2))
    assert all(bound.applies for bound in order.sound.values())
    assert order.sound["crossing"].value == pytest.approx(S**3 * 2 * 0.25 / (4 * math.sqrt(2)))
    saturated = evaluate("deora.prop3", **inputs, eps=0.2)
    assert saturated.sound["Gamma"].value == pytest.approx(math.log(5) * 2 / S**2)
    assert saturated.sound["Gamma_tight"].value == pytest.approx(math.log(4) * 2 / S**2)
    assert saturated.sound["gamma_attn"].value == pytest.approx(S * math.sqrt(2) * 0.8)
    assert all(bound.applies for bound in saturated.sound.values())
    assert evaluate("deora.eq8", S=S, Zmu=0, Znu=0).sound["gap"].applies
    # a weak attention block: only the projection counts
    noisy = evaluate("deora.prop2", **{**inputs, "Zmu": 0.3 * S**2}, Z=0, P=1.0, n=10, delta=0.1).sound
    assert noisy["gamma_W"].value < 0 < noisy["gamma_U"].value
    assert noisy["gamma_opt"].value == pytest.approx(math.sqrt(2) * noisy["gamma_U"].value)


def test_signs_of_the_checks_follow_the_signs_of_the_margins():
    """Each check flips where its number changes sign."""
    base = {"T": 4, "zeta": 0.5, "M": 1, "S": 1, "Znu": 0}
    # gamma_U = 0 at Zmu = zeta S^2/(2 (1 - zeta)) = 1/2; beyond it the zero start is not good
    for Zmu, positive in ((0.49, True), (0.51, False)):
        assert (
            evaluate("deora.prop2", **base, Zmu=Zmu, Z=0, P=0, n=10, delta=0.1).sound["gamma_zero"].applies is positive
        )
        assert evaluate("deora.sec5.3", **base, Zmu=Zmu).sound["gamma_lin"].applies is positive
    # the gap (1)(1 - 2 Zmu) - Zmu vanishes at Zmu = 1/3
    for Zmu, positive in ((0.33, True), (0.34, False)):
        for id, name, more in (("deora.prop3", "Gamma", {"eps": 0.1}), ("deora.sec5.3", "gamma_attn", {})):
            assert evaluate(id, **base, **more, Zmu=Zmu).sound[name].applies is positive
        assert evaluate("deora.eq8", S=1, Zmu=Zmu, Znu=0).sound["gap"].applies is positive
    # the printed scale changes sign at eps = 1/zeta - 1
    for eps, positive in ((0.24, True), (0.26, False)):
        scale = evaluate("deora.prop3", eps=eps, zeta=0.8, M=1, S=4, Zmu=0, Znu=0, T=5).printed["Gamma"]
        assert abs(scale.value) < 0.1
        assert scale.applies is positive
    for S, positive in ((1.99, True), (2.01, False)):  # S^3 sqrt(T) zeta^2 = 4 sqrt(M + 1) at S = 2
        result = evaluate("deora.sec5.3", T=8, zeta=0.5, M=1, S=S, Zmu=0, Znu=0)
        assert (result.sound["crossing"].value < 1) is positive
        assert result.printed["gamma_attn"].applies is positive
