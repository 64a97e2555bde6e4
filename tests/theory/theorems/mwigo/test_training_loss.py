"""Lemma 4: the printed bound beaten by a network that satisfies its hypotheses; the flow version followed in time."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from certiformer.theory.core import find

_spec = importlib.util.spec_from_file_location("mwigo_encoder", Path(__file__).with_name("encoder.py"))
encoder = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(encoder)

LEMMA = find("mwigo.lem4")
N, DS, D = 3, 2, 32


def setting(seed):
    """An encoder with d = d_m = 32 >= N^3, its features and norms."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, DS, D)) * 1.5
    start = encoder.initial(rng, D, D)
    F = encoder.features(X, *start[:3])
    B = np.linalg.norm(X, axis=2).max()
    inputs = {
        "n": N,
        "ds": DS,
        "d": D,
        "dm": D,
        "RX": max(np.linalg.norm(x) for x in X) / math.sqrt(DS),
        "RQ": 1,
        "RK": 1,
        "RV": 1,
        "RO": 1,
        "B": B,
        **encoder.norms(*start),
        "alpha": np.linalg.svd(F, compute_uv=False)[-1],
    }
    return X, start, inputs


def largest_residual(inputs, names):
    """The largest sqrt(2 Phi_0) for which the named hypotheses hold."""
    low, high = 1e-30, 1.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        bound = LEMMA.evaluate({**inputs, "residual0": middle, "flow": 1}).sound[names]
        low, high = (middle, high) if bound.applies else (low, middle)
    return low


@pytest.mark.counterexample("mwigo.lem4")
def test_printed_bound_is_exceeded_under_its_own_hypotheses():
    X, start, inputs = setting(0)
    residual0 = largest_residual(inputs, "proof_consistent")
    f0 = encoder.output(X, *start)
    # labels at equal distance from the initial predictions; the loss is |f - y|, and l(y, y) = 0
    y = f0 + residual0 / math.sqrt(N)
    loss = np.mean(np.abs(f0 - y))
    evaluation = LEMMA.evaluate({**inputs, "residual0": residual0, "flow": 1})
    assert evaluation.printed["value"].applies
    assert evaluation.printed["hypothesis_1"].value == 1 == evaluation.printed["hypothesis_2"].value
    assert evaluation.printed["value"].value < loss / 100
    for name in ("lipschitz", "flow", "proof_consistent"):
        assert evaluation.sound[name].applies
        assert loss <= evaluation.sound[name].value * (1 + 1e-6)
    # after a first step, however small, the loss has hardly moved
    moved = (*start[:3], start[3] + 1e-9 * (y - f0) @ encoder.features(X, *start[:3]))
    assert np.mean(np.abs(encoder.output(X, *moved) - y)) > evaluation.printed["value"].value * 100


@pytest.mark.counterexample("mwigo.lem4")
def test_a_perfect_fit_may_cost_something():
    # logistic loss, y = 1: l(1, 1) = ln(1 + 1/e) = 0.3133, which the printed bound forgets
    at_fit = math.log1p(math.exp(-1))
    _, _, inputs = setting(1)
    evaluation = LEMMA.evaluate({**inputs, "residual0": 1e-12, "lyy": at_fit})
    assert evaluation.printed["value"].value < at_fit <= evaluation.sound["lipschitz"].value


def gradients(X, y, Q, K, V, o):
    """Gradients of Phi = ||f - y||^2/2, written out."""
    dm, ds = Q.shape[0], X.shape[1]
    scores = np.einsum("nid,md,me,nje->nij", X, Q, K, X) / math.sqrt(dm)
    P = encoder.softmax(scores)
    read = np.einsum("nij,njd->nid", P, X)
    hidden = read @ V.T
    active = (hidden > 0).astype(float)
    F = np.maximum(hidden, 0).mean(axis=1)
    r = F @ o - y
    back = r[:, None, None] * active * o / ds  # dPhi/dhidden
    dV = np.einsum("nim,nid->md", back, read)
    dread = back @ V
    dP = np.einsum("nid,njd->nij", dread, X)
    dS = P * (dP - np.sum(P * dP, axis=2, keepdims=True)) / math.sqrt(dm)
    M = np.einsum("nij,nid,nje->de", dS, X, X)  # d/dA of sum dS_ij x_i^T A x_j, A = Q^T K
    return K @ M.T, Q @ M, dV, F.T @ r, r


@pytest.mark.independent("mwigo.lem4")
def test_gradients_agree_with_differences():
    X, start, _ = setting(5)
    y = np.array([0.3, -0.2, 0.1])
    grads = gradients(X, y, *start)[:4]
    rng = np.random.default_rng(0)
    directions = [rng.normal(size=W.shape) for W in start]

    def phi(h):
        return 0.5 * np.sum((encoder.output(X, *(W + h * E for W, E in zip(start, directions, strict=True))) - y) ** 2)

    numeric = (phi(1e-6) - phi(-1e-6)) / 2e-6
    assert numeric == pytest.approx(sum(np.sum(g * E) for g, E in zip(grads, directions, strict=True)), rel=1e-5)


@pytest.mark.independent("mwigo.lem4")
@pytest.mark.parametrize("seed", range(4))
def test_flow_followed_in_time(seed):
    X, start, inputs = setting(seed)
    residual0 = largest_residual(inputs, "flow")
    F = encoder.features(X, *start[:3])
    left = np.linalg.svd(F)[0][:, -1]  # the slowest direction
    y = encoder.output(X, *start) - residual0 * left
    weights, step, time = [W.copy() for W in start], 2e-3, 0.0
    for k in range(201):
        *grads, r = gradients(X, y, *weights)
        if k % 40 == 0:
            bound = LEMMA.evaluate({**inputs, "residual0": residual0, "flow": 1, "t": time}).sound["flow"]
            assert bound.applies
            assert np.mean(np.abs(r)) <= bound.value * (1 + 1e-2) + 1e-14
            for W, W0 in zip(weights, start, strict=True):
                assert np.linalg.norm(W - W0) <= 1.0
        weights = [W - step * g for W, g in zip(weights, grads, strict=True)]
        time += step
    assert np.linalg.norm(r) < residual0


@pytest.mark.property_of("mwigo.lem4")
def test_conditions_and_time():
    _, _, inputs = setting(2)
    limit = largest_residual(inputs, "flow")
    assert largest_residual(inputs, "proof_consistent") < limit  # the printed hypotheses are stronger
    at = {**inputs, "residual0": limit / 2, "flow": 1}
    start, later = (LEMMA.evaluate({**at, "t": t}).sound["flow"].value for t in (0.0, 1.0))
    assert start == pytest.approx(limit / 2 / math.sqrt(N), rel=1e-9)
    assert later == pytest.approx(start * math.exp(-(inputs["alpha"] ** 2) / 4), rel=1e-9)
    assert not LEMMA.evaluate({**at, "residual0": 2 * limit}).sound["flow"].applies
    assert not LEMMA.evaluate({**at, "flow": 0}).sound["flow"].applies
    assert not LEMMA.evaluate({**at, "flow": 0}).sound["proof_consistent"].applies
    assert not LEMMA.evaluate({**at, "n": 33}).sound["flow"].applies  # d_m < N
    assert LEMMA.evaluate({**at, "residual": 0.0}).sound["lipschitz"].value == 0.0
    assert LEMMA.evaluate({**at, "lyy": 0.5}).sound["flow"].value == pytest.approx(0.5 + start, rel=1e-9)


@pytest.mark.independent("mwigo.lem4")
@pytest.mark.parametrize(
    ("RX", "B", "alpha"), [(0.7, 0.6, 0.8), (0.02, 0.02, 0.3), (0.7, 0.6, 1e4), (0.02, 0.02, 1e-3)]
)
def test_quantities_written_out(RX, B, alpha):
    inputs = {"n": 5, "ds": 3, "d": 4, "dm": 9, "RX": RX, "RQ": 0.1, "RK": 0.2, "RV": 0.3, "RO": 0.4, "B": B}
    first = {"WQF": 2.0, "WKF": 2.5, "WVF": 3.0, "wOF": 1.5, "WQ2": 1.1, "WK2": 1.2, "WV2": 1.3}
    given = {**inputs, **first, "alpha": alpha}
    evaluation = LEMMA.evaluate({**given, "residual0": 1e-9, "flow": 1})
    eta_O, xQ, xK, xV, eQ, eK, eV = 1.9, 1.2, 1.4, 1.6, 2.1, 2.7, 3.3
    a, flow = 2 / 3 * RX**2 * 3, B**2 / 3
    rho, root = math.sqrt(5) * 3**1.5 * RX, math.sqrt(5)

    def M(q, k, v, a):
        return max(v / 0.4, eta_O / 0.3, a * k * v * eta_O / 0.1, a * q * v * eta_O / 0.2)

    def z(q, k, v, a):
        return eta_O**2 * (1 + a**2 * v**2 * (q**2 + k**2))

    def same(got, expected):
        assert got == pytest.approx(expected, rel=1e-9, abs=0.0)

    got = {name: bound.value for name, bound in evaluation.printed.items()}
    same(got["rho"], rho)
    same(got["M"], M(xQ, xK, xV, a))
    same(got["M_hat"], M(eQ, eK, eV, a))
    same(got["z"], z(xQ, xK, xV, a))
    same(got["z_hat"], z(eQ, eK, eV, a))
    same(
        got["value"],
        min(alpha**2 / (8 * rho * got["M_hat"] * root), alpha**3 * eta_O / (32 * rho**4 * got["z_hat"] * root)),
    )
    limits = alpha**2 / (8 * rho * got["M"]), alpha**3 * eta_O / (32 * rho**2 * got["z"])
    same(evaluation.sound["proof_consistent"].value, min(limits) / root)
    same(evaluation.sound["M_flow"].value, M(xQ, xK, xV, flow))
    same(evaluation.sound["z_flow"].value, z(xQ, xK, xV, flow))
    # where each hypothesis begins to fail
    flow_limits = (
        alpha**2 / (4 * root * B * M(xQ, xK, xV, flow)),
        alpha**3 * eta_O / (8 * 5 * B**2 * z(xQ, xK, xV, flow)),
    )
    for factor, holds in ((1 - 1e-6, True), (1 + 1e-6, False)):
        for number, limit in enumerate(limits):
            at = LEMMA.evaluate({**given, "residual0": limit * factor, "flow": 1})
            assert at.printed["value"].hypotheses[number].state == ("verified" if holds else "fails")
            assert at.printed[f"hypothesis_{number + 1}"].value == float(holds)
            assert at.sound["proof_consistent"].hypotheses[4 + number].state == ("verified" if holds else "fails")
        for number, limit in enumerate(flow_limits):
            at = LEMMA.evaluate({**given, "residual0": limit * factor, "flow": 1})
            assert at.sound["flow"].hypotheses[3 + number].state == ("verified" if holds else "fails")


def test_what_is_assumed_about_residuals_and_tokens():
    _, _, inputs = setting(3)
    at = {**inputs, "residual0": 1e-9, "flow": 1}
    assert "grown" in LEMMA.evaluate(at).sound["lipschitz"].hypotheses[0].requires
    assert "residual" in LEMMA.evaluate({**at, "residual": 1e-3}).sound["lipschitz"].hypotheses[0].requires
    wide = LEMMA.evaluate({**at, "B": 2 * math.sqrt(DS) * inputs["RX"]}).sound["proof_consistent"]
    assert wide.hypotheses[3].state == "fails"
    assert LEMMA.evaluate(at).sound["proof_consistent"].hypotheses[3].state == "verified"
    assert not LEMMA.evaluate({**at, "n": 33}).printed["value"].applies
