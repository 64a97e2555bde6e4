"""The kernels against their JAX forms: losses over a hundred steps, and what is said without Numba."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from certiformer import models
from certiformer.core.errors import InputError
from certiformer.training import fast
from certiformer.training.fast import native

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


def test_batches_have_images():
    with pytest.raises(InputError, match="batch"):
        fast.patch_epochs(fast.distinct_patches(*blank_images(3)), batch=0, rate=0.1)
