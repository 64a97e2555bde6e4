r"""How the error budget of a network is shared among its weights.

Weight i moves the output by at most beta_i eps_i when it is covered at radius eps_i, so any split with
sum_i beta_i eps_i <= eps gives ln N(eps) <= sum_i ln N_i(eps_i). Three splits are tried and the best is kept:
the minimiser for quadratic covers, the one for volumetric covers, and their geometric mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certiformer.calculus.covers import Cover

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Term:
    """One weight of a network: the cover of its class and the (log of the) sensitivity of the output to its error."""

    name: str
    cover: Cover
    ln_beta: float

    @property
    def ln_reach(self) -> float:
        """How far this weight alone can move the output: ln(beta * radius)."""
        return self.ln_beta + self.cover.ln_radius


def quadratic_total(constants: Sequence[float], betas: Sequence[float]) -> float:
    r"""gamma^3 with gamma = sum_i C_i^{1/3} beta_i^{2/3}: the least sum of C_i/eps_i^2 under sum beta_i eps_i = 1."""
    gamma = float(sum(c ** (1 / 3) * b ** (2 / 3) for c, b in zip(constants, betas, strict=True)))
    return gamma * gamma * gamma  # overflows to inf, where a power would raise


def quadratic_split(constants: Sequence[float], betas: Sequence[float], eps: float) -> list[float]:
    r"""The radii eps_i = (eps/gamma) (C_i/beta_i)^{1/3} that attain `quadratic_total`; inf where beta_i = 0."""
    gamma = quadratic_total(constants, betas) ** (1 / 3)
    return [eps / gamma * (c / b) ** (1 / 3) if b > 0 else math.inf for c, b in zip(constants, betas, strict=True)]


def parameter_split(parameters: Sequence[float], betas: Sequence[float], eps: float) -> list[float]:
    r"""The radii eps_i = eps D_i / (beta_i sum_j D_j), which minimise sum_i D_i ln(r_i/eps_i)."""
    total = sum(parameters)
    return [eps * p / (b * total) if b > 0 else math.inf for p, b in zip(parameters, betas, strict=True)]


def network_cover(terms: Sequence[Term], name: str = "network") -> Cover:
    """The cover of a whole network from those of its weights; tags are inherited: one external weight taints all."""
    live = [term for term in terms if term.ln_reach > -math.inf]
    if not live:
        return Cover(name, -math.inf, lambda x: 0.0)
    reach = np.array([term.ln_reach for term in live])
    ln_radius = float(np.logaddexp.reduce(reach))
    if math.isinf(ln_radius):
        return Cover(name, ln_radius, lambda x: math.inf)
    shares = _ln_shares(live, reach)

    def entropy(x: float) -> float:
        ln_eps = ln_radius - x
        return min(_cost(live, ln_eps, share) for share in shares)

    quadratic = _quadratic_coefficient(live, ln_radius)
    parameters = sum(term.cover.parameters for term in live)
    return Cover(
        name,
        ln_radius,
        entropy,
        proper=all(term.cover.proper for term in live),
        domain=all(term.cover.domain for term in live),
        quadratic=quadratic,
        parameters=parameters,
    )


def _cost(terms: Sequence[Term], ln_eps: float, ln_share: Array) -> float:
    return math.fsum(
        term.cover.log_size_ln(ln_eps + share - term.ln_beta) for term, share in zip(terms, ln_share, strict=True)
    )


def _ln_shares(terms: Sequence[Term], reach: Array) -> list[Array]:
    """Logarithms of the candidate shares beta_i eps_i / eps, each set summing to one."""
    candidates = []
    quadratic = np.array([term.cover.quadratic for term in terms], dtype=np.float64)
    parameters = np.array([float(term.cover.parameters) for term in terms])
    # C_i^{1/3} beta_i^{2/3} with C_i = c_i r_i^2 is c_i^{1/3} (beta_i r_i)^{2/3}.
    if np.all(np.isfinite(quadratic)):
        candidates.append(np.log(quadratic) / 3.0 + 2.0 / 3.0 * reach)
    if np.all(np.isfinite(parameters)):
        candidates.append(np.log(parameters))
    if len(candidates) == 2:
        first, second = (_normalised(candidate) for candidate in candidates)
        candidates.append((first + second) / 2.0)
    if not candidates:
        # Mixed kinds: every weight is given a nominal cost of one kind or the other.
        by_norm = np.log(np.maximum(quadratic, 1.0)) / 3.0 + 2.0 / 3.0 * reach
        by_count = np.log(np.where(np.isfinite(parameters), parameters, 1.0))
        candidates.append(np.where(np.isfinite(quadratic), by_norm, by_count))
        candidates.append(np.zeros(len(terms)))
        candidates.append(reach)
    return [_normalised(candidate) for candidate in candidates]


def _normalised(ln_weights: Array) -> Array:
    return np.asarray(ln_weights - np.logaddexp.reduce(ln_weights), dtype=np.float64)


def _quadratic_coefficient(terms: Sequence[Term], ln_radius: float) -> float:
    """c with ln N <= c (R/eps)^2, from the quadratic bounds of the weights: gamma^3 / R^2."""
    if any(math.isinf(term.cover.quadratic) for term in terms):
        return math.inf
    ln_gamma = float(
        np.logaddexp.reduce([math.log(term.cover.quadratic) / 3.0 + 2.0 / 3.0 * term.ln_reach for term in terms])
    )
    return math.exp(3.0 * ln_gamma - 2.0 * ln_radius)  # at most the sum of the coefficients (Hoelder)
