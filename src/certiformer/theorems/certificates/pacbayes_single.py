from __future__ import annotations

import math

from certiformer.calculus.tails import kl_inverse
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    real,
    upper_bound,
)
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


class PacbayesSingle(Result):
    r"""PAC-Bayes certificate for a single draw.

    with probability at least 1 - delta over the sample and the draw. It is not simultaneous in Q: keeping the best of
    J draws, or of J posteriors compared after their draws, costs delta/J.

    .. math:: \mathrm{kl}(\widehat R(w)\,\|\,R(w)) \le \frac{\max(0,\ \ln\frac{dQ}{dP}(w) + \ln(2\sqrt n/\delta))}{n}

    Sound: risk of w <= kl^{-1}(errors/n, max(0, log_ratio + ln(2 sqrt(n) draws/delta))/n)
    .. math:: \mathrm{kl}(\hat R(w)\|R(w))\le(\ln\tfrac{dQ}{dP}(w)+\ln(2\sqrt n J/\delta))_+/n
    Because: one network, no Monte Carlo; the draw may not be repeated for free
    Assumes:
    - loss in [0, 1]
    - Q is absolutely continuous with respect to P
    """

    id = "pacbayes.single"
    paper, place = CERTIFICATES, "certificate K1"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+errors +log_ratio -delta +draws"

    errors: int = count("errors of the drawn network on the certified examples", low=0, example=50, aliases=("k",))
    n: int = count("certified examples", example=5000, aliases=("m", "N"))
    log_ratio: float = real("ln dQ/dP at the drawn weights", low=-math.inf, example=10.0)
    delta: float = real("failure probability", high=1.0, example=0.05)
    draws: int = count("draws (or posteriors) compared", example=1, aliases=("J",), default=1)

    def sound(self) -> Variants:
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}", "Errors are counted among the n examples")
        budget = max(0.0, self.log_ratio + math.log(2.0 * math.sqrt(self.n) * self.draws / self.delta)) / self.n
        hypotheses = (
            assumed("the prior does not depend on the n certified examples; the rule S -> Q was fixed before the draw"),
            assumed("every draw that was looked at is counted in `draws`"),
        )
        terms = {"observed": self.errors / self.n, "log ratio/n": self.log_ratio / self.n, "budget": budget}
        return {
            "value": upper_bound(kl_inverse(self.errors / self.n, budget), clip=1.0, hypotheses=hypotheses, terms=terms)
        }
