"""One comparison: the same steps on the same weights and data, by PyTorch and by certiformer."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.lab.training.kernels._compile import kernel
from certiformer.lab.training.kernels._vectors import BYTES, load, store, zeros

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
    """Operations per second of this processor at most: products and sums that never leave its registers."""
    start = np.full(32, 0.5, precision)
    best = 0.0
    for work, operations in ((_fused, 2 * CHAINS), (_beside, 3 * CHAINS)):
        work(start.copy(), 10)
        for _ in range(6):
            began = time.process_time()
            work(start.copy(), TURNS)
            best = max(best, operations * (BYTES // start.itemsize) * TURNS / (time.process_time() - began))
    return best


CHAINS, TURNS = 10, 2_000_000
"""Registers that are added to side by side: enough for every unit to be busy while others wait for their results."""


@kernel
def _fused(numbers: Losses, turns: int) -> None:
    """s <- s x + y in ten registers: products and sums in one instruction."""
    x, y = load(numbers, 0), load(numbers, 16)
    a, b, c, d, e = zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers)
    f, g, h, i, j = zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers)
    for _ in range(turns):
        a, b, c, d, e = a * x + y, b * x + y, c * x + y, d * x + y, e * x + y
        f, g, h, i, j = f * x + y, g * x + y, h * x + y, i * x + y, j * x + y
    store(numbers, 0, ((a + b) + (c + d)) + ((e + f) + (g + h)) + (i + j))


@kernel
def _beside(numbers: Losses, turns: int) -> None:
    """The same, and ten registers of sums alone: some processors have units of their own for these."""
    x, y = load(numbers, 0), load(numbers, 16)
    a, b, c, d, e = zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers)
    f, g, h, i, j = zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers)
    k, w, m, n, o = zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers)
    p, q, r, s, t = zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers), zeros(numbers)
    for _ in range(turns):
        a, b, c, d, e = a * x + y, b * x + y, c * x + y, d * x + y, e * x + y
        k, w, m, n, o = k + y, w + y, m + y, n + y, o + y
        f, g, h, i, j = f * x + y, g * x + y, h * x + y, i * x + y, j * x + y
        p, q, r, s, t = p + y, q + y, r + y, s + y, t + y
    store(numbers, 0, ((a + b) + (c + d)) + ((e + f) + (g + h)) + (i + j))
    store(numbers, 16, ((k + w) + (m + n)) + ((o + p) + (q + r)) + (s + t))
