"""Tangent kernels, margins that are really achieved, and linearisation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from certiformer.lab import models
from certiformer.lab.measure.linearization import approximation_error, boundary_move, linearization_error
from certiformer.lab.measure.ntk import flat_gradient, gram, gram_memory, hard_margin
from certiformer.theory.core.errors import InputError


def tanh_net(params, x):
    return jnp.sum(jnp.tanh(x @ params["a"]) * params["b"])


def net(key=0, samples=7):
    keys = jax.random.split(jax.random.key(key), 3)
    params = {"a": jax.random.normal(keys[0], (3, 4)), "b": jax.random.normal(keys[1], (4,))}
    return params, jax.random.normal(keys[2], (samples, 3))


def test_gram_in_blocks_is_the_gram_of_gradients():
    params, x = net()
    gradients = np.asarray(jax.vmap(lambda sample: flat_gradient(tanh_net, params, sample))(x))
    kernel = gram(tanh_net, params, x, block=3)
    np.testing.assert_allclose(kernel, gradients @ gradients.T, rtol=1e-5, atol=1e-6)
    assert gram_memory(7, 16, 3) == 2 * 3 * 16 * 4 + 49 * 4
    with pytest.raises(InputError, match="GB"):
        gram(tanh_net, params, x, memory_limit=10.0)


def separable(rows):
    """Is there w with rows w >= 1? An independent linear programme."""
    result = linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=(None, None))
    return result.status == 0


def test_margin_of_simple_sets():
    found = hard_margin([[1.0, 0.0], [0.0, 1.0]])
    assert found.achieved.value == pytest.approx(2**-0.5, rel=1e-9)
    assert found.at_most.value == pytest.approx(2**-0.5, rel=1e-9)
    assert found.achieved.value <= 2**-0.5 <= found.at_most.value
    lifted = np.zeros((3, 500))
    lifted[0, 3], lifted[1, 77], lifted[2, 499] = 2.0, 2.0, 2.0
    assert hard_margin(lifted).achieved.value == pytest.approx(2 / 3**0.5, rel=1e-9)
    assert hard_margin([[1.0], [-1.0]]).achieved.value == 0.0
    assert hard_margin([[1.0], [0.0]]).achieved.value == 0.0


@pytest.mark.parametrize("scaling", [0.0, 5.0])
def test_margin_is_never_claimed_for_what_is_not_separable(scaling):
    rng = np.random.default_rng(0)
    for trial in range(25):
        rows = rng.normal(size=(6, 9 if trial % 2 else 4)) * 10 ** rng.uniform(-scaling, scaling, (6, 1))
        blocked = np.concatenate([rows, -rows[:1]])
        assert hard_margin(blocked).achieved.value == 0.0
        found = hard_margin(rows)
        if found.achieved.value > 0:
            assert separable(rows)
            assert np.min(rows @ found.direction) >= found.achieved.value
            assert np.linalg.norm(found.direction) == pytest.approx(1.0, rel=1e-12)
        assert found.achieved.value <= found.at_most.value * (1 + 1e-9)
        if scaling == 0.0 and separable(rows):
            assert found.achieved.value == pytest.approx(found.at_most.value, rel=1e-6)


def test_margin_finds_every_comfortably_separable_set():
    rng = np.random.default_rng(3)
    aim = rng.normal(size=12)
    rows = rng.normal(size=(40, 12))
    rows = rows * np.sign(rows @ aim)[:, None] + 0.2 * aim / np.linalg.norm(aim)
    found = hard_margin(rows)
    assert found.achieved.value >= np.min(rows @ aim) / np.linalg.norm(aim) > 0


def test_linearization_and_boundary_moves():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(5, 4, 3)), jnp.float32)
    model = models.build("independent_heads", jax.random.key(1), d=3, heads=8)
    radii = {"c": 3.0, "u": 2.0, "W": 1.0}
    moved = boundary_move(model, x, radii)
    for name, radius in radii.items():
        step = np.asarray(getattr(moved, name) - getattr(model, name)).reshape(8, -1)
        np.testing.assert_allclose(np.linalg.norm(step, axis=1), radius / 8**0.5, rtol=2e-4)
    apply = lambda m, s: m(s)  # noqa: E731
    assert linearization_error(apply, model, model, x).largest.value < 1e-6
    found = linearization_error(apply, model, moved, x)
    assert 0 < found.mean.value <= found.largest.value
    # A move in c alone is linear: no linearisation error, and labels that it fits leave nothing over.
    flat = type(model)(model.config, c=moved.c, u=model.u, W=model.W)
    assert linearization_error(apply, model, flat, x).largest.value < 1e-5
    assert approximation_error(apply, model, flat, x, jax.vmap(flat)(x)).largest.value < 1e-5
    with pytest.raises(InputError, match="missing"):
        boundary_move(model, x, {"c": 1.0})
