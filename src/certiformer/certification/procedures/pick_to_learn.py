r"""P by pick-to-learn: train on a few examples that the model itself asks for, certify on all of them.

The loop: while an example outside T is wrong, append the most preferred wrong one (smallest margin; ties by the SHA-256
of its bytes) and learn from T. Training is a deterministic function of the list T by construction; a stop before nobody
is wrong is either a declared number of picks, or a stage of a declared grid, which is paid for. The loop is then run
once more on the picks alone, in another order: it has to pick the same list and end with the same weights, bit by bit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certificates.compression import Compression
from certiformer.certification.handover.model import predictor_of
from certiformer.certification.procedures._learners import Augment, Descent, Learner, Refit
from certiformer.certification.procedures._model import Labels, margins, parametrised
from certiformer.certification.split import refuse_overlap
from certiformer.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Stage:
    """After `picks` picks: the state, and how many examples outside the list were wrong then."""

    picks: int
    left: int
    state: Any


@dataclass(frozen=True, eq=False)
class Compressed:
    """What the loop returned: row numbers in the order of picking, and the stages that were kept."""

    rows: tuple[int, ...]
    stages: tuple[Stage, ...]

    @property
    def best(self) -> Stage:
        """The stage with the fewest picks and leftovers together; all stages of the grid pay alike."""
        return min(self.stages, key=lambda stage: stage.picks + stage.left)


def compress(
    learner: Learner,
    inputs: npt.NDArray[Any],
    labels: Labels,
    *,
    batch: int = 1,
    most: int | None = None,
    grid: Sequence[int] = (),
) -> Compressed:
    """The pick loop. `most` picks end it; stages of `grid` and the end are kept."""
    picked = np.zeros(len(labels), bool)
    rows: list[int] = []
    stages: list[Stage] = []
    state = learner.begin()
    limit = len(labels) if most is None else min(most, len(labels))
    while True:
        found = margins(learner.outputs(state, inputs), labels)
        wrong = np.flatnonzero((found <= 0) & ~picked)
        done = len(wrong) == 0 or len(rows) >= limit
        if done or len(rows) in grid:
            stages.append(Stage(len(rows), len(wrong), state))
        if done:
            return Compressed(tuple(rows), tuple(stages))
        for row in _preferred(wrong, found[wrong], inputs, labels)[: min(batch, limit - len(rows))]:
            rows.append(row)
            picked[row] = True
        state = learner.learn(state, inputs[rows], labels[rows])


def _preferred(
    rows: npt.NDArray[np.int64], score: npt.NDArray[np.float64], inputs: npt.NDArray[Any], labels: Labels
) -> list[int]:
    """Smallest margin first; equal ones by the hash of their bytes, exact copies by row."""
    values, counts = np.unique(score, return_counts=True)
    tied = set(values[counts > 1].tolist())

    def key(position: int) -> tuple[float, bytes, int]:
        row = int(rows[position])
        value = float(score[position])
        return value, _bytes_key(inputs[row], int(labels[row])) if value in tied else b"", row

    return [int(rows[position]) for position in sorted(range(len(rows)), key=key)]


def _bytes_key(example: npt.NDArray[Any], label: int) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(example).tobytes() + label.to_bytes(8, "little")).digest()


def replay(learner: Learner, inputs: npt.NDArray[Any], labels: Labels, found: Compressed, batch: int) -> None:
    """Run the loop on the picks alone, in another order; raise if it does not return the same list and weights."""
    order = np.asarray(found.rows, np.int64)[::-1]
    again = compress(learner, inputs[order], labels[order], batch=batch, most=len(order))
    same_list = len(again.rows) == len(order) and all(
        np.array_equal(inputs[order[mine]], inputs[theirs]) and labels[order[mine]] == labels[theirs]
        for mine, theirs in zip(again.rows, found.rows, strict=False)
    )
    same_model = learner.fingerprint(again.stages[-1].state) == learner.fingerprint(found.stages[-1].state)
    if not (same_list and same_model):
        raise InputError(
            "the pick loop",
            "another list of picks" if not same_list else "other weights",
            "the same picks and weights, bit by bit, from the picked examples alone",
            "The learner depends on row numbers, on the order of the file, on unseeded chance or on other examples",
        )


@dataclass(frozen=True, eq=False)
class PickToLearn:
    """`fit`: a Learner, an estimator, `fit(x, y) -> f`; without it, descent on the model given to `certify`.

    `stages`: numbers of picks at which the loop may be cut afterwards, declared here and paid for, the end included.
    `most`: picks after which it stops. `pretrained_on`: inputs that h_0 has seen, which may not be among the examples.
    """

    fit: Any = None
    steps: int = 400
    rate: float = 0.005
    batch: int = 1
    most: int | None = None
    stages: tuple[int, ...] = ()
    augment: Augment | None = None
    seed: int = 0
    pretrained_on: npt.NDArray[Any] | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.batch < 1 or (self.most is not None and self.most < 1):
            raise InputError("batch, most", (self.batch, self.most), "whole numbers of at least 1")
        if any(stage < 0 for stage in self.stages) or len(set(self.stages)) < len(self.stages):
            raise InputError("stages", self.stages, "different numbers of picks")

    def certify(self, model: Any, inputs: npt.NDArray[Any], labels: Labels, classes: int) -> tuple[Evidence, ...]:
        """Run the loop on all examples, replay it, and count."""
        if self.pretrained_on is not None:
            refuse_overlap(inputs, np.asarray(self.pretrained_on), what="examples that h_0 was trained on")
        learner = self.learner(model, classes)
        found = compress(learner, inputs, labels, batch=self.batch, most=self.most, grid=self.stages)
        replay(learner, inputs, labels, found, self.batch)
        best = found.best
        trained = learner.model(best.state)
        return (
            Compression(
                k=best.picks,
                left=best.left,
                n=len(labels),
                stages=len(self.stages) + 1,
                label=self.label,
                subject=f"the model trained on {best.picks} of {len(labels)} examples that it picked itself",
                predictor=predictor_of(trained),
                note=f"Picked {len(found.rows)} examples in all; replayed on the picks alone with the same result.",
            ),
        )

    def learner(self, model: Any, classes: int) -> Learner:
        """The learner of the loop; descent starts at the model's own parameters."""
        if isinstance(self.fit, Learner):
            return self.fit
        if self.fit is not None:
            return Refit(self.fit, classes)
        if model is None:
            raise InputError("model", None, "a model to train, or fit=...", "PickToLearn trains something")
        start = parametrised(model)
        return Descent(start, self.steps, self.rate, self.seed, self.augment)


def geometric_stages(most: int, ratio: float = 1.5, first: int = 8) -> tuple[int, ...]:
    """8, 12, 18, ...: a grid that any loop may declare before it runs."""
    return tuple(dict.fromkeys(math.ceil(first * ratio**j) for j in range(64) if first * ratio**j <= most))
