"""Arda's shallow Transformer (tanh, query = last token): mean squared error and gradient, heads in the vector lanes.

    k = W q,  z_t = x_t.k,  v_t = x_t.u,    pull_t = d e_t/S,  g_t = pull_t (v_t - v),
    grad_u = sum_t pull_t x_t,    grad_W = (sum_t g_t x_t) q^T

Every line is a combination of rows that are as long as there are heads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.training.fast.native._compile import kernel
from certiformer.training.fast.native._lanes import exp32, tanh32

Single = npt.NDArray[np.float32]

TOGETHER = 4
"""Samples whose parts of the gradient of W are added at once."""
SMALL = -60.0
"""Below e^-60 a mass counts as that: denormal numbers would cost ten times more."""


@kernel
def heads(x: Any, y: Single, c: Single, u: Single, W: Any, grad_c: Single, grad_u: Single, grad_W: Any) -> Any:
    """The loss; `u` (d, m), `W` (d, d, m) and the gradients have the heads last."""
    n, T, d = x.shape
    m = len(c)
    scale, weight = np.float32(m**-0.5), np.float32(1.0 / n)
    keys, mass, values = np.empty((d, m), np.float32), np.empty((T, m), np.float32), np.empty((T, m), np.float32)
    top, S, v, hidden = (
        np.empty(m, np.float32),
        np.empty(m, np.float32),
        np.empty(m, np.float32),
        np.empty(m, np.float32),
    )
    columns, queries = np.empty((d, T), np.float32), np.zeros((d, TOGETHER), np.float32)
    moved = np.zeros((d, TOGETHER, m), np.float32)
    grad_c[:] = 0
    grad_u[:] = 0
    grad_W[:] = 0
    total = 0.0
    for sample in range(n):
        tokens, query = x[sample], x[sample, T - 1]
        for i in range(d):
            _combine(keys[i], W[i], query, np.float32(0.0))
        for t in range(T):
            _combine(mass[t], keys, tokens[t], np.float32(0.0))
            _combine(values[t], u, tokens[t], np.float32(0.0))
        _softmax(mass, values, top, S, v)
        output = np.float32(0.0)
        for h in range(m):
            hidden[h] = tanh32(v[h])
            output += c[h] * hidden[h]
        residual = output * scale - y[sample]
        total += residual * residual
        slope = np.float32(2.0) * residual * weight * scale
        for h in range(m):
            grad_c[h] += slope * hidden[h]
        for h in range(m):
            S[h] = slope * c[h] * (np.float32(1.0) - hidden[h] * hidden[h]) / S[h]
        for t in range(T):
            row, value = mass[t], values[t]
            for h in range(m):
                row[h] *= S[h]
            for h in range(m):
                value[h] = row[h] * (value[h] - v[h])
        for t in range(T):
            for i in range(d):
                columns[i, t] = tokens[t, i]
        place = sample % TOGETHER
        for i in range(d):
            _combine(grad_u[i], mass, columns[i], np.float32(1.0))
            _combine(moved[i, place], values, columns[i], np.float32(0.0))
            queries[i, place] = query[i]
        if place == TOGETHER - 1 or sample == n - 1:
            for i in range(d):
                for j in range(d):
                    _combine(grad_W[i, j], moved[i], queries[j], np.float32(1.0))
            moved[:] = 0
    return total / n


@kernel
def _combine(out: Single, rows: Single, by: Single, keep: Any) -> None:
    """out <- keep * out + sum_k by_k rows_k, with keep 0 or 1."""
    count, m = rows.shape
    k = 0
    if keep == np.float32(0.0):
        if count >= 4:
            a, b, c, d = rows[0], rows[1], rows[2], rows[3]
            p, q, r, s = by[0], by[1], by[2], by[3]
            for h in range(m):
                out[h] = (p * a[h] + q * b[h]) + (r * c[h] + s * d[h])
            k = 4
        else:
            for h in range(m):
                out[h] = np.float32(0.0)
    while k + 4 <= count:
        a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        p, q, r, s = by[k], by[k + 1], by[k + 2], by[k + 3]
        for h in range(m):
            out[h] += (p * a[h] + q * b[h]) + (r * c[h] + s * d[h])
        k += 4
    while k < count:
        a, p = rows[k], by[k]
        for h in range(m):
            out[h] += p * a[h]
        k += 1


@kernel
def _softmax(mass: Single, values: Single, top: Single, S: Single, v: Single) -> None:
    """Logits become masses; their sums S, and v."""
    T, m = mass.shape
    for h in range(m):
        top[h] = np.float32(-np.inf)
        S[h] = np.float32(0.0)
        v[h] = np.float32(0.0)
    for t in range(T):
        row = mass[t]
        for h in range(m):
            top[h] = max(top[h], row[h])
    for t in range(T):
        row, value = mass[t], values[t]
        for h in range(m):
            row[h] = exp32(max(row[h] - top[h], np.float32(SMALL)))
        for h in range(m):
            S[h] += row[h]
        for h in range(m):
            v[h] += row[h] * value[h]
    for h in range(m):
        v[h] /= S[h]
