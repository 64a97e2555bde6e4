r"""Spectral norms with a proof: an upper bound that no rounding error can make too small.

Let A be scaled by a power of two, G = fl(A^T A) (the smaller side, k x k), s a little above G's largest Ritz value.
If a floating-point Cholesky factorisation of B = fl(s I - G) runs to its end, then

    R^T R = B + E,  |E_ij| <= g_{k+1}/(1 - g_{k+1}) sqrt(b_ii b_jj)        (Higham, Theorem 10.3 and Cauchy-Schwarz)

so lambda_min(B) >= -g/(1-g) trace(B), and with |fl(A^T A) - A^T A| <= g_m |A|^T |A| entry by entry

    ||A||_2^2 <= s + g/(1-g) trace(B) + u max_i b_ii + g_m ||A||_F^2,       g_j = j u/(1 - j u), u = 2^-53.

The constants below are doubled. The eigenvalue solver need not be accurate: a poor s only makes the bound larger.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dpotrf

from certiformer.core.rounding import down, up
from certiformer.measure.measured import Measured
from certiformer.measure.norms import finite_matrix

UNIT = 2.0**-53


def spectral_norm(matrix: npt.ArrayLike) -> Measured:
    """Certified upper bound on the largest singular value, typically within 1e-9 of it."""
    values = finite_matrix(matrix)
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return Measured(0.0, "certified", "all entries are zero", "upper")
    scaled, exponent = _scale(values, largest)
    tall = scaled if scaled.shape[0] >= scaled.shape[1] else scaled.T
    square = _square_bound(tall)
    # The Frobenius norm is a bound as well, and exact for rank one.
    frobenius = float(np.linalg.norm(scaled)) * (1 + (scaled.size + 8) * UNIT)
    bound = up(min(math.sqrt(square), frobenius))
    return Measured(
        _unscale(bound, exponent, math.inf), "certified", "Cholesky of sI - A^T A, rounding included", "upper"
    )


def spectral_norm_below(matrix: npt.ArrayLike) -> Measured:
    """Certified lower bound on the largest singular value: ||A v|| / ||v|| at the leading Ritz vector."""
    values = finite_matrix(matrix)
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return Measured(0.0, "certified", "all entries are zero", "lower")
    scaled, exponent = _scale(values, largest)
    vector = _leading_vector(scaled)
    rows, columns = scaled.shape
    size = float(np.linalg.norm(vector))
    # Rounding of A v: at most g_n ||A||_F ||v|| in norm.
    slack = 2 * columns * UNIT * float(np.linalg.norm(scaled)) * size
    bound = max(0.0, (float(np.linalg.norm(scaled @ vector)) - slack) / size)
    bound = _unscale(down(bound * (1 - 4 * (rows + columns) * UNIT)), exponent, 0.0)
    return Measured(bound, "certified", "a unit vector", "lower")


def _square_bound(tall: npt.NDArray[np.float64]) -> float:
    rows, k = tall.shape
    gram = tall.T @ tall
    gram = (gram + gram.T) / 2
    frobenius_square = float(np.sum(tall * tall)) * (1 + 2 * rows * k * UNIT)
    ritz = _largest_ritz_value(gram)
    margin = 16 * (k + 1) * UNIT
    while True:
        s = ritz * (1 + margin)
        shifted = -gram
        shifted[np.diag_indices(k)] += s
        diagonal = np.diag(shifted).copy()
        if np.all(diagonal > 0):
            _, failed = dpotrf(shifted, lower=1, clean=0, overwrite_a=0)
            if failed == 0:
                break
        margin *= 8
    trace = float(np.sum(diagonal))
    cholesky = _gamma(2 * (k + 3)) * trace
    forming = 2 * UNIT * float(np.max(diagonal))
    # Three roundings per entry more: the symmetrised Gram matrix.
    products = _gamma(2 * (rows + 3)) * frobenius_square
    return float((s + cholesky + forming + products) * (1 + 8 * UNIT))


def _gamma(count: int) -> float:
    return count * UNIT / (1 - count * UNIT)


def _largest_ritz_value(gram: npt.NDArray[np.float64], steps: int = 60) -> float:
    """Largest eigenvalue by Lanczos with full reorthogonalisation; only its quality, not the proof, depends on it."""
    k = gram.shape[0]
    if k <= 64:
        return max(float(np.linalg.eigvalsh(gram)[-1]), float(np.max(np.diag(gram))))
    vector = gram @ np.random.default_rng(0).standard_normal(k)
    basis = [vector / np.linalg.norm(vector)]
    diagonal: list[float] = []
    off: list[float] = []
    for _ in range(min(steps, k)):
        image = gram @ basis[-1]
        diagonal.append(float(basis[-1] @ image))
        previous = np.stack(basis)
        for _ in range(2):
            image = image - previous.T @ (previous @ image)
        size = float(np.linalg.norm(image))
        if size <= 1e-14 * abs(diagonal[0]):
            break
        off.append(size)
        basis.append(image / size)
    count = len(diagonal)
    tridiagonal = np.diag(diagonal) + np.diag(off[: count - 1], 1) + np.diag(off[: count - 1], -1)
    return max(float(np.linalg.eigvalsh(tridiagonal)[-1]), float(np.max(np.diag(gram))))


def _leading_vector(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    gram = matrix.T @ matrix
    if gram.shape[0] <= 512:
        return np.asarray(np.linalg.eigh(gram)[1][:, -1])
    vector = gram @ np.random.default_rng(0).standard_normal(gram.shape[0])
    for _ in range(100):
        vector = gram @ (vector / np.linalg.norm(vector))
    return np.asarray(vector / np.linalg.norm(vector))


def _scale(values: npt.NDArray[np.float64], largest: float) -> tuple[npt.NDArray[np.float64], int]:
    """A 2^-e with entries of size at most 1; exact, except that entries 2^-1022 times the largest may vanish."""
    exponent = math.frexp(largest)[1]
    return np.ldexp(values, -exponent), exponent


def _unscale(bound: float, exponent: int, towards: float) -> float:
    """bound * 2^exponent, rounded `towards` infinity or zero where it leaves the range of exact scaling."""
    try:
        value = math.ldexp(bound, exponent)
    except OverflowError:
        return math.inf if towards > 0 else sys.float_info.max
    return value if math.ldexp(value, -exponent) == bound else math.nextafter(value, towards)
