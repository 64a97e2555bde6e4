"""The same as `_heads` where heads are few: samples in the vector lanes, one head after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.training.fast.native._compile import kernel
from certiformer.training.fast.native._lanes import exp32, tanh32

Single = npt.NDArray[np.float32]

BLOCK = 128
"""Samples side by side; those past the last have weight 0."""
SMALL = -60.0
"""Below e^-60 a mass counts as that: denormal numbers would cost ten times more."""


@kernel
def few_heads(x: Any, y: Single, c: Single, u: Single, W: Any, grad_c: Single, grad_u: Single, grad_W: Any) -> Any:
    """The loss; `x` is (blocks, T, d, BLOCK), filled up with zeros, and the weights have the heads first."""
    blocks, T, d, _ = x.shape
    n, m = len(y), len(c)
    scale, weight = np.float32(m**-0.5), np.float32(1.0 / n)
    mass, values = np.empty((m, T, BLOCK), np.float32), np.empty((m, T, BLOCK), np.float32)
    S, v, hidden = (
        np.empty((m, BLOCK), np.float32),
        np.empty((m, BLOCK), np.float32),
        np.empty((m, BLOCK), np.float32),
    )
    keys, top = np.empty((d, BLOCK), np.float32), np.empty(BLOCK, np.float32)
    output, factor = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.float32)
    grad_c[:] = 0
    grad_u[:] = 0
    grad_W[:] = 0
    total: Any = 0.0
    for block in range(blocks):
        tokens = x[block]
        for b in range(BLOCK):
            output[b] = np.float32(0.0)
        for h in range(m):
            _attend(tokens, u[h], W[h], keys, top, mass[h], values[h], S[h], v[h])
            row, mean, by = hidden[h], v[h], c[h]
            for b in range(BLOCK):
                row[b] = tanh32(mean[b])
            for b in range(BLOCK):
                output[b] += by * row[b]
        for b in range(BLOCK):
            place, residual = block * BLOCK + b, np.float32(0.0)
            if place < n:
                residual = output[b] * scale - y[place]
            total += residual * residual
            output[b] = np.float32(2.0) * residual * weight * scale
        for h in range(m):
            row, sum_, by, slope = hidden[h], S[h], c[h], np.float32(0.0)
            for b in range(BLOCK):
                slope += output[b] * row[b]
            grad_c[h] += slope
            for b in range(BLOCK):
                factor[b] = output[b] * by * (np.float32(1.0) - row[b] * row[b]) / sum_[b]
            _gather(tokens, mass[h], values[h], v[h], factor, keys, grad_u[h], grad_W[h])
    return total / n


@kernel
def _attend(
    tokens: Any,
    u: Single,
    W: Single,
    keys: Single,
    top: Single,
    mass: Single,
    values: Single,
    S: Single,
    v: Single,
) -> None:
    """Masses, projections x_t.u, the sums S and v of one head on a block."""
    T, d, _ = tokens.shape
    for i in range(d):
        _combine(keys[i], tokens[T - 1], W[i])
    for b in range(BLOCK):
        top[b] = np.float32(-np.inf)
        S[b] = np.float32(0.0)
        v[b] = np.float32(0.0)
    for t in range(T):
        row = mass[t]
        for b in range(BLOCK):
            row[b] = np.float32(0.0)
        for i in range(d):
            key, token = keys[i], tokens[t, i]
            for b in range(BLOCK):
                row[b] += key[b] * token[b]
        for b in range(BLOCK):
            top[b] = max(top[b], row[b])
        _combine(values[t], tokens[t], u)
    for t in range(T):
        row, value = mass[t], values[t]
        for b in range(BLOCK):
            row[b] = exp32(max(row[b] - top[b], np.float32(SMALL)))
        for b in range(BLOCK):
            S[b] += row[b]
        for b in range(BLOCK):
            v[b] += row[b] * value[b]
    for b in range(BLOCK):
        v[b] /= S[b]


@kernel
def _gather(
    tokens: Any,
    mass: Single,
    values: Single,
    v: Single,
    factor: Single,
    moved: Single,
    grad_u: Single,
    grad_W: Single,
) -> None:
    """Add the block's part of one head's gradients."""
    T, d, _ = tokens.shape
    for t in range(T):
        pull, value = mass[t], values[t]
        for b in range(BLOCK):
            pull[b] *= factor[b]
        for b in range(BLOCK):
            value[b] = pull[b] * (value[b] - v[b])
    for i in range(d):
        row, total = moved[i], np.float32(0.0)
        for b in range(BLOCK):
            row[b] = np.float32(0.0)
        for t in range(T):
            pull, value, token = mass[t], values[t], tokens[t, i]
            for b in range(BLOCK):
                row[b] += value[b] * token[b]
            for b in range(BLOCK):
                total += pull[b] * token[b]
        grad_u[i] += total
    for i in range(d):
        for j in range(d):
            row, token, total = moved[i], tokens[T - 1, j], np.float32(0.0)
            for b in range(BLOCK):
                total += row[b] * token[b]
            grad_W[i, j] += total


@kernel
def _combine(out: Single, rows: Single, by: Single) -> None:
    """out <- sum_k by_k rows_k."""
    for b in range(BLOCK):
        out[b] = np.float32(0.0)
    for k in range(len(by)):
        row, factor = rows[k], by[k]
        for b in range(BLOCK):
            out[b] += factor * row[b]
