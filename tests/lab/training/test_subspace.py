"""Subspace descent: integer coordinates, reproducible, shorter under a penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab.training.losses import logistic
from certiformer.lab.training.subspace import Quantisation, Subspace, descend
from certiformer.theory.core.errors import InputError

SETTINGS = Quantisation(step=0.5, steps=400, learning_rate=0.1, examples=200, batch=50)


def linear(params: Any, x: Any) -> Any:
    return x @ params[0]


def problem(k: int = 2, d: int = 5) -> tuple[Subspace, Any, Any]:
    """Labels from a direction inside the subspace."""
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((d, k))
    x = rng.standard_normal((200, d))
    y = np.sign(x @ basis @ np.arange(1.0, k + 1.0))
    space = Subspace((jnp.zeros(d),), (jnp.asarray(basis, jnp.float32),))
    return space, jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)


def test_a_point_is_the_origin_plus_the_basis_times_z() -> None:
    space = Subspace(
        (jnp.array([1.0, 2.0]), jnp.array(3.0)), (jnp.array([[1.0, 0.0], [0.0, 2.0]]), jnp.array([5.0, 7]))
    )
    first, second = space.at(jnp.array([10.0, 100.0]))
    assert space.dimension == 2
    np.testing.assert_array_equal(first, [11.0, 202.0])
    assert float(second) == 3.0 + 50.0 + 700.0


def test_descent_learns_on_the_grid() -> None:
    space, x, y = problem()
    z = descend(linear, logistic, space, x, y, jax.random.key(0), SETTINGS, progress=False)
    assert z.dtype == np.int64
    assert z.shape == (2,)
    predictions = linear(space.at(jnp.asarray(SETTINGS.step * z, jnp.float32)), x)
    assert float(jnp.mean(predictions * y <= 0)) < 0.1


def test_the_same_key_gives_the_same_codeword() -> None:
    space, x, y = problem()
    first, second = (
        descend(linear, logistic, space, x, y, jax.random.key(3), SETTINGS, progress=False) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_a_heavier_penalty_shortens_the_codeword() -> None:
    space, x, y = problem()
    light, heavy = (
        descend(linear, logistic, space, x, y, jax.random.key(1), replace(SETTINGS, penalty=penalty), progress=False)
        for penalty in (0.0, 100.0)
    )
    assert np.sum(heavy**2) < np.sum(light**2)


@pytest.mark.parametrize("name", ["step", "steps", "learning_rate", "examples", "batch", "first_scale"])
def test_settings_must_be_positive(name: str) -> None:
    with pytest.raises(InputError, match=name):
        replace(SETTINGS, **{name: 0})
