r"""The sizes of one matrix that theory asks for, each rounded to the safe side.

    ||W||_{2,1} sums the l2 norms of columns, `norm_21_rows` those of rows, ||W||_{1,1} all absolute values,
    stable rank = ||W||_F^2 / ||W||_2^2 (upper Frobenius over lower spectral norm).

W acts as x -> Wx (outputs x inputs), whatever the file's orientation; a vector is a column.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import down, up
from certiformer.theory.measure.spectral import BLOCK, UNIT, Rows, spectral_norms

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Upper bounds on the norms of a matrix (and a lower one on its spectral norm)."""

    spectral: float
    spectral_below: float
    frobenius: float
    norm_21: float
    norm_21_rows: float
    norm_11: float
    max_row: float

    @property
    def stable_rank(self) -> float:
        if self.spectral_below == 0.0:
            return 0.0
        return up((self.frobenius / self.spectral_below) ** 2)

    def as_json(self) -> dict[str, float]:
        return asdict(self)

    def widened(self, error: float) -> Sizes:
        """Sizes of every matrix whose entries differ from this one's by at most `error` in sum: no norm moves more."""
        if error == 0.0:
            return self
        above = {name: up(value + error) for name, value in asdict(self).items()}
        return Sizes(**{**above, "spectral_below": max(0.0, down(self.spectral_below - error))})


ZERO_SIZES = Sizes(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def sizes(matrix: Rows | npt.NDArray[Any]) -> Sizes:
    """All sizes of a matrix that is read in blocks of rows; entries must be finite."""
    rows, columns = matrix.shape
    if rows == 0 or columns == 0:
        return ZERO_SIZES
    if columns == 1:
        return _vector(np.asarray(matrix[0:rows], dtype=np.float64)[:, 0])
    spectral = spectral_norms(matrix)
    # Ordinary weights are summed as they are; extreme ones are scaled so that no square overflows or vanishes.
    exponent = math.frexp(spectral.upper.value)[1] if math.isfinite(spectral.upper.value) else 1024
    exponent = 0 if abs(exponent) < 200 else exponent
    by_column, by_row_total, absolute, largest_row = np.zeros(columns), 0.0, 0.0, 0.0
    for block in _blocks(matrix, exponent):
        squares = block * block
        by_column += squares.sum(axis=0)
        lengths = np.sqrt(squares.sum(axis=1))
        by_row_total += float(lengths.sum())
        largest_row = max(largest_row, float(lengths.max()))
        absolute += float(np.abs(block).sum())
    # A sum of N non-negative terms is accurate to N units in the last place, whatever the order.
    slack = 1 + 8 * (rows + columns + 8) * UNIT
    entries = 1 + 2 * (rows * columns + 8) * UNIT

    def bound(value: float, factor: float = slack) -> float:
        return float(np.ldexp(up(value * factor), exponent))

    frobenius = bound(math.sqrt(float(by_column.sum())))
    return Sizes(
        spectral=min(spectral.upper.value, frobenius),
        spectral_below=spectral.lower.value,
        frobenius=frobenius,
        norm_21=bound(float(np.sqrt(by_column).sum())),
        norm_21_rows=bound(by_row_total),
        norm_11=bound(absolute, entries),
        max_row=min(bound(largest_row), spectral.upper.value),
    )


def _vector(values: Array) -> Sizes:
    """A column: spectral, Frobenius and (2,1) norm are its length, its rows are its entries."""
    if not np.all(np.isfinite(values)):
        raise InputError("matrix", "an entry that is not finite", "finite numbers")
    largest = float(np.max(np.abs(values)))
    if largest == 0.0:
        return ZERO_SIZES
    slack = 8 * (len(values) + 8) * UNIT
    length = largest * float(np.linalg.norm(values / largest))
    absolute = up(float(np.sum(np.abs(values))) * (1 + slack))
    above, below = up(length * (1 + slack)), down(length * (1 - slack))
    return Sizes(above, below, above, above, absolute, absolute, largest)


def _blocks(matrix: Rows | npt.NDArray[Any], exponent: int) -> Iterator[Array]:
    rows, columns = matrix.shape
    step = max(1, BLOCK // max(1, columns))
    for start in range(0, rows, step):
        block = np.asarray(matrix[start : min(start + step, rows)], dtype=np.float64)
        yield np.ldexp(block, -exponent) if exponent else block


def product_norm(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> float:
    r"""Certified upper bound on ||A^T B||_2 for two k x d matrices, k small: a head's W_Q^T W_K.

    With A^T = Q1 R1 + E1, B^T = Q2 R2 + E2 (any Q, R, the residuals measured):
    ||A^T B|| <= ||Q1|| ||Q2|| ||R1 R2^T|| + ||E1|| ||B|| + ||E2|| ||A|| + ||E1|| ||E2||, ||Q||^2 <= 1 + ||Q^T Q - I||.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if not (np.any(a) and np.any(b)):
        return 0.0
    left, right = _factored(a), _factored(b)
    middle = left.triangle @ right.triangle.T
    k = middle.shape[0]
    rounding = 4 * (k + 8) * UNIT * float(np.linalg.norm(left.triangle) * np.linalg.norm(right.triangle))
    core = spectral_norms(middle).upper.value + rounding
    return up(
        left.stretch * right.stretch * core
        + left.residual * right.frobenius
        + right.residual * left.frobenius
        + left.residual * right.residual
    )


@dataclass(frozen=True, slots=True)
class _Factored:
    triangle: Array
    stretch: float
    residual: float
    frobenius: float


def _factored(matrix: Array) -> _Factored:
    orthogonal, triangle = np.linalg.qr(matrix.T)
    k, d = matrix.shape
    unit = 4 * (k + d + 8) * UNIT
    deviation = float(np.linalg.norm(orthogonal.T @ orthogonal - np.eye(orthogonal.shape[1]))) + 2 * k * unit
    frobenius = float(np.linalg.norm(matrix)) * (1 + unit * k)
    size = float(np.linalg.norm(orthogonal) * np.linalg.norm(triangle)) + frobenius
    residual = float(np.linalg.norm(matrix.T - orthogonal @ triangle)) + unit * size
    return _Factored(triangle, math.sqrt(1 + deviation), residual, frobenius)
