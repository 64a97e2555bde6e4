r"""Arda's neural tangent kernel at infinite width, K = K_c + K_u + K_w.

Given W, let s = u.a(X), s' = u.a(X'), u ~ N(0, I), A = [a, a'], Sigma = A^T A, M = Cov_p(x) and
e = E sigma'(s) sigma'(s'):

    K_c = E sigma(s) sigma(s'),   K_u = e a.a',   K_w = (q.q') E[sigma'(s) sigma'(s') u^T M M' u]

erf(x/sqrt 2): K_c = (2/pi) arcsin(S12/sqrt((1+S11)(1+S22))), e = (2/pi)/sqrt(det(I+Sigma)), and by Gaussian tilting
K_w = (q.q') e tr[(I - A (I+Sigma)^{-1} A^T) M M']. Any other sigma: Gauss-Hermite quadrature over (s, s'), with u split
into its part in span(A), which (s, s') determines, and the rest, which is independent of them. Over W: Monte Carlo with
W and -W in pairs, and a standard error. K <= s0^2 + s1^2 (1 + ||q|| ||q'||), whatever the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certiformer.core.errors import InputError, UnknownNameError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Kernel:
    """The three parts of a kernel between samples (rows) and samples (columns)."""

    c: Array
    u: Array
    w: Array

    @property
    def total(self) -> Array:
        """The sum of the three parts."""
        return self.c + self.u + self.w


@dataclass(frozen=True)
class KernelEstimate:
    """Monte Carlo mean over W and its standard error, entry by entry (an estimate, not a bound)."""

    mean: Kernel
    error: Kernel
    total_error: Array
    draws: int


def _tanh_slope(s: Array) -> Array:
    return np.asarray(1.0 - np.tanh(s) ** 2)


ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]] | None] = {
    "erf": None,
    "tanh": (np.tanh, _tanh_slope),
}


def kernel_given_weights(
    x: npt.ArrayLike, other: npt.ArrayLike, W: npt.ArrayLike, *, activation: str = "tanh", nodes: int = 40
) -> Kernel:
    """K | W between samples (n, T, d) and (n', T', d), tokens in rows; the query is the last token."""
    if activation not in ACTIVATIONS:
        raise UnknownNameError("activation", activation, ACTIVATIONS)
    left, right = _features(x, W), _features(other, W)
    # 1. Covariance of (s, s') for every pair, and the four numbers a_i^T M M' a_j that K_w needs.
    S11 = np.sum(left.mean**2, axis=1)[:, None] * np.ones((1, len(right.mean)))
    S22 = np.ones((len(left.mean), 1)) * np.sum(right.mean**2, axis=1)[None, :]
    S12 = left.mean @ right.mean.T
    trace = np.einsum("nij,mji->nm", left.covariance, right.covariance)
    left_image = np.einsum("nij,nj->ni", left.covariance, left.mean)
    right_image = np.einsum("mij,mj->mi", right.covariance, right.mean)
    across_left = np.einsum("nij,mj->nmi", left.covariance, right.mean)
    across_right = np.einsum("mij,nj->nmi", right.covariance, left.mean)
    B11 = np.einsum("ni,nmi->nm", left_image, across_right)
    B12 = left_image @ right_image.T
    B21 = np.einsum("nmi,nmi->nm", across_left, across_right)
    B22 = np.einsum("nmi,mi->nm", across_left, right_image)
    queries = left.query @ right.query.T
    # 2. The expectations over u.
    pair = ACTIVATIONS[activation]
    if pair is None:
        det = (1 + S11) * (1 + S22) - S12**2
        slope = (2 / math.pi) / np.sqrt(det)
        c = (2 / math.pi) * np.arcsin(np.clip(S12 / np.sqrt((1 + S11) * (1 + S22)), -1.0, 1.0))
        # tr[(I + Sigma)^{-1} A^T M M' A] with the inverse of a 2 x 2 matrix written out.
        tilt = ((1 + S22) * B11 - S12 * (B12 + B21) + (1 + S11) * B22) / det
        return Kernel(c, slope * S12, queries * slope * (trace - tilt))
    return _by_quadrature(pair, nodes, (S11, S12, S22), (B11, B12, B21, B22), trace, queries)


def _by_quadrature(
    pair: tuple[Callable[[Array], Array], Callable[[Array], Array]],
    nodes: int,
    sigma_parts: tuple[Array, Array, Array],
    images: tuple[Array, Array, Array, Array],
    trace: Array,
    queries: Array,
) -> Kernel:
    sigma, derivative = pair
    S11, S12, S22 = sigma_parts
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / np.sum(weights)
    # s = l11 z1, s' = l21 z1 + l22 z2: the Cholesky factor, with zero where a direction is missing.
    l11 = np.sqrt(S11)
    l21 = np.divide(S12, l11, out=np.zeros_like(S12), where=l11 > 0)
    rest = np.maximum(S22 - l21**2, 0.0)
    # Below this the second direction is rounding noise: the two samples attend to the same point.
    tiny = rest <= 1e-13 * np.maximum(S22, np.finfo(float).tiny)
    l22 = np.sqrt(np.where(tiny, 0.0, rest))
    c, e = np.zeros_like(S12), np.zeros_like(S12)
    m11, m12, m22 = np.zeros_like(S12), np.zeros_like(S12), np.zeros_like(S12)
    for z1, w1 in zip(points, weights, strict=True):
        s = l11 * z1
        first, first_slope = sigma(s), derivative(s)
        for z2, w2 in zip(points, weights, strict=True):
            t = l21 * z1 + l22 * z2
            both = w1 * w2 * first_slope * derivative(t)
            c += w1 * w2 * first * sigma(t)
            e += both
            m11 += both * z1 * z1
            m12 += both * z1 * z2
            m22 += both * z2 * z2
    # Orthonormal directions of span(A): e1 = a/l11, e2 = (a' - l21 e1)/l22. Then E[sigma' sigma' u^T M M' u] is
    # e tr[(I - P) M M'] + sum_ij E[sigma' sigma' z_i z_j] e_i^T M M' e_j, with tr[P M M'] = sum_i e_i^T M M' e_i.
    B11, B12, B21, B22 = images
    i1 = np.divide(1.0, l11, out=np.zeros_like(l11), where=l11 > 0)
    i2 = np.divide(1.0, l22, out=np.zeros_like(l22), where=l22 > 0)
    r = l21 * i1
    E11 = B11 * i1 * i1
    E12 = (B12 - r * B11) * i1 * i2
    E21 = (B21 - r * B11) * i1 * i2
    E22 = (B22 - r * (B12 + B21) + r * r * B11) * i2 * i2
    w = queries * (e * (trace - E11 - E22) + m11 * E11 + m12 * (E12 + E21) + m22 * E22)
    return Kernel(c, e * S12, w)


def infinite_width_kernel(
    x: npt.ArrayLike,
    other: npt.ArrayLike,
    *,
    seed: int,
    draws: int = 200,
    activation: str = "tanh",
    nodes: int = 20,
) -> KernelEstimate:
    """K averaged over W with N(0, 1) entries: `draws` pairs (W, -W), and the standard error over the pairs."""
    if draws < 2:
        raise InputError("draws", draws, "at least 2, for an error bar")
    rng = np.random.default_rng(seed)
    d = np.shape(x)[-1]
    sums = [np.zeros((len(np.asarray(x)), len(np.asarray(other)))) for _ in range(4)]
    squares = [np.zeros_like(total) for total in sums]
    for _ in range(draws):
        W = rng.standard_normal((d, d))
        pair = [kernel_given_weights(x, other, sign * W, activation=activation, nodes=nodes) for sign in (1.0, -1.0)]
        parts = [(getattr(pair[0], name) + getattr(pair[1], name)) / 2 for name in ("c", "u", "w")]
        for index, part in enumerate([*parts, parts[0] + parts[1] + parts[2]]):
            sums[index] += part
            squares[index] += part**2
    means = [total / draws for total in sums]
    errors = [
        np.sqrt(np.maximum(square / draws - mean**2, 0.0) / (draws - 1))
        for square, mean in zip(squares, means, strict=True)
    ]
    return KernelEstimate(Kernel(*means[:3]), Kernel(*errors[:3]), errors[3], draws)


@dataclass(frozen=True)
class _Features:
    mean: Array
    covariance: Array
    query: Array


def _features(x: npt.ArrayLike, W: npt.ArrayLike) -> _Features:
    tokens, weights = np.asarray(x, np.float64), np.asarray(W, np.float64)
    if tokens.ndim != 3 or weights.shape != (tokens.shape[-1],) * 2:
        raise InputError("x, W", (tokens.shape, weights.shape), "shapes (n, T, d) and (d, d)")
    query = tokens[:, -1]
    scores = np.einsum("nti,ij,nj->nt", tokens, weights, query)
    mass = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    p = mass / np.sum(mass, axis=1, keepdims=True)
    mean = np.einsum("nt,nti->ni", p, tokens)
    centred = tokens - mean[:, None]
    return _Features(mean, np.einsum("nt,nti,ntj->nij", p, centred, centred), query)
