"""D, disagreement: from a certified model to another one, through unlabelled examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from certiformer.certificates._evidence import CertificateBound, Evidence
from certiformer.certificates._law import EXAMPLES, RISK, Law, Random, Trial
from certiformer.theory.calculus.tail_check import exact_upper
from certiformer.theory.core import Variants, assumed, count, real, upper_bound
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np


class DisagreementBound(CertificateBound):
    r"""Transfer of a certificate by disagreement.

    h_1 is certified by hold-out at level delta/2, the disagreement on unlabelled examples that neither model has seen,
    also at delta/2. h may be the model trained on all the data, or a quantised, pruned or exported form of h_1. Both
    decide by the same rule where scores tie.

    Sound: risk of h <= hold-out limit of h1 at delta/2 + binomial limit of the disagreement at delta/2
    .. math:: R(h)\le R(h_1)+P(h\ne h_1)
    Because: for the model that was trained on everything
    Assumes:
    - labelled and unlabelled examples come from one distribution, independently
    """

    id = "disagreement"
    place = "certificate D"
    monotone = "+errors +disagreements -delta"

    errors: int = count("errors of h1 on its hold-out examples", low=0)
    n: int = count("hold-out examples of h1", example=2000, aliases=("m", "N"))
    disagreements: int = count("fresh unlabelled examples on which h and h1 differ", low=0, example=5)
    unlabelled: int = count("fresh unlabelled examples", example=5000)
    delta: float = real("failure probability", high=1.0, example=0.05)

    def sound(self) -> Variants:
        for name, value, total in (
            ("errors", self.errors, self.n),
            ("disagreements", self.disagreements, self.unlabelled),
        ):
            if value > total:
                raise InputError(name, value, f"at most {total}")
        risk = exact_upper(self.id, self.errors, self.n, self.delta / 2.0)
        distance = exact_upper(self.id, self.disagreements, self.unlabelled, self.delta / 2.0)
        hypotheses = (
            assumed("the n labelled examples played no part in choosing h1"),
            assumed("the unlabelled examples were used for neither h nor h1, not even without labels"),
        )
        terms = {"risk of h1": risk, "disagreement": distance}
        return {"value": upper_bound(risk + distance, clip=1.0, terms=terms, additive=True, hypotheses=hypotheses)}


@dataclass(frozen=True, kw_only=True)
class Disagreement(Evidence):
    """h1 made `errors` on n held-out examples; h and h1 differ on some of the fresh unlabelled ones."""

    bound = DisagreementBound
    weight = 2.0
    grows = ("errors", "n", "disagreements", "unlabelled")
    guarantee = (
        "Guarantees the error rate of {subject} through a certified sibling: it errs at most as often as the sibling "
        "does, plus how often the two disagree. The unlabelled examples must be new to both and come from the "
        "distribution of the held-out ones; where they do not, nothing follows. It says nothing about which of the two "
        "is right where they disagree."
    )
    absent = "it needs a second model and unlabelled examples that are new to both"

    errors: int
    n: int
    disagreements: int
    unlabelled: int

    def seen(self) -> str:
        apart = f"the two models differ on {self.disagreements:,} of {self.unlabelled:,} unlabelled examples"
        return f"its sibling made {super().seen()}; {apart}"

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
