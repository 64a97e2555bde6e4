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


class Disagreement(Result):
    r"""Transfer of a certificate by disagreement.

    h_1 is certified by hold-out at level delta/2, the disagreement on unlabelled examples that neither model has seen,
    also at delta/2. h may be the model trained on all the data, or a quantised, pruned or exported form of h_1.

    .. math:: R(h) \le R(h_1) + P(h \ne h_1)

    Sound: risk of h <= hold-out limit of h1 at delta/2 + binomial limit of the disagreement at delta/2
    .. math:: R(h)\le R(h_1)+P(h\ne h_1)
    Because: for the model that was trained on everything
    """

    id = "disagreement"
    paper, place = CERTIFICATES, "certificate D"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+errors +disagreements -delta"

    errors: int = count("errors of h1 on its hold-out examples", low=0)
    n: int = count("hold-out examples of h1", example=2000, aliases=("m", "N"))
    disagreements: int = count("fresh unlabelled examples on which h and h1 differ", low=0, example=5)
    unlabelled: int = count("fresh unlabelled examples", example=5000)
    delta: float = real("failure probability", high=1.0, example=0.05)

    def sound(self) -> Variants:
        for name, value, total in (
            ("errors", self.errors, self.n),
            ("disagreements", self.disagreements, self.unlabelled),
        ):
            if value > total:
                raise InputError(name, value, f"at most {total}")
        ln_half = math.log(self.delta / 2.0)
        risk, distance = (
            binomial_upper(self.errors, self.n, ln_half),
            binomial_upper(self.disagreements, self.unlabelled, ln_half),
        )
        hypotheses = (
            assumed("the n labelled examples played no part in choosing h1"),
            assumed("the unlabelled examples were used for neither h nor h1, not even without labels"),
        )
        terms = {"risk of h1": risk, "disagreement": distance}
        return {"value": upper_bound(risk + distance, clip=1.0, terms=terms, additive=True, hypotheses=hypotheses)}
