"""Arda's shallow Transformer (tanh, query = last token) on any tokens: mean squared error and gradient.

    k = W q,  z_t = x_t.k,  v_t = x_t.u,    pull_t = d e_t/S,  g_t = pull_t (v_t - v),
    grad_u = sum_t pull_t x_t,    grad_W = (sum_t g_t x_t) q^T

Heads are in the vector lanes. A few samples go through the network together, so that the weights of the heads in the
lanes are read from the nearest cache. Channels come in eights, heads in whole lanes; what is missing of either is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.lab.training.kernels._compile import inline, kernel
from certiformer.lab.training.kernels._vectors import (
    BYTES,
    WHOLE,
    each,
    exp_down,
    filled,
    larger,
    load,
    store,
    tanh_of_half,
    total,
    zeros,
)
from certiformer.theory.core.errors import InputError

Single = npt.NDArray[np.float32]
Weights = Mapping[str, Single]

EIGHT = 8
"""Channels that are kept in registers together."""
SIDE = 8
"""Samples that go through the network together; past the last, with weight 0."""
LEAST = -60.0
"""Below e^-60 a mass counts as that: denormal numbers would cost ten times more."""


class HeadDescent:
    """What a step of gradient descent needs, on samples (n, T, d) with labels (n,); single precision."""

    def __init__(self, x: npt.ArrayLike, y: npt.ArrayLike) -> None:
        inputs, self._y = np.array(x, np.float32), np.array(y, np.float32)
        if inputs.ndim != 3 or self._y.shape != inputs.shape[:1]:
            raise InputError("x, y", (inputs.shape, self._y.shape), "shapes (n, tokens, d) and (n,)")
        self._x, self._d = filled(filled(inputs, EIGHT), SIDE, axis=0), inputs.shape[-1]

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Single]]:
        """The loss and its gradient in c (m), u (m, d) and W (m, d, d)."""
        (m, d), channels = weights["u"].shape, self._x.shape[-1]
        if d != self._d:
            raise InputError("u", f"weights for tokens of {d} channels", f"{self._d}, as the samples have")
        scale = np.float32(m**-0.5)
        c = filled(weights["c"] * scale, WHOLE)
        u, W = np.zeros((channels, len(c)), np.float32), np.zeros((channels, channels, len(c)), np.float32)
        u[:d, :m], W[:d, :d, :m] = weights["u"].T, weights["W"].transpose(1, 2, 0)
        d_c, d_u, d_W = np.empty_like(c), np.empty_like(u), np.empty_like(W)
        loss = float(_loss_and_gradient(self._x, self._y, c, u, W, d_c, d_u, d_W))
        back = np.ascontiguousarray(d_W[:d, :d, :m].transpose(2, 0, 1))
        return loss, {"c": d_c[:m] * scale, "u": np.ascontiguousarray(d_u[:d, :m].T), "W": back}


def onto_ball(block: Single, centre: Single, radius: float) -> Single:
    """For each head (leading axis): centre + delta * min(1, radius/||delta||), as `training.projection` has it."""
    delta = block - centre
    square = np.sum(delta * delta, axis=tuple(range(1, delta.ndim)), keepdims=True)
    inside = square <= radius * radius
    factor = np.where(inside, 1.0, radius / np.sqrt(np.where(inside, 1.0, square))).astype(block.dtype)
    nearest: Single = centre + delta * factor
    return nearest


@kernel
def _loss_and_gradient(
    x: Any, y: Single, c: Single, u: Single, W: Any, grad_c: Single, grad_u: Single, grad_W: Any
) -> Any:
    """The loss; `u` (d, m), `W` (d, d, m) and the gradients have the heads last.

    `x` (n, T, d) is filled up with samples to a multiple of SIDE; `c` is that of the network times m^{-1/2}.
    """
    n, T, d = len(y), x.shape[1], x.shape[2]
    m, lanes = len(c), BYTES // x.itemsize
    mass, values = np.empty(SIDE * T * m, np.float32), np.empty(SIDE * T * m, np.float32)
    S, v, hidden = np.empty((SIDE, m), np.float32), np.empty((SIDE, m), np.float32), np.empty(m, np.float32)
    keys, moved = np.empty((d, lanes), np.float32), np.empty((SIDE, d, lanes), np.float32)
    grad_c[:] = 0
    grad_u[:] = 0
    grad_W[:] = 0
    loss: Any = 0.0
    for base in range(0, n, SIDE):
        side = min(SIDE, n - base)
        for h in range(0, m, lanes):
            for j in range(SIDE):
                _attend(x, base + j, u, W, h, keys, mass, values, (h * SIDE + j * lanes) * T, S, v, j * m + h)
        for j in range(SIDE):
            output = zeros(c)
            for h in range(0, m, lanes):
                one = tanh_of_half(load(v, j * m + h) * 2.0)
                store(hidden, h, one)
                output += load(c, h) * one
            residual = total(output) - y[base + j] if j < side else np.float32(0.0)
            loss += residual * residual
            slope = np.float32(2.0 / n) * residual
            for h in range(0, m, lanes):
                one = load(hidden, h)
                store(grad_c, h, load(grad_c, h) + one * slope)
                store(S, j * m + h, load(c, h) * slope * (1.0 - one * one) / load(S, j * m + h))
        for h in range(0, m, lanes):
            for j in range(SIDE):
                _gather(x, base + j, h, mass, values, (h * SIDE + j * lanes) * T, S, v, j * m + h, moved, j, grad_u)
            _outer(x, base, h, moved, grad_W)
    return loss / n


@inline
def _load_eight(array: Any, place: Any, apart: Any) -> Any:
    """Eight lanes that are so far apart."""
    return (
        load(array, place),
        load(array, place + apart),
        load(array, place + 2 * apart),
        load(array, place + 3 * apart),
        load(array, place + 4 * apart),
        load(array, place + 5 * apart),
        load(array, place + 6 * apart),
        load(array, place + 7 * apart),
    )


@inline
def _store_eight(array: Any, place: Any, apart: Any, rows: Any) -> None:
    store(array, place, rows[0])
    store(array, place + apart, rows[1])
    store(array, place + 2 * apart, rows[2])
    store(array, place + 3 * apart, rows[3])
    store(array, place + 4 * apart, rows[4])
    store(array, place + 5 * apart, rows[5])
    store(array, place + 6 * apart, rows[6])
    store(array, place + 7 * apart, rows[7])


@inline
def _dot(rows: Any, x: Any, place: Any, apart: Any) -> Any:
    """sum_i rows_i x_i over eight numbers of x that are so far apart, in two sums."""
    even = rows[0] * each(x, place) + rows[2] * each(x, place + 2 * apart)
    odd = rows[1] * each(x, place + apart) + rows[3] * each(x, place + 3 * apart)
    even = rows[4] * each(x, place + 4 * apart) + even
    odd = rows[5] * each(x, place + 5 * apart) + odd
    even = rows[6] * each(x, place + 6 * apart) + even
    odd = rows[7] * each(x, place + 7 * apart) + odd
    return even + odd


@inline
def _plus(rows: Any, by: Any, x: Any, place: Any) -> Any:
    """rows_i + by x_i, for eight numbers of x."""
    return (
        rows[0] + by * each(x, place),
        rows[1] + by * each(x, place + 1),
        rows[2] + by * each(x, place + 2),
        rows[3] + by * each(x, place + 3),
        rows[4] + by * each(x, place + 4),
        rows[5] + by * each(x, place + 5),
        rows[6] + by * each(x, place + 6),
        rows[7] + by * each(x, place + 7),
    )


@kernel
def _attend(
    x: Any,
    sample: int,
    u: Single,
    W: Any,
    h: int,
    keys: Single,
    mass: Single,
    values: Single,
    at: int,
    S: Single,
    v: Single,
    to: int,
) -> None:
    """Masses and projections x_t.u of the heads from h on at `at`; the sums S and v at `to`."""
    _, T, d = x.shape
    m, lanes = u.shape[1], BYTES // mass.itemsize
    first = sample * T * d
    query = first + (T - 1) * d
    for i in range(d):
        key = _dot(_load_eight(W, i * d * m + h, m), x, query, 1)
        for j in range(EIGHT, d, EIGHT):
            key += _dot(_load_eight(W, (i * d + j) * m + h, m), x, query + j, 1)
        store(keys, i * lanes, key)
    for i in range(0, d, EIGHT):
        k, p = _load_eight(keys, i * lanes, lanes), _load_eight(u, i * m + h, m)
        for t in range(T):
            score, value = _dot(k, x, first + t * d + i, 1), _dot(p, x, first + t * d + i, 1)
            if i > 0:
                score += load(mass, at + t * lanes)
                value += load(values, at + t * lanes)
            store(mass, at + t * lanes, score)
            store(values, at + t * lanes, value)
    top = load(mass, at)
    for t in range(1, T):
        top = larger(top, load(mass, at + t * lanes))
    sum_, mean = zeros(mass), zeros(mass)
    for t in range(T):
        one = exp_down(load(mass, at + t * lanes) - top, LEAST)
        store(mass, at + t * lanes, one)
        sum_ += one
        mean += one * load(values, at + t * lanes)
    store(S, to, sum_)
    store(v, to, mean / sum_)


@kernel
def _gather(
    x: Any,
    sample: int,
    h: int,
    mass: Single,
    values: Single,
    at: int,
    factor: Single,
    v: Single,
    to: int,
    moved: Any,
    j: int,
    grad_u: Single,
) -> None:
    """Add the sample's part of grad_u; sum_t g_t x_t into `moved`."""
    _, T, d = x.shape
    m, lanes = grad_u.shape[1], BYTES // mass.itemsize
    by, mean = load(factor, to), load(v, to)
    for i in range(0, d, EIGHT):
        pulled, shifted = _load_eight(grad_u, i * m + h, m), _eight_zeros(mass)
        for t in range(T):
            pull = load(mass, at + t * lanes) * by
            place = (sample * T + t) * d + i
            pulled = _plus(pulled, pull, x, place)
            shifted = _plus(shifted, pull * (load(values, at + t * lanes) - mean), x, place)
        _store_eight(grad_u, i * m + h, m, pulled)
        _store_eight(moved, (j * d + i) * lanes, lanes, shifted)


@inline
def _eight_zeros(array: Any) -> Any:
    zero = zeros(array)
    return zero, zero, zero, zero, zero, zero, zero, zero


@kernel
def _outer(x: Any, base: int, h: int, moved: Any, grad_W: Any) -> None:
    """grad_W_ik += sum over the samples of moved_i q_k."""
    _, T, d = x.shape
    m, lanes = grad_W.shape[2], moved.shape[2]
    query, apart = (base * T + T - 1) * d, T * d
    for i in range(d):
        rows = _load_eight(moved, i * lanes, d * lanes)
        for k in range(d):
            to = (i * d + k) * m + h
            store(grad_W, to, load(grad_W, to) + _dot(rows, x, query + k, apart))
