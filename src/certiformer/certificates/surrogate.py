"""Q, surrogate: an untouched model, through a certified one and unlabelled examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from certiformer.certificates._evidence import CertificateBound, Evidence
from certiformer.certificates._law import RISK, Law, Random, Trial
from certiformer.theory.calculus.compression import compression_upper, surrogate_joint, surrogate_unseen
from certiformer.theory.calculus.tail_check import exact_upper
from certiformer.theory.core import Bound, Variants, assumed, choice, count, real, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.hypothesis import Hypothesis, stated

FORMS = ("split", "joint", "joint_unseen")


class SurrogateBound(CertificateBound):
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
    place = "certificate Q"
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
        risk = (
            exact_upper(self.id, counted, self.n, self.delta / 2.0)
            if held
            else compression_upper(counted, self.n, math.log(self.delta / 2.0))
        )
        distance = exact_upper(self.id, self.disagreements, self.m, self.delta / 2.0)
        observed = {"observed": self.disagreements / self.m + (counted / self.n if held else 0.0)}
        joint = surrogate_joint(counted, self.n, self.disagreements, self.m, math.log(self.delta))
        terms = {"risk of s": risk, "disagreement": distance}
        found = {
            "split": self._bound("split", risk + distance, terms, additive=True),
            "joint": self._bound("joint", joint, observed),
        }
        if held:
            unseen = assumed("h is independent of the n labelled examples of s, not only of the unlabelled ones")
            both = surrogate_unseen(counted, self.n, self.disagreements, self.m, self.delta)
            found["joint_unseen"] = self._bound("joint_unseen", both, observed, unseen)
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


@dataclass(frozen=True, kw_only=True)
class Surrogate(Evidence):
    """s made `errors` on a hold-out of n, or came from `k` picks of n; h and s differ on some of m unlabelled examples.

    `form` is declared beforehand: "joint" lets h have seen everything that is labelled, "joint_unseen" does not.
    """

    bound = SurrogateBound
    weight = 2.0
    grows = ()  # two samples do, and picks do not: no single n is needed
    guarantee = (
        "Guarantees the error rate of {subject}, which nobody changed: it errs at most as often as a certified "
        "surrogate does, plus how often the two differ. The unlabelled examples must be new to both and come from the "
        "distribution of the labelled ones; where they do not, nothing follows."
    )
    absent = (
        "it needs a surrogate that is certified and unlabelled examples that are new to both; certify(train=..., "
        "by=[Surrogate(model, unlabelled)]) finds one"
    )

    n: int
    disagreements: int
    m: int
    errors: int | None = None
    k: int | None = None
    form: str = "joint"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.errors is None) == (self.k is None):
            raise InputError("errors, k", (self.errors, self.k), "one of the two: s has one certificate")

    def seen(self) -> str:
        picked = f"was trained on {self.k:,} of {self.n:,} examples" if self.k is not None else f"made {super().seen()}"
        return f"its surrogate {picked}; they differ on {self.disagreements:,} of {self.m:,} unlabelled examples"

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "wrong wherever the two differ": Law(worst_case),
            "a target that saw the hold-out, joint form": Law(adaptive),
            "a target that saw the unlabelled inputs": Law(seen, valid=False),
        }


EXAMPLES = 40


def worst_case(random: Random) -> Trial:
    """h errs where s errs and wherever it differs."""
    errors, apart = int(random.binomial(EXAMPLES, RISK)), int(random.binomial(EXAMPLES, 0.05))
    record = Surrogate(errors=errors, n=EXAMPLES, disagreements=apart, m=EXAMPLES, form="joint_unseen")
    return Trial(record, RISK + 0.05)


def adaptive(random: Random) -> Trial:
    """h knows how lucky the hold-out was, and differs the more the luckier it was."""
    errors = int(random.binomial(EXAMPLES, RISK))
    distance = 0.02 if errors < RISK * EXAMPLES - 2 else 0.002
    apart = int(random.binomial(EXAMPLES, distance))
    return Trial(Surrogate(errors=errors, n=EXAMPLES, disagreements=apart, m=EXAMPLES), RISK + distance)


def seen(random: Random) -> Trial:
    """Broken: h was trained to agree on the unlabelled inputs, and agrees nowhere else."""
    errors = int(random.binomial(EXAMPLES, RISK))
    return Trial(Surrogate(errors=errors, n=EXAMPLES, disagreements=0, m=EXAMPLES), 1.0 - RISK)
