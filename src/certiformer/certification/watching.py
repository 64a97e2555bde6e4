"""A stream of outcomes: limits that may be read at any time, an alarm that is rarely false, a state that survives."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from certiformer.certification.declaration import Declaration
from certiformer.certification.sample import Sample
from certiformer.core.errors import InputError, refuse_unknown_options
from certiformer.core.json_reader import read_json
from certiformer.evaluation import ConfidenceSequence, Monitor
from certiformer.evaluation._given import failure_probability

SAVED_EVERY = 1.0
"""Seconds between two states of a file: it can be read again from where the last one stands, a pipe cannot."""
CONDITIONS = (
    "the limits hold if the mean has not changed since they began",
    "the outcomes are a sample of what the claim is about: labels that arrive because somebody complained are not",
)
NOT_CHECKED = ("whether outcomes repeat or belong together: a stream has no ids and no groups",)


@dataclass(frozen=True)
class Watched:
    """Where a stream stands. The limits are of its mean since example `since`, if that has not changed since then."""

    n: int
    mean: float | None
    lower: float
    upper: float
    alarm: bool
    alarm_at: int | None
    since: int
    blank: int
    """Lines without an outcome."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@refuse_unknown_options
def watch(
    source: str | Path | Iterable[str],
    *,
    certified: float | None = None,
    state: str | Path | None = None,
    every: int = 100,
    delta: float | None = None,
    confidence: float | None = None,
    declaration: Declaration | Mapping[str, Any] | None = None,
) -> Iterator[Watched]:
    """Follow a stream of outcomes, line by line: a report after `every` outcomes, and one at the end.

    `source` is a file, or lines: numbers (1 is an error; or losses in the declared range), right or wrong, or JSON
    objects with one outcome. `certified` sounds an alarm if the mean is exceeded, false at most with probability delta,
    for ever. `state` keeps what was seen: a restart goes on from there. A silent alarm proves nothing.
    """
    if every < 1:
        raise InputError("every", every, "a whole number of at least 1")
    declared = Declaration.of(declaration)
    _refuse_rest(declared)
    low, high = declared.range or (0.0, 1.0)
    settings = {
        "certified": certified,
        "delta": failure_probability(delta, confidence),
        "low": low,
        "high": high,
        "binary": declared.range is None,
        "better": declared.better,
        "metric": list(declared.metric),
    }
    is_file = isinstance(source, (str, Path))
    follower = Follower(settings, None if state is None else Path(state), patient=is_file)
    return _followed(source, follower, declared, every, skip=follower.n if is_file else 0)


def _refuse_rest(declared: Declaration) -> None:
    for name in declared.as_json():
        if name not in ("range", "better", "metric"):
            raise InputError(name, getattr(declared, name), "range, better or metric", "A stream has no other columns")


def _followed(
    source: str | Path | Iterable[str], follower: Follower, declared: Declaration, every: int, skip: int
) -> Iterator[Watched]:
    block: list[float] = []
    stopped: BaseException | None = None
    lines = _lines(Path(source)) if isinstance(source, (str, Path)) else source
    try:
        for value in Sample.stream(lines, declared, skip=skip):
            if value is None:
                follower.blank += 1
                continue
            block.append(value)
            if len(block) == every:
                full, block = block, []
                yield follower.take(full)
    except (InputError, KeyboardInterrupt) as error:
        stopped = error  # what came before a line that cannot be read is not lost
    except GeneratorExit:
        follower.take(block)
        follower.save()
        raise
    if block or (follower.n == 0 and stopped is None):
        yield follower.take(block)
    follower.save()
    if stopped is not None:
        raise stopped


def _lines(path: Path) -> Iterator[str]:
    try:
        # Bytes that are no text become a line that cannot be read, with its number.
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from file
    except OSError as error:
        raise InputError("file", str(path), "a readable file of outcomes, or -", str(error.strerror)) from error


class Follower:
    """The sequence of limits and the alarm, kept in a file."""

    def __init__(self, settings: dict[str, Any], state: Path | None, *, patient: bool) -> None:
        self.settings, self.path = settings, state
        self._patient, self._saved = patient, -SAVED_EVERY
        low, high, delta = settings["low"], settings["high"], settings["delta"]
        kept = _kept(state)
        if kept is not None and kept["settings"] != settings:
            raise InputError("--state", str(state), f"the settings it began with: {kept['settings']}")
        self.sequence = self._fresh() if kept is None else ConfidenceSequence.resume(kept["sequence"])
        self.monitor: Monitor | None = None
        if settings["certified"] is not None:
            fresh = Monitor(settings["certified"], delta, low=low, high=high)
            self.monitor = fresh if kept is None else Monitor.resume(kept["monitor"])
        self.since = 0 if kept is None else int(kept["since"])
        """How many outcomes came before the limits began anew, because no single mean fitted them any more."""
        self.blank = 0

    def _fresh(self) -> ConfidenceSequence:
        chosen = self.settings
        return ConfidenceSequence(chosen["delta"], binary=chosen["binary"], low=chosen["low"], high=chosen["high"])

    @property
    def n(self) -> int:
        return self.since + self.sequence.n

    def take(self, block: list[float]) -> Watched:
        """Take in outcomes, write the state, and say where things stand."""
        if block:
            self.sequence.update(block)
            if self.monitor is not None:
                self.monitor.update(block)
        if self.sequence.changed:
            # What has come stays out of the new limits, for it decided when they begin; from a stopping time on they
            # are as valid as from the start.
            self.since, self.sequence = self.n, self._fresh()
        if not self._patient or time.monotonic() - self._saved >= SAVED_EVERY:
            self.save()
        sounded = None if self.monitor is None else self.monitor.alarm
        mean = self.sequence.mean if self.sequence.n else None
        limits = self.sequence.lower, self.sequence.upper
        return Watched(self.n, mean, *limits, sounded is not None, sounded, self.since, self.blank)

    def save(self) -> None:
        """Write the state, completely or not at all: a process that is killed leaves the last one."""
        if self.path is None:
            return
        from certiformer.report.page import write_text

        kept = {"settings": self.settings, "since": self.since, "sequence": self.sequence.state()}
        if self.monitor is not None:
            kept["monitor"] = self.monitor.state()
        write_text(self.path, json.dumps(kept) + "\n")
        self._saved = time.monotonic()


def _kept(state: Path | None) -> Any:
    if state is None or not state.exists():
        return None
    found = read_json(state, "a state (--state) that `certiformer watch` wrote")
    if not {"settings", "since", "sequence"} <= set(found):
        raise InputError("--state", str(state), "a file that `certiformer watch` wrote")
    return found
