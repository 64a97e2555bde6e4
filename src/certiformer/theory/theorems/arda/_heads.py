r"""Constants of one attention head h(u, W) = sigma(u^T a), a = X softmax(X^T W q), tokens and query in the unit ball.

On {||u|| <= B}: h is L1-Lipschitz and its gradient L2-Lipschitz in theta = (u, W), with

.. math:: L_1 = s_1\max(1,B),\qquad L_2 = s_2\max(1,B)^2 + \tfrac{s_1}{2}\bigl(C_3B+\sqrt{C_3^2B^2+4}\bigr),
          \qquad C_3 = \tfrac{4}{3\sqrt3}.

Neither depends on the sequence length nor on the dimension. Proofs: docs/proofs/arda.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from certiformer.theory.calculus.activations import Activation
from certiformer.theory.core import Hypothesis, InputError, verified
from certiformer.theory.core.lazy import scipy

#: max |E (y - Ey)(s - Es)^2| over |y| <= 1, |s| <= 1
THIRD_CUMULANT = 4.0 / (3.0 * math.sqrt(3.0))


def lipschitz(sigma: Activation, B: float) -> float:
    """L1 = s1 max(1, B): ||grad h||^2 <= s1^2 (t + (1-t)^2 B^2) with t = ||a||^2, convex in t."""
    return sigma.s1 * max(1.0, B)


def smoothness(sigma: Activation, B: float) -> float:
    """L2: sigma'' times the squared gradient of u^T a, plus sigma' times the norm of [[0, 1], [1, C3 B]]."""
    slope = max(1.0, B)
    bend = THIRD_CUMULANT * B
    return sigma.s2 * slope * slope + 0.5 * sigma.s1 * (bend + math.hypot(bend, 2.0))


@dataclass(frozen=True, slots=True)
class UnitConstants:
    """What the analysis needs to know of the m units: |h| <= s0, and averages over units of L1, L1^2 and L2."""

    s0: float
    L1: float
    L1_squared: float
    L2: float


def common(sigma: Activation, B: float) -> UnitConstants:
    """The same bound B on ||u_i|| for every head."""
    L1 = lipschitz(sigma, B)
    return UnitConstants(sigma.s0, L1, L1 * L1, smoothness(sigma, B))


def averaged(sigma: Activation, norms: Sequence[float]) -> UnitConstants:
    """Averages over heads, ||u_i|| <= norms[i]."""
    L1 = [lipschitz(sigma, B) for B in norms]
    return UnitConstants(
        sigma.s0,
        math.fsum(L1) / len(L1),
        math.fsum(value * value for value in L1) / len(L1),
        math.fsum(smoothness(sigma, B) for B in norms) / len(L1),
    )


def in_pairs(m: int) -> Hypothesis:
    """The number of heads is even."""
    return verified("m is even: the heads come in pairs", m % 2 == 0, m)


def gaussian_radius(m: int, delta_R: float) -> float:
    """R = sqrt(2 ln(m/(2 delta_R))): max_i ||u_i(0)|| <= sqrt(d) + R with probability 1 - delta_R (m/2 draws)."""
    return math.sqrt(2.0 * (math.log(m / 2.0) - math.log(delta_R)))


def exact_radius(m: int, d: int, delta_R: float) -> float:
    """The (1 - delta_R)^{2/m} quantile of ||u||, u ~ N(0, I_d), rounded up; never above sqrt(d) + R."""
    tail = -math.expm1(math.log1p(-delta_R) * 2.0 / m)
    fallback = math.sqrt(d) + gaussian_radius(m, delta_R)
    half_square = float(scipy.special.gammainccinv(d / 2.0, tail)) * (1.0 + 1e-9)
    # The inverse is only trusted where the forward function confirms it with room to spare.
    confirmed = float(scipy.special.gammaincc(d / 2.0, half_square)) <= tail * (1.0 - 1e-11)
    return min(fallback, math.sqrt(2.0 * half_square)) if confirmed else fallback


def initial_norms(u_norms: Sequence[float], m: int) -> tuple[float, ...]:
    """The realised ||u_i(0)||: one per head, or one per pair of heads."""
    if len(u_norms) not in (m, m // 2):
        raise InputError("u_norms", f"{len(u_norms)} numbers", f"{m // 2} (one per pair) or {m} (one per head) numbers")
    return tuple(u_norms)
