"""Epochs of mini-batch descent for Mwigo's shallow encoder, in an order that the caller gives.

    for each batch B of the order:  theta <- theta - rate * grad (1/|B|) sum_{i in B} log(1 + exp(-gain y_i f(X_i)))

Weights are NumPy arrays by name, changed in place. The kernel and the JAX form take the same batches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.core.errors import InputError
from certiformer.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
from certiformer.training.fast import native
from certiformer.training.fast._merged_patches import MergedPatches, merged_patches
from certiformer.training.losses import logistic

Weights = Mapping[str, npt.NDArray[np.float32]]
NAMES = ("W_Q", "W_K", "W_V", "w_O")
TOGETHER = 32
"""Images in a block of the JAX form."""


class Patches(NamedTuple):
    """Images as their distinct tokens: the first `present` rows count, each `multiplicity` times."""

    x: npt.NDArray[np.float32]
    multiplicity: npt.NDArray[np.float32]
    present: npt.NDArray[np.int64]
    y: npt.NDArray[np.float32]


def distinct_patches(x: npt.ArrayLike, y: npt.ArrayLike) -> Patches:
    """Merge the equal tokens of each image (n, d_s, d); labels are -1 and +1."""
    inputs, labels = np.asarray(x, np.float32), np.array(y, np.float32)  # kernels are compiled for arrays of our own
    if inputs.ndim != 3 or labels.shape != inputs.shape[:1]:
        raise InputError("x, y", (inputs.shape, labels.shape), "shapes (n, tokens, d) and (n,)")
    merged, multiplicity = np.zeros_like(inputs), np.zeros(inputs.shape[:2], np.float32)
    present = np.zeros(len(inputs), np.int64)
    for row, image in enumerate(inputs):
        tokens, counts = np.unique(image, axis=0, return_counts=True)
        present[row] = len(tokens)
        merged[row, : len(tokens)], multiplicity[row, : len(tokens)] = tokens, counts
    return Patches(merged, multiplicity, present, labels)


class PatchEpochs(Protocol):
    """What runs an epoch."""

    def epoch(self, weights: Weights, order: npt.NDArray[np.int64]) -> float:
        """One pass over the images in this order; the mean loss, each batch before its update."""
        ...

    def loss(self, weights: Weights, images: Patches) -> float:
        """The mean loss, without gradient work."""
        ...


def patch_epochs(
    images: Patches, *, batch: int, rate: float, gain: float = 1.0, native_kernel: bool | None = None
) -> PatchEpochs:
    """Epochs over `images`: the kernel if Numba is there (or as told), else JAX."""
    if batch < 1:
        raise InputError("batch", batch, "a positive number of images")
    kind = _Native if native.wanted(native_kernel) else _Compiled
    return kind(images, min(batch, len(images.y)), rate, gain)


class _Native:
    def __init__(self, images: Patches, batch: int, rate: float, gain: float) -> None:
        from certiformer.training.fast.native import _patches

        self._kernels, self._images, self._batch = _patches, tuple(images), batch
        self._rate, self._gain = np.float32(rate), np.float32(gain)

    def epoch(self, weights: Weights, order: npt.NDArray[np.int64]) -> float:
        epoch: Any = self._kernels.epoch
        return float(epoch(*_arrays(weights), self._images, order, self._batch, self._rate, self._gain))

    def loss(self, weights: Weights, images: Patches) -> float:
        return float(self._kernels.mean_loss(*_arrays(weights), tuple(images), self._gain))


def _arrays(weights: Weights) -> tuple[Any, Any, Any, Any]:
    return weights["W_Q"], weights["W_K"], weights["W_V"], weights["w_O"]


class _Compiled:
    def __init__(self, images: Patches, batch: int, rate: float, gain: float) -> None:
        self._images, self._batch = jax.tree.map(jnp.asarray, images), batch
        self._epoch, self._mean = _programs(rate, gain)

    def epoch(self, weights: Weights, order: npt.NDArray[np.int64]) -> float:
        chosen, weight = _batches(order, self._batch)
        moved, losses = self._epoch(_model(weights), self._images, chosen, weight)
        for name in NAMES:
            weights[name][...] = np.asarray(getattr(moved, name))
        sizes = np.count_nonzero(weight, axis=(1, 2))
        return float(np.sum(np.asarray(losses, np.float64) * sizes) / len(order))

    def loss(self, weights: Weights, images: Patches) -> float:
        chosen, weight = _batches(np.arange(len(images.y)), len(images.y))
        return float(self._mean(_model(weights), jax.tree.map(jnp.asarray, images), chosen[0], weight[0]))


def _model(weights: Weights) -> ShallowEncoder:
    d_m, d = weights["W_Q"].shape
    return ShallowEncoder(ShallowEncoderConfig(d, d_m), *(jnp.asarray(weights[name]) for name in NAMES))


def _batches(order: npt.NDArray[np.int64], batch: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Rows and weights (batches, blocks, images of a block); what fills the last ones up has weight 0."""
    size = min(batch, TOGETHER)
    count, blocks = -(-len(order) // batch), -(-batch // size)
    chosen, weight = np.zeros((count, blocks * size), np.int64), np.zeros((count, blocks * size), np.float32)
    for row in range(count):
        part = order[row * batch : (row + 1) * batch]
        chosen[row, : len(part)], weight[row, : len(part)] = part, 1.0 / len(part)
    return chosen.reshape(count, blocks, size), weight.reshape(count, blocks, size)


@functools.lru_cache(maxsize=8)
def _programs(rate: float, gain: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    objective = merged_patches(lambda output, label: logistic(gain * output, label))

    def taken(images: Patches, chosen: Array, weight: Array) -> tuple[MergedPatches, ...]:
        return (MergedPatches(images.x[chosen], images.multiplicity[chosen], images.y[chosen], weight),)

    @jax.jit
    def epoch(model: ShallowEncoder, images: Patches, chosen: Array, weight: Array) -> tuple[ShallowEncoder, Array]:
        def update(model: ShallowEncoder, batch: tuple[Array, Array]) -> tuple[ShallowEncoder, Array]:
            (loss, _), gradient = jax.value_and_grad(objective, has_aux=True)(model, taken(images, *batch))
            return jax.tree.map(lambda value, slope: value - rate * slope, model, gradient), loss

        return jax.lax.scan(update, model, (chosen, weight))

    @jax.jit
    def mean(model: ShallowEncoder, images: Patches, chosen: Array, weight: Array) -> Array:
        return objective(model, taken(images, chosen, weight))[0]

    return epoch, mean
