"""H, hold-out: errors counted on examples that played no part in choosing the model. The yardstick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.certificates._evidence import CertificateBound, Evidence
from certiformer.certificates._law import EXAMPLES, MANY, RISK, Law, Random, Trial
from certiformer.theory.calculus.tail_check import exact_lower, exact_upper
from certiformer.theory.core import Variants, assumed, count, real, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np


class HoldOutBound(CertificateBound):
    r"""Hold-out certificate (exact binomial).

    Errors counted on examples that played no part in choosing the model: the yardstick. It holds for the best of K
    models that were all fixed before any of them was scored on these examples. A model that was trained, chosen or
    changed after a look at a score on them is not covered, however many are counted.

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta/models} with probability at least 1 - delta
    .. math:: R(h)\le\max\{p: P(\mathrm{Bin}(n,p)\le k)\ge\delta/K\}
    Because: the yardstick: it stands first in every report
    Assumes:
    - examples are drawn independently from the distribution the claim is about
    """

    id = "holdout"
    place = "certificate H"
    monotone = "+errors -n -delta +models"

    errors: int = count("errors on the hold-out examples", low=0, example=35, aliases=("k",))
    n: int = count("hold-out examples", example=4780, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    models: int = count("models compared on these examples, all fixed before any was scored", example=1, default=1)

    def sound(self) -> Variants:
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}", "Errors are counted among the n examples")
        hypotheses = (
            assumed("the n examples are independent and played no part in training, selection or tuning"),
            assumed(
                "every model compared on these examples is counted in `models`, and was fixed before any had its score"
            ),
        )
        value = exact_upper(self.id, self.errors, self.n, self.delta, self.models)
        return {
            "value": upper_bound(
                value, clip=1.0, hypotheses=hypotheses, terms={"observed": self.errors / self.n, "models": self.models}
            )
        }


@dataclass(frozen=True, kw_only=True)
class HoldOut(Evidence):
    """`errors` among `n` examples that played no part in choosing the model."""

    bound = HoldOutBound
    weight = 4.0
    guarantee = (
        "Guarantees that {subject} errs on at most this fraction of new examples from the distribution the held-out "
        "examples were drawn from. It does not guarantee anything about other distributions, about single examples, or "
        "if a held-out example had a part in training or selection: a model that was changed after a look at its score "
        "here is not covered, however many models are counted. It is the yardstick: a certificate that is larger only "
        "adds that it also used these examples for something else."
    )
    absent = "no held-out examples were given"

    errors: int
    n: int

    @property
    def quantity(self) -> str:
        return f"error rate on new {self.of}"

    def lower(self, delta: float) -> float:
        return exact_lower(self.id, self.errors, self.n, delta)

    @classmethod
    def laws(cls) -> Mapping[str, Law]:
        return {
            "one model": Law(one_model),
            "ten examples": Law(ten_examples),
            "a sorted file with ties": Law(sorted_with_ties),
            "best of many models fixed beforehand, all counted": Law(best_of_many),
            "the split that chose is used again": Law(reused_split, valid=False),
            "majority vote of models scored here, all counted": Law(majority_vote, valid=False),
        }


def _answers(wrong: Any) -> dict[str, Any]:
    """Held-out labels, all 1 in the second half, and predictions that are wrong where it is said."""
    labels = (np.arange(len(wrong)) % 2).astype(np.int64)
    return {"heldout_labels": labels, "heldout_predictions": np.where(wrong, 1 - labels, labels)}


def one_model(random: Random) -> Trial:
    return Trial(_answers(random.random(EXAMPLES) < RISK), RISK)


def ten_examples(random: Random) -> Trial:
    return Trial(_answers(random.random(10) < 0.25), 0.25)


def sorted_with_ties(random: Random) -> Trial:
    """Logits of a model that ties on part of the inputs, the file sorted by class: a tie is an error."""
    labels = np.sort(random.integers(3, size=EXAMPLES))
    logits = 3.0 * np.eye(3)[labels]
    tied = random.random(EXAMPLES) < RISK
    logits[tied] = 0.0
    return Trial({"heldout_labels": labels, "heldout_logits": logits}, RISK)


def best_of_many(random: Random) -> Trial:
    wrong = random.random((MANY, EXAMPLES)) < RISK
    return Trial(_answers(wrong[np.argmin(wrong.sum(1))]), RISK, {"models": MANY})


def reused_split(random: Random) -> Trial:
    """Broken: the split that chose the best of many models certifies it, and nobody pays."""
    wrong = random.random((MANY, EXAMPLES)) < RISK
    return Trial(_answers(wrong[np.argmin(wrong.sum(1))]), RISK)


def majority_vote(random: Random) -> Trial:
    """Broken: labels are coins; models are scored, and their sign-aligned majority vote is the last of those counted.

    Every model has risk 1/2. All are counted, but the last was made after looking at the scores of the others.
    """
    labels = random.integers(2, size=1000)
    answers = random.integers(2, size=(MANY, 1000))
    aligned = np.where(np.mean(answers == labels, axis=1)[:, None] >= 0.5, answers, 1 - answers)
    vote = (np.mean(aligned, axis=0) > 0.5).astype(np.int64)
    return Trial({"heldout_labels": labels, "heldout_predictions": vote}, 0.5, {"models": MANY + 1})
