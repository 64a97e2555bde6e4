"""Gradients and losses of Arda's AR(L) pair on windows in which only the first channel differs between samples.

A token is (s_nt, p_t) with the same positional channels p_t for all samples n, so the 2d + 1 products of a logit become
three (see `native._windows`). Weights are NumPy arrays by name; the kernel and the JAX form give the same numbers.
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
from certiformer.models.independent_heads import IndependentHeads, IndependentHeadsConfig
from certiformer.models.indrnn import IndRNN, IndRNNConfig
from certiformer.training.fast import native
from certiformer.training.fast._blocks import Blocks, blocks
from certiformer.training.fast._filled import WHOLE, filled
from certiformer.training.fast._independent_heads import independent_heads
from certiformer.training.fast._indrnn import indrnn

Numbers = npt.NDArray[np.floating[Any]]
Weights = Mapping[str, Numbers]
TOGETHER = 16
"""Windows whose Jacobians are taken at once."""


class Windows(NamedTuple):
    """Samples (s_nt, p_t) with labels y_n."""

    values: Numbers
    positions: Numbers
    y: Numbers


def windows(x: npt.ArrayLike, y: npt.ArrayLike, dtype: str) -> Windows:
    """Windows (n, T, d) taken apart; all channels but the first must be the same for all samples."""
    inputs, labels = np.asarray(x, dtype), np.array(y, dtype)
    if inputs.ndim != 3 or labels.shape != inputs.shape[:1]:
        raise InputError("x, y", (inputs.shape, labels.shape), "shapes (n, tokens, d) and (n,)")
    if np.any(inputs[:, :, 1:] != inputs[:1, :, 1:]):
        raise InputError("x", "channels that differ between samples", "windows that differ in their first channel only")
    return Windows(np.ascontiguousarray(inputs[:, :, 0]), np.ascontiguousarray(inputs[0, :, 1:]), labels)


class WindowDescent(Protocol):
    """What a step of gradient descent on the mean squared error needs."""

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        """The loss on the training windows and its gradient."""
        ...

    def loss(self, weights: Weights, data: Windows) -> float:
        """The loss on any windows, without gradient work."""
        ...


def window_heads(train: Windows, *, native_kernel: bool | None = None) -> WindowDescent:
    """Arda's shallow Transformer (tanh, query = last token), weights c, u, W; the kernel is in single precision."""
    if not native.wanted(native_kernel):
        return _Compiled("heads", train)
    if train.values.dtype != np.float32:
        raise InputError("train", f"windows in {train.values.dtype}", "float32", "Or take native_kernel=False")
    return _NativeHeads(train)


def window_units(train: Windows, *, native_kernel: bool | None = None) -> WindowDescent:
    """The IndRNN with tanh units, weights c, u, w, in the precision of the windows."""
    return _NativeUnits(train) if native.wanted(native_kernel) else _Compiled("units", train)


class _NativeHeads:
    def __init__(self, train: Windows) -> None:
        from certiformer.training.fast.native import _windows

        self._kernel: Any = _windows.heads
        self._train = train

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        p, m = self._train.positions, len(weights["c"])
        wide = m + -m % WHOLE
        sums, by_token = np.empty((4, wide), np.float32), np.empty((len(p), 3, wide), np.float32)
        loss = self._run(weights, self._train, sums, by_token)
        sums, by_token, last = sums[:, :m], by_token[:, :, :m], p[-1]
        grad_W, grad_u = np.empty_like(weights["W"]), np.empty_like(weights["u"])
        grad_W[:, 0, 0] = sums[1]
        grad_W[:, 0, 1:] = sums[2][:, None] * last
        grad_W[:, 1:, 0] = by_token[:, 0].T @ p
        grad_W[:, 1:, 1:] = (by_token[:, 1].T @ p)[:, :, None] * last
        grad_u[:, 0], grad_u[:, 1:] = sums[3], by_token[:, 2].T @ p
        return loss, {"c": sums[0] * np.float32(m**-0.5), "u": grad_u, "W": grad_W}

    def loss(self, weights: Weights, data: Windows) -> float:
        return self._run(weights, data, np.empty((0, 1), np.float32), np.empty((0, 3, 1), np.float32))

    def _run(self, weights: Weights, data: Windows, sums: Numbers, by_token: Numbers) -> float:
        c, u, W, p = weights["c"], weights["u"], weights["W"], data.positions
        scaled, drift = c * np.float32(len(c) ** -0.5), W[:, 0, 1:] @ p[-1]
        tables = (p @ W[:, 1:, 0].T, p @ (W[:, 1:, 1:] @ p[-1]).T, p @ u[:, 1:].T)
        columns = [filled(each, WHOLE) for each in (scaled, W[:, 0, 0], drift, u[:, 0], *tables)]
        return float(self._kernel(data.values, data.y, *columns, sums, by_token))


class _NativeUnits:
    def __init__(self, train: Windows) -> None:
        from certiformer.training.fast.native import _windows

        self._kernel: Any = _windows.units
        self._train = train

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        p, m, dtype = self._train.positions, len(weights["c"]), weights["c"].dtype
        wide = m + -m % WHOLE
        sums, by_token = np.empty((3, wide), dtype), np.empty((len(p), wide), dtype)
        loss = self._run(weights, self._train, sums, by_token)
        sums, by_token = sums[:, :m], by_token[:, :m]
        grad_w = np.concatenate([sums[2][:, None], by_token.T @ p], axis=1)
        return loss, {"c": sums[0] * dtype.type(m**-0.5), "u": sums[1].copy(), "w": grad_w}

    def loss(self, weights: Weights, data: Windows) -> float:
        nothing = np.empty((0, 1), weights["c"].dtype)
        return self._run(weights, data, nothing, nothing)

    def _run(self, weights: Weights, data: Windows, sums: Numbers, by_token: Numbers) -> float:
        c, u, w = weights["c"], weights["u"], weights["w"]
        scaled, drives = c * c.dtype.type(len(c) ** -0.5), data.positions @ w[:, 1:].T
        columns = [filled(each, WHOLE) for each in (scaled, u, w[:, 0], drives)]
        return float(self._kernel(data.values, data.y, *columns, LEAST[c.dtype.name], sums, by_token))


LEAST = {"float32": 1e-30, "float64": 1e-250}
"""Gradients that count as 0, well above what is slow to compute with."""


class _Compiled:
    def __init__(self, kind: str, train: Windows) -> None:
        self._kind, self._dtype = kind, str(train.values.dtype)
        self._train = train
        self._blocks: dict[int, Blocks] = {}

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        with jax.enable_x64(self._dtype == "float64"):
            both, _ = _programs(self._kind)
            loss, gradient = both(_model(self._kind, weights), self._data(self._train, len(weights["c"])))
            return float(loss), {name: np.asarray(getattr(gradient, name)) for name in weights}

    def loss(self, weights: Weights, data: Windows) -> float:
        with jax.enable_x64(self._dtype == "float64"):
            _, alone = _programs(self._kind)
            return float(alone(_model(self._kind, weights), self._data(data, len(weights["c"]))))

    def _data(self, data: Windows, width: int) -> Blocks:
        if id(data) not in self._blocks:
            channels = np.broadcast_to(data.positions, (len(data.y), *data.positions.shape))
            self._blocks[id(data)] = blocks(np.concatenate([data.values[..., None], channels], axis=-1), data.y, width)
        return self._blocks[id(data)]


def _model(kind: str, weights: Weights) -> IndependentHeads | IndRNN:
    arrays = {name: jnp.asarray(value) for name, value in weights.items()}
    m, d = weights["u" if kind == "heads" else "w"].shape
    if kind == "heads":
        return IndependentHeads(IndependentHeadsConfig(d, m), **arrays)
    return IndRNN(IndRNNConfig(d, m), **arrays)


@functools.cache
def _programs(kind: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    objective = independent_heads() if kind == "heads" else indrnn()

    @jax.jit
    def both(model: Any, data: Blocks) -> tuple[Array, Any]:
        (loss, _), gradient = jax.value_and_grad(objective, has_aux=True)(model, data)
        return loss, gradient

    return both, jax.jit(lambda model, data: objective(model, data)[0])


def heads_jacobian(weights: Weights, data: Windows) -> Numbers:
    """||df/dW|| for every window: m^{-1/2} ||q|| (sum_h (c_h sigma'(v_h))^2 ||sum_t p_t (v_t - v) x_t||^2)^{1/2}."""
    u, W, p = weights["u"], weights["W"], data.positions
    B, C, P = p @ W[:, 1:, 0].T, p @ (W[:, 1:, 1:] @ p[-1]).T, p @ u[:, 1:].T
    drift, found = W[:, 0, 1:] @ p[-1], []
    for first in range(0, len(data.y), TOGETHER):
        s = data.values[first : first + TOGETHER, :, None]
        logits = s * (W[:, 0, 0] * s[:, -1:] + drift) + s[:, -1:] * B + C
        mass = np.exp(logits - logits.max(axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
        values = s * u[:, 0] + P
        mean = np.sum(mass * values, axis=1, keepdims=True)
        moved = mass * (values - mean)
        square = np.sum(s * moved, axis=1) ** 2 + np.sum((moved.transpose(0, 2, 1) @ p) ** 2, axis=2)
        slope = weights["c"] * (1.0 - np.tanh(mean[:, 0]) ** 2)
        query = s[:, -1, 0] ** 2 + np.sum(p[-1] ** 2)
        found.append(np.sqrt(np.sum(slope**2 * square, axis=1) * query / len(drift)))
    return np.concatenate(found)


def units_jacobian(weights: Weights, data: Windows) -> Numbers:
    """||df/du|| for every window, back through time."""
    u, drives = weights["u"], data.positions @ weights["w"][:, 1:].T
    path = [np.zeros((len(data.y), len(u)))]
    for s, drive in zip(data.values.T, drives, strict=True):
        path.append(np.tanh(s[:, None] * weights["w"][:, 0] + drive + u * path[-1]))
    pull, total = np.broadcast_to(weights["c"] * len(u) ** -0.5, path[0].shape), np.zeros_like(path[0])
    for before, after in zip(path[-2::-1], path[:0:-1], strict=True):
        delta = pull * (1.0 - after * after)
        total += delta * before
        pull = delta * u
    found: Numbers = np.sqrt(np.sum(total**2, axis=1))
    return found
