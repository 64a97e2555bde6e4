"""How long a sweep will take: the processor's time of the runs that are missing.

A run takes as long as finished ones of the same shape took, by the ledger, or else by what was published of them. Where
nothing was published of an experiment, two shortened runs of a shape are timed here and now, of as many shapes as fit
into a few seconds: their difference is the price of a step, and what is left is set-up, which is paid once. Time of the
processor, not of the clock: a busy machine is no reason to expect more work.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from certiformer.reproduction.sweep.ledger import Row
from certiformer.reproduction.sweep.run import Config, Experiment, Run, Shortened, canonical, function_of

PATIENCE = 2.0  # seconds for the repetitions of one short run
ENOUGH = 5.0  # seconds after which no other shape is timed: the answer is wanted now


@dataclass(frozen=True)
class Estimate:
    """Seconds of work for each missing run whose length is known, by key.

    `probed` counts the short runs that were timed here, `published` the runs whose length was published.
    """

    runs: int
    missing: int
    lengths: Mapping[str, float]
    probed: int
    published: int = 0

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
    experiment: Experiment,
    missing: Sequence[Run],
    finished: Sequence[Row] = (),
    *,
    published: Mapping[str, float] | None = None,
    probe: bool = True,
) -> Estimate:
    """The time for `missing` runs: from `finished` ones of whatever version, from `published` times, or from probes.

    `published` are seconds by `shape_name`; where there are any, nothing is timed here.
    """
    times, told = processor_times(finished, experiment.version), published or {}
    by_shape: dict[str, list[Run]] = {}
    for run in missing:
        by_shape.setdefault(shape(run.config), []).append(run)
    known = {s: times.get(s, told.get(shape_name(s))) for s in by_shape}
    lengths = {run.key: seconds for s, seconds in known.items() if seconds is not None for run in by_shape[s]}
    from_files = sum(len(by_shape[s]) for s, seconds in known.items() if seconds is not None and s not in times)
    unknown = [s for s, seconds in known.items() if seconds is None]
    probes: dict[str, float] = {}
    began = time.monotonic()
    for s in unknown if probe and not told and experiment.shorten is not None else ():
        assert experiment.shorten is not None
        if probes and time.monotonic() - began > ENOUGH:
            break
        pair = experiment.shorten(dict(by_shape[s][0].config))
        # runs that differ only in their length share a probe
        fresh = [short for short, _ in pair if shape(short) not in probes]
        for short in fresh:
            if shape(short) not in probes:
                probes[shape(short)] = _probe(experiment, short)
        seconds = whole(*((probes[shape(short)], part) for short, part in pair))
        lengths |= {run.key: seconds for run in by_shape[s]}
    return Estimate(len(experiment.runs), len(missing), lengths, len(probes), from_files)


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
