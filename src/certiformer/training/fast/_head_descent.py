"""Gradient and loss of Arda's shallow Transformer on any tokens, for projected descent on NumPy arrays by name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.core.errors import InputError
from certiformer.models.independent_heads import IndependentHeads, IndependentHeadsConfig
from certiformer.training.fast import native
from certiformer.training.fast._blocks import Blocks, blocks
from certiformer.training.fast._filled import WHOLE, filled
from certiformer.training.fast._independent_heads import independent_heads

Numbers = npt.NDArray[np.float32]
Weights = Mapping[str, Numbers]


class HeadDescent(Protocol):
    """What a step of gradient descent on the mean squared error needs."""

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        """The loss and its gradient in c (m), u (m, d) and W (m, d, d)."""
        ...


def head_descent(x: npt.ArrayLike, y: npt.ArrayLike, *, native_kernel: bool | None = None) -> HeadDescent:
    """Samples (n, T, d) with labels (n,); tanh, query = last token, single precision."""
    inputs, labels = np.array(x, np.float32), np.array(y, np.float32)
    if inputs.ndim != 3 or labels.shape != inputs.shape[:1]:
        raise InputError("x, y", (inputs.shape, labels.shape), "shapes (n, tokens, d) and (n,)")
    return _Native(inputs, labels) if native.wanted(native_kernel) else _Compiled(inputs, labels)


def onto_ball(block: Numbers, centre: Numbers, radius: float) -> Numbers:
    """For each head (leading axis): centre + delta * min(1, radius/||delta||), as `training.projection` has it."""
    delta = block - centre
    square = np.sum(delta * delta, axis=tuple(range(1, delta.ndim)), keepdims=True)
    inside = square <= radius * radius
    factor = np.where(inside, 1.0, radius / np.sqrt(np.where(inside, 1.0, square))).astype(block.dtype)
    nearest: Numbers = centre + delta * factor
    return nearest


class _Native:
    def __init__(self, x: Numbers, y: Numbers) -> None:
        from certiformer.training.fast.native import _heads

        self._kernel: Any = _heads.heads
        self._x, self._y, self._d = filled(filled(x, _heads.EIGHT), _heads.SIDE, axis=0), y, x.shape[-1]

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        (m, d), channels = weights["u"].shape, self._x.shape[-1]
        if d != self._d:
            raise InputError("u", f"weights for tokens of {d} channels", f"{self._d}, as the samples have")
        scale = np.float32(m**-0.5)
        c = filled(weights["c"] * scale, WHOLE)
        u, W = np.zeros((channels, len(c)), np.float32), np.zeros((channels, channels, len(c)), np.float32)
        u[:d, :m], W[:d, :d, :m] = weights["u"].T, weights["W"].transpose(1, 2, 0)
        d_c, d_u, d_W = np.empty_like(c), np.empty_like(u), np.empty_like(W)
        loss = float(self._kernel(self._x, self._y, c, u, W, d_c, d_u, d_W))
        back = np.ascontiguousarray(d_W[:d, :d, :m].transpose(2, 0, 1))
        return loss, {"c": d_c[:m] * scale, "u": np.ascontiguousarray(d_u[:d, :m].T), "W": back}


class _Compiled:
    def __init__(self, x: Numbers, y: Numbers) -> None:
        self._x, self._y = x, y
        self._blocks: Blocks | None = None

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        m, d = weights["u"].shape
        if self._blocks is None:
            self._blocks = blocks(self._x, self._y, m)
        arrays = {name: jnp.asarray(value) for name, value in weights.items()}
        loss, gradient = _program()(IndependentHeads(IndependentHeadsConfig(d, m), **arrays), self._blocks)
        return float(loss), {name: np.asarray(getattr(gradient, name)) for name in weights}


@functools.cache
def _program() -> Callable[..., Any]:
    objective = independent_heads()

    @jax.jit
    def both(model: IndependentHeads, data: Blocks) -> tuple[Array, Any]:
        (loss, _), gradient = jax.value_and_grad(objective, has_aux=True)(model, data)
        return loss, gradient

    return both
