"""The zeros and ones of MNIST and their tokens."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certiformer.lab import tasks
from certiformer.lab.tasks.mnist import DEVIATION, MEAN, embedded, patches, scale
from certiformer.theory.core.errors import InputError, UnknownNameError

KEY = jax.random.key(0)


def test_all_zeros_and_ones_are_there():
    train, test = embedded()
    assert train.images.shape == (12665, 28, 28)
    assert test.images.shape == (2115, 28, 28)
    assert np.bincount(train.digits).tolist() == [5923, 6742]
    assert np.bincount(test.digits).tolist() == [980, 1135]
    assert train.images.max() == 255
    assert not train.images.flags.writeable


def test_a_damaged_file_is_refused(monkeypatch):
    monkeypatch.setattr("certiformer.lab.tasks.mnist.CONTENT_SHA256", "0" * 64)
    with pytest.raises(InputError, match="damaged"):
        embedded.__wrapped__()


def test_the_constants_of_standardisation():
    pixels = embedded()[0].images / 255.0
    assert pixels.mean() == pytest.approx(MEAN, rel=1e-12)
    assert pixels.std() == pytest.approx(DEVIATION, rel=1e-12)


@pytest.mark.parametrize(("tokens", "count"), [("padded", 16), ("flat", 13), ("cropped", 9), ("flat_cropped", 12)])
def test_tokens_against_slices(tokens, count):
    images = embedded()[0].images[:4]
    found = np.asarray(patches(scale(images, "unit"), tokens))
    assert found.shape == (4, count, 64)
    image = images[2] / np.float32(255)
    if tokens == "padded":
        image = np.pad(image, 2)
    if tokens == "cropped":
        image = image[2:26, 2:26]
    if tokens.startswith("flat"):
        expected = np.pad(image.ravel(), (0, 48))[: count * 64].reshape(count, 64)
    else:
        side = len(image) // 8
        expected = np.stack(
            [image[8 * i : 8 * i + 8, 8 * j : 8 * j + 8].ravel() for i in range(side) for j in range(side)]
        )
    np.testing.assert_allclose(found[2], expected, rtol=1e-6)


def test_scalings_and_blank_padding():
    images = embedded()[0].images
    ranges = {"unit": (0.0, 1.0), "symmetric": (-1.0, 1.0)}
    for pixels, (low, high) in ranges.items():
        padded = patches(scale(images[:50], pixels), "padded")
        assert (float(padded.min()), float(padded.max())) == (low, high)
        # The border is blank paper.
        assert float(np.ptp(np.asarray(padded).reshape(50, 4, 4, 8, 8)[:, 0, :, :2])) == 0.0
    standard = np.asarray(scale(images, "standardised").values, np.float64)
    assert standard.mean() == pytest.approx(0, abs=1e-5)
    assert standard.std() == pytest.approx(1, abs=1e-5)


def test_about_half_of_the_padded_patches_are_blank():
    tokens = np.asarray(patches(scale(embedded()[0].images, "unit"), "padded"))
    assert (tokens == 0).all(axis=-1).mean() == pytest.approx(0.48, abs=0.01)


def test_the_task():
    task = tasks.build("mnist", KEY, n=30)
    assert task.train.inputs.shape == (30, 16, 64)
    assert task.test.inputs.shape == (2115, 16, 64)
    assert len(set(task.meta["rows"])) == 30
    assert float(jnp.sum(task.test.labels)) == 1135 - 980
    rows = task.meta["rows"]
    np.testing.assert_array_equal(np.asarray(task.train.labels) > 0, embedded()[0].digits[rows] == 1)
    everything = tasks.build("mnist", KEY, n=12665, tokens="flat")
    assert sorted(everything.meta["rows"]) == list(range(12665))


def test_bad_settings():
    with pytest.raises(InputError, match="12665"):
        tasks.build("mnist", KEY, n=20000)
    with pytest.raises(UnknownNameError, match="padded"):
        tasks.build("mnist", KEY, tokens="pded")
    with pytest.raises(UnknownNameError, match="symmetric"):
        tasks.build("mnist", KEY, pixels="symetric")
