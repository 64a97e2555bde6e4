"""K1, single draw: one concrete network drawn once from a posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from certiformer.certificates._evidence import FEW_EXAMPLES, Evidence, scaled
from certiformer.certificates._law import EXAMPLES, MANY, RISK, Law, Random, Trial, leaning_posterior


@dataclass(frozen=True, kw_only=True)
class SingleDraw(Evidence):
    """Errors of one network drawn once from Q with a seed recorded beforehand; ln dQ/dP at the draw."""

    id: ClassVar[str] = "pacbayes.single"
    weight: ClassVar[float] = 3.0
    cost: ClassVar[str] = "log ratio of posterior and prior"
    guarantee: ClassVar[str] = (
        "Guarantees the error rate of {subject}, drawn once from the posterior with the recorded seed. It does not "
        "hold for a network drawn again, or for the best of several draws, unless they are counted. If posterior and "
        "prior are equal it is a hold-out bound with a worse constant."
    )
    absent: ClassVar[str] = "it needs a posterior over weights and a single draw from it with a recorded seed"

    errors: int
    n: int
    log_ratio: float
    draws: int = 1
    seed: int | None = None

    @property
    def size(self) -> int:
        return self.n

    def inputs(self, delta: float) -> dict[str, Any]:
        return {
            "errors": self.errors,
            "n": self.n,
            "log_ratio": self.log_ratio,
            "delta": delta,
            "draws": self.draws,
        }

    def grown(self, factor: float) -> Self:
        return replace(self, errors=scaled(self.errors, factor), n=scaled(self.n, factor))

    def price(self, terms: Mapping[str, float]) -> str:
        return FEW_EXAMPLES if terms["log ratio/n"] < 0.5 * terms["budget"] else self.cost

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "a posterior that leans to the smallest error": Law(leaning),
            "best of many draws, one counted": Law(best_of_many_draws, valid=False),
        }


def leaning(random: Random) -> Trial:
    errors, posterior = leaning_posterior(random)
    drawn = int(random.choice(MANY, p=posterior))
    ratio = math.log(posterior[drawn] * MANY)
    return Trial(SingleDraw(errors=round(errors[drawn] * EXAMPLES), n=EXAMPLES, log_ratio=ratio), RISK)


def best_of_many_draws(random: Random) -> Trial:
    """Broken: ten thousand draws from Q = P, the best is kept, and one is counted."""
    errors = int(random.binomial(EXAMPLES, 0.5, size=10_000).min())
    return Trial(SingleDraw(errors=errors, n=EXAMPLES, log_ratio=0.0), 0.5)
