"""Descent of many of Deora's attention layers on one weighted sample each: runs in the vector lanes, double precision.

With P = softmax(X W_k X^T), S = U_k X^T and r_t = sum_s P_ts S_ts, for kinds k of heads:

    Phi = sum_k f_k sum_t r_t,   grad_U = P X,   grad_W = X^T (P * (S - r 1^T)) X        (times f_k w_i l'(Phi(X_i)))

Runs never meet: a block of them takes all its steps while its weights are in the cache. Everything with an axis of runs
is a table with one row per remaining place; a matrix of such rows begins at a row and has strides in rows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.training.fast.native._compile import kernel
from certiformer.training.fast.native._eights import (
    EIGHT,
    ZEROS,
    inverse,
    kernel_of_eights,
    larger,
    load,
    plus,
    plus_each,
    store,
    times,
)
from certiformer.training.fast.native._lanes import exp64

Table = npt.NDArray[np.float64]

BLOCK = 8
"""Runs side by side, a multiple of eight; those past the last have weight 0 everywhere."""


@kernel
def descend(x: Any, y: Table, weights: Table, factor: Table, rate: Table, U: Table, W: Table, losses: Table) -> None:
    """Steps of one block of runs, in place, as many as `losses` (steps, BLOCK) has rows; the logistic loss.

    `x` (n, T, d); `weights` (n, BLOCK) of the runs; `factor` and `rate` of the kinds; rows of `U` by (kind, t, j), rows
    of `W` by (kind, j, i): transposed.
    """
    n, T, d = x.shape
    kinds, lanes = len(factor), weights.shape[1]
    grad_U, grad_W = np.empty_like(U), np.empty_like(W)
    mass, moved = np.empty((kinds * T * T, lanes), np.float64), np.empty((kinds * T * T, lanes), np.float64)
    keys, gathered = np.empty((T * d, lanes), np.float64), np.empty((d * T, lanes), np.float64)
    output, pull, loss = np.empty(lanes, np.float64), np.empty(lanes, np.float64), np.empty(lanes, np.float64)
    columns = np.empty((d, T), np.float64)
    for step in range(len(losses)):
        grad_U[:] = 0.0
        grad_W[:] = 0.0
        loss[:] = 0.0
        for sample in range(n):
            tokens = x[sample]
            columns[:] = tokens.T
            output[:] = 0.0
            mass[:] = 0.0
            moved[:] = 0.0
            for k in range(kinds):
                keys[:] = 0.0
                for j in range(d):
                    add_product(keys, j, d, tokens, W, (k * d + j) * d, 1)
                for t in range(T):
                    add_product(mass, (k * T + t) * T, 1, tokens, keys, t * d, 1)
                    add_product(moved, (k * T + t) * T, 1, tokens, U, (k * T + t) * d, 1)
                    lower(mass, (k * T + t) * T, T)
            flat = mass.ravel()
            for place in range(len(flat)):
                flat[place] = exp64(flat[place])
            for k in range(kinds):
                for t in range(T):
                    attend(mass, moved, (k * T + t) * T, T, factor[k], output)
            _lose(output, y[sample], weights[sample], loss, pull)
            for k in range(kinds):
                gathered[:] = 0.0
                pulled(mass, k * T * T, T * T, factor[k], pull)
                pulled(moved, k * T * T, T * T, factor[k], pull)
                for t in range(T):
                    add_product(grad_U, (k * T + t) * d, 1, columns, mass, (k * T + t) * T, 1)
                    add_product(gathered, t, T, columns, moved, (k * T + t) * T, 1)
                for j in range(d):
                    add_product(grad_W, (k * d + j) * d, 1, columns, gathered, j * T, 1)
        for k in range(kinds):
            U[k * T * d : (k + 1) * T * d] -= rate[k] * grad_U[k * T * d : (k + 1) * T * d]
            W[k * d * d : (k + 1) * d * d] -= rate[k] * grad_W[k * d * d : (k + 1) * d * d]
        losses[step] = loss


@kernel_of_eights("void(f8[:, ::1], i8, i8, f8[:, ::1], f8[:, ::1], i8, i8)")
def add_product(out: Table, o: int, o_stride: int, by: Table, rows: Table, r: int, r_stride: int) -> None:
    """out_p <- out_p + sum_q by_pq rows_q, four rows p at a time."""
    many, count = by.shape
    for eight in range(out.shape[1] // EIGHT):
        lane, p = np.uint64(eight * EIGHT), 0
        while p + 4 <= many:
            a, b, c, d = ZEROS, ZEROS, ZEROS, ZEROS
            for q in range(count):
                row = load(rows[r + q * r_stride], lane)
                a = plus(a, by[p, q], row)
                b = plus(b, by[p + 1, q], row)
                c = plus(c, by[p + 2, q], row)
                d = plus(d, by[p + 3, q], row)
            to = o + p * o_stride
            store(out[to], lane, plus(a, 1.0, load(out[to], lane)))
            store(out[to + o_stride], lane, plus(b, 1.0, load(out[to + o_stride], lane)))
            store(out[to + 2 * o_stride], lane, plus(c, 1.0, load(out[to + 2 * o_stride], lane)))
            store(out[to + 3 * o_stride], lane, plus(d, 1.0, load(out[to + 3 * o_stride], lane)))
            p += 4
        while p < many:
            a = ZEROS
            for q in range(count):
                a = plus(a, by[p, q], load(rows[r + q * r_stride], lane))
            to = o + p * o_stride
            store(out[to], lane, plus(a, 1.0, load(out[to], lane)))
            p += 1


@kernel_of_eights("void(f8[:, ::1], i8, i8)")
def lower(scores: Table, first: int, count: int) -> None:
    """Take the largest of the rows away from all of them."""
    for eight in range(scores.shape[1] // EIGHT):
        lane = np.uint64(eight * EIGHT)
        top = load(scores[first], lane)
        for s in range(1, count):
            top = larger(top, load(scores[first + s], lane))
        for s in range(count):
            store(scores[first + s], lane, plus(load(scores[first + s], lane), -1.0, top))


@kernel_of_eights("void(f8[:, ::1], f8[:, ::1], i8, i8, f8, f8[::1])")
def attend(mass: Table, values: Table, first: int, count: int, factor: float, output: Table) -> None:
    """Masses to P, values S to P * (S - r), and factor * r into the output, of one query."""
    for eight in range(mass.shape[1] // EIGHT):
        lane = np.uint64(eight * EIGHT)
        total, seen = ZEROS, ZEROS
        for s in range(count):
            one = load(mass[first + s], lane)
            total = plus(total, 1.0, one)
            seen = plus_each(seen, one, load(values[first + s], lane))
        total = inverse(total)
        seen = times(seen, total)
        store(output, lane, plus(load(output, lane), factor, seen))
        for s in range(count):
            one = times(load(mass[first + s], lane), total)
            store(mass[first + s], lane, one)
            store(values[first + s], lane, times(one, plus(load(values[first + s], lane), -1.0, seen)))


@kernel_of_eights("void(f8[:, ::1], i8, i8, f8, f8[::1])")
def pulled(rows: Table, first: int, count: int, factor: float, pull: Table) -> None:
    """Rows times factor * pull."""
    for eight in range(rows.shape[1] // EIGHT):
        lane = np.uint64(eight * EIGHT)
        by = plus(ZEROS, factor, load(pull, lane))
        for s in range(count):
            store(rows[first + s], lane, times(load(rows[first + s], lane), by))


@kernel
def _lose(output: Table, label: float, weight: Table, loss: Table, pull: Table) -> None:
    """Add w l(Phi) to the losses; w l'(Phi) in `pull`."""
    for b in range(len(output)):
        margin = label * output[b]
        small = math.exp(-abs(margin))
        loss[b] += weight[b] * (max(-margin, 0.0) + math.log1p(small))
        slope = small / (1.0 + small) if margin >= 0.0 else 1.0 / (1.0 + small)
        pull[b] = -weight[b] * label * slope
