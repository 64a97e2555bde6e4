from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper, kl_inverse
from certiformer.core import (
    Hypothesis,
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    real,
    upper_bound,
)
from certiformer.theorems.certificates import CERTIFICATES

MONTE_CARLO_SHARE = 0.1


class PacbayesGibbs(Result):
    r"""PAC-Bayes-kl certificate for a randomised predictor.

    with probability at least 1 - delta for every posterior Q at once; the prior P does not depend on the n examples.
    The empirical error is exact, or the rate among `pairs` independent (weights, example) draws; its limit then costs a
    tenth of delta.

    .. math:: \mathrm{kl}(\widehat R(Q)\,\|\,R(Q)) \le \frac{\mathrm{KL}(Q\|P) + \ln(2\sqrt n/\delta)}{n}

    Sound: risk of Q <= kl^{-1}(error, (KL + ln(2 sqrt(n)/delta))/n); Monte Carlo pays a tenth of delta
    .. math:: \mathrm{kl}(\hat R(Q)\|R(Q))\le(\mathrm{KL}(Q\|P)+\ln(2\sqrt n/\delta))/n
    Because: bounds the average over weights drawn from Q, not one network
    Assumes:
    - loss 0 or 1
    """

    id = "pacbayes.gibbs"
    paper, place = CERTIFICATES, "certificate K"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+KL -delta +error"

    n: int = count("certified examples", example=5000, aliases=("m", "N"))
    KL: float = real("KL(Q || P), in nats", low_open=False, example=30.0)
    delta: float = real("failure probability", high=1.0, example=0.05)
    error: float = real(
        "empirical error of Q, exact or by Monte Carlo", high=1.0, low_open=False, high_open=False, example=0.01
    )
    pairs: int | None = count("Monte Carlo pairs behind `error`", example=10_000, default=None, otherwise="none, exact")

    def sound(self) -> Variants:
        error = self.error
        delta = self.delta
        hypotheses: tuple[Hypothesis, ...] = (
            assumed("the prior does not depend on the n certified examples"),
            assumed("the n examples are independent"),
        )
        if self.pairs is not None:
            # Monte Carlo has its own share of delta.
            share = MONTE_CARLO_SHARE * delta
            error = binomial_upper(math.ceil(error * self.pairs - 1e-9), self.pairs, math.log(share))
            delta -= share
            hypotheses += (
                assumed("each pair has fresh weights from the final Q and an example drawn with replacement"),
            )
        budget = max(0.0, self.KL + math.log(2.0 * math.sqrt(self.n) / delta)) / self.n
        terms = {
            "empirical error of Q": error,
            "KL/n": self.KL / self.n,
            "ln(2 sqrt(n)/delta)/n": budget - self.KL / self.n,
        }
        return {"value": upper_bound(kl_inverse(error, budget), clip=1.0, hypotheses=hypotheses, terms=terms)}
