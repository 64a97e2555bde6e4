"""What Corollaries 4.8 and 4.13 share: a given covering number, the network's own bounds."""

from __future__ import annotations

from certiformer.theory.calculus import excess_risk
from certiformer.theory.core import Bound, Variants, assumed, printed_value, real, side_number
from certiformer.theory.theorems.li._setting import Minimiser


class GivenCover(Minimiser):
    """Excess risk at a given covering number.

    Assumes:
    - logN is that of a proper cover of the whole domain at the given radius, fixed before the data
    Defects:
    - Inherits Theorem 4.4: the noise is lost, kappa may ignore it, no Bernstein condition; counterexamples 1 to 4
      apply.
    - log E N is for covers of the sample; the proved forms need a cover fixed before the data.
    - The 1 + is superfluous.
    """

    logN: float = real("log covering number at the radius", low_open=False, example=200)

    def printed_form(self, M: float) -> Variants:
        """(2M/n)(1 + log N) + 8 kappa delta + inf."""
        value = 2.0 * M / self.n * (1.0 + self.logN) + 8.0 * self.kappa * self.radius + self.approx
        return {"M": side_number(M), "value": printed_value(value)}

    def forms(self, output: float) -> Variants:
        """S2, S4 and, given V, S1 at the given covering number, for |f| <= output."""
        cover = excess_risk.given_cover(self.logN)
        fixed = assumed("logN is that of a proper cover of the whole domain at the given radius, fixed before the data")
        distance = self.distance(output)
        steps = {"kappa": self.kappa, "approximation": self.approx}
        squared = excess_risk.squared(
            cover, self.radius, self.n, b_h=distance**2, sigma=self.sigma, approximation=self.approx
        )
        slow = excess_risk.slow(cover, self.radius, self.n, loss_range=2.0 * self.kappa * output, **steps)
        variants: dict[str, Bound] = {
            "S2": self.squared(squared, distance**2, fixed),
            "S4": self.slow(slow, self.kappa * distance, fixed),
        }
        if self.V is not None:
            first = excess_risk.bernstein(cover, self.radius, self.n, V=self.V, M=self.kappa * distance, **steps)
            variants["S1"] = self.fast(first, self.kappa * distance, fixed)
        return variants
