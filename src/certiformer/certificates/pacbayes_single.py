"""K1, single draw: one concrete network drawn once from a posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from certiformer.certificates._evidence import FEW_EXAMPLES, CertificateBound, Evidence
from certiformer.certificates._law import EXAMPLES, MANY, RISK, Law, Random, Trial, leaning_posterior
from certiformer.theory.calculus.tails import kl_inverse
from certiformer.theory.core import Variants, assumed, count, real, upper_bound
from certiformer.theory.core.errors import InputError


class SingleDrawBound(CertificateBound):
    r"""PAC-Bayes certificate for a single draw.

    With probability at least 1 - delta over the sample and the draw. It is not simultaneous in Q: keeping the best of
    J draws, or of J posteriors compared after their draws, costs delta/J.

    Sound: risk of w <= kl^{-1}(errors/n, max(0, log_ratio + ln(2 sqrt(n) draws/delta))/n)
    .. math:: \mathrm{kl}(\hat R(w)\|R(w))\le(\ln\tfrac{dQ}{dP}(w)+\ln(2\sqrt n J/\delta))_+/n
    Because: one network, no Monte Carlo; the draw may not be repeated for free
    Assumes:
    - loss in [0, 1]
    - Q is absolutely continuous with respect to P
    """

    id = "pacbayes.single"
    place = "certificate K1"
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


@dataclass(frozen=True, kw_only=True)
class SingleDraw(Evidence):
    """Errors of one network drawn once from Q with a seed recorded beforehand; ln dQ/dP at the draw."""

    bound = SingleDrawBound
    examples = "examples its posterior was fitted to"
    weight = 3.0
    cost = "log ratio of posterior and prior"
    guarantee = (
        "Guarantees the error rate of {subject}, drawn once from the posterior with the recorded seed. It does not "
        "hold for a network drawn again, or for the best of several draws, unless they are counted. If posterior and "
        "prior are equal it is a hold-out bound with a worse constant."
    )
    absent = "it needs a posterior over weights and a single draw from it with a recorded seed"

    errors: int
    n: int
    log_ratio: float
    draws: int = 1
    seed: int | None = None

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
