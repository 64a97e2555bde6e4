"""Gradient descent of many of Deora's attention layers on the same examples, each run with its own weights of them.

    theta_r <- theta_r - rate * grad sum_i w_ri l(y_i Phi(X_i; theta_r)),   Phi = sum_k f_k <U_k, softmax(X W_k X^T) X>

with the logistic loss, in double precision: with weights 1/n and one of them 0 in each run, leave-one-out. A head k may
stand for several equal ones: f_k and rate_k say so. With P = softmax(X W_k X^T), S = U_k X^T and r_t = sum_s P_ts S_ts:

    Phi = sum_k f_k sum_t r_t,   grad_U = P X,   grad_W = X^T (P * (S - r 1^T)) X        (times f_k w_i l'(Phi(X_i)))

Runs never meet: a block of them, one in each vector lane, takes all its steps while its weights are in the cache.
Everything with an axis of runs is a table with one row of lanes per remaining place; a matrix of such rows begins at a
row and has strides in rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from certiformer.lab.training.kernels._compile import kernel
from certiformer.lab.training.kernels._vectors import each, exp, larger, load, store, zeros
from certiformer.theory.core.errors import InputError

Numbers = npt.NDArray[np.float64]
Table = Numbers

BLOCK = 8
"""Runs side by side, the lanes of a register; those past the last have weight 0 everywhere."""


class AttentionRuns(NamedTuple):
    """Weights of all runs after the steps, U (runs, heads, T, d) and W (runs, heads, d, d), and losses before each."""

    U: Numbers
    W: Numbers
    losses: Numbers


def leave_one_out_weights(samples: int) -> Numbers:
    """Weights (n + 1, n): in row 0 all are 1/n, in row i + 1 that of sample i is 0 (and 1/n stays what it was)."""
    return np.concatenate([np.ones((1, samples)), 1.0 - np.eye(samples)]) / samples


def attention_runs(
    U: npt.ArrayLike,
    W: npt.ArrayLike,
    batch: tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.ArrayLike,
    *,
    factor: npt.ArrayLike,
    rate: npt.ArrayLike,
    steps: int,
) -> AttentionRuns:
    """`steps` of all runs; batch x (n, T, d), y (n,); weights (runs, n); factor and rate (heads,)."""
    U, W, x, y, table, factors, rates = (
        np.array(given, np.float64, order="C") for given in (U, W, *batch, weights, factor, rate)
    )
    runs, heads, tokens, d = U.shape
    expected = ((runs, heads, d, d), (len(y), tokens, d), (runs, len(y)), (heads,), (heads,))
    shapes = (W.shape, x.shape, table.shape, factors.shape, rates.shape)
    if shapes != expected:
        raise InputError("W, x, weights, factor, rate", shapes, f"shapes {expected}, as U and y have them")
    losses = np.empty((steps, runs))
    for first in range(0, runs, BLOCK):
        here = slice(first, first + BLOCK)
        block_U, block_W = _in_lanes(U[here]), _in_lanes(W[here].swapaxes(2, 3))
        block_losses = np.empty((steps, BLOCK))
        _descend(x, y, _in_lanes(table[here]), factors, rates, block_U, block_W, block_losses)
        some = min(BLOCK, runs - first)
        U[here] = block_U.T[:some].reshape(U[here].shape)
        W[here] = block_W.T[:some].reshape(W[here].shape).swapaxes(2, 3)
        losses[:, here] = block_losses[:, :some]
    return AttentionRuns(U, W, losses)


def _in_lanes(values: Numbers) -> Numbers:
    """The runs last, filled up with zeros to a whole block."""
    rows = values.reshape(len(values), -1)
    lanes = np.zeros((rows.shape[1], BLOCK))
    lanes[:, : len(rows)] = rows.T
    return lanes


@kernel
def _descend(x: Any, y: Table, weights: Table, factor: Table, rate: Table, U: Table, W: Table, losses: Table) -> None:
    """Steps of one block of runs, in place, as many as `losses` (steps, BLOCK) has rows; the logistic loss.

    `x` (n, T, d); `weights` (n, BLOCK) of the runs; `factor` and `rate` of the kinds; rows of `U` by (kind, t, j), rows
    of `W` by (kind, j, i): transposed.
    """
    n, T, d = x.shape
    kinds = len(factor)
    grad_U, grad_W = np.empty_like(U), np.empty_like(W)
    mass, moved = np.empty((kinds * T * T, BLOCK)), np.empty((kinds * T * T, BLOCK))
    keys, gathered = np.empty((T * d, BLOCK)), np.empty((d * T, BLOCK))
    output, pull, loss = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    columns = np.empty((d, T))
    for step in range(len(losses)):
        grad_U[:] = 0.0
        grad_W[:] = 0.0
        loss[:] = 0.0
        for sample in range(n):
            tokens = x[sample]
            columns[:] = tokens.T
            output[:] = 0.0
            for k in range(kinds):
                for j in range(d):
                    _product(keys, j, d, tokens, W, (k * d + j) * d, False)
                for t in range(T):
                    _product(mass, (k * T + t) * T, 1, tokens, keys, t * d, False)
                    _product(moved, (k * T + t) * T, 1, tokens, U, (k * T + t) * d, False)
                    _attend(mass, moved, (k * T + t) * T, T, factor[k], output)
            _lose(output, y[sample], weights[sample], loss, pull)
            for k in range(kinds):
                _pulled(mass, moved, k * T * T, T * T, factor[k], pull)
                for t in range(T):
                    _product(grad_U, (k * T + t) * d, 1, columns, mass, (k * T + t) * T, True)
                    _product(gathered, t, T, columns, moved, (k * T + t) * T, False)
                for j in range(d):
                    _product(grad_W, (k * d + j) * d, 1, columns, gathered, j * T, True)
        for k in range(kinds):
            U[k * T * d : (k + 1) * T * d] -= rate[k] * grad_U[k * T * d : (k + 1) * T * d]
            W[k * d * d : (k + 1) * d * d] -= rate[k] * grad_W[k * d * d : (k + 1) * d * d]
        losses[step] = loss


@kernel
def _product(out: Table, o: int, o_apart: int, by: Table, rows: Table, r: int, add: bool) -> None:
    """out_p <- sum_q by_pq rows_q, added to what is there if told so; four rows p at a time."""
    many, count = by.shape
    p, to, apart = 0, o * BLOCK, o_apart * BLOCK
    while p + 4 <= many:
        a, b, c, d = zeros(out), zeros(out), zeros(out), zeros(out)
        if add:
            a, b = load(out, to), load(out, to + apart)
            c, d = load(out, to + 2 * apart), load(out, to + 3 * apart)
        place = p * count
        for q in range(count):
            row = load(rows, (r + q) * BLOCK)
            a += row * each(by, place + q)
            b += row * each(by, place + count + q)
            c += row * each(by, place + 2 * count + q)
            d += row * each(by, place + 3 * count + q)
        store(out, to, a)
        store(out, to + apart, b)
        store(out, to + 2 * apart, c)
        store(out, to + 3 * apart, d)
        p += 4
        to += 4 * apart
    while p < many:
        a = zeros(out)
        if add:
            a = load(out, to)
        for q in range(count):
            a += load(rows, (r + q) * BLOCK) * each(by, p * count + q)
        store(out, to, a)
        p += 1
        to += apart


@kernel
def _attend(mass: Table, values: Table, first: int, count: int, factor: float, output: Table) -> None:
    """Scores to P, values S to P * (S - r), and factor * r into the output, of one query."""
    at, end = first * BLOCK, (first + count) * BLOCK
    top = load(mass, at)
    for place in range(at + BLOCK, end, BLOCK):
        top = larger(top, load(mass, place))
    sum_, seen = zeros(mass), zeros(mass)
    for place in range(at, end, BLOCK):
        one = exp(load(mass, place) - top)
        store(mass, place, one)
        sum_ += one
        seen += one * load(values, place)
    inverse = 1.0 / sum_
    seen *= inverse
    store(output, 0, load(output, 0) + seen * factor)
    for place in range(at, end, BLOCK):
        one = load(mass, place) * inverse
        store(mass, place, one)
        store(values, place, one * (load(values, place) - seen))


@kernel
def _pulled(mass: Table, moved: Table, first: int, count: int, factor: float, pull: Table) -> None:
    """Rows of both tables times factor * pull."""
    by = load(pull, 0) * factor
    for place in range(first * BLOCK, (first + count) * BLOCK, BLOCK):
        store(mass, place, load(mass, place) * by)
        store(moved, place, load(moved, place) * by)


@kernel
def _lose(output: Table, label: float, weight: Table, loss: Table, pull: Table) -> None:
    """Add w l(Phi) to the losses; w l'(Phi) in `pull`."""
    for b in range(len(output)):
        margin = label * output[b]
        small = math.exp(-abs(margin))
        loss[b] += weight[b] * (max(-margin, 0.0) + math.log1p(small))
        slope = small / (1.0 + small) if margin >= 0.0 else 1.0 / (1.0 + small)
        pull[b] = -weight[b] * label * slope
