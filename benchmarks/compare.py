"""One comparison: the same steps on the same weights and data, by PyTorch and by certiformer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Losses = npt.NDArray[np.floating[Any]]
Side = Callable[[int], Losses]
"""`side(steps)`: that many steps from the start, and their losses."""

COLUMNS = ("plain", "algebra", "authors", "ours")
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}


@dataclass(frozen=True)
class Case:
    """A step of one of the papers' experiments, on its own data, in its own precision.

    make        the sides by column: "plain" PyTorch, our "algebra" in PyTorch, "ours", the "authors" if asked for;
    target      the ratio to plain PyTorch to reach; none may lie above the ratio that our algebra has at the peak;
    operations  floating-point operations of a step as our kernel executes it; an exponential counts as 20;
    steps       of ours that are timed together; PyTorch needs fewer (`few`); `agreement` are compared.
    """

    name: str
    what: str
    target: float
    precision: str
    operations: float
    make: Callable[[str | None], dict[str, Side]]
    steps: int = 5
    few: int = 1
    agreement: int = 3


@dataclass(frozen=True)
class Outcome:
    """Seconds of a step by column (wall, processor), ratios to plain PyTorch round by round, losses apart."""

    name: str
    what: str
    precision: str
    target: float
    wall: dict[str, float]
    cpu: dict[str, float]
    ratios: list[float]
    loss_difference: float
    share_of_peak: float
    ratio: float = field(init=False)
    verdict: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", statistics.median(self.ratios))
        object.__setattr__(self, "verdict", self._verdict())

    @property
    def to_best(self) -> float:
        """The ratio to the fastest of the other columns."""
        return min(value for name, value in self.cpu.items() if name != "ours") / self.cpu["ours"]

    def _verdict(self) -> str:
        if self.loss_difference > TOLERANCE[self.precision]:
            return "LOSSES DIFFER"
        if self.ratio >= self.target:
            return "reached"
        return "within the spread" if max(self.ratios) >= self.target else "MISSED"


def compare(case: Case, peak: float, rounds: int = 5, authors: str | None = None) -> Outcome:
    """Time all columns in turn, `rounds` times; a column's time is its fastest round, the ratio has one per round."""
    sides = case.make(authors)
    expected, got = sides["plain"](case.agreement), sides["ours"](case.agreement)
    steps = {name: case.steps if name == "ours" else case.few for name in sides}
    for name, side in sides.items():
        side(steps[name])  # as many as are timed: a kernel may be compiled for the number of steps
    wall: dict[str, list[float]] = {name: [] for name in sides}
    cpu: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            seconds = _timed(side, steps[name])
            wall[name].append(seconds[0])
            cpu[name].append(seconds[1])
    best = min(cpu["ours"])
    return Outcome(
        case.name,
        case.what,
        case.precision,
        case.target,
        {name: min(values) for name, values in wall.items()},
        {name: min(values) for name, values in cpu.items()},
        [a / b for a, b in zip(cpu["plain"], cpu["ours"], strict=True)],
        float(np.max(np.abs(got - expected) / np.abs(expected))),
        case.operations / best / peak,
    )


def _timed(side: Side, steps: int) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    side(steps)
    return (time.perf_counter() - wall) / steps, (time.process_time() - cpu) / steps


def peak(precision: str) -> float:
    """Operations per second of the fastest product of two matrices of side 2048 here, by NumPy or by PyTorch."""
    import torch

    side = 2048
    a = np.random.default_rng(0).normal(size=(side, side)).astype(precision)
    b = torch.tensor(a)
    best = 0.0
    for product in (lambda: a @ a, lambda: b @ b):
        product()
        for _ in range(3):
            began = time.process_time()
            product()
            best = max(best, 2.0 * side**3 / (time.process_time() - began))
    return best
