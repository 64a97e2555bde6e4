"""Gradient descent of many of Deora's attention layers on the same examples, each run with its own weights of them.

    theta_r <- theta_r - rate * grad sum_i w_ri l(y_i Phi(X_i; theta_r)),   Phi = sum_k f_k <U_k, softmax(X W_k X^T) X>

with the logistic loss, in double precision: with weights 1/n and one of them 0 in each run, leave-one-out. A head k may
stand for several equal ones: f_k and rate_k say so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.core.errors import InputError
from certiformer.training.fast import native
from certiformer.training.fast._many_attentions import attention_gradients

Numbers = npt.NDArray[np.float64]


class AttentionRuns(NamedTuple):
    """Weights of all runs after the steps, U (runs, heads, T, d) and W (runs, heads, d, d), and losses before each."""

    U: Numbers
    W: Numbers
    losses: Numbers


def attention_runs(
    U: npt.ArrayLike,
    W: npt.ArrayLike,
    batch: tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.ArrayLike,
    *,
    factor: npt.ArrayLike,
    rate: npt.ArrayLike,
    steps: int,
    native_kernel: bool | None = None,
) -> AttentionRuns:
    """`steps` of all runs; batch x (n, T, d), y (n,); weights (runs, n); factor and rate (heads,)."""
    start_U, start_W, x, y, table, scales, rates = (
        np.array(each, np.float64, order="C") for each in (U, W, *batch, weights, factor, rate)
    )
    runs, heads, tokens, d = start_U.shape
    expected = ((runs, heads, d, d), (len(y), tokens, d), (runs, len(y)), (heads,), (heads,))
    shapes = (start_W.shape, x.shape, table.shape, scales.shape, rates.shape)
    if shapes != expected:
        raise InputError("W, x, weights, factor, rate", shapes, f"shapes {expected}, as U and y have them")
    advance = _native if native.wanted(native_kernel) else _compiled
    return advance(start_U, start_W, x, y, table, scales, rates, steps)


def _native(
    U: Numbers, W: Numbers, x: Numbers, y: Numbers, table: Numbers, factor: Numbers, rate: Numbers, steps: int
) -> AttentionRuns:
    from certiformer.training.fast.native import _attentions

    kernel: Any = _attentions.descend
    runs = len(U)
    losses = np.empty((steps, runs))
    for first in range(0, runs, _attentions.BLOCK):
        here = slice(first, first + _attentions.BLOCK)
        block_U, block_W = _in_lanes(U[here]), _in_lanes(W[here].swapaxes(2, 3))
        found = np.empty((steps, _attentions.BLOCK))
        kernel(x, y, _in_lanes(table[here]), factor, rate, block_U, block_W, found)
        some = min(_attentions.BLOCK, runs - first)
        U[here] = block_U.T[:some].reshape(U[here].shape)
        W[here] = block_W.T[:some].reshape(W[here].shape).swapaxes(2, 3)
        losses[:, here] = found[:, :some]
    return AttentionRuns(U, W, losses)


def _in_lanes(values: Numbers) -> Numbers:
    """The runs last, filled up with zeros to a whole block."""
    from certiformer.training.fast.native import _attentions

    rows = values.reshape(len(values), -1)
    filled = np.zeros((rows.shape[1], _attentions.BLOCK))
    filled[:, : len(rows)] = rows.T
    return filled


def _compiled(
    U: Numbers, W: Numbers, x: Numbers, y: Numbers, table: Numbers, factor: Numbers, rate: Numbers, steps: int
) -> AttentionRuns:
    with jax.enable_x64(True):
        now, losses = (jnp.asarray(U), jnp.asarray(W)), []
        data = tuple(jnp.asarray(each) for each in (x, y, table, factor, rate[:, None, None]))
        for _ in range(steps):
            now, loss = _step()(now, *data)
            losses.append(np.asarray(loss))
        return AttentionRuns(np.array(now[0]), np.array(now[1]), np.array(losses).reshape(steps, len(U)))


@functools.cache
def _step() -> Callable[..., Any]:
    @jax.jit
    def step(
        now: tuple[Array, Array], x: Array, y: Array, weights: Array, factor: Array, rate: Array
    ) -> tuple[tuple[Array, Array], Array]:
        losses, slope_U, slope_W = attention_gradients(*now, (x, y), weights, factor)
        return (now[0] - rate * slope_U, now[1] - rate * slope_W), losses

    return step
