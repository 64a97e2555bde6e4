from __future__ import annotations

import math

from certiformer.calculus.compression import compression_upper, surrogate_joint, surrogate_unseen
from certiformer.calculus.tails import binomial_upper
from certiformer.core import Bound, Quantity, Result, Status, Variants, assumed, choice, count, real, upper_bound
from certiformer.core.errors import InputError
from certiformer.core.hypothesis import Hypothesis, stated
from certiformer.theorems.certificates import CERTIFICATES

FORMS = ("split", "joint", "joint_unseen")


class Surrogate(Result):
    r"""Surrogate certificate.

    An untouched model h, certified through one that can be, s, and unlabelled examples. split: the risk of s and the
    disagreement at delta/2 each. joint: E is the e-value of the labelled side, and h may have seen everything that is
    labelled. joint_unseen: h is independent of the hold-out of s as well. s is certified by a hold-out (`errors` of n)
    or by compression (`k` of n). `form` is declared before counting: the smallest of the three, chosen afterwards, is
    no certificate.

    .. math:: R(h) \le R(s) + P(h \ne s)

    Sound: split: two limits at delta/2; joint: sup_v v + U(disagreements, m, delta E(v)); joint_unseen: largest p + q
    .. math:: R(h) \le \sup_v\{v + U(d, m, \delta E(v))\}
    Because: for a model that nobody can certify by itself: released, quantised, exported, trained on everything
    Assumes:
    - the m unlabelled examples are new to h, s and to the choice of s, and of the distribution of the labelled ones
    - h and s decide by one rule, ties included
    """

    id = "surrogate"
    paper, place = CERTIFICATES, "certificate Q"
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+disagreements -delta"
    proof = "docs/proofs/compression.md"

    errors: int | None = count(
        "errors of s on its hold-out", low=0, example=28, default=None, otherwise="k is given; with neither, all n"
    )
    k: int | None = count(
        "examples picked when s was compressed", low=0, example=34, default=None, otherwise="errors are given"
    )
    n: int = count("labelled examples behind the certificate of s", example=5000, aliases=("N",))
    disagreements: int = count("unlabelled examples on which h and s differ", low=0, example=10, aliases=("d",))
    m: int = count("fresh unlabelled examples", example=2115)
    delta: float = real("failure probability", high=1.0, example=0.05)
    form: str = choice("the form that was declared before counting", FORMS, default="joint")

    def sound(self) -> Variants:
        if self.errors is not None and self.k is not None:
            raise InputError("errors, k", (self.errors, self.k), "one of the two", "s has one certificate")
        held = self.k is None
        # A surrogate of which nothing was counted may be wrong on all n examples.
        counted = self.k if self.k is not None else self.n if self.errors is None else self.errors
        for name, value, total in (
            ("errors" if held else "k", counted, self.n),
            ("disagreements", self.disagreements, self.m),
        ):
            if value > total:
                raise InputError(name, value, f"at most {total}")
        half = math.log(self.delta / 2.0)
        risk = binomial_upper(counted, self.n, half) if held else compression_upper(counted, self.n, half)
        distance = binomial_upper(self.disagreements, self.m, half)
        observed = {"observed": self.disagreements / self.m + (counted / self.n if held else 0.0)}
        joint = surrogate_joint(counted, self.n, self.disagreements, self.m, math.log(self.delta))
        terms = {"risk of s": risk, "disagreement": distance}
        found = {
            "split": self._bound("split", risk + distance, terms, additive=True),
            "joint": self._bound("joint", joint, observed),
        }
        if held:
            unseen = assumed("h is independent of the n labelled examples of s, not only of the unlabelled ones")
            value = surrogate_unseen(counted, self.n, self.disagreements, self.m, self.delta)
            found["joint_unseen"] = self._bound("joint_unseen", value, observed, unseen)
        return found

    def _bound(
        self, form: str, value: float, terms: dict[str, float], *more: Hypothesis, additive: bool = False
    ) -> Bound:
        declared = stated(
            "this form was chosen before the counts were read", True if self.form == form else None, f"form={form}"
        )
        source = (
            "s is what the pick loop gave"
            if self.k is not None
            else "the n labelled examples played no part in choosing s"
        )
        hypotheses = (declared, assumed(source), *more)
        return upper_bound(value, clip=1.0, terms=terms, hypotheses=hypotheses, additive=additive)
