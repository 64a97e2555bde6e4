"""Predictors that know their picks: what a pick loop hands over, and how it is counted and run again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Array, Labels, Tensors
from certiformer.certificates.compression import Compression
from certiformer.certification.predictors import kind_of, part_of
from certiformer.certification.predictors.estimator import FittedEstimator, constant, stored
from certiformer.certification.predictors.model import HouseModel, Network, predictor_of
from certiformer.lab.procedures._augment import augmentation, described_augmentation
from certiformer.lab.procedures._estimators import built, described_estimator
from certiformer.lab.procedures._learners import Descent, Learner, Refit
from certiformer.lab.procedures._model import parametrised
from certiformer.lab.procedures._picking import Compressed, compress
from certiformer.theory.core.errors import InputError

COUNTED = 4096
"""Examples that are copied at a time when mistakes are counted."""


@dataclass(frozen=True)
class Loop:
    """The picks that were learnt from, by row in their order, and what was declared beforehand.

    What was picked after the stage that is certified does not matter: a stage is decided by the picks before it.
    """

    rows: tuple[int, ...]
    batch: int = 1
    most: int | None = None
    stages: tuple[int, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the loop ended here because nobody else was wrong, and not at a declared stage or limit."""
        return len(self.rows) not in self.stages and (self.most is None or len(self.rows) < self.most)

    def refuse_impossible(self, n: int) -> None:
        """A list that no loop over n examples with these declarations returns."""
        if len(set(self.rows)) < len(self.rows) or any(not 0 <= row < n for row in self.rows):
            raise InputError("picks", self.rows[:5], f"different rows of the {n} examples")
        if self.most is not None and len(self.rows) > self.most:
            raise InputError("picks", len(self.rows), f"at most {self.most}, as declared")

    def counted(self, predictor: Predictor, inputs: npt.NDArray[Any], labels: Labels) -> tuple[int, int]:
        """Picks, and mistakes among the examples that were not learnt from."""
        self.refuse_impossible(len(labels))
        outside = np.setdiff1d(np.arange(len(labels)), self.rows)
        blocks = [outside[start : start + COUNTED] for start in range(0, len(outside), COUNTED)]
        left = sum(predictor.errors(inputs[rows], labels[rows]) for rows in blocks)
        if left and self.ended:
            raise InputError("picks", f"{left} other examples are wrong", "none: the loop would have gone on")
        return len(self.rows), left

    def again(self, learner: Learner, inputs: npt.NDArray[Any], labels: Labels) -> Any:
        """The state at the end of the loop run on the picks alone, which has to pick them in their order."""
        rows = np.asarray(self.rows, np.int64)
        found = compress(learner, inputs[rows], labels[rows], batch=self.batch)
        if found.rows != tuple(range(len(rows))):
            raise InputError("predictor", "other picks", "the picks that its own loop makes")
        return found.stages[-1].state


class Picked(Predictor):
    """A predictor with its loop."""

    loop: Loop

    def counted(self, inputs: npt.ArrayLike, labels: Labels) -> tuple[int, int]:
        """Picks and leftovers, from the data."""
        return self.loop.counted(self, np.asarray(inputs), labels)

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        if not isinstance(record, Compression):
            raise InputError("predictor", self.kind, "a compression row")
        k, left = self.counted(inputs, labels)
        return replace(record, k=k, left=left, n=len(labels), stages=len(self.loop.stages) + 1)

    def replay(self, inputs: npt.NDArray[Any], labels: Labels) -> str:
        """Run the loop on its picks alone and raise if it ends elsewhere; "" if that was done, else why it was not."""
        return "the learner is not known from the file: train again to see that these picks lead to this predictor"


@dataclass(frozen=True, eq=False)
class PickedModel(Picked):
    """A network trained by descent on its picks; `start` and `descent` are there where the loop can be run again."""

    kind: ClassVar[str] = "model trained on picks"
    network: Network
    loop: Loop
    start: Tensors
    descent: Mapping[str, Any]
    tolerance: ClassVar[float] = Network.tolerance

    def tensors(self) -> Tensors:
        parts = {"network": self.network.tensors(), "start": self.start}
        found = {f"{part}/{name}": array for part, arrays in parts.items() for name, array in arrays.items()}
        return {**found, "picks": np.asarray(self.loop.rows, np.int64)}

    def settings(self) -> Mapping[str, Any]:
        loop = {name: value for name, value in asdict(self.loop).items() if name != "rows"}
        return {
            "network": {"kind": self.network.kind, **self.network.settings()},
            "loop": {**loop, "stages": list(self.loop.stages)},
            "descent": dict(self.descent),
        }

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        network = kind_of(settings["network"]["kind"])
        if not issubclass(network, Network):
            raise InputError("network", network.kind, "a network")
        given = {name: value for name, value in settings["network"].items() if name != "apply"}
        given |= {"apply": settings["apply"]} if "apply" in settings else {}
        return cls(
            network.restore(part_of("network", tensors), given),
            _loop(tensors, settings),
            part_of("start", tensors),
            settings["descent"],
        )

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        return self.network.outputs(inputs)

    def replay(self, inputs: npt.NDArray[Any], labels: Labels) -> str:
        if not isinstance(self.network, HouseModel) or "steps" not in self.descent:
            return super().replay(inputs, labels)
        given = {**self.descent, "augment": augmentation(self.descent["augment"])}
        learner = Descent(parametrised(self.network.at(self.start).model), **given)
        state = self.loop.again(learner, inputs, labels)
        again, mine = HouseModel(learner.model(state)).tensors(), self.network.tensors()
        if any(not np.array_equal(again[name], mine[name]) for name in mine):
            raise InputError(
                "predictor",
                "other weights",
                "those that its picks lead to, bit by bit",
                "On the machine and with the versions that trained it",
            )
        return ""


@dataclass(frozen=True, eq=False)
class PickedEstimator(Picked):
    """A fitted estimator as numbers, and the examples it learnt from; `described` is what `replay` trains again."""

    kind: ClassVar[str] = "fitted estimator with its picks"
    tolerance: ClassVar[float] = FittedEstimator.tolerance
    fitted: FittedEstimator
    inputs: npt.NDArray[Any]
    labels: Labels
    loop: Loop
    described: Mapping[str, Any] | None

    def tensors(self) -> Tensors:
        fitted = {f"fitted/{name}": array for name, array in self.fitted.tensors().items()}
        return {**fitted, "inputs": self.inputs, "labels": self.labels, "picks": np.asarray(self.loop.rows, np.int64)}

    def settings(self) -> Mapping[str, Any]:
        loop = {name: value for name, value in asdict(self.loop).items() if name != "rows"}
        return {
            "fitted": self.fitted.settings(),
            "described": self.described,
            "loop": {**loop, "stages": list(self.loop.stages)},
        }

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        fitted = FittedEstimator.restore(part_of("fitted", tensors), settings["fitted"])
        labels = tensors["labels"].astype(np.int64)
        return cls(fitted, tensors["inputs"], labels, _loop(tensors, settings), settings["described"])

    def outputs(self, inputs: npt.ArrayLike) -> Array:
        return self.fitted.outputs(inputs)

    def counted(self, inputs: npt.ArrayLike, labels: Labels) -> tuple[int, int]:
        values, rows = np.asarray(inputs), list(self.loop.rows)
        self.loop.refuse_impossible(len(labels))
        if not (np.array_equal(values[rows], self.inputs) and np.array_equal(labels[rows], self.labels)):
            raise InputError(
                "picks", "other examples than those in the predictor", "the rows of the data it learnt from"
            )
        return super().counted(values, labels)

    def replay(self, inputs: npt.NDArray[Any], labels: Labels) -> str:
        if self.described is None:
            return super().replay(inputs, labels)
        learner = Refit(built(self.described), self.fitted.classes)
        again = learner.outputs(self.loop.again(learner, inputs, labels), inputs)
        if not np.allclose(again, self.outputs(inputs), rtol=self.tolerance, atol=self.tolerance):
            raise InputError("predictor", "other outputs", "those that its picks lead to")
        return ""


def _loop(tensors: Tensors, settings: Mapping[str, Any]) -> Loop:
    said = {**settings["loop"], "stages": tuple(settings["loop"]["stages"])}
    return Loop(tuple(tensors["picks"].tolist()), **said)


def picked_predictor(
    learner: Learner, found: Compressed, inputs: npt.NDArray[Any], labels: Labels, loop: Loop
) -> Predictor | None:
    """What can be handed over of the best stage of a loop."""
    model = learner.model(found.best.state)
    if isinstance(learner, Descent):
        network, start = predictor_of(model), predictor_of(learner.model(learner.begin()))
        if network is None or start is None:
            return None
        return PickedModel(network, loop, start.tensors(), descent_settings(learner))
    if isinstance(learner, Refit) and hasattr(learner.fit, "fit"):
        return _picked_estimator(learner, found.best.state, inputs, labels, loop)
    return predictor_of(model)


def _picked_estimator(
    learner: Refit, state: Any, inputs: npt.NDArray[Any], labels: Labels, loop: Loop
) -> PickedEstimator | None:
    """The estimator as numbers, if it has such a form and says of every example what the estimator says."""
    plain = state is None or isinstance(state, int)
    fitted = constant(state, learner.classes) if plain else stored(state, learner.classes)
    if isinstance(fitted, str):
        return None
    rows = list(loop.rows)
    found = PickedEstimator(fitted, inputs[rows], labels[rows], loop, described_estimator(learner.fit))
    mine, theirs = found.outputs(inputs), learner.outputs(state, inputs)
    return found if np.allclose(mine, theirs, rtol=found.tolerance, atol=found.tolerance) else None


def descent_settings(learner: Learner) -> dict[str, Any]:
    """The settings of a descent that can be run again from a file; none where its augmentation has no name."""
    assert isinstance(learner, Descent)
    augment = described_augmentation(learner.augment)
    if augment is None and learner.augment is not None:
        return {}
    return {"steps": learner.steps, "rate": learner.rate, "seed": learner.seed, "augment": augment}
