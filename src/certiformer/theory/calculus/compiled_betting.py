r"""The loop over rows of `target_betting`, compiled: the same recursion, the same rounding, many times as fast.

phi(Phi^-1(k)) sqrt(2 pi)/k is analytic on (0, 1): on every sixteenth of an octave a polynomial of degree 7 has it to
2^-44 of what SciPy has, beside the 2^-41 that the recursion takes off. For k > 1/2 it is symmetric. The polynomials are
interpolated from SciPy when this module is imported; tests compare them with 40 digits, and both loops with each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from certiformer.theory.calculus._compiled import compiled

Array = NDArray[np.float64]

_LOWEST = -975
"""Octaves from 2^-975 on: below every capital that is bet with (1e-291)."""
_PARTS, _DEGREE = 16, 7


def _table() -> Array:
    """Coefficients of u^7, ..., 1 on every part, where u in [-1, 1) runs through it."""
    # mutants: any-nodes-interpolate
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    octaves = 2.0 ** np.arange(_LOWEST, -1.0)  # mutants: nobody-looks
    starts = 1.0 + np.arange(_PARTS) / _PARTS
    k = octaves[:, None, None] * (starts[:, None] + (nodes + 1.0) / (2 * _PARTS))
    values = np.exp(-0.5 * ndtri(k) ** 2) / k
    inverse = np.linalg.inv(np.vander(nodes))
    # mutants: the-rest-of-an-array
    return np.ascontiguousarray(values.reshape(-1, _DEGREE + 1) @ inverse.T)


TABLE = _table()


def _loop(table: Any, w: Any, y: Any, factor: Any, means: Any, start: float, final: bool) -> Any:
    """As `target_betting._capital` says; the columns of w, y and factor are paths."""
    rows, columns = w.shape
    many = len(means)
    found = np.zeros(many)
    k, top = np.empty(many), np.empty(many)
    up, down = 1.0 / (1.0 - means), 1.0 / means
    for column in range(columns):
        k[:] = start
        top[:] = start
        for row in range(rows):
            one, loss, scale = w[row, column], y[row, column], factor[row, column]
            for each in range(many):
                capital = k[each]
                tail = min(capital, 1.0 - capital)
                if tail <= 0.0:
                    continue  # nothing is left to bet, or nothing to win
                bits = np.float64(tail).view(np.int64)
                part = (bits >> np.int64(48)) - np.int64((1023 + _LOWEST) * _PARTS)
                if part >= len(table):  # tail = 1/2
                    stake = scale
                else:
                    # mutants: rounding-margins
                    inside = (bits & np.int64(0xFFFFFFFFFFFF)) | np.int64(0x3FF0000000000000)
                    u = (np.int64(inside).view(np.float64) - 1.0) * (2.0 * _PARTS) - 1.0
                    p = table[part, 0]
                    for power in range(1, _DEGREE + 1):  # mutants: too-small-to-count
                        p = p * u + table[part, power]
                    stake = p * tail * scale
                stake = min(min(stake, capital * up[each]), (1.0 - capital) * down[each])
                paid = means[each] * one
                step = stake * (paid - loss)
                # mutants: rounding-margins
                lost = stake * paid * 2.0**-52 + abs(step) * 2.0**-40
                # mutants: rounding-margins
                capital = min(capital * (1.0 - 2.0**-51) + (step - lost), 1.0)
                if capital < 1e-280:  # mutants: rounding-margins
                    capital = 0.0
                k[each] = capital
                top[each] = max(top[each], capital)
        found += k if final else top
    return found / columns


_run = compiled(_loop)


def capital(w: Array, y: Array, factor: Array, means: Array, start: float, *, final: bool) -> Array:
    """K/T at every mean: the average over paths of the last, or the largest along the one path."""
    found: Array = _run(TABLE, w, y, factor, means, start, final)
    return found
