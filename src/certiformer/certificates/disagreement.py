"""D, disagreement: from a certified model to another one, through unlabelled examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from certiformer.certificates._evidence import Evidence, scaled
from certiformer.certificates._law import EXAMPLES, RISK, Law, Random, Trial
from certiformer.core import Check, assumed


@dataclass(frozen=True, kw_only=True)
class Disagreement(Evidence):
    """h1 made `errors` on n held-out examples; h and h1 differ on some of the fresh unlabelled ones."""

    id: ClassVar[str] = "disagreement"
    weight: ClassVar[float] = 2.0
    guarantee: ClassVar[str] = (
        "Guarantees the error rate of {subject} through a certified sibling: it errs at most as often as the sibling "
        "does, plus how often the two disagree. The unlabelled examples must be new to both and come from the "
        "distribution of the held-out ones; where they do not, nothing follows. It says nothing about which of the two "
        "is right where they disagree."
    )
    absent: ClassVar[str] = "it needs a second model and unlabelled examples that are new to both"

    errors: int
    n: int
    disagreements: int
    unlabelled: int

    @property
    def size(self) -> int:
        return self.n

    def inputs(self, delta: float) -> dict[str, Any]:
        return {
            "errors": self.errors,
            "n": self.n,
            "disagreements": self.disagreements,
            "unlabelled": self.unlabelled,
            "delta": delta,
        }

    def grown(self, factor: float) -> Self:
        return replace(
            self,
            errors=scaled(self.errors, factor),
            n=scaled(self.n, factor),
            disagreements=scaled(self.disagreements, factor),
            unlabelled=scaled(self.unlabelled, factor),
        )

    def hypotheses(self) -> tuple[Check, ...]:
        same = assumed("the unlabelled examples come from the same distribution as the held-out ones")
        return (*super().hypotheses(), same)

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "wrong wherever the two differ": Law(worst_case),
            "trained on the unlabelled inputs": Law(seen_unlabelled, valid=False),
        }


def worst_case(random: Random) -> Trial:
    """The final model errs where h1 errs and wherever it differs."""
    wrong, differs = random.random(EXAMPLES) < RISK, random.random(EXAMPLES) < 0.05
    labels = np.arange(EXAMPLES) % 2
    answers = {"unlabelled_predictions": labels, "unlabelled_final_predictions": np.where(differs, 1 - labels, labels)}
    heldout = {"heldout_labels": labels, "heldout_predictions": np.where(wrong, 1 - labels, labels)}
    return Trial({**heldout, **answers}, RISK + 0.05)


def seen_unlabelled(random: Random) -> Trial:
    """Broken: the final model was trained on the unlabelled inputs; it agrees there and nowhere else."""
    errors = int(random.binomial(EXAMPLES, RISK))
    return Trial(Disagreement(errors=errors, n=EXAMPLES, disagreements=0, unlabelled=EXAMPLES), 1.0 - RISK)
