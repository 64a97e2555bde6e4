"""Sparse majority: one small run against plain gradient descent, and analyses whose answer is known."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certiformer.experiments import _trauger_runs as runs
from certiformer.sweep import Outcome
from certiformer.tasks.sparse_majority import sparse_majority
from certiformer.training.losses import two_sigmoids

CONFIG = {
    "tokens": 6,
    "seed": 3,
    "samples": 16,
    "validation": 50,
    "relevant": 3,
    "d": 8,
    "heads": 2,
    "batch": 16,
    "rate": 0.2,
    "epochs": 6,
    "validated_every": 2,
}


@functools.cache
def outcome() -> Outcome:
    return runs.run(dict(CONFIG))


def small_problem() -> tuple[Any, Any]:
    """Task and starting weights from the seed's own keys."""
    key_task, key_model, _ = jax.random.split(jax.random.key(CONFIG["seed"]), 3)
    task = sparse_majority(key_task, n=16, n_test=50, tokens=6, relevant=3, d=8)
    model = runs.KerasClsTransformer.init(key_model, runs.KerasClsTransformerConfig(8, 2, key_size=8))
    return task, model


def test_a_run_is_momentum_descent_on_the_plain_network() -> None:
    task, model = small_problem()

    @jax.jit
    def losses(model: Any) -> Any:
        def mean(model: Any, part: Any) -> Any:
            return jnp.mean(jax.vmap(two_sigmoids)(jax.vmap(model)(part.inputs), part.labels))

        loss, gradient = jax.value_and_grad(mean)(model, task.train)
        return loss, gradient, mean(model, task.test)

    velocity = jax.tree.map(jnp.zeros_like, model)
    train, validation, totals = [], [], []
    for epoch in range(7):
        loss, gradient, held_out = losses(model)
        train.append(float(loss))
        validation.append(float(held_out))
        totals.append(sum(float(jnp.sum(jnp.abs(leaf))) for leaf in jax.tree.leaves(model)))
        rate = max(0.02, 0.2 * 0.999 ** (epoch + 1))
        velocity = jax.tree.map(lambda v, g, rate=rate: 0.9 * v - rate * g, velocity, gradient)
        model = jax.tree.map(lambda p, v: p + v, model, velocity)

    found = outcome()
    looked = [2, 4, 6]  # validated after every second epoch; an epoch's own loss is that before its step
    np.testing.assert_array_equal(found.arrays["epoch"], looked)
    np.testing.assert_allclose(found.arrays["loss"], [train[k - 1] for k in looked], rtol=1e-4)
    np.testing.assert_allclose(found.arrays["validation_loss"], [validation[k] for k in looked], rtol=1e-4)
    np.testing.assert_allclose(found.arrays["l1"], [totals[k] for k in looked], rtol=1e-5)
    best = min(looked, key=lambda k: validation[k])
    assert found.values["best_epoch"] == best
    assert found.values["train_loss"] == np.float32(found.values["train_loss"])
    np.testing.assert_allclose(found.values["train_loss"], train[best], rtol=1e-4)
    np.testing.assert_allclose(found.values["l1"], totals[best], rtol=1e-5)
    np.testing.assert_allclose(runs.gap(found.values), validation[best] - train[best], atol=1e-4)


def test_a_seed_decides_everything() -> None:
    again = runs.run(dict(CONFIG))
    assert again.values == outcome().values
    for name, curve in again.arrays.items():
        np.testing.assert_array_equal(curve, outcome().arrays[name])
    assert runs.run({**CONFIG, "seed": 4}).values["validation_loss"] != outcome().values["validation_loss"]


def test_biases_are_weights_of_a_constant_coordinate() -> None:
    task, model = small_problem()
    rng = np.random.default_rng(0)
    model = jax.tree.map(lambda leaf: leaf + jnp.asarray(0.7 * rng.standard_normal(leaf.shape), leaf.dtype), model)
    layer, inputs = runs.without_biases(model), task.test.inputs[:10]
    expected = np.asarray(jax.jit(jax.vmap(model))(inputs))
    for x, logits_of_model in zip(np.asarray(inputs, np.float64), expected, strict=True):
        tokens = runs.with_constant(x)
        hidden = np.zeros(9)
        for W_v, W_QK in zip(layer.W_v, layer.W_QK, strict=True):
            scores = tokens @ W_QK.T @ tokens[-1]
            attention = np.exp(scores - scores.max())
            hidden += W_v.T @ tokens.T @ (attention / attention.sum())
        logits = layer.w.T @ layer.W_c.T @ np.maximum(hidden, 0.0)
        np.testing.assert_allclose(logits, logits_of_model, rtol=1e-3, atol=1e-3)


def test_norms_by_brute_force() -> None:
    task, model = small_problem()
    table = np.asarray(task.source.table, np.float64)
    layer, norms, sizes = runs.without_biases(model), runs.theorem_norms(model, table), runs.token_sizes(table)
    assert np.isclose(norms["Bw"], np.abs(layer.w).sum(axis=0).max())
    assert np.isclose(norms["Bc"], np.abs(layer.W_c).sum(axis=0).max())
    assert np.isclose(norms["Bc_transposed"], np.abs(layer.W_c).sum(axis=1).max())
    for h in range(2):
        assert np.isclose(norms["Bv"][h], np.abs(layer.W_v[h]).sum(axis=0).max())
        assert np.isclose(norms["Bv_transposed"][h], np.abs(layer.W_v[h]).sum(axis=1).max())
        assert np.isclose(norms["BQK"][h], np.abs(layer.W_QK[h]).sum())
        assert np.isclose(norms["scores"][h], np.abs(layer.W_QK[h].T @ [*table[-1], 1.0]).sum())
    assert np.isclose(sizes["Bx"], np.sqrt((table**2).sum(axis=1).max() + 1))
    distances = np.linalg.norm(table[:, None] - table[None], axis=-1)
    assert np.isclose(sizes["rho"], distances.max() / 2)
    assert np.isclose(sizes["D"], max(1.0, np.abs(table).max()))
