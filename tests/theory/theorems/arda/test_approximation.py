"""Lemmas 3, 5 and 6 and the transported parameters, on networks small enough to attack."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import bdtrc

from certiformer.theory.core import find
from theory.theorems.arda.reference_model import TanhNetwork, features, inner, tokens

RHO = {"rho_c": 0.9, "rho_u": 1.3, "rho_w": 0.7}
NU = {"nu_c": 0.5, "nu_u": 1.1, "nu_w": 0.6}


def sound(id: str, **inputs: object) -> dict[str, float]:
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def unit_vectors(rng, count, *shape):
    x = rng.normal(size=(count, *shape))
    return x / np.sqrt((x**2).reshape(count, -1).sum(1)).reshape((-1,) + (1,) * len(shape))


def head_by_head(network, X, rng, count):
    """For one input: per head, h - h0 and h - h0 - <grad h0, theta - theta0> at random points of the boundary."""
    c, u, W = network.initial
    radius = 1 / math.sqrt(network.m)
    a, Mu, q = features(X, u, W)
    h0 = np.tanh(np.einsum("hd,hnd->hn", u, a))[:, 0]
    changes, remainders = [], []
    for i in range(network.m):
        du = RHO["rho_u"] * radius * unit_vectors(rng, count, u.shape[1])
        dW = RHO["rho_w"] * radius * unit_vectors(rng, count, *W.shape[1:])
        b, _, _ = features(X, u[i] + du, W[i] + dW)
        h = np.tanh(np.einsum("hd,hd->h", u[i] + du, b[:, 0]))
        slope = 1 - h0[i] ** 2
        linear = slope * (du @ a[i, 0] + np.einsum("hde,d,e->h", dW, Mu[i, 0], q[0]))
        changes.append(h - h0[i])
        remainders.append(h - h0[i] - linear)
    return c, np.array(changes), np.array(remainders)


@pytest.mark.independent("arda.lem3")
@pytest.mark.parametrize("m", [8, 64])
def test_linearisation_error_of_the_worst_points_found(m: int) -> None:
    rng = np.random.default_rng(m)
    network, X = TanhNetwork(rng, m, 2), tokens(rng, 1, 3, 2)
    c, changes, remainders = head_by_head(network, X, rng, 800)
    # heads are independent, so the worst network is made of the worst heads; c - c0 = +-rho_c/sqrt(m)
    terms = np.abs(RHO["rho_c"] / math.sqrt(m) * np.abs(changes) + np.sign(c)[:, None] * remainders)
    found = float(terms.max(axis=1).sum()) / math.sqrt(m)
    norms = np.linalg.norm(network.initial[1], axis=1)
    bounds = sound("arda.lem3", activation="tanh", m=m, d=2, **RHO, delta_R=0.5, u_norms=norms[: m // 2])
    assert 0.03 * bounds["init"] < found <= bounds["init"]
    assert bounds["init"] <= bounds["exact"] <= bounds["value"]


@pytest.mark.property_of("arda.lem3")
def test_linearisation_error_formula_and_modes() -> None:
    m, theta = 100, math.hypot(1.3, 0.7)
    for name in ("tanh", "erf"):
        bounds = sound("arda.lem3", activation=name, m=m, d=5, **RHO, delta_R=0.05, u_norms=[2.0] * 50)
        for mode, B in (("init", 2.13), ("value", math.sqrt(5) + math.sqrt(2 * math.log(1000)) + 0.13)):
            constants = sound("arda.lem2", activation=name, B=B)
            expected = (0.9 * theta * constants["L1"] + theta**2 * constants["L2"] / 2) / 10
            assert bounds[mode] == pytest.approx(expected, rel=1e-10)
    given = {"activation": "tanh", "m": m, "d": 5, **RHO, "delta_R": 0.05}
    evaluation = find("arda.lem3").evaluate(given)
    assert set(evaluation.sound) == {"value", "exact"}
    assert evaluation.printed["value"].value == pytest.approx(evaluation.sound["value"].value, rel=1e-11)
    assert all(bound.applies for bound in evaluation.sound.values())
    odd = find("arda.lem3").evaluate(given | {"m": 101, "u_norms": [2.0] * 101}).sound
    assert not any(bound.applies for bound in odd.values())


@pytest.mark.independent("arda.lem5")
def test_sub_gaussian_parameter_of_the_attention_block() -> None:
    # E cosh(2 k ||Mu||) <= exp(2 k^2) for every covariance with trace at most one; equality in one dimension
    rng = np.random.default_rng(1)
    u = rng.normal(size=(200_000, 5))
    for spectrum in ([1.0], [0.5, 0.5], [0.2] * 5, [0.6, 0.3, 0.05]):
        moved = np.linalg.norm(u[:, : len(spectrum)] * spectrum, axis=1)
        for k in (0.3, 0.8):
            values = np.cosh(2 * k * moved)
            error = 4 * values.std() / math.sqrt(len(values))
            assert values.mean() <= math.exp(2 * k * k) + error
            if len(spectrum) == 1:
                assert values.mean() == pytest.approx(math.exp(2 * k * k), abs=error)


@pytest.mark.independent("arda.lem5")
def test_deviation_of_fair_signs() -> None:
    # a bounded feature that is +-1: the exact binomial tail at the threshold, for one input
    for m, delta in ((200, 0.2), (2000, 0.05)):
        eps = sound("arda.lem5", activation="tanh", m=m, d=3, nu_c=1.0, nu_u=1e-12, nu_w=1e-12, n=1, delta=delta)[
            "value"
        ]
        pairs = m // 2
        tail = 2 * float(bdtrc(math.ceil(pairs * (1 + eps) / 2) - 1, pairs, 0.5))
        assert delta / 30 < tail <= delta


@pytest.mark.independent("arda.lem5", "arda.eq11", "arda.lem6")
def test_transported_networks_approximate_their_target() -> None:
    rng = np.random.default_rng(9)
    d, T, n, m, delta, runs = 3, 4, 6, 64, 0.2, 60
    X, anchor = tokens(rng, n, T, d), tokens(rng, 1, T, d)

    def transported(u, W):
        """Products <psi(X_j), v> with v aligned to the features of the anchor and of full length."""
        a, Mu, q = features(X, u, W)
        b, Nu, p = features(anchor, u, W)
        h, g = np.tanh(np.einsum("hd,hnd->hn", u, a)), np.tanh(np.einsum("hd,hnd->hn", u, b))
        v_u = NU["nu_u"] * b[:, 0] / np.linalg.norm(b[:, 0], axis=1, keepdims=True)
        v_w = np.einsum("hd,e->hde", Nu[:, 0], p[0])
        v_w *= NU["nu_w"] / np.sqrt((v_w**2).sum((1, 2), keepdims=True))
        blocks = [
            NU["nu_c"] * np.sign(g) * h,
            (1 - h**2) * np.einsum("hnd,hd->hn", a, v_u),
            (1 - h**2) * np.einsum("hnd,ne,hde->hn", Mu, q, v_w),
        ]
        return sum(blocks)

    draw = lambda k: transported(rng.normal(size=(k, d)), rng.normal(size=(k, d, d)))  # noqa: E731
    pool = draw(60_000)
    target, slack = pool.mean(0), 4 * float(pool.std()) / math.sqrt(60_000)
    eps = sound("arda.lem5", activation="tanh", m=m, d=d, **NU, n=n, delta=delta)["value"]
    errors = np.array([np.abs(draw(m // 2).mean(0) - target).max() for _ in range(runs)])
    assert np.mean(errors > eps + slack) <= delta
    assert np.quantile(errors, 1 - delta) > 0.03 * eps
    envelope = sound("arda.lem6", activation="tanh", m=m, d=d, **RHO, **NU, delta_R=0.1)
    assert np.abs(target).max() <= envelope["target_joint"] + slack
    assert envelope["target_joint"] < envelope["target"]


@pytest.mark.independent("arda.lem6")
def test_network_envelope_on_the_boundary() -> None:
    rng = np.random.default_rng(5)
    m = 16
    network, X = TanhNetwork(rng, m, 2), tokens(rng, 1, 3, 2)
    _, changes, _ = head_by_head(network, X, rng, 400)
    h0 = np.tanh(np.einsum("hd,hnd->hn", network.initial[1], features(X, *network.initial[1:])[0]))[:, 0]
    # |f| <= m^{-1/2} sum of |rho_c/sqrt(m)| |h| + |h - h0|, head by head
    h = h0[:, None] + changes
    found = float((RHO["rho_c"] / math.sqrt(m) * np.abs(h) + np.abs(changes)).max(axis=1).sum()) / math.sqrt(m)
    norms = np.linalg.norm(network.initial[1], axis=1)
    bounds = sound("arda.lem6", activation="tanh", m=m, d=2, **RHO, **NU, delta_R=0.3, u_norms=norms)
    assert 0.2 * bounds["init"] < found <= bounds["init"] <= bounds["exact"] <= bounds["value"]


@pytest.mark.independent("arda.lem6")
def test_joint_envelope_is_the_maximum_over_the_attended_norm() -> None:
    r = np.linspace(0.0, 1.0, 200_001)
    for name, s1 in (("tanh", 1.0), ("erf", math.sqrt(2 / math.pi))):
        for nu_u, nu_w in ((0.4, 1.0), (1.0, 1.0), (1.9, 1.0), (2.0, 1.0), (2.1, 1.0), (3.0, 1.0)):
            bounds = sound("arda.lem6", activation=name, m=10, d=4, **RHO, nu_c=0.7, nu_u=nu_u, nu_w=nu_w, delta_R=0.1)
            expected = 0.7 + s1 * float(np.max(r * nu_u + (1 - r**2) * nu_w))
            assert bounds["target_joint"] == pytest.approx(expected, rel=1e-9)
            assert bounds["target"] == pytest.approx(0.7 + s1 * (nu_u + nu_w), rel=1e-11)


@pytest.mark.property_of("arda.lem5", "arda.lem6")
def test_closed_forms_of_approximation_and_envelopes() -> None:
    s1, given = math.sqrt(2 / math.pi), {"activation": "erf", "m": 900, "d": 9, **NU}
    approximation = find("arda.lem5").evaluate({**given, "n": 50, "delta": 0.1})
    rate = 2 * math.sqrt(math.log(1000) / 900)
    assert approximation.sound["value"].value == pytest.approx(rate * (0.5 + 1.1 * s1 + 1.2 * s1), rel=1e-11)
    assert approximation.printed["value"].value == pytest.approx(rate * (0.5 + 1.1 * s1 + 3.6 * s1), rel=1e-12)
    assert approximation.sound["value"].applies
    assert not find("arda.lem5").evaluate({**given, "m": 903, "n": 50, "delta": 0.1}).sound["value"].applies
    evaluation = find("arda.lem6").evaluate({**given, **RHO, "delta_R": 0.05})
    B, theta = 3 + math.sqrt(2 * math.log(9000)) + 1.3 / 30, math.hypot(1.3, 0.7)
    assert evaluation.sound["value"].value == pytest.approx(0.9 + s1 * B * theta, rel=1e-11)
    assert evaluation.printed["value"].value == pytest.approx(0.9 + s1 * math.hypot(1, B) * theta, rel=1e-12)
    assert evaluation.printed["target"].value == pytest.approx(0.5 + s1 * (1.1 + 1.8), rel=1e-12)
    assert evaluation.best == "exact"
    odd = find("arda.lem6").evaluate({**given, "m": 901, **RHO, "delta_R": 0.05, "u_norms": [3.0] * 901}).sound
    assert not any(odd[name].applies for name in ("value", "exact", "init"))
    assert odd["target"].applies


@pytest.mark.independent("arda.eq11")
def test_transported_parameters_stay_in_the_neighbourhood() -> None:
    rng = np.random.default_rng(6)
    m, d = 20, 3
    network = TanhNetwork(rng, m, d)
    v = (
        NU["nu_c"] * rng.uniform(-1, 1, m),
        NU["nu_u"] * unit_vectors(rng, m, d),
        NU["nu_w"] * unit_vectors(rng, m, d, d),
    )
    c = network.initial[0]
    step = (v[0] / math.sqrt(m), c[:, None] * v[1] / math.sqrt(m), c[:, None, None] * v[2] / math.sqrt(m))
    rho = {"rho_c": 0.5, "rho_u": 1.1, "rho_w": 0.6}
    evaluation = find("arda.eq11").evaluate({"m": m, **rho, **NU})
    bounds = evaluation.sound
    assert math.sqrt(inner(step, step)) <= bounds["distance"].value
    assert bounds["distance"].applies
    assert bounds["distance"].value == pytest.approx(math.sqrt(0.25 + 1.21 + 0.36), rel=1e-11)
    assert bounds["per_head"].value == pytest.approx(bounds["distance"].value / math.sqrt(20), rel=1e-11)
    assert evaluation.printed["distance"].value == pytest.approx(bounds["distance"].value, rel=1e-11)
    # the projection leaves them where they are
    moved = network.project(tuple(x + s for x, s in zip(network.initial, step, strict=True)), (0.5, 1.1, 0.6))
    for now, start, expected in zip(moved, network.initial, step, strict=True):
        np.testing.assert_allclose(now - start, expected, atol=1e-12)


@pytest.mark.property_of("arda.eq11")
@pytest.mark.parametrize("block", ["c", "u", "w"])
def test_every_block_must_fit_in_its_radius(block: str) -> None:
    inputs = {"m": 20, "rho_c": 1, "rho_u": 1, "rho_w": 1, "nu_c": 1, "nu_u": 1, "nu_w": 1}
    result = find("arda.eq11")
    assert all(bound.applies for bound in result.evaluate(inputs).sound.values())
    outside = result.evaluate(inputs | {f"nu_{block}": 1.01})
    assert not outside.sound["distance"].applies
    assert not outside.printed["distance"].applies
    assert (
        find("arda.rem7")(nu_c=outside.at.nu_c, nu_u=outside.at.nu_u, nu_w=outside.at.nu_w).sound()["rkhs_norm"].applies
    )
