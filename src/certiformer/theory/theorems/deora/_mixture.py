r"""The tokenized mixture (DM1, Assumption 3) and what can be said of it without drawing a sample.

A fraction zeta of the T tokens is mu_y, the others are nu_j + z; all M + 2 patterns are orthogonal of norm S, and the
noise has |<z, mu>| <= Zmu, |<z, nu_l>| <= Znu/M, ||z|| <= Z. u_* = mu_+ - mu_-.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from certiformer.theory.core import Hypothesis, assumed, verified


@dataclass(frozen=True, slots=True)
class Mixture:
    T: int
    zeta: float
    M: int
    S: float
    Zmu: float = 0.0
    Znu: float = 0.0
    Z: float = 0.0

    @property
    def R(self) -> float:
        return token_radius(self.S, self.Z, self.Znu, self.M)

    @property
    def target_norm(self) -> float:
        """||W_*||_F = S^2 sqrt(2(M + 1)): M + 2 orthogonal rank-one pieces, M of them with (mu_+ + mu_-)."""
        return self.S**2 * math.sqrt(2.0 * (self.M + 1))

    def margin_U(self) -> float:
        r"""min y <grad_U, U_*>/||U_*|| at W = 0: (S sqrt T/sqrt 2)(zeta - 2 (1 - zeta) Zmu/S^2)."""
        return (
            self.S * math.sqrt(self.T) / math.sqrt(2.0) * (self.zeta - 2.0 * (1.0 - self.zeta) * self.Zmu / self.S**2)
        )

    def margin_W(self, P: float) -> float:
        r"""min y <grad_W, +-W_*>/||W_*|| at W = 0, U = +-1 ((zeta/4) u_* + p)^T, ||p|| <= P; -inf out of range.

        T Cov_unif(g, r) with g = e - f and r = A e + C f, e = mu_y.x, f = mu_{-y}.x: the covariance between the two
        groups of tokens plus the one within the irrelevant group, minimised over the noise; it is concave in (A, C), so
        the corners of their box suffice. The part of p costs at most T P R^3.
        """
        corners = self._corners()
        if 2.0 * self.Zmu > self.S**2 or not all(self._in_range(A, C) for A, C in corners):
            return -math.inf
        worst = min(self._covariance(A, C) for A, C in corners)
        return self.zeta / 4.0 * self.T * worst / self.target_norm - self.T * P * self.R**3

    def _corners(self) -> list[tuple[float, float]]:
        spread = (1.0 - self.zeta) * (self.Zmu + self.Znu)
        square = self.S**2
        return [
            (square + i * spread, (1.0 - self.zeta) * square + j * spread)
            for i, j in itertools.product((-1.0, 1.0), repeat=2)
        ]

    def _in_range(self, A: float, C: float) -> bool:
        return A > 0.0 and C >= 0.0 and A * (self.S**2 - self.Zmu) >= C * self.Zmu

    def _covariance(self, A: float, C: float) -> float:
        square, noise, rest = self.S**2, self.Zmu, 1.0 - self.zeta
        between = min(
            (square - 2.0 * noise) * (A * (square - noise) + C * noise), square * (A * (square - noise) - C * noise)
        )
        return self.zeta * rest * between - rest * noise**2 * (A + C) ** 2 / (4.0 * A)

    def logit_gap(self) -> float:
        return logit_gap(self.S, self.Zmu, self.Znu)

    def printed_margin(self, P: float) -> float:
        """gamma_* of (7)."""
        noise, square = max(self.Zmu, self.Znu), self.S**2
        polynomial = self.zeta * square**2 - 7.0 * noise * square - 12.0 * noise**2 - 16.0 * noise**3 / square
        attention = self.T * (1.0 - self.zeta) * self.zeta * polynomial / (4.0 * math.sqrt(2.0 * (self.M + 1)))
        return attention - P * self.T * self.T * math.sqrt(self.T) * (self.S + self.Z) ** 3 + self.margin_U()

    def hypotheses(self) -> tuple[Hypothesis, ...]:
        relevant = self.zeta * self.T
        return (
            verified(
                "zeta T is a whole number of relevant tokens, from 1 to T - 1", _whole(relevant, self.T), relevant
            ),
            assumed(
                "orthogonal patterns of norm S; the noise bounds hold almost surely (Gaussian noise must be truncated)"
            ),
        )


def token_radius(S: float, Z: float, Znu: float, M: int) -> float:
    """Assumption 3: every token has norm at most sqrt(S^2 + Z^2 + 2 Znu/M)."""
    return math.sqrt(S**2 + Z**2 + 2.0 * Znu / M)


def logit_gap(S: float, Zmu: float, Znu: float) -> float:
    r"""min over queries, keys and noise of (relevant - irrelevant) logit under W_*, exactly.

    Relevant query: S^2 (S^2 - e'). Irrelevant one: (q + e)(S^2 - e') - (q + f) f' with q = S^2 +- Znu and e, f, e', f'
    in [-Zmu, Zmu]: linear in each, so the corners suffice. Where it is positive, S^2 >= 2 Zmu and it equals
    min(S^2 (S^2 - Zmu), (S^2 - Znu)(S^2 - 2 Zmu) - Zmu S^2).
    """
    square, noise = S**2, (-Zmu, Zmu)
    irrelevant = min(
        (q + e) * (square - e_key) - (q + f) * f_key
        for q in (square - Znu, square + Znu)
        for e, f, e_key, f_key in itertools.product(noise, repeat=4)
    )
    return min(square * (square - Zmu), irrelevant)


def _whole(relevant: float, T: int) -> bool:
    nearest = round(relevant)
    return abs(relevant - nearest) <= 1e-9 * T and 1 <= nearest <= T - 1  # mutants: rounding-margins
