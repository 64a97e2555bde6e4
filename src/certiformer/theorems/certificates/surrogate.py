r"""Q, surrogates: an untouched model certified through one that can be, and unlabelled examples.

.. math:: R(h) \le R(s) + P(h \ne s)

split: R(s) and the disagreement at delta/2 each. joint: sup_v v + U(d, m, delta E(v)), E the e-value of the labelled
side; h may have seen everything that is labelled. joint_unseen: one binomial pair; h is independent of the hold-out of
s as well. s is certified by a hold-out (`errors` of n) or by compression (`k` of n). `form` is declared before
counting: the smallest of the three, chosen afterwards, is no certificate.
"""

from __future__ import annotations

import math

from certiformer.calculus.compression import compression_upper, surrogate_joint, surrogate_unseen
from certiformer.calculus.tails import binomial_upper
from certiformer.core import Bound, Quantity, Result, Status, Variants, assumed, choice, count, real, upper_bound
from certiformer.core.check import Check
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES

FORMS = ("split", "joint", "joint_unseen")


def sound(errors: int | None, k: int | None, n: int, disagreements: int, m: int, delta: float, form: str) -> Variants:
    if errors is not None and k is not None:
        raise InputError(
            "errors, k", (errors, k), "one of the two", "s has one certificate: a hold-out or a compression"
        )
    held = k is None
    # A surrogate of which nothing was counted may be wrong on all n examples.
    counted = k if k is not None else n if errors is None else errors
    for name, value, total in (("errors" if held else "k", counted, n), ("disagreements", disagreements, m)):
        if value > total:
            raise InputError(name, value, f"at most {total}")
    fresh = (
        assumed("the m unlabelled examples are new to h, s, and to the choice of s, and of the same distribution"),
        assumed("h and s decide by one rule, ties included"),
    )
    seen = assumed("the n labelled examples played no part in choosing s" if held else "s is what the pick loop gave")
    half = math.log(delta / 2.0)
    risk = binomial_upper(counted, n, half) if held else compression_upper(counted, n, half)
    distance = binomial_upper(disagreements, m, half)

    def bound(name: str, value: float, terms: dict[str, float], *checks: Check, additive: bool = False) -> Bound:
        declared = assumed("the form was chosen before the counts were read", holds=None if form == name else False)
        return upper_bound(value, clip=1.0, terms=terms, checks=(declared, seen, *checks, *fresh), additive=additive)

    observed = {"observed": disagreements / m + (counted / n if held else 0.0)}
    joint = surrogate_joint(counted, n, disagreements, m, math.log(delta))
    found = {
        "split": bound("split", risk + distance, {"risk of s": risk, "disagreement": distance}, additive=True),
        "joint": bound("joint", joint, observed),
    }
    if held:
        unseen = assumed("h is independent of the n labelled examples of s, not only of the unlabelled ones")
        found["joint_unseen"] = bound(
            "joint_unseen", surrogate_unseen(counted, n, disagreements, m, delta), observed, unseen
        )
    return found


RESULT = Result(
    id="surrogate",
    title="Surrogate certificate",
    paper=CERTIFICATES,
    place="certificate Q",
    bounds=Quantity.RISK,
    statement="nothing printed",
    latex=r"R(h)\le R(s)+P(h\ne s)",
    sound_statement=(
        "split: the two limits at delta/2; joint: sup over v of v + U(disagreements, m, delta E(v)); "
        "joint_unseen: the largest p + q not rejected by m errors + n disagreements"
    ),
    inputs=(
        count(
            "errors",
            "errors of s on its hold-out",
            low=0,
            optional=True,
            derived="k is given instead; with neither, all n",
            example=28,
        ),
        count(
            "k",
            "examples picked when s was compressed",
            low=0,
            optional=True,
            derived="errors are given instead",
            example=34,
        ),
        count("n", "labelled examples behind the certificate of s", aliases=("N",), example=5000),
        count("disagreements", "unlabelled examples on which h and s differ", low=0, aliases=("d",), example=10),
        count("m", "fresh unlabelled examples", example=2115),
        real("delta", "failure probability", high=1.0, example=0.05),
        choice("form", "the form that was declared before counting", FORMS, default="joint"),
    ),
    status=Status.NONE,
    reason="for a model that nobody can certify by itself: released, quantised, exported, trained on everything",
    printed=None,
    sound=sound,
    monotone={"disagreements": 1, "delta": -1},
    proof="docs/proofs/compression.md",
)
