"""Bounded inputs: printed bounds with the log of a log, or in ranks only; sound ones on the network's cover."""

from __future__ import annotations

import math

from certiformer.theory.calculus import excess_risk
from certiformer.theory.core import Quantity, Variants, printed_value, real, side_number, upper_bound
from certiformer.theory.theorems.li import _printed
from certiformer.theory.theorems.li._networks import Ranks, Weights
from certiformer.theory.theorems.li._setting import Minimiser, closed_rank_form, log_size


class Theorem(Weights, Minimiser):
    """A network and the risk of its minimiser: what every theorem of sections 5 and 6 is about."""


class Bounded(Theorem):
    """Tokens of bounded norm."""

    elementwise = ("n",)

    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    BX: float = real("bound on ||X||_{2->2} (enters the printed side only)", example=1.5, symbol="B_X")


class NormBased(Bounded):
    """Entrywise l1 norms (Theorems B.1, B.2 and 5.3).

    Assumes:
    - the bounds on W_c, W_v and W_QK are bounds on their entrywise l1 norms
    Defects:
    - The log covering number of the class is gamma^3/delta^2; the theorem puts log(gamma^3/delta^2) in its place.
    - The readout is bounded in l2 while the cover is for l1 balls.
    - Only the CLS token is assumed bounded, all tokens are used.
    - Inherits Corollary 4.5: no Bernstein condition, and a Lipschitz constant that ignores the label noise.
    - The value can be negative (small n, large radius).
    """

    def printed(self) -> Variants:
        gamma = self.printed_gamma(self.Bx)
        inside = _printed.log_cubed_over_squared(gamma, self.radius)
        front = _printed.prefactor(self.n, self.kappa, self.B, self.printed_output(self.BX))
        bound = _printed.fast_rate(front, inside, self.kappa, self.radius, self.approx)
        return {
            "gamma": side_number(gamma),
            "value": printed_value(bound.value, hypotheses=(*bound.hypotheses, *self.unit_ball)),
        }

    def sound(self) -> Variants:
        """The covers (T3 and, for comparison, C1), gamma, and the risk bounds on the better cover."""
        network = self.network(self.Bx)
        cover, output = network.norm_cover(), network.output_bound
        cubed = network.gamma**3 if network.ln_gamma < 230.0 else math.inf  # mutants: ends-of-the-floats
        closed = excess_risk.slow_chain_closed(cubed, output, self.n, kappa=self.kappa, approximation=self.approx)
        return {
            "gamma": side_number(network.gamma, "log N(delta) <= gamma^3/delta^2"),
            "logN": log_size(cover, self.radius),
            "logN_C1": upper_bound(
                network.plain_norm_cover().log_size(self.radius), bounds=Quantity.LOG_COVERING_NUMBER
            ),
            **self.on_cover(cover, output),
            "S4chain_closed": self.slow(closed, self.kappa * (self.B + output)),
        }


class RankBased(Bounded, Ranks):
    """Spectral norms and ranks (Theorems B.4, B.5 and 5.8).

    Assumes:
    - the bounds on W_c, W_v and W_QK are bounds on their spectral norms
    Defects:
    - Assumption 5.7 is false: r = 1, 2 x 2 matrices e_1 a^T already form a disc, N >= 1/eps^2; the count must
      grow with (d + k) r, not with r.
    - Counterexample: one token, identity activation, all ranks 1, class {theta.x : ||theta||_2 <= 1}, Y = +-1.
      The excess risk is sigma^2 d/n, so no bound in ranks and norms alone can hold.
    """

    def printed(self) -> Variants:
        return printed_by_rank(self, self.Bx, self.BX)

    def sound(self) -> Variants:
        """The cover, the risk bounds on it, and S2 in closed form."""
        network = self.network(self.Bx)
        cover, distance = network.rank_cover(), self.distance(network.output_bound)
        closed = closed_rank_form(network, n=self.n, distance=distance, sigma=self.sigma, approx=self.approx)
        return {
            "logN": log_size(cover, self.radius),
            **self.on_cover(cover, network.output_bound),
            "closed": self.squared(closed, distance**2),
        }


def printed_by_rank(at: Theorem, b: float, BX: float, extra: float = 0.0) -> Variants:
    """4 kappa (B + sup|f|)/n (1 + the sum over ranks) + 8 kappa delta + extra + inf."""
    size = b if not at.confined else BX
    name, total, inside = at.printed_rank_sum(size, at.radius)
    front = _printed.prefactor(at.n, at.kappa, at.B, at.printed_output(BX))
    bound = _printed.fast_rate(front, inside, at.kappa, at.radius, at.approx, extra)
    return {
        name: side_number(total),
        "value": printed_value(bound.value, hypotheses=(*bound.hypotheses, *at.unit_ball)),
    }
