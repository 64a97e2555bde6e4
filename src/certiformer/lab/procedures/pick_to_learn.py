"""P by pick-to-learn: train on a few examples that the model itself asks for, certify on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates.compression import FORMS, Compression
from certiformer.certification import learners
from certiformer.lab.procedures._augment import Augment
from certiformer.lab.procedures._learners import Descent, Learner, Refit
from certiformer.lab.procedures._model import WEIGHTS, Labels, parametrised
from certiformer.lab.procedures._picked import Loop, picked_predictor
from certiformer.lab.procedures._picking import Compressed, compress, replay
from certiformer.theory.core.errors import InputError

NO_FILE = (
    "No predictor file is written: this learner is not among those whose fitted numbers are stored (docs/security.md)."
)


@dataclass(frozen=True, eq=False)
class PickToLearn:
    """`fit`: a Learner, an estimator, `fit(x, y) -> f`; without it, the model given to `certify`, by descent.

    `stages`: numbers of picks at which the loop may be cut afterwards, declared here and paid for, the end included.
    `most`: picks after which it stops. `pretrained_on`: inputs that the initial model, or a frozen part, has seen (none
    may be among the examples), or "nothing".
    `form`: "window" is smaller where 0.1 to 1 % are picked, larger elsewhere; declared here, not chosen afterwards.
    """

    fit: Any = None
    steps: int = 400
    rate: float = 0.005
    batch: int = 1
    most: int | None = None
    stages: tuple[int, ...] = ()
    augment: Augment | None = None
    seed: int = 0
    pretrained_on: Any = None
    form: str = "value"
    label: str = ""

    def __post_init__(self) -> None:
        if self.batch < 1 or (self.most is not None and self.most < 1):
            raise InputError("batch, most", (self.batch, self.most), "whole numbers of at least 1")
        if any(stage < 0 for stage in self.stages) or len(set(self.stages)) < len(self.stages):
            raise InputError("stages", self.stages, "different numbers of picks")
        if self.form not in FORMS:
            raise InputError("form", self.form, " or ".join(FORMS))

    def start(self, model: Any) -> str:
        given = model if self.fit is None else self.fit
        if isinstance(given, Learner):
            return "the initial model of the learner"
        if learners.is_learner(given):
            return learners.carries(given) or learners.own_code(given)
        return WEIGHTS if self.fit is None else "the function that fits the picks"

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        """Run the loop on all examples, replay it, and count."""
        found, _, predictor = self.run(model, inputs, labels, classes)
        return (self.record(found.best.picks, found.best.left, len(labels), predictor, Compression.replayed),)

    def record(self, picks: int, left: int, n: int, predictor: Predictor | None, note: str) -> Compression:
        if predictor is None:
            note += f" {NO_FILE}"
        return Compression(
            k=picks,
            left=left,
            n=n,
            stages=len(self.stages) + 1,
            form=self.form,
            label=self.label,
            predictor=predictor,
            note=note,
        )

    def run(
        self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int
    ) -> tuple[Compressed, Learner, Predictor | None]:
        """The loop, replayed on its picks alone, its learner, and the predictor of its best stage."""
        learner = self.learner(model, classes)
        found = compress(learner, inputs, labels, batch=self.batch, most=self.most, grid=self.stages)
        replay(learner, inputs, labels, found, self.batch)
        loop = Loop(found.rows[: found.best.picks], self.batch, self.most, self.stages)
        if isinstance(learner, Refit) and learners.carries(learner.fit):
            return found, learner, None  # what was trained elsewhere cannot be written as settings and picks
        return found, learner, picked_predictor(learner, found, inputs, labels, loop)

    def learner(self, model: Any, classes: int) -> Learner:
        """The learner of the loop; descent starts at the model's own parameters."""
        if isinstance(self.fit, Learner):
            return self.fit
        if self.fit is not None:
            return Refit(self.fit, classes, frozen=self.pretrained_on is not None)
        if learners.is_learner(model):
            return Refit(model, classes, frozen=self.pretrained_on is not None)
        if model is None:
            raise InputError("model", None, "a model to train, or fit=...", "PickToLearn trains something")
        start = parametrised(model)
        return Descent(start, self.steps, self.rate, self.seed, self.augment)
