"""O, Occam: a predictor with a short code under a prior that was fixed before the data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from certiformer.certificates._evidence import CertificateBound, Evidence
from certiformer.certificates._law import EXAMPLES, MANY, RISK, Law, Random, Trial
from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core import Variants, assumed, count, real, upper_bound
from certiformer.theory.core.errors import InputError


class OccamBound(CertificateBound):
    r"""Occam certificate.

    With probability at least 1 - delta for every h at once: any search may be used, everything tried is paid for by P,
    which is named before the data are seen.

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-code_length)}, code_length = -ln P(h)
    .. math:: R(h)\le\max\{p: P(\mathrm{Bin}(n,p)\le k)\ge\delta P(h)\}
    Because: uses every example for training and for the certificate
    Assumes:
    - P is a probability mass function: normalised cells, not density times cell width
    """

    id = "occam"
    place = "certificate O"
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


@dataclass(frozen=True, kw_only=True)
class Occam(Evidence):
    """Training errors of h and -ln P(h), everything paid: family, basis, grid, scale, the configurations tried.

    The prior is *named before* the data: a set of configurations that were run on the examples and are counted
    afterwards (`models`) is paid for only if the set itself was fixed before the first of them was run.
    """

    bound = OccamBound
    examples = "examples it was trained on"
    weight = 3.0
    cost = "code length"
    guarantee = (
        "Guarantees the error rate of {subject}, whose weights are stored in few bits under a prior that was fixed "
        "before the data were read. It uses all examples for training and for the certificate, and any search over the "
        "predictors of the prior is paid for. It does not speak about a network with other weights, not even about the "
        "same one before rounding."
    )
    absent = (
        "it needs a predictor coded under a prior fixed before the data; weights from ordinary training have no short "
        "code. The demo shows how to train one; frozen features with a linear head get one here"
    )

    errors: int
    n: int
    code_length: float
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)

    def terms(self, delta: float) -> dict[str, float]:
        return {f"nats for {name}": nats for name, nats in self.parts.items()}

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "empirical risk minimisation over a finite class": Law(minimiser),
            "two lengths of code": Law(two_lengths),
            "the grid that was searched is not paid": Law(unpaid_grid, valid=False),
        }


def minimiser(random: Random) -> Trial:
    """The best of a finite class with a uniform prior."""
    errors = int(random.binomial(EXAMPLES, RISK, size=MANY).min())
    return Trial(Occam(errors=errors, n=EXAMPLES, code_length=math.log(MANY)), RISK)


def two_lengths(random: Random) -> Trial:
    """Half of the prior on one predictor, half on many: the learner takes whichever has the smaller limit."""
    short, long = int(random.binomial(20, 0.3)), int(random.binomial(20, 0.3, size=MANY).min())
    takes_long = long + 4 < short
    nats = math.log(2) + (math.log(MANY) if takes_long else 0.0)
    return Trial(Occam(errors=long if takes_long else short, n=20, code_length=nats), 0.3)


def unpaid_grid(random: Random) -> Trial:
    """Broken: the grid that was searched is left out of the code length."""
    errors = int(random.binomial(EXAMPLES, RISK, size=MANY).min())
    return Trial(Occam(errors=errors, n=EXAMPLES, code_length=0.0), RISK)
