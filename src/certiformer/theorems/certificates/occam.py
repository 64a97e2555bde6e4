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


class Occam(Result):
    r"""Occam certificate.

    with probability at least 1 - delta for every h at once: any search may be used, everything tried is paid for by P.

    .. math:: R(h) \le \max\{p : P(\mathrm{Bin}(n,p) \le k) \ge \delta\,P(h)\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-code_length)}, code_length = -ln P(h)
    .. math:: R(h)\le\max\{p: P(\mathrm{Bin}(n,p)\le k)\ge\delta P(h)\}
    Because: uses every example for training and for the certificate
    Assumes:
    - P is a probability mass function: normalised cells, not density times cell width
    """

    id = "occam"
    paper, place = CERTIFICATES, "certificate O"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+errors -delta +code_length"

    errors: int = count("training errors of h", low=0, example=20, aliases=("k",))
    n: int = count("training examples, all of them", example=10_000, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    code_length: float = real("-ln P(h), in nats", low_open=False, example=200.0)

    def sound(self) -> Variants:
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}", "Errors are counted among the n examples")
        hypotheses = (
            assumed("the prior sums to at most one over all predictors and was fixed before the data were seen"),
            assumed("the n examples are independent; the predictor may have been trained on them"),
        )
        value = binomial_upper(self.errors, self.n, math.log(self.delta) - self.code_length)
        terms = {
            "observed": self.errors / self.n,
            "code length (nats)": self.code_length,
            "nats per example": self.code_length / self.n,
        }
        return {"value": upper_bound(value, clip=1.0, hypotheses=hypotheses, terms=terms)}
