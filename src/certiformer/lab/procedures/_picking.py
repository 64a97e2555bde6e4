"""The pick loop.

While an example outside T is wrong, append the most preferred wrong one (smallest margin; ties by the SHA-256 of its
bytes) and learn from T. Training is a deterministic function of the list T by construction; a stop before nobody
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

from certiformer.certification.frameworks import checked_outputs
from certiformer.lab.procedures._learners import Learner
from certiformer.lab.procedures._model import Labels, margins
from certiformer.theory.core.errors import InputError


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
        answers = checked_outputs("the learner's outputs", learner.outputs(state, inputs), len(labels))
        found = margins(answers, labels)
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
    if not found.rows:
        return  # nothing was learnt: the initial model was right on every example
    order = np.asarray(found.rows, np.int64)[::-1]
    again = compress(learner, inputs[order], labels[order], batch=batch, most=len(order))
    same_list = len(again.rows) == len(order) and all(
        np.array_equal(inputs[order[mine]], inputs[theirs]) and labels[order[mine]] == labels[theirs]
        for mine, theirs in zip(again.rows, found.rows, strict=False)
    )
    mine, once_more = found.stages[-1].state, again.stages[-1].state
    same_model = learner.fingerprint(once_more) == learner.fingerprint(mine)
    if same_list and same_model and not learner.fingerprint(mine):
        # A function shows no weights: what it says of every example has to be the same.
        same_model = np.array_equal(learner.outputs(once_more, inputs), learner.outputs(mine, inputs))
    if not (same_list and same_model):
        raise InputError(
            "the pick loop",
            "another list of picks" if not same_list else "other weights",
            "the same picks and weights, bit by bit, from the picked examples alone",
            "The learner depends on row numbers, on the order of the file, on unseeded chance or on other examples",
        )


def geometric_stages(most: int) -> tuple[int, ...]:
    """8, 12, 18, ...: a grid that any loop may declare before it runs."""
    return tuple(dict.fromkeys(math.ceil(8 * 1.5**j) for j in range(64) if 8 * 1.5**j <= most))
