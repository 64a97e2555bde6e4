"""Forward values, gradients and kernels against the vectors of the papers' audits, in double precision."""

from __future__ import annotations

import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from certiformer.lab import models

VECTORS = {
    entry["id"]: entry for entry in json.loads(Path(__file__).parents[2].joinpath("vectors/models.json").read_text())
}


@pytest.fixture(autouse=True)
def _double_precision():
    with jax.enable_x64(True):
        yield


run = eqx.filter_jit(lambda model, x: model(x))


def close(found, expected):
    """Equal to 1e-9, and computed in double precision."""
    assert np.asarray(found).dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


def cls_transformer(inputs, layers, **settings):
    config = models.ClsTransformerConfig(d=2, k=3, layers=layers, activation="relu", **settings)
    stacked = {name: jnp.asarray(inputs[name], float)[:layers, None] for name in ("W_QK", "W_v", "W_c")}
    return models.ClsTransformer(config, **stacked, w=jnp.asarray(inputs["w"], float))


def test_cls_transformer_with_projections():
    inputs, values = VECTORS["trauger.model"]["inputs"], VECTORS["trauger.model"]["values"]
    x = jnp.asarray(inputs["X"], float)
    for layers in (1, 2):
        model = cls_transformer(inputs, layers, projected=True)
        close(run(model, x), values[f"L{layers}"])
        close(run(model.rows, x)[0], values[f"Z{layers}"])


def test_cls_transformer_of_one_layer_has_no_projection():
    entry = VECTORS["trauger.model41"]
    x = jnp.asarray(entry["inputs"]["X"], float)
    single = {name: [value] if name.startswith("W") else value for name, value in entry["inputs"].items()}
    close(run(cls_transformer(single, 1), x), entry["values"]["y"])
    # The other orientation of W_QK, which the paper also prints, is another function.
    transposed = single | {"W_QK": np.swapaxes(single["W_QK"], 1, 2)}
    close(run(cls_transformer(transposed, 1), x), entry["values"]["y_transposed_W_QK"])


def test_shallow_encoder():
    values = VECTORS["mwigo.model"]["values"]
    row = np.arange(1.0, 17.0)
    x = jnp.asarray(np.sin(np.arange(1.0, 13.0)).reshape(3, 4))
    model = models.ShallowEncoder(
        models.ShallowEncoderConfig(d=4, d_m=4),
        W_Q=jnp.asarray(np.cos(row).reshape(4, 4) / 2),
        W_K=jnp.asarray(np.sin(2 * row).reshape(4, 4) / 2),
        W_V=jnp.asarray(np.cos(row**2).reshape(4, 4) / 2),
        w_O=jnp.asarray([0.5, -0.25, 0.75, 1.0]),
    )
    close(run(model, x), values["f"])
    close(run(model.features, x), values["features"])
    close(np.linalg.norm(x, axis=1).max(), values["max_token_norm"])
    close(np.linalg.norm(x), values["frobenius_norm"])


@pytest.mark.parametrize("row", VECTORS["deora.lem1"]["values"], ids=lambda row: f"T{row['T']}d{row['d']}")
def test_multi_head_attention(row):
    T, d = row["T"], row["d"]
    t, i, j = np.arange(T)[:, None], np.arange(d)[:, None], np.arange(d)
    x = jnp.asarray(np.sin(1 + t + 2 * j) / 2)
    model = models.MultiHeadAttention(
        models.MultiHeadAttentionConfig(d=d, tokens=T, heads=1),
        U=jnp.asarray((t + 1) * (j - 0.5) / 4)[None],
        W=jnp.asarray(np.cos(i - 2 * j) / 3)[None],
    )
    flat, unravel = ravel_pytree(model)

    @jax.jit
    def derivatives(v):
        value, gradient = jax.value_and_grad(lambda m: m(x))(unravel(v))
        return value, gradient, jax.hessian(lambda at: unravel(at)(x))(v)

    value, gradient, hessian = derivatives(flat)
    close(value, row["Phi"])
    close(np.linalg.norm(gradient.U), row["grad_U"])
    close(np.linalg.norm(gradient.W), row["grad_W"])
    close(np.linalg.norm(hessian, ord=2), row["hessian"])


@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_gradients_of_a_head_give_the_kernel_given_w(name):
    """E_u <grad f(X), grad f(X')> for one W, by Gauss-Hermite quadrature over u in the plane."""
    entry = VECTORS["arda.ntk_given_W"]
    x = jnp.asarray(entry["inputs"]["X_columns"]).T
    x2 = jnp.asarray(entry["inputs"]["X2_columns"]).T
    W = jnp.asarray(entry["inputs"]["W"])
    config = models.IndependentHeadsConfig(d=2, heads=2, activation=name)

    def gradient(u, data):
        # Two equal heads of weights +-1/sqrt 2: the gradient of the pair has the norm of one head's.
        pair = models.IndependentHeads(config, c=jnp.asarray([1.0, -1.0]), u=jnp.stack([u, u]), W=jnp.stack([W, W]))
        return jax.grad(lambda model: model(data))(pair)

    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    grid = jnp.asarray(np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2))
    mass = np.outer(weights, weights).ravel()
    gradients = jax.jit(jax.vmap(gradient, in_axes=(0, None)))
    here, there = gradients(grid, x), gradients(grid, x2)
    for part, key in (("c", "K_c"), ("u", "K_u"), ("W", "K_w")):
        product = np.asarray(getattr(here, part)) * np.asarray(getattr(there, part))
        found = mass @ product.reshape(len(grid), -1).sum(axis=1)
        np.testing.assert_allclose(found, entry["values"][name][key], rtol=2e-8)
