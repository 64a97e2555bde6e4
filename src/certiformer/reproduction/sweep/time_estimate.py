"""How long a sweep will take: the processor's time of the runs that are missing.

A run takes as long as finished ones of the same shape took, by the ledger, or else by what was published of them. Time
of the processor, not of the clock: a busy machine is no reason to expect more work.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from certiformer.reproduction.sweep.ledger import Row
from certiformer.reproduction.sweep.run import Config, Experiment, Run, canonical


@dataclass(frozen=True)
class Estimate:
    """Seconds of work for each missing run whose length is known, by key; `typical` for the others, if anything is.

    `published` counts the runs whose length was published.
    """

    runs: int
    missing: int
    lengths: Mapping[str, float]
    published: int = 0
    typical: float | None = None

    @property
    def unknown(self) -> int:
        """How many missing runs have no measured length."""
        return self.missing - len(self.lengths)

    @property
    def work(self) -> float:
        """Seconds on one core."""
        return math.fsum(self.lengths.values()) + self.unknown * (self.typical or 0.0)

    def on(self, workers: int) -> float:
        """At best the work shared evenly, at worst the longest run."""
        return max(self.work / workers, max(self.lengths.values(), default=0.0))


def estimate(
    experiment: Experiment,
    missing: Sequence[Run],
    finished: Sequence[Row] = (),
    *,
    published: Mapping[str, float] | None = None,
) -> Estimate:
    """The time for `missing` runs: from `finished` ones of whatever version, or from `published` times.

    `published` are seconds by `shape_name`. Runs of other shapes are taken as long as those that are known are on
    average, or, where none is, as the published ones: these are of the full scale, so that it is less at a smaller one.
    """
    times, told = processor_times(finished, experiment.version), published or {}
    lengths, from_files = {}, 0
    for run in missing:
        name = shape(run.config)
        seconds = times.get(name, told.get(shape_name(name)))
        if seconds is not None:
            lengths[run.key] = seconds
            from_files += name not in times
    known = list(lengths.values()) or list(times.values()) or list(told.values())
    typical = math.fsum(known) / len(known) if known else None
    return Estimate(len(experiment.runs), len(missing), lengths, from_files, typical)


def processor_times(finished: Iterable[Row], version: int) -> dict[str, float]:
    """Mean seconds by shape; runs of this version count alone where there are any."""
    found: dict[str, list[tuple[bool, float]]] = {}
    for row in finished:
        taken = row.cpu if row.cpu is not None else row.seconds
        if row.state == "done" and taken is not None:
            found.setdefault(shape(row.config), []).append((row.version == version, taken))
    times = {}
    for name, pairs in found.items():
        own = [seconds for ours, seconds in pairs if ours] or [seconds for _, seconds in pairs]
        times[name] = math.fsum(own) / len(own)
    return times


def shape(config: Config) -> str:
    """What decides how long a run takes: its configuration but for the seed."""
    return canonical({name: entry for name, entry in config.items() if name != "seed"})


def shape_name(shape: str) -> str:
    """A short name for a shape, for files of published times."""
    return hashlib.sha256(shape.encode()).hexdigest()[:12]
