"""Q, surrogate: an untouched model, through a certified one and unlabelled examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from certiformer.certificates._evidence import Evidence
from certiformer.certificates._law import RISK, Law, Random, Trial
from certiformer.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Surrogate(Evidence):
    """s made `errors` on a hold-out of n, or came from `k` picks of n; h and s differ on some of m unlabelled examples.

    `form` is declared beforehand: "joint" lets h have seen everything that is labelled, "joint_unseen" does not.
    """

    id: ClassVar[str] = "surrogate"
    weight: ClassVar[float] = 2.0
    guarantee: ClassVar[str] = (
        "Guarantees the error rate of {subject}, which nobody changed: it errs at most as often as a certified "
        "surrogate does, plus how often the two differ. The unlabelled examples must be new to both and come from the "
        "distribution of the labelled ones; where they do not, nothing follows."
    )
    absent: ClassVar[str] = (
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

    @property
    def size(self) -> int:
        return self.n

    def inputs(self, delta: float) -> dict[str, Any]:
        certified = {"k": self.k} if self.errors is None else {"errors": self.errors}
        common = {"n": self.n, "disagreements": self.disagreements, "m": self.m, "form": self.form}
        return {**certified, **common, "delta": delta}

    def grown(self, factor: float) -> Self | None:
        return None  # two samples grow, and picks do not: no single n is needed

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
