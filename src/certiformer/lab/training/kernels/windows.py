"""Arda's AR(L) pair on windows in which only one channel varies: token t of sample n is (s_nt, p_t).

The positional channels p_t are the same for all samples, so the 2d + 1 products of a logit become three. Transformer,
q = (s_T, p_T), heads in the vector lanes:

    z_t = s_t (W_00 s_T + W_0p.p_T) + s_T B_t + C_t,    B_t = p_t.W_p0,  C_t = p_t.W_pp p_T,    v_t = u_0 s_t + p_t.u_p
    pull_t = d e_t/S,  g_t = pull_t (v_t - v),    v = sum_t e_t v_t / S,    d = dLoss/dv

IndRNN, units in the lanes: h_t = tanh(w_0 s_t + D_t + u h_{t-1}),  D_t = p_t.w_p,  and back through time.

What the loops return are the sums over samples from which the gradients of W, u and w follow by small products with p.
The number of heads or units must fill whole lanes. Weights are NumPy arrays by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from certiformer.lab.training.kernels._compile import kernel
from certiformer.lab.training.kernels._vectors import (
    BYTES,
    WHOLE,
    exp_down,
    filled,
    flushed,
    larger,
    load,
    store,
    tanh_of_half,
    total,
    zeros,
)
from certiformer.theory.core.errors import InputError

Single = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.floating[Any]]
Weights = Mapping[str, Numbers]

TOGETHER = 16
"""Windows whose Jacobians are taken at once."""
NEGLIGIBLE = {"float32": 1e-30, "float64": 1e-250}
"""Gradients that count as 0, well above what is slow to compute with."""
SIDE = 4
"""Samples that go through a window side by side; past the last, with weight 0."""
LEAST = -60.0
"""Below e^-60 a mass counts as that: denormal numbers would cost ten times more."""


class Windows(NamedTuple):
    """Samples (s_nt, p_t) with labels y_n."""

    values: Numbers
    positions: Numbers
    y: Numbers


def split_windows(x: npt.ArrayLike, y: npt.ArrayLike, dtype: str) -> Windows:
    """Samples (n, T, d) taken apart; all channels but the first must be the same for all samples."""
    inputs, labels = np.asarray(x, dtype), np.array(y, dtype)
    if inputs.ndim != 3 or labels.shape != inputs.shape[:1]:
        raise InputError("x, y", (inputs.shape, labels.shape), "shapes (n, tokens, d) and (n,)")
    if np.any(inputs[:, :, 1:] != inputs[:1, :, 1:]):
        raise InputError("x", "channels that differ between samples", "windows that differ in their first channel only")
    return Windows(np.ascontiguousarray(inputs[:, :, 0]), np.ascontiguousarray(inputs[0, :, 1:]), labels)


class WindowHeads:
    """Arda's shallow Transformer (tanh, query = last token), weights c, u, W; single precision."""

    def __init__(self, train: Windows) -> None:
        if train.values.dtype != np.float32:
            raise InputError("train", f"windows in {train.values.dtype}", "float32")
        self._train = train

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        """The loss on the training windows and its gradient."""
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
        """The loss on any windows, without gradient work."""
        return self._run(weights, data, np.empty((0, 1), np.float32), np.empty((0, 3, 1), np.float32))

    def _run(self, weights: Weights, data: Windows, sums: Numbers, by_token: Numbers) -> float:
        c, u, W, p = weights["c"], weights["u"], weights["W"], data.positions
        scaled, drift = c * np.float32(len(c) ** -0.5), W[:, 0, 1:] @ p[-1]
        tables = (p @ W[:, 1:, 0].T, p @ (W[:, 1:, 1:] @ p[-1]).T, p @ u[:, 1:].T)
        columns = [filled(each, WHOLE) for each in (scaled, W[:, 0, 0], drift, u[:, 0], *tables)]
        arguments: list[Any] = [data.values, data.y, *columns, sums, by_token]
        return float(_heads(*arguments))


class WindowUnits:
    """The IndRNN with tanh units, weights c, u, w, in the precision of the windows."""

    def __init__(self, train: Windows) -> None:
        self._train = train

    def gradient(self, weights: Weights) -> tuple[float, dict[str, Numbers]]:
        """The loss on the training windows and its gradient."""
        p, m, dtype = self._train.positions, len(weights["c"]), weights["c"].dtype
        wide = m + -m % WHOLE
        sums, by_token = np.empty((3, wide), dtype), np.empty((len(p), wide), dtype)
        loss = self._run(weights, self._train, sums, by_token)
        sums, by_token = sums[:, :m], by_token[:, :m]
        grad_w = np.concatenate([sums[2][:, None], by_token.T @ p], axis=1)
        return loss, {"c": sums[0] * dtype.type(m**-0.5), "u": sums[1].copy(), "w": grad_w}

    def loss(self, weights: Weights, data: Windows) -> float:
        """The loss on any windows, without gradient work."""
        nothing = np.empty((0, 1), weights["c"].dtype)
        return self._run(weights, data, nothing, nothing)

    def _run(self, weights: Weights, data: Windows, sums: Numbers, by_token: Numbers) -> float:
        c, u, w = weights["c"], weights["u"], weights["w"]
        scaled, drives = c * c.dtype.type(len(c) ** -0.5), data.positions @ w[:, 1:].T
        columns = [filled(each, WHOLE) for each in (scaled, u, w[:, 0], drives)]
        arguments: list[Any] = [data.values, data.y, *columns, NEGLIGIBLE[c.dtype.name], sums, by_token]
        return float(_units(*arguments))


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


@kernel
def _heads(
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

    Where `sums` has no rows: the loss alone. `c` is that of the network times m^{-1/2}, as in `units`.
    """
    n, T = s.shape
    m, lanes = len(c), BYTES // s.itemsize
    mass, values = np.empty(T * SIDE * m, np.float32), np.zeros((T, SIDE), np.float32)
    S, v, hidden = np.empty((SIDE, m), np.float32), np.empty((SIDE, m), np.float32), np.empty(m, np.float32)
    backward = len(sums) > 0
    sums[:] = 0
    by_token[:] = 0
    loss: Any = 0.0
    for base in range(0, n, SIDE):
        side = min(SIDE, n - base)
        _beside(s, base, side, values)
        for h in range(0, m, lanes):
            _attend(values, w_00, drift, u_0, B, C, P, h, mass, S, v)
        for j in range(SIDE):
            output = zeros(v)
            for h in range(0, m, lanes):
                one = tanh_of_half(load(v, j * m + h) * 2.0)
                store(hidden, h, one)
                output += load(c, h) * one
            residual = total(output) - y[base + j] if j < side else np.float32(0.0)
            loss += residual * residual
            slope = np.float32(2.0 / n) * residual
            if backward:
                for h in range(0, m, lanes):
                    one = load(hidden, h)
                    store(sums, h, load(sums, h) + one * slope)
                    store(S, j * m + h, load(c, h) * slope * (1.0 - one * one) / load(S, j * m + h))
        if backward:
            for h in range(0, m, lanes):
                _gather(values, u_0, P, h, mass, S, v, sums, by_token)
    return loss / n


@kernel
def _beside(s: Numbers, base: int, side: int, values: Numbers) -> None:
    """The windows of `side` samples, tokens first."""
    for t in range(len(values)):
        for j in range(side):
            values[t, j] = s[base + j, t]


@kernel
def _attend(
    values: Single,
    w_00: Single,
    drift: Single,
    u_0: Single,
    B: Single,
    C: Single,
    P: Single,
    h: int,
    mass: Single,
    S: Single,
    v: Single,
) -> None:
    """Masses e_t of the heads from h on, their sums S, and v."""
    T, m = B.shape
    lanes = BYTES // mass.itemsize
    first, shift, u = load(w_00, h), load(drift, h), load(u_0, h)
    y_0, y_1, y_2, y_3 = values[T - 1, 0], values[T - 1, 1], values[T - 1, 2], values[T - 1, 3]
    a_0, a_1, a_2, a_3 = first * y_0 + shift, first * y_1 + shift, first * y_2 + shift, first * y_3 + shift
    b, c = load(B, h), load(C, h)
    top_0, top_1 = a_0 * values[0, 0] + (b * y_0 + c), a_1 * values[0, 1] + (b * y_1 + c)
    top_2, top_3 = a_2 * values[0, 2] + (b * y_2 + c), a_3 * values[0, 3] + (b * y_3 + c)
    for t in range(1, T):
        b, c = load(B, t * m + h), load(C, t * m + h)
        top_0 = larger(top_0, a_0 * values[t, 0] + (b * y_0 + c))
        top_1 = larger(top_1, a_1 * values[t, 1] + (b * y_1 + c))
        top_2 = larger(top_2, a_2 * values[t, 2] + (b * y_2 + c))
        top_3 = larger(top_3, a_3 * values[t, 3] + (b * y_3 + c))
    S_0, S_1, S_2, S_3 = zeros(S), zeros(S), zeros(S), zeros(S)
    v_0, v_1, v_2, v_3 = zeros(S), zeros(S), zeros(S), zeros(S)
    place = h * T * SIDE
    for t in range(T):
        b, c, p = load(B, t * m + h), load(C, t * m + h), load(P, t * m + h)
        e_0 = exp_down(a_0 * values[t, 0] + (b * y_0 + c) - top_0, LEAST)
        e_1 = exp_down(a_1 * values[t, 1] + (b * y_1 + c) - top_1, LEAST)
        e_2 = exp_down(a_2 * values[t, 2] + (b * y_2 + c) - top_2, LEAST)
        e_3 = exp_down(a_3 * values[t, 3] + (b * y_3 + c) - top_3, LEAST)
        store(mass, place, e_0)
        store(mass, place + lanes, e_1)
        store(mass, place + 2 * lanes, e_2)
        store(mass, place + 3 * lanes, e_3)
        place += SIDE * lanes
        S_0, S_1, S_2, S_3 = S_0 + e_0, S_1 + e_1, S_2 + e_2, S_3 + e_3
        v_0 += e_0 * (u * values[t, 0] + p)
        v_1 += e_1 * (u * values[t, 1] + p)
        v_2 += e_2 * (u * values[t, 2] + p)
        v_3 += e_3 * (u * values[t, 3] + p)
    store(S, h, S_0)
    store(S, m + h, S_1)
    store(S, 2 * m + h, S_2)
    store(S, 3 * m + h, S_3)
    store(v, h, v_0 / S_0)
    store(v, m + h, v_1 / S_1)
    store(v, 2 * m + h, v_2 / S_2)
    store(v, 3 * m + h, v_3 / S_3)


@kernel
def _gather(
    values: Single, u_0: Single, P: Single, h: int, mass: Single, factor: Single, v: Single, sums: Single, by_token: Any
) -> None:
    """Add the samples' pulls to the sums, for the heads from h on."""
    T, m = P.shape
    lanes = BYTES // mass.itemsize
    u, pulled = load(u_0, h), zeros(mass)
    y_0, y_1, y_2, y_3 = values[T - 1, 0], values[T - 1, 1], values[T - 1, 2], values[T - 1, 3]
    f_0, f_1, f_2, f_3 = load(factor, h), load(factor, m + h), load(factor, 2 * m + h), load(factor, 3 * m + h)
    v_0, v_1, v_2, v_3 = load(v, h), load(v, m + h), load(v, 2 * m + h), load(v, 3 * m + h)
    moved_0, moved_1, moved_2, moved_3 = zeros(mass), zeros(mass), zeros(mass), zeros(mass)
    place = h * T * SIDE
    for t in range(T):
        p, at = load(P, t * m + h), 3 * t * m + h
        s_0, s_1, s_2, s_3 = values[t, 0], values[t, 1], values[t, 2], values[t, 3]
        q_0, q_1 = load(mass, place) * f_0, load(mass, place + lanes) * f_1
        q_2, q_3 = load(mass, place + 2 * lanes) * f_2, load(mass, place + 3 * lanes) * f_3
        place += SIDE * lanes
        store(by_token, at + 2 * m, load(by_token, at + 2 * m) + ((q_0 + q_1) + (q_2 + q_3)))
        pulled += (q_0 * s_0 + q_1 * s_1) + (q_2 * s_2 + q_3 * s_3)
        g_0, g_1 = q_0 * ((u * s_0 + p) - v_0), q_1 * ((u * s_1 + p) - v_1)
        g_2, g_3 = q_2 * ((u * s_2 + p) - v_2), q_3 * ((u * s_3 + p) - v_3)
        store(by_token, at + m, load(by_token, at + m) + ((g_0 + g_1) + (g_2 + g_3)))
        store(by_token, at, load(by_token, at) + ((g_0 * y_0 + g_1 * y_1) + (g_2 * y_2 + g_3 * y_3)))
        moved_0 += g_0 * s_0
        moved_1 += g_1 * s_1
        moved_2 += g_2 * s_2
        moved_3 += g_3 * s_3
    last = (moved_0 * y_0 + moved_1 * y_1) + (moved_2 * y_2 + moved_3 * y_3)
    store(sums, m + h, load(sums, m + h) + last)
    store(sums, 2 * m + h, load(sums, 2 * m + h) + ((moved_0 + moved_1) + (moved_2 + moved_3)))
    store(sums, 3 * m + h, load(sums, 3 * m + h) + pulled)


@kernel
def _units(
    s: Numbers, y: Numbers, c: Numbers, u: Numbers, w_0: Numbers, D: Numbers, least: Any, sums: Numbers, by_token: Any
) -> Any:
    """Mean squared error; `sums` (3, m) gets those of hidden, delta h_{t-1}, delta s; `by_token` (T, m) those of delta.

    `sums` with no rows: the loss alone. A delta below `least` counts as 0: denormal numbers would cost ten times more.
    """
    n, T = s.shape
    m, lanes = len(c), BYTES // s.itemsize
    path, values = np.zeros((T + 1) * SIDE * m, s.dtype), np.zeros((T, SIDE), s.dtype)
    pull = np.empty((SIDE, m), s.dtype)
    slopes = np.empty(SIDE, s.dtype)
    backward = len(sums) > 0
    sums[:] = 0
    by_token[:] = 0
    loss: Any = 0.0
    for base in range(0, n, SIDE):
        side = min(SIDE, n - base)
        _beside(s, base, side, values)
        for h in range(0, m, lanes):
            _forward(values, u, w_0, D, h, path)
        for j in range(SIDE):
            output = zeros(c)
            for h in range(0, m, lanes):
                output += load(c, h) * load(path, (h * (T + 1) + T * lanes) * SIDE + j * lanes)
            residual = total(output) - y[base + j] if j < side else 0.0 * y[0]
            loss += residual * residual
            slopes[j] = 2.0 / n * residual
            for h in range(0, m, lanes):
                store(pull, j * m + h, load(c, h) * slopes[j])
        if backward:
            for h in range(0, m, lanes):
                _back(values, u, h, path, pull, slopes, least, sums, by_token)
    return loss / n


@kernel
def _forward(values: Numbers, u: Numbers, w_0: Numbers, D: Numbers, h: int, path: Numbers) -> None:
    """States h_1, ..., h_T of the units from h on."""
    T, m = D.shape
    lanes = BYTES // path.itemsize
    # twice everything: tanh of half of it
    back, first = load(u, h) * 2.0, load(w_0, h) * 2.0
    h_0, h_1, h_2, h_3 = zeros(path), zeros(path), zeros(path), zeros(path)
    place = (h * (T + 1) + lanes) * SIDE
    for t in range(T):
        drive = load(D, t * m + h) * 2.0
        h_0 = tanh_of_half(back * h_0 + (first * values[t, 0] + drive))
        h_1 = tanh_of_half(back * h_1 + (first * values[t, 1] + drive))
        h_2 = tanh_of_half(back * h_2 + (first * values[t, 2] + drive))
        h_3 = tanh_of_half(back * h_3 + (first * values[t, 3] + drive))
        store(path, place, h_0)
        store(path, place + lanes, h_1)
        store(path, place + 2 * lanes, h_2)
        store(path, place + 3 * lanes, h_3)
        place += SIDE * lanes


@kernel
def _back(
    values: Numbers,
    u: Numbers,
    h: int,
    path: Numbers,
    pull: Numbers,
    slopes: Numbers,
    least: Any,
    sums: Numbers,
    by_token: Any,
) -> None:
    """Back through time, for the units from h on."""
    T, m = by_token.shape
    lanes = BYTES // path.itemsize
    back, drive, memory = load(u, h), zeros(path), zeros(path)
    p_0, p_1, p_2, p_3 = load(pull, h), load(pull, m + h), load(pull, 2 * m + h), load(pull, 3 * m + h)
    place = (h * (T + 1) + T * lanes) * SIDE
    h_0, h_1 = load(path, place), load(path, place + lanes)
    h_2, h_3 = load(path, place + 2 * lanes), load(path, place + 3 * lanes)
    last = (h_0 * slopes[0] + h_1 * slopes[1]) + (h_2 * slopes[2] + h_3 * slopes[3])
    store(sums, h, load(sums, h) + last)
    for step in range(T):
        t = T - 1 - step
        d_0, d_1 = flushed(p_0 * (1.0 - h_0 * h_0), least), flushed(p_1 * (1.0 - h_1 * h_1), least)
        d_2, d_3 = flushed(p_2 * (1.0 - h_2 * h_2), least), flushed(p_3 * (1.0 - h_3 * h_3), least)
        place -= SIDE * lanes
        h_0, h_1 = load(path, place), load(path, place + lanes)
        h_2, h_3 = load(path, place + 2 * lanes), load(path, place + 3 * lanes)
        memory += (d_0 * h_0 + d_1 * h_1) + (d_2 * h_2 + d_3 * h_3)
        drive += (d_0 * values[t, 0] + d_1 * values[t, 1]) + (d_2 * values[t, 2] + d_3 * values[t, 3])
        store(by_token, t * m + h, load(by_token, t * m + h) + ((d_0 + d_1) + (d_2 + d_3)))
        p_0, p_1, p_2, p_3 = d_0 * back, d_1 * back, d_2 * back, d_3 * back
    store(sums, m + h, load(sums, m + h) + memory)
    store(sums, 2 * m + h, load(sums, 2 * m + h) + drive)
