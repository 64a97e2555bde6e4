r"""K, PAC-Bayes-kl: the risk of a randomised predictor.

.. math:: \mathrm{kl}(\widehat R(Q)\,\|\,R(Q)) \le \frac{\mathrm{KL}(Q\|P) + \ln(2\sqrt n/\delta)}{n}

with probability at least 1 - delta for every posterior Q at once; the prior P does not depend on the n examples.
The empirical error is exact, or the rate among `pairs` independent (weights, example) draws; its limit then costs a
tenth of delta.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper, kl_inverse
from certiformer.core import Check, Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.theorems.certificates import CERTIFICATES

MONTE_CARLO_SHARE = 0.1


def sound(n: int, KL: float, error: float, delta: float, pairs: int | None) -> Variants:
    checks: tuple[Check, ...] = (
        assumed("the prior does not depend on the n certified examples"),
        assumed("the n examples are independent"),
    )
    if pairs is not None:
        # Monte Carlo has its own share of delta.
        share = MONTE_CARLO_SHARE * delta
        error = binomial_upper(math.ceil(error * pairs - 1e-9), pairs, math.log(share))
        delta -= share
        checks += (assumed("each pair has fresh weights from the final Q and an example drawn with replacement"),)
    budget = max(0.0, KL + math.log(2.0 * math.sqrt(n) / delta)) / n
    terms = {"empirical error of Q": error, "KL/n": KL / n, "ln(2 sqrt(n)/delta)/n": budget - KL / n}
    return {"value": upper_bound(kl_inverse(error, budget), clip=1.0, checks=checks, terms=terms)}


RESULT = Result(
    id="pacbayes.gibbs",
    title="PAC-Bayes-kl certificate for a randomised predictor",
    paper=CERTIFICATES,
    place="certificate K",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"\mathrm{kl}(\hat R(Q)\|R(Q))\le(\mathrm{KL}(Q\|P)+\ln(2\sqrt n/\delta))/n",
    sound_statement="risk of Q <= kl^{-1}(error, (KL + ln(2 sqrt(n)/delta))/n); Monte Carlo pays a tenth of delta",
    inputs=(
        count("n", "certified examples", aliases=("m", "N"), example=5000),
        real("KL", "KL(Q || P), in nats", low_open=False, example=30.0),
        real("delta", "failure probability", high=1.0, example=0.05),
        real(
            "error",
            "empirical error of Q, exact or by Monte Carlo",
            low_open=False,
            high=1.0,
            high_open=False,
            example=0.01,
        ),
        count("pairs", "Monte Carlo pairs behind `error`", optional=True, derived="none, exact", example=10_000),
    ),
    status=Status.NONE,
    reason="bounds the average over weights drawn from Q, not one network",
    printed=None,
    sound=sound,
    assumptions=("loss 0 or 1",),
    monotone={"KL": 1, "delta": -1, "error": 1},
    proof="docs/proofs/certificates.md",
)
