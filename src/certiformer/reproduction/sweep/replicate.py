"""Published runs done again: do they agree with what was kept?

Agreement means equal bits where libraries and type of processor are the same, and a relative difference of at most 1e-6
in every number elsewhere; which of the two was asked for is part of the answer. Runs of an older version gave other
numbers by their author's own word: they are named, with their commit, and not compared.
"""

from __future__ import annotations

import dataclasses
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.reproduction.sweep.engine import Engine, sweep
from certiformer.reproduction.sweep.grids import is_number
from certiformer.reproduction.sweep.ledger import Ledger, Row, counting
from certiformer.reproduction.sweep.origin import same_arithmetic
from certiformer.reproduction.sweep.run import Experiment, Run, canonical
from certiformer.theory.core.errors import CertiformerError, InputError

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Comparison:
    """A kept run against the same one done again: the largest relative difference, and where bits had to be equal.

    `values` are the numbers that both found, by name: (kept, done again).
    """

    config: Mapping[str, Any]
    bits: bool
    difference: float
    values: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        return self.difference == 0.0 if self.bits else self.difference <= TOLERANCE

    def as_json(self) -> dict[str, Any]:
        """The run, its numbers as published and done again, and how far they are apart."""
        numbers = {name: {"kept": kept, "again": again} for name, (kept, again) in self.values.items()}
        asked = "every bit" if self.bits else f"{TOLERANCE:g}"
        return {
            "config": dict(self.config), "agrees": self.agrees, "asked": asked, "difference": self.difference,
            "values": numbers,
        }  # fmt: skip


@dataclass(frozen=True)
class Repeated:
    """What came of doing runs again; `older` counts those of other versions by (version, commit)."""

    comparisons: tuple[Comparison, ...]
    seed: int
    older: Mapping[tuple[int, str | None], int] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Every run that was repeated gave the same numbers."""
        return all(one.agrees for one in self.comparisons)

    def __str__(self) -> str:
        return "; ".join(filter(None, (self._verdict(), older_runs(self.older))))

    def _verdict(self) -> str:
        count = len(self.comparisons)
        if not count:
            return "no run of the present version to do again"
        wrong = [one for one in self.comparisons if not one.agrees]
        bits = sum(one.bits for one in self.comparisons)
        how = "in every bit" if bits else f"to {TOLERANCE:g}"
        if 0 < bits < count:
            how = f"{bits} in every bit, the others to {TOLERANCE:g}"
        chosen = f"{count} runs done again (chosen with seed {self.seed})"
        if wrong:
            worst = max(wrong, key=lambda one: one.difference)
            return f"{chosen}: {len(wrong)} differ, by up to {worst.difference:.2g}, as {canonical(worst.config)}"
        return f"{chosen}: all agree {how}"


def older_runs(counts: Mapping[tuple[int, str | None], int]) -> str:
    """Runs of other versions in a sentence: "25 runs are of version 1 (commit e763ce4)"."""
    return "; ".join(
        f"{count} run{'s are' if count > 1 else ' is'} of version {version} (commit {commit or 'unknown'})"
        for (version, commit), count in sorted(counts.items(), key=lambda each: (each[0][0], each[0][1] or ""))
    )


def compare(kept: Row, again: Row) -> Comparison:
    """Equal bits are asked for where both runs come from the same libraries and type of processor."""
    values = {name: (value, again.values.get(name)) for name, value in kept.values.items() if is_number(value)}
    return Comparison(kept.config, same_arithmetic(kept.origin, again.origin), _difference(kept, again), values)


def verify(
    experiment: Experiment, kept: Sequence[Row], count: int, engine: Engine, *, seed: int | None = None
) -> Repeated:
    """Do `count` runs of the grid, chosen at random among those kept of its version, again, and compare."""
    grid = {canonical(config) for config in experiment.configs}
    by_config = {c: row for c, row in counting(kept, experiment.version).items() if c in grid}
    present = {c: row for c, row in by_config.items() if row.version == experiment.version}
    older = Counter((r.version, r.origin.get("commit")) for r in by_config.values() if r.version != experiment.version)
    if count < 1:
        raise InputError("runs to do again", count, "at least 1")
    if not by_config:
        raise CertiformerError(f"none of the runs of {experiment.name} were kept: nothing to do again")
    if not present:
        return Repeated((), 0, older)
    chosen, seed = _chosen(experiment, present, count, seed)
    return Repeated(tuple(_comparisons(present, _done_again(chosen, engine))), seed, older)


def _chosen(experiment: Experiment, kept: Mapping[str, Row], count: int, seed: int | None) -> tuple[Experiment, int]:
    """So many kept runs at random; with those of their batch, for a batch computes its runs together."""
    drawn = random.SystemRandom().randrange(10**6) if seed is None else seed
    available = [batch for batch in experiment.batches if any(canonical(run.config) in kept for run in batch)]
    random.Random(drawn).shuffle(available)
    runs: list[Run] = []
    for batch in available:
        if sum(canonical(run.config) in kept for run in runs) >= count:
            break
        runs += batch
    return dataclasses.replace(experiment, configs=[run.config for run in runs]), drawn


def _done_again(experiment: Experiment, engine: Engine) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "again.db") as ledger:
        sweep(experiment, ledger, engine, progress=False)
        return ledger.rows(experiment)


def _comparisons(kept: Mapping[str, Row], again: Sequence[Row]) -> Iterator[Comparison]:
    for row in again:
        if (before := kept.get(canonical(row.config))) is not None:
            yield compare(before, row)


def _difference(kept: Row, again: Row) -> float:
    if again.state != "done" or kept.arrays.keys() != again.arrays.keys():
        return math.inf
    arrays = [_between(a, again.arrays[name]) for name, a in kept.arrays.items()]
    return max([_of_values(kept.values, again.values), *arrays])


def _of_values(one: Any, other: Any) -> float:
    """The largest relative difference between two JSON values; infinite where they are not of one form."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return math.inf
        return max((_of_values(one[name], other[name]) for name in one), default=0.0)
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return math.inf
        return max((_of_values(a, b) for a, b in zip(one, other, strict=True)), default=0.0)
    if isinstance(one, float) and isinstance(other, float):
        return _between(np.array(one), np.array(other))
    return 0.0 if one == other and type(one) is type(other) else math.inf


def _between(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    if one.shape != other.shape or one.dtype != other.dtype:
        return math.inf
    if one.tobytes() == other.tobytes():
        return 0.0
    if one.dtype.kind not in "fc":
        return math.inf
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    with np.errstate(all="ignore"):
        apart = np.abs(one - other) / np.maximum(np.maximum(np.abs(one), np.abs(other)), 1e-300)
    return float(np.max(np.where(same, 0.0, np.where(np.isfinite(apart), apart, np.inf)), initial=0.0))
