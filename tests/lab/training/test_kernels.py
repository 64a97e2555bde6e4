"""The kernels against the plain models of `models`: losses and gradients along a hundred steps, at odd shapes.

At every step the model itself, differentiated by JAX in double precision, is asked at the weights that the kernel has
there. Losses must agree to 1e-6 (single precision) or 1e-12 (double), entries of gradients to that part of the largest
one so far.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import models
from certiformer.lab.tasks.sparse_majority import SparseMajority
from certiformer.lab.training import kernels
from certiformer.lab.training.losses import correct, cross_entropy, logistic, squared, two_sigmoids
from certiformer.lab.training.projection import onto_heads_ball
from certiformer.theory.core.errors import InputError

SINGLE, DOUBLE = 1e-6, 1e-12
STEPS = 100


def plain(model, loss):
    """Mean loss and gradients of the model as it stands in `models`, in double precision."""

    @jax.jit
    def both(weights, x, y):
        def mean(weights):
            return jnp.mean(jax.vmap(loss)(jax.vmap(replace(model, **weights))(x), y))

        return jax.value_and_grad(mean)(weights)

    def at(weights, x, y):
        with jax.enable_x64(True):
            exact = {name: jnp.asarray(value, jnp.float64) for name, value in weights.items()}
            value, slopes = both(exact, jnp.asarray(x, jnp.float64), jnp.asarray(y))
            return float(value), {name: np.asarray(slope) for name, slope in slopes.items()}

    return at


class Agreement:
    """Loss and gradients of a path beside the expected ones; entries are small or large beside the largest so far."""

    def __init__(self, tolerance):
        self.tolerance, self.largest, self.losses = tolerance, 0.0, []

    def check(self, found, expected):
        (loss, slopes), (true_loss, true_slopes) = found, expected
        assert loss == pytest.approx(true_loss, rel=self.tolerance, abs=0.1 * self.tolerance)
        assert slopes.keys() == true_slopes.keys()
        self.largest = max(self.largest, *(np.max(np.abs(slope)) for slope in true_slopes.values()))
        for name, slope in true_slopes.items():
            atol = self.tolerance * self.largest
            np.testing.assert_allclose(slopes[name], slope, rtol=0, atol=atol, err_msg=name)
        self.losses.append(loss)


def copied(model):
    return {name: np.array(value) for name, value in models.weights(model).items()}


def one_channel(n, tokens, d):
    """Windows of which only the first channel differs between samples."""
    x = np.random.default_rng(0).normal(size=(n, tokens, d))
    x[:, :, 1:] = x[:1, :, 1:]
    return x, np.tanh(x[:, 0, 0])


@pytest.mark.parametrize(
    ("name", "dtype", "width", "n", "tokens"),
    [
        ("independent_heads", "float32", 6, 11, 6),
        ("independent_heads", "float32", 40, 3, 1),
        ("indrnn", "float32", 6, 11, 3),
        ("indrnn", "float64", 6, 11, 6),
        ("indrnn", "float64", 40, 5, 1),
    ],
)
def test_windows(name, dtype, width, n, tokens):
    """11 samples leave the last group with gaps, 6 or 40 heads the last lanes.

    Back through six tokens of a recurrence single precision keeps 1.4e-6 in the plain model, and 1.3e-6 in the kernel.
    """
    x, y = (part.astype(dtype) for part in one_channel(n, tokens, 5))
    kind, tolerance = "heads" if name == "independent_heads" else "units", {"float32": SINGLE, "float64": DOUBLE}[dtype]
    with jax.enable_x64(True):
        model = models.build(name, jax.random.key(0), d=5, dtype=dtype, **{kind: width})
    data = kernels.split_windows(x, y, dtype)
    descent = (kernels.WindowHeads if kind == "heads" else kernels.WindowUnits)(data)
    reference, weights, seen = plain(model, squared), copied(model), Agreement(tolerance)
    for _ in range(STEPS):
        loss, gradient = descent.gradient(weights)
        seen.check((loss, gradient), reference(weights, x, y))
        assert descent.loss(weights, data) == loss
        weights = {part: value - value.dtype.type(0.05) * gradient[part] for part, value in weights.items()}
    assert seen.losses[-1] < 0.9 * seen.losses[0]


@pytest.mark.parametrize(("heads", "d", "tokens", "n"), [(6, 3, 6, 13), (40, 20, 3, 9), (16, 8, 1, 8)])
def test_heads(heads, d, tokens, n):
    """Projected descent; 13 samples leave the last group with gaps, 40 heads the last lanes, 20 channels the eights."""
    rng = np.random.default_rng(0)
    x = np.asfortranarray(0.5 * rng.normal(size=(n, tokens, d)).astype(np.float32))
    y = np.tanh(x[:, tokens // 2 - 1, 0])
    model = models.build("independent_heads", jax.random.key(0), d=d, heads=heads)
    start = weights = copied(model)
    descent, reference, seen = kernels.HeadDescent(x, y), plain(model, squared), Agreement(SINGLE)
    for _ in range(STEPS):
        loss, gradient = descent.gradient(weights)
        seen.check((loss, gradient), reference(weights, x, y))
        moved = {part: value - np.float32(0.5) * gradient[part] for part, value in weights.items()}
        weights = {part: kernels.onto_ball(value, start[part], 0.5) for part, value in moved.items()}
    assert seen.losses[-1] < 0.9 * seen.losses[0]


def blank_images(n, tokens=6, d=3):
    """Many repeated tokens, as blank margins make them; one image with all tokens equal, one with all distinct."""
    rng = np.random.default_rng(0)
    vocabulary = rng.normal(size=(tokens, d)).astype(np.float32)
    choice = rng.integers(0, tokens, (n, tokens)) * (rng.random((n, tokens)) < 0.6)
    choice[0], choice[1] = 0, np.arange(tokens)
    images = vocabulary[choice]
    return images, np.sign(images.mean(axis=1)[:, 0] - np.median(images.mean(axis=1)[:, 0]) + 1e-9)


@pytest.mark.parametrize(("batch", "d_m"), [(7, 17), (41, 6)], ids=["batches", "blocks"])
def test_patches(batch, d_m):
    """Each update is checked, the last one of a pass with fewer images. A gradient is read off a step so long that the
    weights before it hardly count."""
    x, y = blank_images(41)
    images, gain, long = kernels.distinct_patches(x, y), 1.3, np.float32(2.0**20)
    model = models.build("shallow_encoder", jax.random.key(0), d=3, d_m=d_m)
    reference = plain(model, lambda output, label: logistic(gain * output, label))
    descent = kernels.PatchDescent(images, batch=batch, rate=0.5, gain=gain)
    far = kernels.PatchDescent(images, batch=batch, rate=float(long), gain=gain)
    weights, rng, seen = copied(model), np.random.default_rng(1), Agreement(SINGLE)
    while len(seen.losses) < STEPS:
        order = rng.permutation(41)
        for part in (order[at : at + batch] for at in range(0, 41, batch)):
            probe = {name: value.copy() for name, value in weights.items()}
            loss = far.epoch(probe, part)
            slopes = {name: (value.astype(np.float64) - probe[name]) / long for name, value in weights.items()}
            seen.check((loss, slopes), reference(weights, x[part], y[part]))
            assert descent.epoch(weights, part) == loss
        assert descent.loss(weights, images) == pytest.approx(reference(weights, x, y)[0], rel=SINGLE)
    assert seen.losses[-1] < 0.9 * seen.losses[0]


@pytest.mark.parametrize(
    ("scale", "loss"),
    [(1.0, two_sigmoids), (10.0, two_sigmoids), (1.0, cross_entropy)],
    ids=["differences", "direct", "cross-entropy"],
)
def test_token_table(scale, loss):
    """Large weights make the difference of the tables cancel, and the direct sums are taken; 600 sequences validate,
    more than are looked up together, and 9 bits are a group and a half."""
    keys = jax.random.split(jax.random.key(0), 3)
    source = SparseMajority.draw(keys[0], tokens=9, relevant=3, d=7)
    model = models.build("keras_cls_transformer", keys[1], d=7, heads=2, key_size=5)
    model = replace(model, W_Q=scale * model.W_Q, W_K=scale * model.W_K)
    drawn = source.sample_bits(keys[2], 620)
    bits, labels = np.array(drawn, np.float32), np.array(source.labels(drawn), np.int64)
    x, reference = np.array(source.embed(drawn)), plain(model, loss)
    joint = loss is cross_entropy
    train, validation = kernels.Bits(bits[:20], labels[:20]), kernels.Bits(bits[20:], labels[20:])
    settings = source.table, model.config
    descent = kernels.TableDescent(train, validation, *settings, batch=8, joint=joint)
    whole = kernels.TableDescent(train, validation, *settings, batch=20, momentum=0.0, joint=joint)
    weights, rng, seen = kernels.flatten(model), np.random.default_rng(0), Agreement(SINGLE * scale)
    velocity, one = np.zeros_like(weights), np.ones(1, np.float32)
    for rate in np.linspace(0.02, 0.01, STEPS // 3 + 1, dtype=np.float32):
        # with no momentum, no velocity and a rate of 1, the velocity becomes minus the gradient
        probe, slope = weights.copy(), np.zeros_like(weights)
        (found,), _ = whole.epochs(probe, slope, np.arange(20)[None], one)
        now = models.weights(kernels.unflatten(weights, model.config))
        slopes = models.weights(kernels.unflatten(-slope, model.config))
        expected = reference(now, x[:20], labels[:20])
        np.testing.assert_allclose(expected[1].pop("b_K"), 0.0, atol=1e-15)  # it shifts all scores alike
        seen.check((found, {name: slopes[name] for name in expected[1]}), expected)
        if len(seen.losses) % 10 == 1:
            validated = reference(now, x[20:], labels[20:])[0]
            assert descent.validate(weights)[0] == pytest.approx(validated, rel=SINGLE * scale)
        descent.epochs(weights, velocity, rng.permutation(20)[None], rate[None])
    outputs = jax.vmap(kernels.unflatten(weights, model.config))(jnp.asarray(x[20:]))
    assert descent.validate(weights)[1] == pytest.approx(float(jnp.mean(jax.vmap(correct)(outputs, labels[20:]))))
    assert seen.losses[-1] < seen.losses[0]


@pytest.mark.parametrize(("tokens", "n"), [(3, 6), (7, 9)])
def test_attentions(tokens, n):
    """Leave-one-out, two kinds of heads of which one stands for three; 7 runs leave lanes empty, 10 fill a block."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, tokens, 5)), np.sign(rng.normal(size=n))
    copies, rate = np.array([3, 1]), 0.3
    U, W = 0.5 * rng.normal(size=(2, tokens, 5)), 0.5 * rng.normal(size=(2, 5, 5))
    shares = kernels.leave_one_out_weights(n)
    with jax.enable_x64(True):
        model = models.build("multi_head_attention", jax.random.key(0), d=5, tokens=tokens, heads=4, dtype="float64")

        @jax.jit
        @jax.vmap
        def descend(U, W, share):
            def loss(network):
                return jnp.sum(share * jax.vmap(logistic)(jax.vmap(network)(x), y))

            def step(network, _):
                value, slopes = jax.value_and_grad(loss)(network)
                return jax.tree.map(lambda weight, slope: weight - rate * slope, network, slopes), (value, slopes)

            return jax.lax.scan(step, replace(model, U=U, W=W), None, length=STEPS)

        heads = (np.repeat(part, copies, axis=0) for part in (U, W))
        last, (losses, slopes) = descend(*(np.repeat(part[None], n + 1, axis=0) for part in heads), shares)
    start = [np.repeat(part[None], n + 1, axis=0) for part in (U, W)]
    settings = {"factor": copies / 2.0, "rate": rate / copies}
    found = kernels.attention_runs(*start, (x, y), shares, **settings, steps=STEPS)
    np.testing.assert_allclose(found.losses, np.asarray(losses).T, rtol=DOUBLE)
    for ours, theirs in ((found.U, last.U), (found.W, last.W)):
        theirs = np.asarray(theirs)[:, [0, 3]]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=DOUBLE * np.max(np.abs(theirs)))
    long = kernels.attention_runs(*start, (x, y), shares, factor=copies / 2.0, rate=2.0**30 / copies, steps=1)
    for ours, before, theirs in ((long.U, start[0], slopes.U), (long.W, start[1], slopes.W)):
        theirs = np.asarray(theirs)[:, 0, [0, 3]]
        np.testing.assert_allclose((before - ours) / 2.0**30, theirs, rtol=0, atol=DOUBLE * np.max(np.abs(theirs)))
    assert np.all(found.losses[-1] < 0.5 * found.losses[0])
    with pytest.raises(InputError, match="shapes"):
        kernels.attention_runs(*start, (x, y[1:]), shares, **settings, steps=1)


@pytest.mark.parametrize(("name", "block", "jacobian"), [("independent_heads", "W", "heads"), ("indrnn", "u", "units")])
def test_jacobians_of_windows(name, block, jacobian):
    x, _ = one_channel(20, 6, 5)
    with jax.enable_x64(True):
        model = models.build(name, jax.random.key(1), d=5, dtype="float64")

        def output(values, window):
            return replace(model, **{block: values})(window)

        each = jax.jit(jax.vmap(jax.grad(output), in_axes=(None, 0)))(getattr(model, block), x)
        expected = np.sqrt(np.sum(np.asarray(each).reshape(20, -1) ** 2, axis=1))
    found = getattr(kernels, f"{jacobian}_jacobian")(copied(model), kernels.split_windows(x, np.zeros(20), "float64"))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_projection_is_that_of_jax():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(6, 3, 2)).astype(np.float32)
    block = centre + np.linspace(0, 2, 6, dtype=np.float32)[:, None, None]
    np.testing.assert_allclose(kernels.onto_ball(block, centre, 1.5), onto_heads_ball(block, centre, 1.5), rtol=1e-6)


def test_flat_weights_are_the_model():
    model = models.build("keras_cls_transformer", jax.random.key(0), d=6, heads=2, key_size=4)
    model = jax.tree.map(lambda leaf: leaf + 0.1, model)
    again = kernels.unflatten(kernels.flatten(model), model.config)
    for name, value in models.weights(model).items():
        np.testing.assert_array_equal(getattr(again, name), value)


def test_windows_differ_in_one_channel_only():
    with pytest.raises(InputError, match="first channel"):
        kernels.split_windows(np.random.default_rng(0).normal(size=(3, 4, 2)), np.zeros(3), "float32")
    data = kernels.split_windows(*one_channel(3, 4, 2), "float64")
    with pytest.raises(InputError, match="float32"):
        kernels.WindowHeads(data)


def test_batches_have_images():
    with pytest.raises(InputError, match="batch"):
        kernels.PatchDescent(kernels.distinct_patches(*blank_images(3)), batch=0, rate=0.1)


def test_without_numba_it_is_said_which_extra_brings_it():
    program = (
        "import sys; sys.modules['numba'] = None\n"
        "try: import certiformer.lab.training, certiformer.lab.training.kernels\n"
        "except ModuleNotFoundError as error: print(error.name, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("numba ")
    assert "pip install 'certiformer[fast]'" in done.stdout
