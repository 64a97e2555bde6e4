r"""D, disagreement: carry a certificate over to another model.

.. math:: R(h) \le R(h_1) + P(h \ne h_1)

h_1 is certified by hold-out at level delta/2, the disagreement on unlabelled examples that neither model has seen,
also at delta/2. h may be the model trained on all the data, or a quantised, pruned or exported form of h_1.
"""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper
from certiformer.core import Quantity, Result, Status, Variants, assumed, count, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


def sound(errors: int, n: int, disagreements: int, unlabelled: int, delta: float) -> Variants:
    for name, value, total in (("errors", errors, n), ("disagreements", disagreements, unlabelled)):
        if value > total:
            raise InputError(name, value, f"at most {total}")
    ln_half = math.log(delta / 2.0)
    risk, distance = binomial_upper(errors, n, ln_half), binomial_upper(disagreements, unlabelled, ln_half)
    checks = (
        assumed("the n labelled examples played no part in choosing h1"),
        assumed("the unlabelled examples were used for neither h nor h1, not even without labels"),
    )
    terms = {"risk of h1": risk, "disagreement": distance}
    return {"value": upper_bound(risk + distance, clip=1.0, terms=terms, additive=True, checks=checks)}


RESULT = Result(
    id="disagreement",
    title="Transfer of a certificate by disagreement",
    paper=CERTIFICATES,
    place="certificate D",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(h)\le R(h_1)+P(h\ne h_1)",
    sound_statement="risk of h <= hold-out limit of h1 at delta/2 + binomial limit of the disagreement at delta/2",
    inputs=(
        count("errors", "errors of h1 on its hold-out examples", low=0, example=10),
        count("n", "hold-out examples of h1", aliases=("m", "N"), example=2000),
        count("disagreements", "fresh unlabelled examples on which h and h1 differ", low=0, example=5),
        count("unlabelled", "fresh unlabelled examples", example=5000),
        real("delta", "failure probability", high=1.0, example=0.05),
    ),
    status=Status.NONE,
    reason="for the model that was trained on everything",
    printed=None,
    sound=sound,
    monotone={"errors": 1, "disagreements": 1, "delta": -1},
    proof="docs/proofs/certificates.md",
)
