"""Arda's AR(L) pair on windows in which only one channel varies: token t of sample n is (s_nt, p_t).

Transformer, q = (s_T, p_T), heads in the vector lanes, three multiplications for a logit:

    z_t = s_t (W_00 s_T + W_0p.p_T) + s_T B_t + C_t,    B_t = p_t.W_p0,  C_t = p_t.W_pp p_T,    v_t = u_0 s_t + p_t.u_p
    pull_t = d e_t/S,  g_t = pull_t (v_t - v),    v = sum_t e_t v_t / S,    d = dLoss/dv

IndRNN, units in the lanes: h_t = tanh(w_0 s_t + D_t + u h_{t-1}),  D_t = p_t.w_p,  and back through time.

What is returned are the sums over samples from which the gradients of W, u and w follow by small products with p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.training.fast.native._compile import kernel
from certiformer.training.fast.native._lanes import exp32, tanh32, tanh64

Single = npt.NDArray[np.float32]
Double = npt.NDArray[np.float64]


LANES = 4
"""Samples that go through a window side by side, each with all its heads or units; past the last, with weight 0."""
SMALL32, SMALL64 = -60.0, 1e-250
"""Below e^-60 a mass counts as that, below 1e-250 a gradient as 0: denormal numbers would cost ten times more."""


@kernel
def heads(
    s: Single,
    y: Single,
    c: Single,
    w_00: Single,
    drift: Single,
    u_0: Single,
    B: Single,
    C: Single,
    P: Single,
    sums: Single,
    by_token: Any,
) -> Any:
    """Mean squared error; `sums` (4, m): hidden, g s s_T, g s and pull s; `by_token` (T, 3, m): g s_T, g and pull.

    Where `sums` has no rows: the loss alone.
    """
    n, T = s.shape
    m = len(c)
    scale, weight = np.float32(m**-0.5), np.float32(1.0 / n)
    mass, values = np.empty((T, LANES, m), np.float32), np.zeros((T, LANES), np.float32)
    alpha, top, S = (
        np.empty((LANES, m), np.float32),
        np.empty((LANES, m), np.float32),
        np.empty((LANES, m), np.float32),
    )
    v, factor = np.empty((LANES, m), np.float32), np.zeros((LANES, m), np.float32)
    hidden = np.empty(m, np.float32)
    backward = len(sums) > 0
    sums[:] = 0
    by_token[:] = 0
    total = 0.0
    for base in range(0, n, LANES):
        side = min(LANES, n - base)
        for t in range(T):
            for j in range(side):
                values[t, j] = s[base + j, t]
        _scores(values, w_00, drift, B, C, alpha, top, mass)
        _means(values, u_0, P, top, S, v, mass)
        for j in range(side):
            mean, sum_, share = v[j], S[j], factor[j]
            output = np.float32(0.0)
            for h in range(m):
                hidden[h] = tanh32(mean[h])
                output += c[h] * hidden[h]
            residual = output * scale - y[base + j]
            total += residual * residual
            slope = np.float32(2.0) * residual * weight * scale
            if backward:
                first = sums[0]
                for h in range(m):
                    first[h] += slope * hidden[h]
                for h in range(m):
                    share[h] = slope * c[h] * (np.float32(1.0) - hidden[h] * hidden[h]) / sum_[h]
        if backward:
            for j in range(side, LANES):
                for h in range(m):
                    factor[j, h] = np.float32(0.0)
            _gather(values, u_0, P, mass, factor, v, sums, by_token)
    return total / n


@kernel
def _scores(
    values: Single, w_00: Single, drift: Single, B: Single, C: Single, alpha: Single, top: Single, mass: Any
) -> None:
    """Logits, and the largest of each sample and head."""
    T, m = B.shape
    for j in range(LANES):
        last, row, most = values[T - 1, j], alpha[j], top[j]
        for h in range(m):
            row[h] = w_00[h] * last + drift[h]
        for h in range(m):
            most[h] = np.float32(-np.inf)
    for t in range(T):
        b, constant = B[t], C[t]
        for j in range(LANES):
            value, last, row, first = values[t, j], values[T - 1, j], mass[t, j], alpha[j]
            for h in range(m):
                row[h] = value * first[h] + last * b[h] + constant[h]
            most = top[j]
            for h in range(m):
                most[h] = max(most[h], row[h])


@kernel
def _means(values: Single, u_0: Single, P: Single, top: Single, S: Single, v: Single, mass: Any) -> None:
    """Masses e_t, their sums S, and v."""
    T, m = P.shape
    S[:] = 0
    v[:] = 0
    for t in range(T):
        p = P[t]
        for j in range(LANES):
            value, row, most, sum_, mean = values[t, j], mass[t, j], top[j], S[j], v[j]
            for h in range(m):
                row[h] = exp32(max(row[h] - most[h], np.float32(SMALL32)))
            for h in range(m):
                sum_[h] += row[h]
            for h in range(m):
                mean[h] += row[h] * (u_0[h] * value + p[h])
    for j in range(LANES):
        for h in range(m):
            v[j, h] /= S[j, h]


@kernel
def _gather(
    values: Single, u_0: Single, P: Single, mass: Any, factor: Single, v: Single, sums: Single, by_token: Any
) -> None:
    """Add the samples' pulls to the sums."""
    T, m = P.shape
    pulled, moved = np.zeros((LANES, m), np.float32), np.zeros((LANES, m), np.float32)
    z_0, z_1, z_2, z_3 = values[T - 1, 0], values[T - 1, 1], values[T - 1, 2], values[T - 1, 3]
    for t in range(T):
        p, a, b, c, d = P[t], mass[t, 0], mass[t, 1], mass[t, 2], mass[t, 3]
        by_last, by_one, by_pull = by_token[t, 0], by_token[t, 1], by_token[t, 2]
        for j in range(LANES):
            value, row, share, sum_ = values[t, j], mass[t, j], factor[j], pulled[j]
            for h in range(m):
                row[h] *= share[h]
            for h in range(m):
                sum_[h] += row[h] * value
        for h in range(m):
            by_pull[h] += (a[h] + b[h]) + (c[h] + d[h])
        for j in range(LANES):
            value, row, mean, sum_ = values[t, j], mass[t, j], v[j], moved[j]
            for h in range(m):
                row[h] *= u_0[h] * value + p[h] - mean[h]
            for h in range(m):
                sum_[h] += row[h] * value
        for h in range(m):
            by_one[h] += (a[h] + b[h]) + (c[h] + d[h])
        for h in range(m):
            by_last[h] += (a[h] * z_0 + b[h] * z_1) + (c[h] * z_2 + d[h] * z_3)
    for j in range(LANES):
        last = values[T - 1, j]
        for h in range(m):
            sums[1, h] += moved[j, h] * last
            sums[2, h] += moved[j, h]
            sums[3, h] += pulled[j, h]


@kernel
def units(s: Double, y: Double, c: Double, u: Double, w_0: Double, D: Double, sums: Double, by_token: Double) -> Any:
    """Mean squared error; `sums` (3, m) gets those of hidden, delta h_{t-1}, delta s; `by_token` (T, m) those of delta.

    `sums` with no rows: the loss alone.
    """
    n, T = s.shape
    m = len(c)
    scale, weight = m**-0.5, 1.0 / n
    wide = LANES * m
    path, values = np.zeros((T + 1, wide)), np.zeros((T, LANES))
    pull, memory, back = np.empty(wide), np.zeros(wide), np.empty(wide)
    for j in range(LANES):
        for h in range(m):
            back[j * m + h] = u[h]
    backward = len(sums) > 0
    sums[:] = 0
    by_token[:] = 0
    total = 0.0
    for base in range(0, n, LANES):
        side = min(LANES, n - base)
        for t in range(T):
            for j in range(side):
                values[t, j] = s[base + j, t]
        _forward(values, u, w_0, D, path)
        for j in range(LANES):
            row, part = path[T, j * m : (j + 1) * m], pull[j * m : (j + 1) * m]
            output = 0.0
            for h in range(m):
                output += c[h] * row[h]
            residual = 0.0
            if j < side:
                residual = output * scale - y[base + j]
            total += residual * residual
            slope = 2.0 * residual * weight * scale
            if backward:
                first = sums[0]
                for h in range(m):
                    first[h] += slope * row[h]
                for h in range(m):
                    part[h] = slope * c[h]
        if backward:
            _back(values, back, path, pull, memory, sums, by_token)
    if backward:
        second = sums[1]
        for j in range(LANES):
            for h in range(m):
                second[h] += memory[j * m + h]
    return total / n


@kernel
def _forward(values: Double, u: Double, w_0: Double, D: Double, path: Double) -> None:
    T, m = D.shape
    for t in range(T):
        before, after, drive = path[t], path[t + 1], D[t]
        for j in range(LANES):
            value, part, old = values[t, j], after[j * m : (j + 1) * m], before[j * m : (j + 1) * m]
            for h in range(m):
                part[h] = w_0[h] * value + drive[h] + u[h] * old[h]
        for k in range(LANES * m):
            after[k] = tanh64(after[k])


@kernel
def _back(
    values: Double, back: Double, path: Double, pull: Double, memory: Double, sums: Double, by_token: Double
) -> None:
    T, m = by_token.shape
    drive = sums[2]
    a, b, c, d = pull[:m], pull[m : 2 * m], pull[2 * m : 3 * m], pull[3 * m :]
    for step in range(T):
        t = T - 1 - step
        before, after, row = path[t], path[t + 1], by_token[t]
        s_0, s_1, s_2, s_3 = values[t, 0], values[t, 1], values[t, 2], values[t, 3]
        for k in range(LANES * m):
            delta = pull[k] * (1.0 - after[k] * after[k])
            pull[k] = delta if abs(delta) > SMALL64 else 0.0
        for k in range(LANES * m):
            memory[k] += pull[k] * before[k]
        for h in range(m):
            row[h] += (a[h] + b[h]) + (c[h] + d[h])
        for h in range(m):
            drive[h] += (a[h] * s_0 + b[h] * s_1) + (c[h] * s_2 + d[h] * s_3)
        for k in range(LANES * m):
            pull[k] *= back[k]
