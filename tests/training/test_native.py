"""The kernels against their JAX forms: losses over a hundred steps, and what is said without Numba."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from certiformer import models
from certiformer.core.errors import InputError
from certiformer.tasks.sparse_majority import SparseMajority
from certiformer.training import fast
from certiformer.training.fast import native
from certiformer.training.projection import onto_heads_ball

SINGLE, DOUBLE = 1e-6, 1e-12


def test_without_numba_it_is_said_once(monkeypatch):
    monkeypatch.setattr(native, "_installed", lambda: False)
    native._say.cache_clear()
    with pytest.warns(UserWarning, match=r"certiformer\[fast\]"):
        assert not native.wanted()
    assert not native.wanted()  # a second warning would be an error here
    native._say.cache_clear()
    assert native.wanted(True)


def blank_images(n, tokens=6, d=4):
    """Many repeated tokens, as blank margins make them; one image with all tokens equal, one with all distinct."""
    rng = np.random.default_rng(0)
    vocabulary = rng.normal(size=(tokens, d))
    choice = rng.integers(0, tokens, (n, tokens)) * (rng.random((n, tokens)) < 0.6)
    choice[0], choice[1] = 0, np.arange(tokens)
    images = vocabulary[choice]
    return images, np.sign(images.mean(axis=1)[:, 0] - np.median(images.mean(axis=1)[:, 0]) + 1e-9)


@pytest.mark.parametrize("batch", [7, 40], ids=["batches", "blocks"])
def test_patch_epochs(batch):
    images = fast.distinct_patches(*blank_images(40))
    model = models.build("shallow_encoder", jax.random.key(0), d=4, d_m=16)
    rng = np.random.default_rng(1)
    orders = [rng.permutation(40) for _ in range(100 * batch // 40 + 1)]
    losses = []
    for kernel in (True, False):
        steps = fast.patch_epochs(images, batch=batch, rate=0.5, gain=1.3, native_kernel=kernel)
        weights = {name: np.array(value) for name, value in models.weights(model).items()}
        losses.append([(steps.epoch(weights, order), steps.loss(weights, images)) for order in orders])
    np.testing.assert_allclose(losses[0], losses[1], rtol=SINGLE)
    assert losses[0][-1][0] < 0.9 * losses[0][0][0]


@pytest.mark.parametrize("width", [6, 40])
@pytest.mark.parametrize(
    ("kind", "dtype", "rtol"),
    [("heads", "float32", SINGLE), ("units", "float32", SINGLE), ("units", "float64", DOUBLE)],
)
def test_windows(kind, dtype, rtol, width):
    """Gradient descent for a hundred steps; 11 samples leave the last group with gaps, 40 heads the last lanes."""
    name, make = {
        "heads": ("independent_heads", fast.window_heads),
        "units": ("indrnn", fast.window_units),
    }[kind]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(11, 6, 5))
    x[:, :, 1:] = x[:1, :, 1:]
    data = fast.windows(x, np.tanh(x[:, 0, 0]), dtype)
    with jax.enable_x64(dtype == "float64"):
        model = models.build(
            name, jax.random.key(0), d=5, dtype=dtype, **{"heads": {"heads": width}, "units": {"units": width}}[kind]
        )
    losses = []
    for kernel in (True, False):
        weights = {part: np.array(value) for part, value in models.weights(model).items()}
        descent, seen = make(data, native_kernel=kernel), []
        for _ in range(100):
            loss, gradient = descent.gradient(weights)
            seen.append((loss, descent.loss(weights, data)))
            weights = {part: value - np.float32(0.05) * gradient[part] for part, value in weights.items()}
        losses.append(seen)
    np.testing.assert_allclose(losses[0], losses[1], rtol=rtol, atol=0.1 * rtol)
    assert losses[0][-1][0] < 0.7 * losses[0][0][0]


@pytest.mark.parametrize(("name", "block", "jacobian"), [("independent_heads", "W", "heads"), ("indrnn", "u", "units")])
def test_jacobians_of_windows(name, block, jacobian):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20, 6, 5))
    x[:, :, 1:] = x[:1, :, 1:]
    with jax.enable_x64(True):
        model = models.build(name, jax.random.key(1), d=5, dtype="float64")

        def output(values, window):
            return replace(model, **{block: values})(window)

        each = jax.jit(jax.vmap(jax.grad(output), in_axes=(None, 0)))(getattr(model, block), x)
        expected = np.sqrt(np.sum(np.asarray(each).reshape(20, -1) ** 2, axis=1))
    weights = {part: np.array(value) for part, value in models.weights(model).items()}
    found = getattr(fast, f"{jacobian}_jacobian")(weights, fast.windows(x, np.zeros(20), "float64"))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(("heads", "d", "tokens"), [(4, 5, 6), (64, 5, 6), (40, 20, 3), (16, 8, 1)])
def test_head_descent(heads, d, tokens):
    """Projected descent for a hundred steps; 130 samples leave the last group nearly empty, 40 heads the last lanes."""
    rng = np.random.default_rng(0)
    x = np.asfortranarray(0.5 * rng.normal(size=(130, tokens, d)))
    y = np.tanh(x[:, tokens // 2 - 1, 0])
    model = models.build("independent_heads", jax.random.key(0), d=d, heads=heads)
    start = {part: np.array(value) for part, value in models.weights(model).items()}
    losses = []
    for kernel in (True, False):
        descent, weights, seen = fast.head_descent(x, y, native_kernel=kernel), start, []
        for _ in range(100):
            loss, gradient = descent.gradient(weights)
            seen.append(loss)
            weights = {
                part: fast.onto_ball(value - np.float32(0.5) * gradient[part], start[part], 0.5)
                for part, value in weights.items()
            }
        losses.append(seen)
    np.testing.assert_allclose(losses[0], losses[1], rtol=SINGLE)
    assert losses[0][-1] < 0.9 * losses[0][0]


def test_the_projection_is_that_of_jax():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(6, 3, 2)).astype(np.float32)
    block = centre + np.linspace(0, 2, 6, dtype=np.float32)[:, None, None]
    np.testing.assert_allclose(fast.onto_ball(block, centre, 1.5), onto_heads_ball(block, centre, 1.5), rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 12.0], ids=["differences", "direct"])
def test_table_descent(scale):
    """A hundred updates; large weights make the difference of the tables cancel, and the direct sums are taken."""
    keys = jax.random.split(jax.random.key(0), 3)
    source = SparseMajority.draw(keys[0], tokens=9, relevant=3, d=8)
    model = models.build("keras_cls_transformer", keys[1], d=8, heads=2, key_size=8)
    model = replace(model, W_Q=scale * model.W_Q, W_K=scale * model.W_K)
    drawn = source.sample_bits(keys[2], 620)  # of which 600 validate: more than are looked up together
    bits, labels = np.array(drawn, np.float32), np.array(source.labels(drawn), np.int64)
    train, validation = fast.Bits(bits[:20], labels[:20]), fast.Bits(bits[20:], labels[20:])
    rng = np.random.default_rng(0)
    orders, rates = np.array([rng.permutation(20) for _ in range(34)]), np.linspace(0.02, 0.01, 34, dtype=np.float32)
    found = []
    for kernel in (True, False):
        shape = {"batch": 8, "native_kernel": kernel}
        descent = fast.table_descent(train, validation, source.table, model.config, **shape)
        weights = fast.flatten(model)
        velocity, seen = np.zeros_like(weights), []
        for k in range(34):
            losses, accuracies = descent.epochs(weights, velocity, orders[k : k + 1], rates[k : k + 1])
            seen.append((losses[0], accuracies[0], *descent.look(weights)))
        found.append(seen)
    np.testing.assert_allclose(found[0], found[1], rtol=SINGLE * scale)
    assert found[0][-1][0] < found[0][0][0]


def test_flat_weights_are_the_model():
    model = models.build("keras_cls_transformer", jax.random.key(0), d=6, heads=2, key_size=4)
    model = jax.tree.map(lambda leaf: leaf + 0.1, model)
    again = fast.unflatten(fast.flatten(model), model.config)
    for name, value in models.weights(model).items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_windows_differ_in_one_channel_only():
    with pytest.raises(InputError, match="first channel"):
        fast.windows(np.random.default_rng(0).normal(size=(3, 4, 2)), np.zeros(3), "float32")


def test_batches_have_images():
    with pytest.raises(InputError, match="batch"):
        fast.patch_epochs(fast.distinct_patches(*blank_images(3)), batch=0, rate=0.1)


@pytest.mark.parametrize("tokens", [3, 8])
def test_attention_runs(tokens):
    """Leave-one-out with heads that stand for several; 7 runs leave lanes empty, 26 fill more than one block."""
    for n in (6, 25):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(n, tokens, 5)), np.sign(rng.normal(size=n))
        start = 0.5 * rng.normal(size=(1, 2, tokens, 5)), 0.5 * rng.normal(size=(1, 2, 5, 5))
        shares = np.concatenate([np.ones((1, n)), 1.0 - np.eye(n)]) / n
        copies = np.array([3.0, 1.0])
        found = [
            fast.attention_runs(
                *(np.repeat(part, n + 1, axis=0) for part in start),
                (x, y),
                shares,
                factor=copies / 2.0,
                rate=0.3 / copies,
                steps=100,
                native_kernel=kernel,
            )
            for kernel in (True, False)
        ]
        np.testing.assert_allclose(found[0].losses, found[1].losses, rtol=DOUBLE)
        np.testing.assert_allclose(found[0].W, found[1].W, rtol=1e-10, atol=DOUBLE)
        np.testing.assert_allclose(found[0].U, found[1].U, rtol=1e-10, atol=DOUBLE)
        assert found[0].losses.shape == (100, n + 1)
        assert np.all(found[0].losses[-1] < 0.5 * found[0].losses[0])
    with pytest.raises(InputError, match="shapes"):
        fast.attention_runs(*start, (x, y[1:]), shares, factor=copies, rate=copies, steps=1)
