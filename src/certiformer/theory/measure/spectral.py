r"""Spectral norms with a proof on both sides: no rounding error can make them untrue.

Let A have its shorter side k, G = fl(A^T A) (k x k), theta its largest Ritz value, s a little above it.
If a floating-point Cholesky factorisation of B = fl(s I - G) runs to its end, then

    R^T R = B + E,  |E_ij| <= g_{k+1}/(1 - g_{k+1}) sqrt(b_ii b_jj)        (Higham, Theorem 10.3 and Cauchy-Schwarz)

so lambda_min(B) >= -g/(1-g) trace(B), and with |fl(A^T A) - A^T A| <= g_m |A|^T |A| entry by entry

    ||A||_2^2 <= s + g/(1-g) trace(B) + u max_i b_ii + g_m ||A||_F^2,       g_j = j u/(1 - j u), u = 2^-53.

The constants below are doubled. From below, ||A v||/||v|| at the Ritz vector v of the same Lanczos basis, less its
rounding. The eigenvalue solver need not be accurate: a poor theta or v only opens the interval, and where it is wider
than `CLOSE` a full eigenvalue solver is asked instead. The matrix is read in blocks along its longer side, so an
array on disk (or anything with a shape and rows) is never in memory as a whole unless it is wide.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import down, up
from certiformer.theory.measure.measured import Measured
from certiformer.theory.measure.norms import finite_matrix

Array = npt.NDArray[np.float64]

UNIT = 2.0**-53
CLOSE = 2.5e-9
"""A wider interval (relative) is computed again from all eigenvalues."""
BLOCK = 2**22
"""Entries that are turned into float64 at a time."""
SMALL = 64
"""Up to this side all eigenvalues are computed at once."""
STEPS = 120


class Rows(Protocol):
    """A matrix whose rows can be read: an array, a memory map, or a tensor that is decoded on the way."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        ...

    def __getitem__(self, rows: slice, /) -> npt.ArrayLike: ...


@dataclass(frozen=True, slots=True)
class SpectralNorm:
    """lower <= ||A||_2 <= upper, both proved by the computation."""

    lower: Measured
    upper: Measured


def spectral_norms(matrix: Rows | npt.ArrayLike) -> SpectralNorm:
    """Both sides of the largest singular value; they agree to 1e-8, and usually to 1e-10."""
    blocks = _Blocks.of(matrix)
    lowest, highest = blocks.extremes()
    largest = max(-lowest, highest)
    if largest == 0.0:
        return SpectralNorm(_certified(0.0, "lower", "zero"), _certified(0.0, "upper", "all entries are zero"))
    exponent = math.frexp(largest)[1]
    # Squares of ordinary numbers neither overflow nor vanish; others are scaled by a power of two.
    exponent = 0 if abs(exponent) < 200 else exponent
    low, high = _interval(blocks.scaled(exponent))
    return SpectralNorm(
        _certified(_unscale(low, exponent, 0.0), "lower", "||Av||/||v|| at the leading Ritz vector, rounding included"),
        _certified(_unscale(high, exponent, math.inf), "upper", "Cholesky of sI - A^T A, rounding included"),
    )


def spectral_norm(matrix: npt.ArrayLike) -> Measured:
    """Certified upper bound on the largest singular value, typically within 1e-9 of it."""
    return spectral_norms(matrix).upper


def spectral_norm_below(matrix: npt.ArrayLike) -> Measured:
    """Certified lower bound on the largest singular value: ||A v|| / ||v|| at the leading Ritz vector."""
    return spectral_norms(matrix).lower


def _certified(value: float, side: Any, how: str) -> Measured:
    return Measured(value, "certified", how, side)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """A as blocks of its longer side, each `long x k` in float64; A^T where A is wide."""

    read: Callable[[int, int], Array]
    long: int
    short: int

    @classmethod
    def of(cls, matrix: Rows | npt.ArrayLike) -> _Blocks:
        if isinstance(matrix, np.ndarray) or not (hasattr(matrix, "shape") and hasattr(matrix, "__getitem__")):
            array = np.asarray(matrix)
            if array.ndim != 2 or array.dtype.kind != "f":
                array = finite_matrix(array)
            if array.shape[0] < array.shape[1]:
                array = array.T
            rows: Any = array
        else:
            rows = matrix
            if len(rows.shape) != 2:
                raise InputError("matrix", f"{len(rows.shape)} axes", "a matrix")
            if rows.shape[0] < rows.shape[1]:
                rows = np.asarray(rows[0 : rows.shape[0]]).T

        def read(start: int, stop: int) -> Array:
            return np.asarray(rows[start:stop], dtype=np.float64)

        return cls(read, *rows.shape)

    def __iter__(self) -> Iterator[Array]:
        step = max(1, BLOCK // max(1, self.short))
        for start in range(0, self.long, step):
            yield self.read(start, min(start + step, self.long))

    def scaled(self, exponent: int) -> _Blocks:
        """Every entry times 2^-exponent; exact, except that entries 2^-1022 times the largest may vanish."""
        if exponent == 0:
            return self
        return _Blocks(lambda start, stop: np.ldexp(self.read(start, stop), -exponent), self.long, self.short)

    def extremes(self) -> tuple[float, float]:
        if 0 in (self.long, self.short):
            return 0.0, 0.0
        ends = [(float(np.min(block)), float(np.max(block))) for block in self]
        lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
        if not all(math.isfinite(low) and math.isfinite(high) for low, high in ends):
            raise InputError("matrix", "an entry that is not finite", "finite numbers")
        return lowest, highest


def _interval(blocks: _Blocks) -> tuple[float, float]:
    k = blocks.short
    gram: Array = np.zeros((k, k))
    for block in blocks:
        gram += block.T @ block
    frobenius_square = float(np.trace(gram)) * (1 + 4 * (blocks.long + k + 8) * UNIT)
    solvers = (_all_eigenvalues,) if k <= SMALL else (_lanczos, _largest_eigenvalue)
    for solver in solvers:
        ritz, vector = solver(gram)
        # The largest diagonal entry is a Ritz value too (of a unit vector).
        ritz = max(ritz, float(np.max(np.diag(gram))))
        low = _below(blocks, vector, frobenius_square)
        high = _above(gram, ritz, blocks.long, frobenius_square, patient=solver is solvers[-1])
        if high <= low * (1 + CLOSE):
            break
    return low, high


def _below(blocks: _Blocks, vector: Array, frobenius_square: float) -> float:
    size = float(np.linalg.norm(vector))
    images = [float(np.linalg.norm(block @ vector)) for block in blocks]
    # Rounding of A v: at most g_k ||A||_F ||v|| in norm.
    slack = 2 * blocks.short * UNIT * math.sqrt(frobenius_square) * size
    bound = max(0.0, (math.hypot(*images) - slack) / size)
    return max(0.0, down(bound * (1 - 4 * (blocks.long + blocks.short) * UNIT)))


def _above(gram: Array, ritz: float, rows: int, frobenius_square: float, *, patient: bool) -> float:
    """The bound of the module's docstring; without patience inf once the Ritz value is seen to be far too small."""
    k = gram.shape[0]
    margin = max(16 * (k + 1) * UNIT, 1e-11)
    # The Frobenius norm is a bound as well, and exact for rank one.
    frobenius = up(math.sqrt(frobenius_square))
    while True:
        s = ritz * (1 + margin)
        if s >= frobenius_square:
            return frobenius
        shifted = -gram
        shifted[np.diag_indices(k)] += s
        diagonal = np.diag(shifted).copy()
        if np.all(diagonal > 0):
            # Symmetric, so that the transposed view is the same matrix in Fortran's order.
            _, failed = dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)
            if failed == 0:
                break
        margin *= 8
        if margin > CLOSE and not patient:
            return math.inf
    cholesky = _gamma(2 * (k + 3)) * float(np.sum(diagonal))
    forming = 2 * UNIT * float(np.max(diagonal))
    # Additions of blocks and the symmetric halves are within the doubled constant.
    products = _gamma(2 * (rows + 3)) * frobenius_square
    return min(frobenius, up(math.sqrt((s + cholesky + forming + products) * (1 + 8 * UNIT))))


def _gamma(count: int) -> float:
    return count * UNIT / (1 - count * UNIT)


def _all_eigenvalues(gram: Array) -> tuple[float, Array]:
    values, vectors = np.linalg.eigh(gram)
    return float(values[-1]), np.asarray(vectors[:, -1])


def _largest_eigenvalue(gram: Array) -> tuple[float, Array]:
    last = gram.shape[0] - 1
    values, vectors = eigh(gram, subset_by_index=[last, last])
    return float(values[-1]), np.asarray(vectors[:, -1])


def _lanczos(gram: Array) -> tuple[float, Array]:
    """Leading Ritz pair with full reorthogonalisation; only the quality, not the proof, depends on it."""
    k = gram.shape[0]
    most = min(STEPS, k)
    basis = np.empty((most, k))
    vector = gram @ np.random.default_rng(0).standard_normal(k)
    basis[0] = vector / np.linalg.norm(vector)
    tridiagonal = np.zeros((most + 1, most + 1))
    for j in range(most):
        image = gram @ basis[j]
        tridiagonal[j, j] = basis[j] @ image
        seen = basis[: j + 1]
        for _ in range(2):
            image = image - (seen @ image) @ seen
        size = float(np.linalg.norm(image))
        end = j + 1 == most or size <= 1e-14 * tridiagonal[0, 0]
        if end or j % 6 == 5:
            values, vectors = np.linalg.eigh(tridiagonal[: j + 1, : j + 1])
            # The residual bounds the error; near the end of the spectrum its square does.
            if end or size * abs(vectors[-1, -1]) <= 1e-7 * values[-1]:
                return float(values[-1]), np.asarray(vectors[:, -1] @ seen)
        tridiagonal[j + 1, j] = tridiagonal[j, j + 1] = size
        basis[j + 1] = image / size
    raise AssertionError("unreachable: the last step returns")


def _unscale(bound: float, exponent: int, towards: float) -> float:
    """bound * 2^exponent, rounded `towards` infinity or zero where it leaves the range of exact scaling."""
    try:
        value = math.ldexp(bound, exponent)
    except OverflowError:
        return math.inf if towards > 0 else sys.float_info.max
    return value if math.ldexp(value, -exponent) == bound else math.nextafter(value, towards)
