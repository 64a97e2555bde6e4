"""What the seeds of one task and one n say together: means, the ranking, and whether every certificate holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certiformer.experiments._certificates_encoder import Settings
from certiformer.experiments._certificates_majority import FRESH_PAIRS
from certiformer.experiments._certificates_mnist import POOL, WATCHED
from certiformer.experiments.statistics import LEVEL, Interval, mean_interval
from certiformer.sweep import Row

TITLES = {"mnist": "MNIST 0/1", "sparse majority": "sparse majority, T = 20"}
LETTERS = {
    "holdout": "H",
    "pacbayes.single": "K1",
    "occam": "O",
    "margin": "M",
    "pacbayes.gibbs": "K",
    "progressive": "V",
    "betting": "B",
}
RIVALS = ("holdout", "pacbayes.single", "occam", "margin")
"""These bound the error rate of one network; the next ones bound something else."""
OTHERS = {
    "pacbayes.gibbs": "the mean error rate of networks drawn afresh",
    "progressive": "the mean error rate of the iterates of a pass",
    "betting": "the smoothed cross-entropy",
}
TRIVIAL = {id: math.log(2.0) if id == "betting" else 0.5 for id in LETTERS}
LARGEST = {id: math.log(2.0 / Settings().smoothing) if id == "betting" else 1.0 for id in LETTERS}
"""The largest value of the loss."""


@dataclass(frozen=True)
class Cell:
    """All seeds of a task at one n."""

    task: str
    n: int
    values: tuple[dict[str, Any], ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The certificates that apply, in the order of LETTERS."""
        return tuple(id for id in LETTERS if all(id in found["certificates"] for found in self.values))

    @property
    def rivals(self) -> tuple[str, ...]:
        return tuple(id for id in RIVALS if id in self.ids)

    def of(self, id: str, what: str = "alone") -> list[float]:
        return [float(found["certificates"][id][what]) for found in self.values]

    def mean(self, id: str, what: str = "alone") -> Interval:
        return mean_interval(self.of(id, what))

    @property
    def best(self) -> list[float]:
        """The least of the rivals in each run, every one at its share of delta."""
        return [float(found["best"]["value"]) for found in self.values]

    @property
    def chosen(self) -> Counter[str]:
        return Counter(found["best"]["id"] for found in self.values)

    @property
    def ranking(self) -> list[str]:
        """The rivals, the least mean first."""
        return sorted(self.rivals, key=lambda id: self.mean(id).value)

    @property
    def contenders(self) -> tuple[str, ...]:
        """Those that the winner does not clearly beat: compared seed by seed, at 95 % for all comparisons together."""
        first, *others = self.ranking
        lowest = np.array(self.of(first))
        level = 1.0 - (1.0 - LEVEL) / max(len(others), 1)
        return tuple(id for id in others if mean_interval(np.array(self.of(id)) - lowest, level).low <= 0)

    @property
    def able(self) -> list[str]:
        """Who has the smallest certificate, or who may have it; nobody, if it is no better than guessing."""
        first = self.ranking[0]
        if self.mean(first).value >= TRIVIAL[first]:
            return ["none better than guessing"]
        return [LETTERS[id] for id in (first, *self.contenders)]

    def violations(self, allowed: float = 0.0) -> int:
        """Certificates, each at its own delta, below what they bound by more than `allowed` errors of its estimate."""
        return sum(
            alone < true - allowed * _error(self.task, self.n, id, true)
            for id in self.ids
            for alone, true in zip(self.of(id), self.of(id, "true"), strict=True)
        )

    @property
    def better(self) -> str | None:
        """The rival whose network errs less than the winner's, seed by seed, if there is one."""
        first = self.ranking[0]
        least = min(self.rivals, key=lambda id: self.mean(id, "true").value)
        gain = mean_interval(np.array(self.of(first, "true")) - np.array(self.of(least, "true")))
        return least if least != first and gain.low > 0 else None

    @property
    def where(self) -> str:
        return f"{TITLES[self.task]}, n = {self.n:,}"


def _error(task: str, n: int, id: str, true: float) -> float:
    """At most the standard error of what a certificate bounds: sqrt(mean (range - mean) / draws); zero if exact."""
    if task == "mnist":
        draws = WATCHED if id == "progressive" else POOL - n
    elif id == "pacbayes.gibbs":
        draws = FRESH_PAIRS
    else:
        return 0.0
    return math.sqrt(max(true * (LARGEST[id] - true), 0.0) / draws)


def cells(rows: Sequence[Row]) -> list[Cell]:
    found: dict[tuple[str, int], list[tuple[int, dict[str, Any]]]] = {}
    for row in rows:
        found.setdefault((row.config["task"], row.config["n"]), []).append((row.config["seed"], dict(row.values or {})))
    ordered = sorted(found.items(), key=lambda item: (list(TITLES).index(item[0][0]), item[0][1]))
    return [
        Cell(task, n, tuple(values for _, values in sorted(seeds, key=lambda seed: seed[0])))
        for (task, n), seeds in ordered
    ]
