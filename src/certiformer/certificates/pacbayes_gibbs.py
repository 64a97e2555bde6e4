"""K, PAC-Bayes: the risk of a randomised predictor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from certiformer.certificates._evidence import FEW_EXAMPLES, Evidence, scaled
from certiformer.certificates._law import EXAMPLES, MANY, RISK, Law, Random, Trial, leaning_posterior


@dataclass(frozen=True, kw_only=True)
class Gibbs(Evidence):
    """Empirical error of the posterior Q, exact (`pairs` None) or the rate among `pairs` fresh pairs."""

    id: ClassVar[str] = "pacbayes.gibbs"
    bounds: ClassVar[str] = "gibbs_risk_01"
    measures: ClassVar[str] = "error rate, randomised"
    weight: ClassVar[float] = 2.0
    cost: ClassVar[str] = "KL divergence"
    guarantee: ClassVar[str] = (
        "Guarantees the error rate of {subject}, averaged over the draws of its weights: each prediction is to be made "
        "with freshly drawn weights. It does not bound the error of the mean weights or of any single draw."
    )
    absent: ClassVar[str] = (
        "it needs a prior that is independent of the certified examples and a posterior over weights; the demo shows "
        "how, and frozen features with a linear head get one here"
    )

    error: float
    n: int
    KL: float
    pairs: int | None = None

    @property
    def size(self) -> int:
        return self.n

    def inputs(self, delta: float) -> dict[str, Any]:
        given = {"error": self.error, "n": self.n, "KL": self.KL, "delta": delta}
        return given if self.pairs is None else {**given, "pairs": self.pairs}

    def grown(self, factor: float) -> Self:
        return replace(self, n=scaled(self.n, factor))

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
