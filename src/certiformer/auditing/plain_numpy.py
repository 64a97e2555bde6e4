"""The second code path: the objects of the theory in plain numpy and float64, written to be read, not to be fast.

Nothing here knows JAX, a search, or a claim.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def array(values: Any) -> Array:
    """Anything as an array of float64."""
    return np.asarray(values, dtype=np.float64)


def softmax(scores: Any) -> Any:
    """Rowwise; complex arguments give derivatives by a complex step."""
    scores = np.asarray(scores)
    shifted = np.exp(scores - np.max(scores.real, axis=-1, keepdims=True))
    return shifted / np.sum(shifted, axis=-1, keepdims=True)


def derivative(function: Any, point: Array, direction: Array) -> Any:
    """Directional derivative of an analytic function by a complex step: no cancellation."""
    step = 1e-30
    return np.imag(function(point + 1j * step * direction)) / step


def spectral_norm(matrix: Any) -> float:
    """The largest singular value."""
    return float(np.linalg.svd(np.atleast_2d(array(matrix)), compute_uv=False)[0])


def into_ball(vectors: Any, radius: float) -> Array:
    """Each row scaled down to norm at most `radius`."""
    rows = array(vectors)
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return array(rows * np.minimum(1.0, radius / np.maximum(norms, 1e-300)))


def attention(tokens: Any, weight: Any, query: Any) -> Any:
    """X^T softmax(X W^T x)."""
    tokens = np.asarray(tokens)
    return softmax(tokens @ (np.asarray(weight).T @ np.asarray(query))) @ tokens


def signs(n: int) -> Array:
    """All 2^n sign vectors."""
    return array(list(itertools.product((-1.0, 1.0), repeat=n)))


def rademacher(values: Any) -> float:
    """E max_f (1/n) sum_i eps_i f(x_i) of a finite class: rows are functions, columns examples. Exact."""
    table = array(values)
    n = table.shape[1]
    total = 0.0
    for eps in itertools.product((-1.0, 1.0), repeat=n):
        total += max(float(np.dot(row, eps)) for row in table)
    return float(total / n / 2**n)


def mean_absolute_walk(n: int) -> float:
    """E|S_n| of a simple random walk, exactly: n C(n-1, floor((n-1)/2)) / 2^(n-1)."""
    if n > 1000:
        # Odd and even neighbours share their value; Stirling's next term is below 1e-7 of it.
        even = n + n % 2
        return math.sqrt(2.0 * even / math.pi) * (1.0 - 1.0 / (4.0 * even))
    k = (n - 1) // 2
    return math.exp(math.log(n) + math.lgamma(n) - math.lgamma(k + 1) - math.lgamma(n - k) - (n - 1) * math.log(2.0))


def binomial_tail(n: int, p: float, k: int) -> float:
    """P(Bin(n, p) <= k), summed term by term."""
    if k < 0:
        return 0.0
    if k >= n or p <= 0.0:
        return 1.0
    if p >= 1.0:
        return 0.0
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k + 1)
    ]
    return min(1.0, math.fsum(math.exp(value) for value in logs))


def chi_tail(dimension: int, low: float, reach: float) -> float:
    """P(low < chi < low + reach) by Simpson's rule on the density of a Gaussian vector's norm."""
    x = np.linspace(low, low + reach, 20_001)
    constant = (1 - dimension / 2) * math.log(2) - math.lgamma(dimension / 2)
    weights = np.where(np.arange(len(x)) % 2 == 1, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    return float(np.sum(weights * np.exp(constant + (dimension - 1) * np.log(x) - x**2 / 2)) * (x[1] - x[0]) / 3)


def log_volume_l1_ball(dimension: int, radius: float) -> float:
    """ln of (2r)^D / D!."""
    return dimension * math.log(2 * radius) - math.fsum(math.log(i) for i in range(2, dimension + 1))


def log_volume_l2_ball(dimension: int, radius: float) -> float:
    """V_D = V_{D-2} 2 pi / D, V_0 = 1, V_1 = 2."""
    start, value = (2, 0.0) if dimension % 2 == 0 else (3, math.log(2.0))
    value += math.fsum(math.log(2 * math.pi / i) for i in range(start, dimension + 1, 2))
    return value + dimension * math.log(radius)


def least_cover(distances: Any, eps: float) -> int:
    """Smallest number of rows within `eps` (strictly) of all columns, by trying all subsets."""
    near = array(distances) < eps
    size = len(near)
    for count in range(1, size + 1):
        if any(near[list(rows)].any(axis=0).all() for rows in itertools.combinations(range(size), count)):
            return count
    return size


def multisets(items: int, most: int) -> Iterable[Sequence[int]]:
    """All counts (k_1..k_items) with sum at most `most`."""
    if items == 0:
        yield ()
        return
    for first in range(most + 1):
        for rest in multisets(items - 1, most - first):
            yield (first, *rest)


def attention_output(X: Any, U: Any, W: Any) -> Any:
    """<U, softmax_rows(X W X^T) X> of one head; complex parameters give derivatives by a complex step."""
    return np.sum(np.asarray(U) * (softmax(np.asarray(X) @ np.asarray(W) @ np.asarray(X).T) @ np.asarray(X)))


def logistic_loss(X: Any, y: Any, U: Any, W: Any, weights: Any = None) -> Any:
    """sum_i weights_i log(1 + exp(-y_i Phi(X_i))), the mean by default."""
    weights = np.full(len(y), 1.0 / len(y)) if weights is None else weights
    total = 0.0
    for x, label, weight in zip(X, y, weights, strict=True):
        z = -label * attention_output(x, U, W)
        # log(1 + e^z), stable in the real part
        total = total + weight * (z + np.log1p(np.exp(-z)) if z.real > 0 else np.log1p(np.exp(z)))
    return total


def gradient(function: Any, point: Array) -> Array:
    """Gradient of an analytic scalar function of a vector."""
    return array([float(derivative(function, point, unit)) for unit in np.eye(len(point))])


def hessian(function: Any, point: Array, step: float = 1e-5) -> Array:
    """Central differences of complex-step gradients: eleven digits or so."""
    columns = [
        (gradient(function, point + step * unit) - gradient(function, point - step * unit)) / (2 * step)
        for unit in np.eye(len(point))
    ]
    matrix = array(columns)
    return (matrix + matrix.T) / 2
