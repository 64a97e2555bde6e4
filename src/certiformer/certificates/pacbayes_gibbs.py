"""K, PAC-Bayes: the risk of a randomised predictor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.certificates._evidence import FEW_EXAMPLES, CertificateBound, Evidence
from certiformer.certificates._law import EXAMPLES, MANY, RISK, Law, Random, Trial, leaning_posterior
from certiformer.theory.calculus.tail_check import exact_upper
from certiformer.theory.calculus.tails import kl_inverse
from certiformer.theory.core import Hypothesis, Variants, assumed, count, real, upper_bound
from certiformer.theory.core.lazy import np

MONTE_CARLO_SHARE = 0.1


class GibbsBound(CertificateBound):
    r"""PAC-Bayes-kl certificate for a randomised predictor.

    With probability at least 1 - delta for every posterior Q at once; the prior P does not depend on the n examples.
    The empirical error is exact, or the rate among `pairs` independent (weights, example) draws; its limit then costs a
    tenth of delta.

    Sound: risk of Q <= kl^{-1}(error, (KL + ln(2 sqrt(n)/delta))/n); Monte Carlo pays a tenth of delta
    .. math:: \mathrm{kl}(\hat R(Q)\|R(Q))\le(\mathrm{KL}(Q\|P)+\ln(2\sqrt n/\delta))/n
    Because: bounds the average over weights drawn from Q, not one network
    Assumes:
    - loss 0 or 1
    """

    id = "pacbayes.gibbs"
    place = "certificate K"
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
            # Monte Carlo has its own part of delta.
            share = MONTE_CARLO_SHARE * delta
            error = exact_upper(self.id, math.ceil(error * self.pairs - 1e-9), self.pairs, share)
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


@dataclass(frozen=True, kw_only=True)
class Gibbs(Evidence):
    """Empirical error of the posterior Q, exact (`pairs` None) or the rate among `pairs` fresh pairs."""

    bound = GibbsBound
    bounds = "gibbs_risk_01"
    measures = "error rate, averaged over random weights"
    examples = "examples its posterior was fitted to"
    weight = 2.0
    grows = ("n",)
    cost = "KL divergence"
    guarantee = (
        "Guarantees the error rate of {subject}, averaged over the draws of its weights: each prediction is to be made "
        "with freshly drawn weights. It does not bound the error of the mean weights or of any single draw."
    )
    absent = (
        "it needs a prior that is independent of the certified examples and a posterior over weights; the demo shows "
        "how, and frozen features with a linear head get one here"
    )

    error: float
    n: int
    KL: float
    pairs: int | None = None

    def seen(self) -> str:
        return f"an average error rate of {100 * self.error:.2f} % on {self.n:,} {self.examples}"

    def price(self, terms: Mapping[str, float]) -> str:
        return FEW_EXAMPLES if terms["KL/n"] < terms["ln(2 sqrt(n)/delta)/n"] else self.cost

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a posterior that leans to the smallest error": Law(leaning),
            "the error estimated by pairs": Law(by_pairs),
            "the divergence of the posterior is not paid": Law(unpaid_divergence, valid=False),
        }


def _divergence(posterior: Any) -> float:
    return max(0.0, float(np.sum(posterior * np.log(np.maximum(posterior, 1e-300) * MANY))))


def leaning(random: Random) -> Trial:
    errors, posterior = leaning_posterior(random)
    return Trial(Gibbs(error=float(posterior @ errors), n=EXAMPLES, KL=_divergence(posterior)), RISK)


def by_pairs(random: Random) -> Trial:
    """The empirical error from pairs of fresh weights and an example drawn with replacement."""
    errors, posterior = leaning_posterior(random)
    rate = random.binomial(500, min(1.0, float(posterior @ errors))) / 500
    return Trial(Gibbs(error=rate, n=EXAMPLES, KL=_divergence(posterior), pairs=500), RISK)


def unpaid_divergence(random: Random) -> Trial:
    """Broken: ten thousand predictors, the posterior sits on the best, and the prior is called equal to it."""
    errors = int(random.binomial(EXAMPLES, 0.5, size=10_000).min())
    return Trial(Gibbs(error=errors / EXAMPLES, n=EXAMPLES, KL=0.0), 0.5)
