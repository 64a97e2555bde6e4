r"""O, Occam: a prior mass function over a countable set of predictors, fixed before the data.

.. math:: R(h) \le \max\{p : P(\mathrm{Bin}(n,p) \le k) \ge \delta\,P(h)\}

with probability at least 1 - delta for every h at once: any search may be used, everything tried is paid for by P.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(errors: int, n: int, delta: float, code_length: float) -> Variants:
    if errors > n:
        raise InputError("errors", errors, f"at most n = {n}", "Errors are counted among the n examples")
    checks = (
        assumed("the prior sums to at most one over all predictors and was fixed before the data were seen"),
        assumed("the n examples are independent; the predictor may have been trained on them"),
    )
    value = binomial_upper(errors, n, math.log(delta) - code_length)
    terms = {"observed": errors / n, "code length (nats)": code_length, "nats per example": code_length / n}
    return {"value": upper_bound(value, clip=1.0, checks=checks, terms=terms)}


RESULT = Result(
    id="occam",
    title="Occam certificate",
    paper=CERTIFICATES,
    place="certificate O",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(h)\le\max\{p: P(\mathrm{Bin}(n,p)\le k)\ge\delta P(h)\}",
    sound_statement="risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-code_length)}, code_length = -ln P(h)",
    inputs=(
        count("errors", "training errors of h", low=0, example=20, aliases=("k",)),
        count("n", "training examples, all of them", aliases=("m", "N"), example=10_000),
        real("delta", "failure probability", high=1.0, example=0.05),
        real("code_length", "-ln P(h), in nats", low_open=False, example=200.0),
    ),
    status=Status.NONE,
    reason="uses every example for training and for the certificate",
    printed=None,
    sound=sound,
    assumptions=("P is a probability mass function: normalised cells, not density times cell width",),
    monotone={"errors": 1, "delta": -1, "code_length": 1},
    proof="docs/proofs/certificates.md",
)
