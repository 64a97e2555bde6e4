"""Entrywise norms of weight matrices, in both orientations.

    ||W||_{q,p} = p-norm of the vector of column q-norms         (Trauger, section 2.1)

so ||W||_{1,inf} is the largest column l1 norm, ||W||_{2,1} the sum of column l2 norms, and the transposed ones go over
rows. Sums are rounded upwards: a norm enters a bound as a radius, which may only be too large.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up
from certiformer.theory.measure.measured import Measured


def mixed_norm(matrix: npt.ArrayLike, inner: float, outer: float, *, transposed: bool = False) -> Measured:
    """||W||_{inner,outer}, or with `transposed` that of W^T; the orders are at least 1, infinity included."""
    values = finite_matrix(matrix)
    for name, order in (("inner", inner), ("outer", outer)):
        if not order >= 1:
            raise InputError(name, order, "a norm order of at least 1 (math.inf allowed)")
    columns = _norm(values.T if transposed else values, inner)
    name = f"||W{'^T' if transposed else ''}||_{{{_order(inner)},{_order(outer)}}}"
    # A sum of N non-negative terms is accurate to N units in the last place, whatever the order.
    bound = up(float(_norm(columns[:, None], outer)[0]) * (1 + 4 * (sum(values.shape) + 8) * 2.0**-53))
    return Measured(bound, "certified", f"{name} by direct summation", "upper")


def frobenius_norm(matrix: npt.ArrayLike) -> Measured:
    """||W||_F = ||W||_{2,2}."""
    return mixed_norm(matrix, 2, 2)


def norms(matrix: npt.ArrayLike) -> dict[str, Measured]:
    """The norms the theorems ask for, by name: `1,inf` and `2,1` of W and of W^T, `1,1`, `2,inf` and `F`."""
    orders = {"1,inf": (1.0, math.inf), "2,1": (2.0, 1.0), "1,1": (1.0, 1.0), "2,inf": (2.0, math.inf)}
    straight = {f"W_{name}": mixed_norm(matrix, *order) for name, order in orders.items()}
    turned = {f"WT_{name}": mixed_norm(matrix, *order, transposed=True) for name, order in orders.items()}
    return {**straight, **turned, "F": frobenius_norm(matrix)}


def entrywise_l1(tensors: dict[str, npt.ArrayLike]) -> Measured:
    """Sum of absolute values over all tensors, biases included: the norm of Trauger's figure 1."""
    sizes = [np.abs(np.asarray(value, np.float64)) for value in tensors.values()]
    total = math.fsum(float(np.sum(size)) * (1 + size.size * 2.0**-52) for size in sizes)
    return Measured(up(total), "certified", "sum of absolute values", "upper")


def finite_matrix(matrix: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The matrix in float64 (vectors become columns); anything not finite is refused."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise InputError("matrix", f"{values.ndim} axes", "a matrix or a vector")
    if not np.all(np.isfinite(values)):
        raise InputError("matrix", "an entry that is not finite", "finite numbers")
    return values


def _norm(columns: npt.NDArray[np.float64], order: float) -> npt.NDArray[np.float64]:
    # Divided by the largest entry first: squares of huge or tiny entries would overflow or vanish.
    size = np.max(np.abs(columns), axis=0, initial=0.0)
    if math.isinf(order):
        return np.asarray(size)
    scaled = np.abs(columns) / np.where(size > 0, size, 1.0)
    result: npt.NDArray[Any] = size * np.sum(scaled**order, axis=0) ** (1.0 / order)
    return result


def _order(value: float) -> str:
    return "inf" if math.isinf(value) else f"{value:g}"
