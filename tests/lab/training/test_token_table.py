"""The objective on bits against the plain model on tokens: losses and gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import models
from certiformer.lab.tasks.sparse_majority import SparseMajority
from certiformer.lab.training import supervised
from certiformer.lab.training.losses import correct, cross_entropy, two_sigmoids
from certiformer.lab.training.token_table import token_table, token_table_logits
from certiformer.theory.core.errors import InputError


def jolt(model, key, scale=0.1):
    """Weights away from the symmetric start, where outputs and many gradients vanish."""
    leaves, structure = jax.tree.flatten(model)
    keys = jax.random.split(key, len(leaves))
    moved = [leaf + scale * jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, moved)


@pytest.mark.parametrize("each", [two_sigmoids, cross_entropy])
def test_bits_and_tokens_have_the_same_loss_and_gradient(each):
    """Both ways to sum, chosen by the guard: the difference of the tables, and the masked softmax."""
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(4), 4)
        source = SparseMajority.draw(keys[0], tokens=9, relevant=3, d=8, dtype="float64")
        start = models.build("keras_cls_transformer", keys[1], d=8, heads=2, key_size=5, dtype="float64")
        model, bits = jolt(start, keys[2]), source.sample_bits(keys[3], 17)
        labels = source.labels(bits)
        plain = supervised(lambda model, x: model(x), each, accuracy=True)
        (loss, metrics), gradient = jax.jit(jax.value_and_grad(plain, has_aux=True))(
            model, (source.embed(bits), labels)
        )

        @jax.jit
        def on_bits(model, guard):
            objective = token_table(each, guard=guard)
            return jax.value_and_grad(objective, has_aux=True)(model, (bits.astype("float64"), labels, source.table))

        largest = max(float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves(gradient))
        for guard in (1e5, 0.0):
            (bits_loss, bits_metrics), bits_gradient = on_bits(model, guard)
            np.testing.assert_allclose(bits_loss, loss, rtol=1e-12)
            assert bits_metrics.keys() == metrics.keys() == {"accuracy"}
            assert float(bits_metrics["accuracy"]) == float(metrics["accuracy"])
            for expected, got in zip(jax.tree.leaves(gradient), jax.tree.leaves(bits_gradient), strict=True):
                np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * largest)


def test_the_guard_catches_a_dominating_absent_token():
    # A logit of about +60 on the zeros of position 0: sequences with a one there see none of that mass.
    keys = jax.random.split(jax.random.key(5), 2)
    source = SparseMajority.draw(keys[0], tokens=5, relevant=3, d=8)
    model = models.build("keras_cls_transformer", keys[1], d=8, heads=2, key_size=5)
    aim = source.table[0] - source.table[5]
    direction = jnp.zeros((8, 2, 5)).at[:, :, 0].set(60 * (aim / (aim @ aim))[:, None])
    model = type(model)(
        **{**models.weights(model), "W_K": direction, "b_Q": jnp.zeros((2, 5)).at[:, 0].set(5**0.5)},
        config=model.config,
    )
    bits = jnp.asarray([[1, 0, 1, 0, 1], [0, 1, 1, 0, 0]])
    expected = jax.vmap(model)(source.embed(bits))
    got = token_table_logits(model, bits.astype(jnp.float32), source.table)
    careless = token_table_logits(model, bits.astype(jnp.float32), source.table, guard=float("inf"))
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert not np.allclose(careless, expected, rtol=1e-3)


def test_a_table_has_two_rows_for_each_bit():
    key = jax.random.key(0)
    model = models.build("keras_cls_transformer", key, d=3, heads=1, key_size=2)
    with pytest.raises(InputError, match="rows"):
        token_table_logits(model, jnp.ones((1, 4)), jnp.ones((5, 3)))


def test_correct_counts_decisions():
    assert float(correct(jnp.asarray(2.0), jnp.asarray(1.0))) == 1.0
    assert float(correct(jnp.asarray(0.0), jnp.asarray(1.0))) == 0.0
    assert float(correct(jnp.asarray([0.1, 0.2]), jnp.asarray(0))) == 0.0
