"""Runs done again: do they agree with what was kept? Verification of published runs, adoption under new code.

Agreement means equal bits where code version aside everything is the same (libraries and type of processor), and a
relative difference of at most 1e-6 in every number elsewhere; which of the two was asked for is part of the answer.
"""

from __future__ import annotations

import dataclasses
import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.core.errors import CertiformerError, InputError
from certiformer.sweep.choice import counting
from certiformer.sweep.engine import Engine, sweep
from certiformer.sweep.ledger import Ledger, Row
from certiformer.sweep.origin import same_arithmetic
from certiformer.sweep.run import Experiment, Run, canonical

TOLERANCE = 1e-6


@dataclass(frozen=True)
class Comparison:
    """A kept run against the same one done again: the largest relative difference, and where bits had to be equal."""

    config: Mapping[str, Any]
    bits: bool
    difference: float

    @property
    def agrees(self) -> bool:
        return self.difference == 0.0 if self.bits else self.difference <= TOLERANCE


@dataclass(frozen=True)
class Repeated:
    """What came of doing runs again. `taken` counts those taken over without being done again."""

    comparisons: tuple[Comparison, ...]
    seed: int
    taken: int = 0

    @property
    def agrees(self) -> bool:
        """Every run that was repeated gave the same numbers."""
        return bool(self.comparisons) and all(one.agrees for one in self.comparisons)

    def __str__(self) -> str:
        count = len(self.comparisons)
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


def compare(kept: Row, again: Row) -> Comparison:
    """Equal bits are asked for where both runs come from the same libraries and type of processor."""
    return Comparison(kept.config, same_arithmetic(kept.origin, again.origin), _difference(kept, again))


def verify(
    experiment: Experiment, kept: Sequence[Row], count: int, engine: Engine, *, seed: int | None = None
) -> Repeated:
    """Do `count` runs of the grid, chosen at random among those kept, again, and compare."""
    by_config = counting(kept, experiment.version)
    chosen, seed = _chosen(experiment, by_config, count, seed)
    again = _done_again(chosen, engine)
    return Repeated(tuple(_comparisons(by_config, again)), seed)


def adopt(experiment: Experiment, ledger: Ledger, count: int, engine: Engine, *, seed: int | None = None) -> Repeated:
    """Take over, for the code as it is now, the runs that older code left in the ledger, if `count` of them agree.

    The runs that are done again are kept in any case; the others are marked with the version that computed them.
    """
    states = ledger.states(experiment)
    missing = {canonical(run.config): run for run in experiment.runs if states.get(run.key) != "done"}
    older = [row for row in ledger.rows(experiment.name) if row.version != experiment.version]
    kept = {config: row for config, row in counting(older, experiment.version).items() if config in missing}
    if not kept:
        raise CertiformerError(f"{ledger.path} has no runs of {experiment.name} by older code that are missing here")
    chosen, seed = _chosen(experiment, kept, count, seed)
    sweep(chosen, ledger, engine, progress=False)
    found = Repeated(tuple(_comparisons(kept, ledger.rows(chosen))), seed)
    if not found.agrees:
        return found
    taken = [
        dataclasses.replace(row, key=missing[c].key, version=experiment.version, adopted=row.adopted or row.version)
        for c, row in kept.items()
    ]
    return dataclasses.replace(found, taken=ledger.absorb(taken))


def _chosen(experiment: Experiment, kept: Mapping[str, Row], count: int, seed: int | None) -> tuple[Experiment, int]:
    """So many kept runs at random; with those of their batch, for a batch computes its runs together."""
    if count < 1:
        raise InputError("runs to do again", count, "at least 1")
    drawn = random.SystemRandom().randrange(10**6) if seed is None else seed
    available = [batch for batch in experiment.batches if any(canonical(run.config) in kept for run in batch)]
    if not available:
        raise CertiformerError(f"none of the runs of {experiment.name} were kept: nothing to do again")
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
