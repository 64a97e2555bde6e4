"""Q: an untouched model through a surrogate that is trained and certified here, and a pool of unlabelled examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates.surrogate import Surrogate as Record
from certiformer.certification.handover.model import predictor_of
from certiformer.certification.outputs import checked_outputs, outputs_of
from certiformer.certification.predictions import decisions
from certiformer.certification.procedures._model import Labels
from certiformer.certification.procedures.pick_to_learn import PickToLearn
from certiformer.certification.sources.repeats import refuse_repeats
from certiformer.certification.split import refuse_overlap
from certiformer.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Surrogate:
    """`target`: a model that stays as it is: a `Predictor`, a function of a batch, or of one example (`batched=False`).

    `pool`: unlabelled examples. The surrogate is trained by `by` on the labelled examples; the target may have seen
    those, but not the pool. `allow_twins`: equal inputs are independent draws from a small input space.
    """

    target: Predictor | Callable[..., Any]
    pool: npt.ArrayLike
    by: PickToLearn = field(default_factory=PickToLearn)
    batched: bool = True
    allow_twins: bool = False
    label: str = ""

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        pool = np.asarray(self.pool)
        if len(pool) == 0:
            raise InputError("pool", "no examples", "unlabelled examples that neither model has seen")
        refuse_overlap(pool, inputs, allow_twins=self.allow_twins, what="unlabelled examples")
        refuse_repeats("pool", pool, allowed=self.allow_twins)
        if self.by.stages:
            raise InputError("by", self.by.stages, "a loop without a grid of stages", "The joint form takes one stage")
        found, learner, through = self.by.run(model, inputs, labels, classes)
        end = found.stages[-1]
        mine = decisions(checked_outputs("the surrogate", learner.outputs(end.state, pool), len(pool)))
        theirs, handed = self._answers(pool, classes)
        return (
            Record(
                k=end.picks + end.left,
                n=len(labels),
                disagreements=int(np.sum(mine != theirs)),
                m=len(pool),
                label=self.label,
                subject="the target, as it is",
                note=f"Through a surrogate that learnt from {end.picks} of {len(labels)} examples.",
                predictor=handed,
                through=through,
            ),
        )

    def _answers(self, pool: npt.NDArray[Any], classes: int) -> tuple[Labels, Predictor | None]:
        """What the target decides, and the target itself where it can be handed over."""
        handed: Predictor | None
        if isinstance(self.target, Predictor):
            outputs, handed = self.target.outputs(pool), self.target
        else:
            outputs = outputs_of(self.target, pool, batched=self.batched)
            handed = None if self.batched else predictor_of(self.target)
        columns = 1 if outputs.ndim == 1 else outputs.shape[1]
        if columns != classes and (columns, classes) != (1, 2):
            raise InputError(
                "target",
                f"{columns} output{'s' if columns > 1 else ''} per example",
                f"{classes} logits per example" + (" or one" if classes == 2 else ""),
                "Labels are no logits: give decision_function or predict_proba, not predict",
            )
        return decisions(outputs), handed
