"""How long a sweep will take: the processor's time of the runs that are missing.

A run takes as long as finished ones of the same shape took, by the ledger; where there are none, two shortened runs of
that shape are timed here and now: their difference is the price of a step, and what is left is set-up, which is paid
once. Time of the processor, not of the clock: a busy machine is no reason to expect more work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from certiformer.sweep.ledger import Row
from certiformer.sweep.run import Config, Experiment, Run, Shortened, canonical, function_of

PATIENCE = 2.0  # seconds


@dataclass(frozen=True)
class Estimate:
    """Seconds of work for each missing run whose length is known, by key; how many of them were timed here."""

    runs: int
    missing: int
    lengths: Mapping[str, float]
    probed: int

    @property
    def unknown(self) -> int:
        """How many missing runs have no measured length."""
        return self.missing - len(self.lengths)

    @property
    def work(self) -> float:
        """Seconds on one core; those of unknown length taken as long as the others on average."""
        known = math.fsum(self.lengths.values())
        return known * self.missing / len(self.lengths) if self.lengths else 0.0

    def on(self, workers: int) -> float:
        """At best the work shared evenly, at worst the longest run."""
        return max(self.work / workers, max(self.lengths.values(), default=0.0))


def estimate(
    experiment: Experiment, missing: Sequence[Run], finished: Sequence[Row] = (), *, probe: bool = True
) -> Estimate:
    """The time for `missing` runs of an experiment, from `finished` ones of whatever version, or from probes."""
    times = _times(experiment, finished)
    probes: dict[str, float] = {}
    lengths: dict[str, float] = {}
    for run in missing:
        shape = _shape(run.config)
        if shape in times:
            lengths[run.key] = times[shape]
        elif probe and experiment.shorten is not None:
            timed = []
            for short, part in experiment.shorten(dict(run.config)):
                # runs that differ only in their length share a probe
                if (probed := _shape(short)) not in probes:
                    probes[probed] = _probe(experiment, short)
                timed.append((probes[probed], part))
            lengths[run.key] = whole(*timed)
    return Estimate(len(experiment.runs), len(missing), lengths, len(probes))


def two_lengths(config: Config, name: str, short: int, long: int) -> Shortened:
    """The configuration with so few of what `name` counts, steps or examples; with all of them where it has fewer."""
    first, second = min(short, config[name]), min(long, config[name])
    return ({**config, name: first}, first / config[name]), ({**config, name: second}, second / config[name])


def as_it_is(config: Config) -> Shortened:
    """A run that takes seconds needs no shortening."""
    return (config, 1.0), (config, 1.0)


def whole(first: tuple[float, float], second: tuple[float, float]) -> float:
    """t1 + (t2 - t1) (1 - p1) / (p2 - p1), at least t2, where parts p1 and p2 of a run took t1 and t2 seconds."""
    (t1, p1), (t2, p2) = first, second
    return t2 if p1 == p2 else max(t2, t1 + (t2 - t1) * (1.0 - p1) / (p2 - p1))


def _times(experiment: Experiment, finished: Sequence[Row]) -> dict[str, float]:
    """Mean time by shape; runs of the present version count alone where there are any."""
    found: dict[str, list[tuple[bool, float]]] = {}
    for row in finished:
        taken = row.cpu if row.cpu is not None else row.seconds
        if row.state == "done" and taken is not None:
            found.setdefault(_shape(row.config), []).append((row.version == experiment.version, taken))
    times = {}
    for shape, pairs in found.items():
        own = [seconds for ours, seconds in pairs if ours] or [seconds for _, seconds in pairs]
        times[shape] = math.fsum(own) / len(own)
    return times


def _shape(config: Config) -> str:
    """What decides how long a run takes: its configuration but for the seed."""
    return canonical({name: entry for name, entry in config.items() if name != "seed"})


def _probe(experiment: Experiment, short: Config) -> float:
    """Seconds of a short run: after one that compiles the quickest of three, or of as many as fit into PATIENCE.

    Whatever else the machine does only makes a run slower, and the difference of two lengths would be full of it.
    """
    run = function_of(experiment.run)
    run(dict(short))
    times: list[float] = []
    while not times or (len(times) < 3 and math.fsum(times) < PATIENCE):
        started = time.process_time()
        run(dict(short))
        times.append(time.process_time() - started)
    return min(times)
