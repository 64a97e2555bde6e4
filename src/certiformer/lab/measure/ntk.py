"""The margin of tangent features: what an explicit direction achieves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from certiformer.theory.core.errors import InputError

UNIT = 2.0**-53


@dataclass(frozen=True)
class Margin:
    """The hard margin max_{||w||=1} min_i <G_i, w>: a certified lower end, an upper end, and the direction w.

    `achieved` is what w really achieves, rounding subtracted; it is 0 when the rows were not found separable (the truth
    may still be a margin below the rounding level). `at_most` is the norm of a convex combination of the rows.
    """

    achieved: float
    at_most: float
    direction: npt.NDArray[np.float64]


def hard_margin(rows: npt.ArrayLike) -> Margin:
    r"""Margin of the rows G_i (labels already multiplied in) about the origin.

    Least-distance programming: min ||w|| subject to <G_i, w> >= 1 is solved by non-negative least squares
    min_{a >= 0} ||[G^T; 1^T] a - e_last||, in the coordinates of the rows' span. Whatever w the solver returns, only
    the value it achieves is reported: min_i <G_i, w>/||w||, minus g_P ||G_i|| for the rounding of the inner products.
    """
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise InputError("rows", f"shape {values.shape}", "a non-empty matrix with one row per sample")
    if not np.all(np.isfinite(values)):
        raise InputError("rows", "an entry that is not finite", "finite numbers")
    samples, size = values.shape
    sizes = np.linalg.norm(values, axis=1)
    largest = float(np.max(sizes))
    if largest == 0.0 or np.min(sizes) == 0.0:
        return Margin(0.0, 0.0, np.zeros(size))
    # 1. Coordinates in the span of the rows: G^T = Q R.
    basis, triangle = np.linalg.qr(values.T) if size > samples else (np.eye(size), values.T)
    # 2. The non-negative least-squares problem, rows in units of the largest.
    system = np.concatenate([triangle / largest, np.ones((1, samples))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    try:
        weights, _ = nnls(system, target, maxiter=max(100, 10 * samples))
    except RuntimeError:
        weights = np.full(samples, 1.0 / samples)
    if not np.any(weights > 0):
        weights = np.full(samples, 1.0 / samples)
    # 3. Candidates: the primal direction of the residual, and the dual's own combination of rows.
    residual = target - system @ weights
    candidates = [basis @ residual[:-1] * -1.0, basis @ (triangle @ weights)]
    best, direction = 0.0, np.zeros(size)
    for candidate in (sign * vector for vector in candidates for sign in (1.0, -1.0)):
        norm = float(np.linalg.norm(candidate))
        if norm == 0.0 or not math.isfinite(norm):
            continue
        unit = candidate / norm
        reached = float(np.min(values @ unit - 2 * (size + 4) * UNIT * sizes)) * (1 - 2 * (size + 8) * UNIT)
        if reached > best:
            best, direction = reached, unit
    combination = values.T @ (weights / np.sum(weights))
    dual = float(np.linalg.norm(combination)) + 2 * (samples + size) * UNIT * largest
    return Margin(best, dual, direction)
