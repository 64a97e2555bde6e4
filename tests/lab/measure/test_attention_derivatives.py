"""Deora's Lemma 1 against automatic differentiation, and the worked values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from attention_derivatives import head_gradient, head_hessian, head_second_derivative, head_value
from certiformer.lab import models


def example(T, d):
    t, j = np.arange(T)[:, None], np.arange(d)[None, :]
    i = np.arange(d)[:, None]
    return np.sin(1 + t + 2 * j) / 2, (t + 1) * (j - 0.5) / 4, np.cos(i - 2 * j) / 3


@pytest.mark.parametrize(
    ("T", "d", "value", "grad_U", "grad_W", "hessian"),
    [
        (2, 2, -0.2241050161, 0.6589819005, 0.01016035386, 0.03403141268),
        (3, 2, -0.4358575928, 0.7142340933, 0.01083571495, 0.05335615121),
        (4, 3, -0.1937652062, 0.5604821116, 0.3096972075, 0.2543016564),
    ],
)
def test_worked_values(T, d, value, grad_U, grad_W, hessian):
    x, U, W = example(T, d)
    assert head_value(x, U, W) == pytest.approx(value, rel=1e-9)
    by_U, by_W = head_gradient(x, U, W)
    assert np.linalg.norm(by_U) == pytest.approx(grad_U, rel=1e-9)
    assert np.linalg.norm(by_W) == pytest.approx(grad_W, rel=1e-9)
    assert np.linalg.norm(head_hessian(x, U, W), 2) == pytest.approx(hessian, rel=1e-9)


def test_against_automatic_differentiation():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for T, d in ((2, 1), (3, 4)):
            x, U, A = rng.normal(size=(3, T, d))
            W, B = rng.normal(size=(2, d, d))

            def phi(flat, x=x, T=T, d=d):
                U, W = flat[: T * d].reshape(T, d), flat[T * d :].reshape(d, d)
                return jnp.sum(U * (jax.nn.softmax(x @ W @ x.T, axis=-1) @ x))

            flat = jnp.concatenate([U.ravel(), W.ravel()])
            gradient = np.asarray(jax.jit(jax.grad(phi))(flat))
            hessian = np.asarray(jax.jit(jax.hessian(phi))(flat))
            np.testing.assert_allclose(
                np.concatenate([g.ravel() for g in head_gradient(x, U, W)]), gradient, atol=1e-12
            )
            np.testing.assert_allclose(head_hessian(x, U, W), hessian, atol=1e-12)
            move = np.concatenate([A.ravel(), B.ravel()])
            assert head_second_derivative(x, U, W, A, B) == pytest.approx(move @ hessian @ move, rel=1e-10)
            config = models.config("multi_head_attention", d=d, tokens=T, heads=1)
            model = models.MultiHeadAttention(config, U=jnp.asarray(U)[None], W=jnp.asarray(W)[None])
            assert head_value(x, U, W) == pytest.approx(float(model(jnp.asarray(x))), rel=1e-12)
