"""Facts 1 and Remark 3, Lemmas 1 and 2, and the recurrent recursion, against differentiation and search."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.theory.calculus.activations import activation
from certiformer.theory.core import find
from certiformer.theory.theorems.arda._recurrent import recurrent_unit
from theory.theorems.arda.reference_model import JAX_SIGMA, head, in_ball, softmax, tokens, unit


def sound(id: str, **inputs: object) -> dict[str, float]:
    return {name: bound.value for name, bound in find(id).evaluate(inputs).sound.items()}


def ascend(objective, starts, steps, size):
    """The largest value met by normalised gradient ascent from every start."""
    slope = jax.vmap(jax.value_and_grad(objective))

    def body(state, i):
        x, best = state
        value, g = slope(x)
        g = jnp.nan_to_num(g)
        g = g / (jnp.linalg.norm(g, axis=1, keepdims=True) + 1e-30)
        return (x + size * (1 - i / steps) * g, jnp.maximum(best, value)), None

    first = (starts, jnp.full(starts.shape[0], -jnp.inf))
    (_, best), _ = jax.lax.scan(body, first, jnp.arange(steps))
    return jnp.max(best)


def unpack(z, B, d=2):
    u, W, q, X = jnp.split(z, [d, d + d * d, 2 * d + d * d])
    return jnp.concatenate([in_ball(u, B), W]), in_ball(X.reshape(-1, d)), in_ball(q)


@functools.cache
def searched() -> dict[float, tuple[float, float]]:
    """For several B: the largest gradient and Hessian norms of a tanh head that a search finds, ||u|| <= B."""

    def slope(z, B):
        theta, X, q = unpack(z, B)
        return jnp.linalg.norm(jax.grad(lambda t: head(jnp.tanh, t, X, q))(theta))

    def bend(z, B):
        theta, X, q = unpack(z, B)
        return jnp.max(jnp.abs(jnp.linalg.eigvalsh(jax.hessian(lambda t: head(jnp.tanh, t, X, q))(theta))))

    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        starts = jnp.asarray(rng.normal(size=(40, 12)) * np.repeat([1.0, 3.0], 20)[:, None])
        run = jax.jit(lambda s, B: [ascend(lambda z, goal=goal: goal(z, B), s, 150, 0.2) for goal in (slope, bend)])
        return {B: tuple(float(value) for value in run(starts, B)) for B in (0.5, 2.0, 5.0)}


@pytest.mark.independent("arda.lem2")
@pytest.mark.parametrize(("B", "share"), [(0.5, 0.5), (2.0, 0.6), (5.0, 0.7)])
def test_search_stays_below_the_constants_of_a_head_and_comes_near(B: float, share: float) -> None:
    bounds = sound("arda.lem2", activation="tanh", B=B)
    slope, bend = searched()[B]
    assert 0.97 * bounds["L1"] < slope <= bounds["L1"]
    assert share * bounds["L2"] < bend <= bounds["L2"]


@pytest.mark.independent("arda.lem2", "arda.lem1")
@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_two_opposite_tokens_approach_the_smoothness_constant_for_long_vectors(name: str) -> None:
    # u = B e, tokens +-e, query e: s = B tanh(w), placed where |sigma''| peaks
    B, sigma = 200.0, activation(name)
    peak = math.atanh(1 / math.sqrt(3)) if name == "tanh" else 1.0
    with jax.enable_x64(True):
        theta = jnp.asarray([B, math.atanh(peak / B)])
        X, q = jnp.asarray([[1.0], [-1.0]]), jnp.asarray([1.0])
        H = jax.jit(jax.hessian(lambda t: head(JAX_SIGMA[name], t, X, q)))(theta)
        bend = float(np.linalg.norm(np.asarray(H), 2))
        flat = jnp.asarray([B, 0.0])
        slope = float(np.linalg.norm(np.asarray(jax.jit(jax.grad(lambda t: head(JAX_SIGMA[name], t, X, q)))(flat))))
    bounds = sound("arda.lem2", activation=name, B=B)
    assert 0.98 * bounds["L2"] < bend <= bounds["L2"]
    assert slope == pytest.approx(sigma.s1 * B, rel=1e-12)
    assert slope <= bounds["L1"]
    with_c = sound("arda.lem1", activation=name, m=4, c=3.0, B=B)
    assert 3.0 * slope / 2.0 == pytest.approx(with_c["W_block"], rel=1e-9)


@pytest.mark.independent("arda.lem1")
@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid", "sin"])
def test_gradient_of_one_head_by_differentiation(name: str) -> None:
    rng = np.random.default_rng(5)
    m, c, d, T = 6, 1.7, 3, 4
    with jax.enable_x64(True):
        differentiate = jax.jit(jax.value_and_grad(lambda t, X, q: head(JAX_SIGMA[name], t, X, q)))
    for _ in range(5):
        X, u, W = tokens(rng, T, d), 2.0 * rng.normal(size=d), rng.normal(size=(d, d))
        q = X[-1]
        with jax.enable_x64(True):
            h, g = differentiate(*map(jnp.asarray, (np.concatenate([u, W.ravel()]), X, q)))
            h, g = float(h), np.asarray(g)
        p = softmax(X @ W @ q)
        a = p @ X
        M = (X.T * p) @ X - np.outer(a, a)
        slope = float(activation(name).slope(np.asarray(u @ a)))
        # the identities of the lemma
        np.testing.assert_allclose(g[:d], slope * a, atol=1e-12)
        np.testing.assert_allclose(g[d:].reshape(d, d), slope * np.outer(M @ u, q), atol=1e-12)
        bounds = sound("arda.lem1", activation=name, m=m, c=c, B=float(np.linalg.norm(u)))
        blocks = {"c_block": abs(h), "u_block": c * np.linalg.norm(g[:d]), "W_block": c * np.linalg.norm(g[d:])}
        for block, size in blocks.items():
            assert size / math.sqrt(m) <= bounds[block]
        assert math.hypot(*blocks.values()) / math.sqrt(m) <= bounds["value"]


@pytest.mark.property_of("arda.lem1", "arda.lem2")
def test_blocks_and_their_closed_forms() -> None:
    evaluation = find("arda.lem1").evaluate({"activation": "erf", "m": 16, "c": 2.0, "B": 3.0})
    s1 = math.sqrt(2 / math.pi)
    values = {name: bound.value for name, bound in evaluation.sound.items()}
    assert values["value"] == pytest.approx(math.sqrt(1 + 4 * s1**2 * 9) / 4, rel=1e-11)
    assert values["c_block"] == pytest.approx(1 / 4, rel=1e-11)
    assert values["u_block"] == pytest.approx(2 * s1 / 4, rel=1e-11)
    assert values["W_block"] == pytest.approx(6 * s1 / 4, rel=1e-11)
    assert evaluation.printed["value"].value == pytest.approx(math.sqrt(1 + 4 * s1**2 * 10) / 4, rel=1e-12)
    # short vectors: the block u dominates, and the constants do not fall below B = 1
    assert sound("arda.lem2", activation="erf", B=0.1)["L1"] == pytest.approx(s1, rel=1e-11)
    printed = find("arda.lem2").evaluate({"activation": "erf", "B": 3.0}).printed["L1"].value
    assert printed == pytest.approx(s1 * math.sqrt(10), rel=1e-12)
    ratio = printed / sound("arda.lem2", activation="erf", B=3.0)["L1"]
    assert 1.0 < ratio < math.sqrt(2)


@pytest.mark.independent("arda.fact1", "arda.rem3")
def test_softmax_jacobian_and_token_covariance_on_random_weights() -> None:
    rng = np.random.default_rng(2)
    closest = {"jacobian": 0.0, "covariance": 0.0}
    for _ in range(400):
        T, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
        p = softmax(rng.normal(size=T) * rng.choice([0.3, 2.0, 8.0]))
        J = np.diag(p) - np.outer(p, p)
        bounds = sound("arda.fact1", P=float(p.max()))
        size = float(np.linalg.norm(J, 2))
        assert size <= min(bounds.values()) + 1e-14  # the weights themselves are rounded
        closest["jacobian"] = max(closest["jacobian"], size / bounds["peaked"])
        r = float(rng.uniform(0.5, 2.0))
        X = r * tokens(rng, T, d)
        a = p @ X
        M = X.T @ J @ X
        covariance = sound("arda.rem3", r=r, a=float(np.linalg.norm(a)))["value"]
        assert np.linalg.norm(M, 2) <= np.trace(M) + 1e-12 <= covariance + 2e-12
        if covariance > 1e-12:
            closest["covariance"] = max(closest["covariance"], float(np.linalg.norm(M, 2)) / covariance)
    assert closest["jacobian"] > 0.99
    assert closest["covariance"] > 0.9
    assert sound("arda.fact1")["value"] == pytest.approx(0.5, rel=1e-11)


@pytest.mark.property_of("arda.fact1", "arda.rem3")
def test_jacobian_and_covariance_edge_cases() -> None:
    assert sound("arda.fact1", P=0.5)["peaked"] == pytest.approx(0.5, rel=1e-11)
    assert sound("arda.fact1", P=1.0)["peaked"] == 0.0
    assert sound("arda.fact1", P=0.25)["peaked"] == pytest.approx(0.375, rel=1e-11)
    assert find("arda.fact1").evaluate({}).printed["value"].value == 0.5
    covariance = find("arda.rem3")
    assert covariance.evaluate({"r": 1, "a": 0}).sound["value"].value == pytest.approx(1.0, rel=1e-11)
    assert covariance.evaluate({"r": 2, "a": 1}).sound["value"].value == pytest.approx(3.0, rel=1e-11)
    assert covariance.evaluate({"r": 2, "a": 2}).sound["value"].value == 0.0
    assert covariance.evaluate({"r": 2, "a": 2}).sound["value"].applies
    assert not covariance.evaluate({"r": 1, "a": 1.1}).sound["value"].applies
    assert covariance.evaluate({"r": 1, "a": 0.5}).printed["value"].applies
    assert covariance.evaluate({"r": 1, "a": 0.5}).printed["value"].value == 1.0
    assert not covariance.evaluate({"r": 1.05, "a": 0.5}).printed["value"].applies


@pytest.mark.independent("arda.eq3")
@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid", "sin"])
def test_activation_constants_by_differentiation(name: str) -> None:
    bounds = sound("arda.eq3", activation=name)
    with jax.enable_x64(True):
        x = jnp.linspace(-12.0, 12.0, 24_001)
        f = JAX_SIGMA[name]
        derivatives = jax.jit(lambda x: [jax.vmap(g)(x) for g in (f, jax.grad(f), jax.grad(jax.grad(f)))])
        found = [float(np.max(np.abs(np.asarray(values)))) for values in derivatives(x)]
    for value, bound in zip(found, bounds.values(), strict=True):
        assert 0.99999 * bound < value <= bound


@pytest.mark.property_of("arda.eq3")
def test_the_released_erf_slope_is_too_large_by_root_two() -> None:
    x = 0.3
    released = 2 / math.sqrt(math.pi) * math.exp(-(x**2) / 2)
    assert released / float(activation("erf").slope(np.asarray(x))) == pytest.approx(math.sqrt(2), rel=1e-12)


@pytest.mark.independent("arda.prop2")
def test_search_stays_below_the_recurrent_constants() -> None:
    T, sigma = 3, activation("tanh")

    def split(z, U):
        return jnp.concatenate([in_ball(z[:1], U), z[1:3]]), in_ball(z[3:].reshape(T, 2))

    def gradient(z, U):
        theta, X = split(z, U)
        return jax.grad(lambda t: unit(jnp.tanh, t, X))(theta)

    def bend(z, U):
        theta, X = split(z, U)
        return jnp.max(jnp.abs(jnp.linalg.eigvalsh(jax.hessian(lambda t: unit(jnp.tanh, t, X))(theta))))

    goals = (
        lambda z, U: jnp.linalg.norm(gradient(z, U)[1:]),
        lambda z, U: jnp.abs(gradient(z, U)[0]),
        lambda z, U: jnp.linalg.norm(gradient(z, U)),
        bend,
    )
    with jax.enable_x64(True):
        starts = jnp.asarray(np.random.default_rng(7).normal(size=(60, 3 + 2 * T)))
        run = jax.jit(lambda s, U: [ascend(lambda z, goal=goal: goal(z, U), s, 150, 0.2) for goal in goals])
        found = {U: [float(value) for value in run(starts, U)] for U in (0.5, 1.5)}
    for U, (Lw, Lu, L1, L2) in found.items():
        bounds = recurrent_unit(sigma, T, U)
        assert 0.95 * bounds.Lw < Lw <= bounds.Lw * (1 + 1e-12)
        assert 0.4 * bounds.Lu < Lu <= bounds.Lu
        assert 0.7 * bounds.L1 < L1 <= bounds.L1
        assert 0.25 * bounds.L2 < L2 <= bounds.L2
