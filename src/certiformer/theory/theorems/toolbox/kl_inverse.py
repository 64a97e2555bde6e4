import math

from certiformer.theory.calculus import tails
from certiformer.theory.core import Quantity, Result, Status, Variants, real, upper_bound
from certiformer.theory.theorems.toolbox import TOOLBOX


class KlInverse(Result):
    r"""Inverse of the binary relative entropy.

    .. math:: \mathrm{kl}^{-1}(q, c) = \sup\{p \ge q : q\ln\tfrac qp + (1-q)\ln\tfrac{1-q}{1-p} \le c\}

    Sound: p <= kl^{-1}(q, budget) whenever kl(q || p) <= budget; pinsker: q + sqrt(budget/2) >= it.
    .. math:: \mathrm{kl}^{-1}(q,c)=\sup\{p: \mathrm{kl}(q\|p)\le c\}
    Because: solved to the last digit and rounded up
    """

    id = "kl_inverse"
    paper, place = TOOLBOX, "exact tails"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+q +budget"
    proof = "docs/proofs/tails.md"

    q: float = real("observed rate", high=1.0, low_open=False, high_open=False, example=0.01)
    budget: float = real("bound on kl(q || p), e.g. (KL + ln(2 sqrt(n)/delta))/n", low_open=False, example=0.01)

    def sound(self) -> Variants:
        return {
            "value": upper_bound(tails.kl_inverse(self.q, self.budget), clip=1.0),
            "pinsker": upper_bound(self.q + math.sqrt(self.budget / 2.0), clip=1.0),
        }
