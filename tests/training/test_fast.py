"""The structured objectives against the plain models: losses and gradients, in both precisions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer import models
from certiformer.core.errors import InputError
from certiformer.tasks.sparse_majority import SparseMajority
from certiformer.training import fast, gradients_of, supervised
from certiformer.training.fast import token_table_logits
from certiformer.training.leave_one_out import weights
from certiformer.training.losses import absolute, correct, logistic, squared, two_sigmoids

TOLERANCE = {"float32": 3e-5, "float64": 1e-10}


def plain(loss, accuracy=False):
    return supervised(lambda model, x: model(x), loss, accuracy=accuracy)


def jolt(model, key, scale=0.1):
    """Weights away from the symmetric start, where outputs and many gradients vanish."""
    leaves, structure = jax.tree.flatten(model)
    keys = jax.random.split(key, len(leaves))
    moved = [leaf + scale * jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, moved)


def agree(reference, candidate, model, batch, prepared, dtype):
    (loss, metrics), gradient = jax.jit(jax.value_and_grad(reference, has_aux=True))(model, batch)
    (fast_loss, fast_metrics), fast_gradient = jax.jit(jax.value_and_grad(candidate, has_aux=True))(model, prepared)
    rtol = TOLERANCE[dtype]
    np.testing.assert_allclose(fast_loss, loss, rtol=rtol)
    for name, value in fast_metrics.items():
        np.testing.assert_allclose(value, metrics[name], rtol=rtol)
    largest = max(float(np.max(np.abs(leaf))) for leaf in jax.tree.leaves(gradient))
    for expected, got in zip(jax.tree.leaves(gradient), jax.tree.leaves(fast_gradient), strict=True):
        assert got.dtype == expected.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=0, atol=rtol * largest)


@pytest.mark.parametrize(
    ("settings", "loss", "block", "dtype"),
    [
        ({"query": "last"}, squared, None, "float64"),
        ({"query": "cls", "activation": "erf"}, absolute, 3, "float32"),
    ],
)
def test_independent_heads(settings, loss, block, dtype):
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 4)
        model = jolt(models.build("independent_heads", keys[0], d=3, heads=6, dtype=dtype, **settings), keys[1])
        x = jax.random.normal(keys[2], (11, 5, 3), dtype)
        y = jax.random.normal(keys[3], (11,), dtype)
        prepared = fast.blocks(x, y, 6, block=block)
        agree(plain(loss), fast.independent_heads(loss), model, (x, y), prepared, dtype)


def test_indrnn():
    dtype, block = "float64", 4
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(1), 4)
        model = jolt(models.build("indrnn", keys[0], d=3, units=6, dtype=dtype), keys[1])
        x = 0.5 * jax.random.normal(keys[2], (10, 7, 3), dtype)
        y = jax.random.normal(keys[3], (10,), dtype)
        agree(plain(squared), fast.indrnn(), model, (x, y), fast.blocks(x, y, 6, block=block), dtype)


def test_many_attentions():
    dtype = "float64"
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(2), 4)
        runs, n = 6, 5
        each = [
            models.build("multi_head_attention", key, d=4, tokens=3, heads=2, start="random", dtype=dtype)
            for key in jax.random.split(keys[0], runs)
        ]
        stacked = jax.tree.map(lambda *leaves: 3 * jnp.stack(leaves), *each)
        x = jax.random.normal(keys[1], (n, 3, 4), dtype)
        y = jnp.sign(jax.random.normal(keys[2], (n,), dtype))

        def losses(model, batch):
            return jax.vmap(logistic)(jax.vmap(model)(batch[0]), batch[1])

        table = weights(n, jnp.dtype(dtype))
        expected = jax.jit(gradients_of(losses))(stacked, (x, y), table)
        got = jax.jit(fast.many_attentions())(stacked, (x, y), table)
        for left, right in zip(jax.tree.leaves(expected), jax.tree.leaves(got), strict=True):
            np.testing.assert_allclose(right, left, rtol=50 * TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_merged_patches():
    dtype = "float64"
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(3), 3)
        model = models.build("shallow_encoder", keys[0], d=4, d_m=16, dtype=dtype)
        rng = np.random.default_rng(0)
        vocabulary = rng.normal(size=(6, 4))
        vocabulary[0] = -1.0
        # Many repeated tokens, some samples with all tokens equal, some with all distinct.
        choice = rng.integers(0, 6, (13, 6)) * (rng.random((13, 6)) < 0.6)
        choice[0], choice[1] = 0, np.arange(6)
        x = jnp.asarray(vocabulary[choice], dtype)
        y = jnp.asarray(np.sign(rng.normal(size=13)), dtype)
        prepared = fast.merge_patches(x, y, buckets=3, rows=12)
        agree(plain(logistic, True), fast.merged_patches(accuracy=True), model, (x, y), prepared, dtype)
        merged = fast.merge_patches(x, y, buckets=1)[0]
        counts = np.asarray(jnp.sum(merged.multiplicity, axis=-1))[np.asarray(merged.weight) > 0]
        assert counts.tolist() == [6.0] * 13


@pytest.mark.parametrize(("dtype", "guard"), [("float32", None), ("float64", 0.0)])
def test_token_table(dtype, guard):
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(4), 4)
        source = SparseMajority.draw(keys[0], tokens=9, relevant=3, d=8, dtype=dtype)
        model = jolt(models.build("keras_cls_transformer", keys[1], d=8, heads=2, key_size=5, dtype=dtype), keys[2])
        bits = source.sample_bits(keys[3], 17)
        labels = source.labels(bits)
        batch = (bits.astype(dtype), labels, source.table)
        fast_objective = fast.token_table(two_sigmoids, guard=guard)
        agree(plain(two_sigmoids, True), fast_objective, model, (source.embed(bits), labels), batch, dtype)


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


def test_fast_forms_refuse_what_they_do_not_cover():
    key = jax.random.key(0)
    x, y = jnp.ones((2, 3, 3)), jnp.ones(2)
    with pytest.raises(InputError, match="query"):
        fast.independent_heads()(
            models.build("independent_heads", key, d=3, heads=2, query="seed"), fast.blocks(x, y, 2)
        )
    with pytest.raises(InputError, match="activation"):
        fast.indrnn()(models.build("indrnn", key, d=3, units=2, activation="erf"), fast.blocks(x, y, 2))
    with pytest.raises(InputError, match="shapes"):
        fast.blocks(x, jnp.ones(3), 2)
    with pytest.raises(InputError, match="shapes"):
        fast.merge_patches(x[0], y)
    model = models.build("keras_cls_transformer", key, d=3, heads=1, key_size=2)
    with pytest.raises(InputError, match="rows"):
        token_table_logits(model, jnp.ones((1, 4)), jnp.ones((5, 3)))


def test_correct_counts_decisions():
    assert float(correct(jnp.asarray(2.0), jnp.asarray(1.0))) == 1.0
    assert float(correct(jnp.asarray(0.0), jnp.asarray(1.0))) == 0.0
    assert float(correct(jnp.asarray([0.1, 0.2]), jnp.asarray(0))) == 0.0
