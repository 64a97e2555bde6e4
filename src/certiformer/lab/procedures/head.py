"""Pick-to-learn for a linear head on frozen features: cold ridge regressions on the picks, replayed by `verify`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certificates._predictor import Array, Labels, Tensors
from certiformer.certificates.compression import Compression
from certiformer.certification.linear_head import fit
from certiformer.certification.predictors.gaussian import mistakes
from certiformer.certification.predictors.linear_head import TrainedHead, prepared
from certiformer.lab.procedures._learners import Learner
from certiformer.lab.procedures._picking import compress, geometric_stages, replay
from certiformer.theory.core.errors import InputError

PENALTY = 1e-2
BATCH = 4
MOST = 1000


@dataclass(frozen=True, eq=False)
class HeadLearner(Learner):
    """The ridge-penalised head of the picks, from a cold start: a function of the list and nothing else."""

    classes: int

    def begin(self) -> Any:
        return None

    def learn(self, state: Any, inputs: npt.NDArray[Any], labels: Labels) -> Any:
        return fit(prepared(inputs), labels, self.classes, PENALTY)

    def outputs(self, state: Any, inputs: npt.NDArray[Any]) -> Array:
        columns = 1 if self.classes == 2 else self.classes
        if state is None:
            return np.zeros(len(inputs)) if columns == 1 else np.zeros((len(inputs), columns))
        # Not a matrix product: its rounding could depend on the other rows.
        scores = np.einsum("ij,jk->ik", prepared(inputs), state)
        return np.asarray(scores[:, 0] if columns == 1 else scores)

    def fingerprint(self, state: Any) -> str:
        return hashlib.sha256(b"" if state is None else np.ascontiguousarray(state).tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class PickedHead(TrainedHead):
    """The head after some picks: `rows` are all picks in their order, `used` how many of them it learnt from."""

    kind: ClassVar[str] = "linear head trained on picks"
    used: int
    classes: int

    def settings(self) -> Mapping[str, Any]:
        return {"used": self.used, "classes": self.classes}

    @classmethod
    def restore(cls, tensors: Tensors, settings: Mapping[str, Any]) -> Self:
        return cls(tensors["trained"], tensors["rows"].astype(np.int64), settings["used"], settings["classes"])

    def recount(self, record: Evidence, inputs: npt.ArrayLike, labels: Labels) -> Evidence:
        """The loop once more on all picks, then the mistakes outside those that were learnt from."""
        if not isinstance(record, Compression):
            raise InputError("predictor", self.kind, "a compression row")
        values = np.asarray(inputs, np.float64)
        again = compress(
            HeadLearner(self.classes), values[self.rows], labels[self.rows], batch=BATCH, grid=(self.used,)
        )
        stage = next((one for one in again.stages if one.picks == self.used), None)
        if stage is None or again.rows != tuple(range(len(self.rows))):
            raise InputError("predictor", "other picks", "the picks that its own loop makes")
        if not np.allclose(stage.state, self.trained, rtol=1e-6, atol=1e-9):
            raise InputError("predictor", "other weights", "those that the picks lead to")
        outside = np.setdiff1d(np.arange(len(labels)), self.rows[: self.used])
        wrong = int(np.sum(mistakes(prepared(values)[outside] @ self.trained, labels[outside])))
        return replace(record, k=self.used, left=wrong, n=len(labels))


def picked_head(features: Array, labels: Labels, classes: int) -> Compression:
    """The record of a head that picked its own examples, cut at the best stage of a declared (paid) grid."""
    learner = HeadLearner(classes)
    stages = tuple(-(-stage // BATCH) * BATCH for stage in geometric_stages(MOST))
    grid = tuple(dict.fromkeys(stages))
    found = compress(learner, features, labels, batch=BATCH, most=MOST, grid=grid)
    replay(learner, features, labels, found, BATCH)
    best = found.best
    weights = best.state
    if weights is None:
        weights = np.zeros((features.shape[1] + 1, 1 if classes == 2 else classes))
    return Compression(
        k=best.picks,
        left=best.left,
        n=len(labels),
        stages=len(grid) + 1,
        subject=f"the linear head trained on {best.picks} of {len(labels)} texts that it picked itself",
        predictor=PickedHead(weights, np.asarray(found.rows, np.int64), best.picks, classes),
        note=f"Picked {len(found.rows)} examples in all; replayed on the picks alone with the same result.",
    )
