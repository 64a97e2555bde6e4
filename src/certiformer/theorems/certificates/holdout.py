from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper
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


class Holdout(Result):
    r"""Hold-out certificate (exact binomial).

    with probability at least 1 - delta, for the best of K models compared on the same examples.

    .. math:: R(h) \le \max\{p : P(\mathrm{Bin}(n,p) \le k) \ge \delta/K\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta/models} with probability at least 1 - delta
    .. math:: R(h)\le\max\{p: P(\mathrm{Bin}(n,p)\le k)\ge\delta/K\}
    Because: the yardstick: it stands first in every report
    Assumes:
    - examples are drawn independently from the distribution the claim is about
    """

    id = "holdout"
    paper, place = CERTIFICATES, "certificate H"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+errors -delta +models"

    errors: int = count("errors on the hold-out examples", low=0, example=35, aliases=("k",))
    n: int = count("hold-out examples", example=4780, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    models: int = count("models compared on these examples", example=1, default=1)

    def sound(self) -> Variants:
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}", "Errors are counted among the n examples")
        hypotheses = (
            assumed("the n examples are independent and played no part in training, selection or tuning"),
            assumed("every model compared on these examples is counted in `models`"),
        )
        value = binomial_upper(self.errors, self.n, math.log(self.delta) - math.log(self.models))
        return {
            "value": upper_bound(
                value, clip=1.0, hypotheses=hypotheses, terms={"observed": self.errors / self.n, "models": self.models}
            )
        }
