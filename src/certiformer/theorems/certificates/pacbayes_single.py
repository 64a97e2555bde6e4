r"""K1, single draw: one concrete network drawn once from a posterior.

.. math:: \mathrm{kl}(\widehat R(w)\,\|\,R(w)) \le \frac{\max(0,\ \ln\frac{dQ}{dP}(w) + \ln(2\sqrt n/\delta))}{n}

with probability at least 1 - delta over the sample and the draw. It is not simultaneous in Q: keeping the best of
J draws, or of J posteriors compared after their draws, costs delta/J.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import kl_inverse
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(errors: int, n: int, log_ratio: float, delta: float, draws: int) -> Variants:
    if errors > n:
        raise InputError("errors", errors, f"at most n = {n}", "Errors are counted among the n examples")
    budget = max(0.0, log_ratio + math.log(2.0 * math.sqrt(n) * draws / delta)) / n
    checks = (
        assumed("the prior does not depend on the n certified examples; the rule S -> Q was fixed before the draw"),
        assumed("every draw that was looked at is counted in `draws`"),
    )
    terms = {"observed": errors / n, "log ratio/n": log_ratio / n, "budget": budget}
    return {"value": upper_bound(kl_inverse(errors / n, budget), clip=1.0, checks=checks, terms=terms)}


RESULT = Result(
    id="pacbayes.single",
    title="PAC-Bayes certificate for a single draw",
    paper=CERTIFICATES,
    place="certificate K1",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"\mathrm{kl}(\hat R(w)\|R(w))\le(\ln\tfrac{dQ}{dP}(w)+\ln(2\sqrt n J/\delta))_+/n",
    sound_statement="risk of w <= kl^{-1}(errors/n, max(0, log_ratio + ln(2 sqrt(n) draws/delta))/n)",
    inputs=(
        count("errors", "errors of the drawn network on the certified examples", low=0, example=50, aliases=("k",)),
        count("n", "certified examples", aliases=("m", "N"), example=5000),
        real("log_ratio", "ln dQ/dP at the drawn weights", low=-math.inf, example=10.0),
        real("delta", "failure probability", high=1.0, example=0.05),
        count("draws", "draws (or posteriors) compared", default=1, example=1, aliases=("J",)),
    ),
    status=Status.NONE,
    reason="one network, no Monte Carlo; the draw may not be repeated for free",
    printed=None,
    sound=sound,
    assumptions=("loss in [0, 1]", "Q is absolutely continuous with respect to P"),
    monotone={"errors": 1, "log_ratio": 1, "delta": -1, "draws": 1},
    proof="docs/proofs/certificates.md",
)
