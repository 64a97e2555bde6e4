"""Q: an untouched model through a surrogate that is trained and certified here, and a pool of unlabelled examples.

Its error rate, and the mean of a proper loss of its probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates.surrogate import Surrogate as Record
from certiformer.certification.declaration import Declaration
from certiformer.certification.frameworks import answer, checked_outputs, is_jax
from certiformer.certification.predictions import decisions
from certiformer.certification.predictors.model import predictor_of
from certiformer.certification.sources.repeats import refuse_repeats
from certiformer.certification.split import refuse_overlap
from certiformer.lab.procedures._model import Array, Labels
from certiformer.lab.procedures._picking import Stage
from certiformer.lab.procedures._surrogate_losses import ANSWERS, LOSSES, loss_record, proper_loss
from certiformer.lab.procedures.pick_to_learn import PickToLearn
from certiformer.theory.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Surrogate:
    """`target`: a model that stays as it is: a `Predictor`, or whatever `certify` takes as a model.

    `pool`: unlabelled examples. The surrogate is trained by `by` on the labelled examples; the target may have seen
    those, but not the pool. `allow_twins`: equal inputs are independent draws from a small input space. `loss`:
    "error", "cross-entropy" (smoothed), "brier", or several of them; the last two read the target's `outputs` as
    "logits" or "probabilities", and those of the surrogate as logits.
    """

    target: Predictor | Callable[..., Any]
    pool: npt.ArrayLike
    by: PickToLearn = field(default_factory=PickToLearn)
    allow_twins: bool = False
    label: str = ""
    loss: str | tuple[str, ...] = "error"
    outputs: Literal["logits", "probabilities"] = "logits"

    def __post_init__(self) -> None:
        for loss in self._losses:
            if loss != "error":
                proper_loss(loss)
        if not self._losses or len(set(self._losses)) < len(self._losses):
            raise InputError("loss", self.loss, f"different ones of error, {', '.join(LOSSES)}")
        if self.outputs not in ANSWERS:
            raise InputError("outputs", self.outputs, " or ".join(ANSWERS))

    @property
    def _losses(self) -> tuple[str, ...]:
        return (self.loss,) if isinstance(self.loss, str) else tuple(self.loss)

    @property
    def pretrained_on(self) -> Any:
        """What the surrogate starts from has seen this; the target may have seen everything but the pool."""
        return self.by.pretrained_on

    def start(self, model: Any) -> str:
        return self.by.start(model)

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        pool = np.asarray(self.pool)
        if len(pool) == 0:
            raise InputError("pool", "no examples", "unlabelled examples that neither model has seen")
        refuse_overlap(pool, inputs, allow_twins=self.allow_twins, what="unlabelled examples")
        refuse_repeats("pool", pool, allowed=self.allow_twins)
        if self.by.stages:
            raise InputError("by", self.by.stages, "a loop without a grid of stages", "The joint form takes one stage")
        found, learner, through = self.by.run(model, inputs, labels, classes)
        state = found.stages[-1].state
        mine = checked_outputs("the surrogate", learner.outputs(state, pool), len(pool))
        theirs, handed = self._answers(pool, classes)
        said: dict[str, Any] = {
            "note": f"Through a surrogate that learnt from {found.stages[-1].picks} of {len(labels)} examples.",
            "predictor": handed,
            "through": through,
        }
        return tuple(
            self._errors(found.stages[-1], len(labels), mine, theirs, said)
            if loss == "error"
            else self._mean(loss, learner.outputs(state, inputs), labels, (mine, theirs), found.rows, said)
            for loss in self._losses
        )

    def _errors(self, end: Stage, n: int, mine: Array, theirs: Array, said: Mapping[str, Any]) -> Evidence:
        apart = int(np.sum(decisions(mine) != self._decisions(theirs)))
        return Record(
            k=end.picks + end.left,
            n=n,
            disagreements=apart,
            m=len(mine),
            label=self.label,
            subject="the target, as it is",
            **said,
        )

    def _mean(
        self,
        loss: str,
        outputs: Array,
        labels: Labels,
        pool: tuple[Array, Array],
        picked: Sequence[int],
        said: Mapping[str, Any],
    ) -> Evidence:
        record = loss_record(loss, outputs, labels, pool, picked=picked, outputs=self.outputs)
        several = len(self._losses) - ("error" in self._losses) > 1
        label = ", ".join(filter(None, (self.label, loss if several else "")))
        subject = "the target, its probabilities smoothed" if loss == "cross-entropy" else "the target, as it is"
        return replace(record, label=label, subject=subject, **said)

    def _decisions(self, answers: Array) -> Labels:
        """Classes from logits, or from probabilities, of which one alone is that of class 1."""
        return decisions(answers - 0.5 if self.outputs == "probabilities" and answers.ndim == 1 else answers)

    def _answers(self, pool: npt.NDArray[Any], classes: int) -> tuple[Array, Predictor | None]:
        """What the target says, and the target itself where it can be handed over."""
        handed: Predictor | None
        labels = False
        if isinstance(self.target, Predictor):
            outputs, handed = self.target.outputs(pool), self.target
        else:
            found = answer(self.target, pool, Declaration(outputs=self.outputs), "pool")
            outputs = checked_outputs("the target's outputs", found.values, len(pool))
            handed = predictor_of(self.target) if is_jax(self.target) else None
            labels = found.form == "labels"
        columns = 1 if outputs.ndim == 1 else outputs.shape[1]
        if labels or (columns != classes and (columns, classes) != (1, 2)):
            raise InputError(
                "target",
                f"{columns} output{'s' if columns > 1 else ''} per example",
                f"{classes} logits per example" + (" or one" if classes == 2 else ""),
                "Labels are no logits: give decision_function or predict_proba, not predict",
            )
        if self.outputs == "probabilities" and columns == 1:
            handed = None  # a predictor in a file decides by the sign of one logit
        return outputs, handed
