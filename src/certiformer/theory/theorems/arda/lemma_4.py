from __future__ import annotations

import functools
import math

from certiformer.theory.calculus.activations import Activation
from certiformer.theory.core import (
    InputError,
    Quantity,
    Status,
    Variants,
    printed_value,
    real,
    side_number,
    upper_bound,
)
from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.arda._setting import UNIT_BALL, Activated

NODES = 80  # mutants: search-effort


def kernel_given_weights(
    sigma: Activation,
    gram: tuple[float, float, float],
    cross: tuple[float, float, float],
    trace: float,
    query: float,
) -> tuple[float, float, float]:
    """(K_c, K_u, K_w) given W: `gram` is S11, S12, S22; `cross` the symmetric part of A^T M M' A; `trace` = tr M M'."""
    S = np.array([[gram[0], gram[1]], [gram[1], gram[2]]])
    N = np.array([[cross[0], cross[1]], [cross[1], cross[2]]])
    if sigma.name == "erf":
        return _erf_kernel(S, N, trace, query)
    return _quadrature_kernel(sigma, S, N, trace, query)


def _erf_kernel(S: np.ndarray, N: np.ndarray, trace: float, query: float) -> tuple[float, float, float]:
    """Closed form: the product of two Gaussian slopes tilts the law of u to covariance I - A (I + S)^{-1} A^T."""
    shifted = np.eye(2) + S
    K_c = (2.0 / math.pi) * math.asin(S[0, 1] / math.sqrt(shifted[0, 0] * shifted[1, 1]))
    slopes = (2.0 / math.pi) / math.sqrt(float(np.linalg.det(shifted)))
    tilted = trace - float(np.trace(np.linalg.solve(shifted, N)))
    return K_c, slopes * float(S[0, 1]), query * slopes * tilted


def _quadrature_kernel(
    sigma: Activation, S: np.ndarray, N: np.ndarray, trace: float, query: float
) -> tuple[float, float, float]:
    """Gauss-Hermite over (s, s'); outside the span of (a, a') the vector u is independent of the slopes."""
    eigenvalues, vectors = np.linalg.eigh(S)
    roots = np.sqrt(np.maximum(eigenvalues, 0.0))  # mutants: same-for-every-value
    # mutants: ends-of-the-floats, same-for-every-value
    inverse = np.where(eigenvalues > 1e-12, 1.0 / np.maximum(roots, 1e-6), 0.0)
    xi, mass = _nodes()
    s = np.einsum("ij,jkl->ikl", vectors * roots, xi)
    values, slopes = sigma.value(s), sigma.slope(s)
    weight = mass * slopes[0] * slopes[1]
    mean_slopes = float(np.sum(weight))
    # S^+ z = V diag(inverse) xi, so the part of u inside the span is A times that
    whitened = vectors * inverse
    second_moment = np.einsum("kl,ikl,jkl->ij", weight, xi, xi)
    inside = float(np.trace(whitened.T @ N @ whitened @ second_moment))
    outside = mean_slopes * (trace - float(np.trace(whitened.T @ N @ whitened)))
    K_c = float(np.sum(mass * values[0] * values[1]))
    return K_c, mean_slopes * float(S[0, 1]), query * (inside + outside)


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """The nodes in the plane, and their masses."""
    points, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return np.stack(np.meshgrid(points, points, indexing="ij")), np.outer(weights, weights) / (2.0 * math.pi)


class Lemma4(Activated):
    r"""The Transformer's neural tangent kernel, block by block.

    The kernel of the linearised network. Given W the pair (s, s') is Gaussian with covariance the Gram matrix of (a,
    a'), for every pair of inputs.

    Printed: K = K_c + K_u + K_w with K_c = E[sigma(s) sigma(s')], K_u = E[sigma'(s) sigma'(s')] a.a', K_w = q.q'
    E[sigma'(s) sigma'(s') u^T M M' u], all under the expectation over W
    .. math:: K_c=E[\sigma(s)\sigma(s')],\ K_u=E[\sigma'(s)\sigma'(s')a^\top a'],\ K_w=q^\top
       q'E[\sigma'(s)\sigma'(s')u^\top MM'u]
    Sound: The same identities (given W: closed form for erf, quadrature otherwise); |K(X, X')| <= s0^2 + s1^2 for
    tokens and queries in the unit ball; blockwise: s0^2 + s1^2 (1 + |q.q'|).
    .. math:: |K(X,X')|\le\sqrt{K(X,X)K(X',X')}\le s_0^2+s_1^2.
    Because: the formulas are lost in our copy; the proof's steps and differentiation fix them (confidence high)
    Assumes:
    - u ~ N(0, I), W with N(0, 1) entries
    - tokens and queries in the unit ball
    """

    place = "Lemma 4"
    bounds, status = Quantity.SMOOTHNESS, Status.RECONSTRUCTED

    S11: float = real("||a||^2, a = a(X; W)", high=1, low_open=False, high_open=False, example=0.25)
    S12: float = real("a.a'", low=-1, high=1, low_open=False, high_open=False, example=0.1)
    S22: float = real("||a'||^2, a' = a(X'; W)", high=1, low_open=False, high_open=False, example=0.25)
    N11: float = real("a^T M M' a", low=-1, high=1, low_open=False, high_open=False, example=0.02)
    N12: float = real(
        "the mean of a^T M M' a' and a'^T M M' a", low=-1, high=1, low_open=False, high_open=False, example=0.01
    )
    N22: float = real("a'^T M M' a'", low=-1, high=1, low_open=False, high_open=False, example=0.02)
    tr_MM: float = real("tr(M M')", high=1, low_open=False, high_open=False, example=0.2)
    qq: float = real("q.q'", low=-1, high=1, low_open=False, high_open=False, example=0.5)

    def _blocks(self) -> dict[str, float]:
        gram, cross = (self.S11, self.S12, self.S22), (self.N11, self.N12, self.N22)
        square = self.S11 * self.S22
        if square * (1.0 + 1e-9) < self.S12 * self.S12:  # mutants: rounding-margins
            wanted = f"at most sqrt(S11 S22) = {math.sqrt(square):g} in size"
            raise InputError("S12", self.S12, wanted, "S is a Gram matrix")
        K_c, K_u, K_w = kernel_given_weights(self.sigma, gram, cross, self.tr_MM, self.qq)
        return {"K_c": K_c, "K_u": K_u, "K_w": K_w, "K": K_c + K_u + K_w}

    def printed(self) -> Variants:
        blocks = self._blocks()
        note = "reconstructed, confidence high; expectation over u only, W is given"
        return {name: printed_value(value, bounds=Quantity.CONSTANT, note=note) for name, value in blocks.items()}

    def sound(self) -> Variants:
        sigma = self.sigma
        blocks = self._blocks()
        exact = "closed form" if self.activation == "erf" else f"{NODES} x {NODES} quadrature"
        c, theta = sigma.s0 * sigma.s0, sigma.s1 * sigma.s1
        hypotheses = (UNIT_BALL,)
        return {
            "value": upper_bound(c + theta, hypotheses=hypotheses),
            "blockwise": upper_bound(c + theta * (1.0 + abs(self.qq)), hypotheses=hypotheses),
        } | {name: side_number(value, f"given W, {exact}") for name, value in blocks.items()}
