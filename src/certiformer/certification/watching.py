"""A stream of outcomes: limits that may be read at any time, an alarm that is rarely false, a state that survives.

The limits are of the average of the means so far, whatever these did (`calculus.running_mean`): nothing is intersected,
for the average moves. Whether a single mean fits is tested beside them, with a delta of its own for all tests together.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from certiformer.certification.declaration import MOVED, Declaration
from certiformer.certification.sample import Stream, mean_of
from certiformer.evaluation import ConfidenceSequence, Monitor
from certiformer.evaluation._given import failure_probability
from certiformer.evaluation.gates import share_of_run
from certiformer.theory.calculus.running_mean import running_limits, squares_after
from certiformer.theory.core.errors import InputError, refuse_unknown_options, shown
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.core.locks import held
from certiformer.theory.core.schema import holding, require_shape, tables

BLOCK, LONGEST_LINE = 65_536, 2**24
SAVED_EVERY = 1.0
"""Seconds between two states of a file: it can be read again from where the last one stands, a pipe cannot."""
CONDITIONS = (
    "the limits are for the average of the true means over all outcomes so far; the newest mean may differ",
    "the outcomes are a sample of what the claim is about: labels that arrive because somebody complained are not",
)
NOT_CHECKED = ("whether outcomes repeat or belong together: a stream has no ids and no groups",)


@dataclass(frozen=True)
class Watched:
    """Where a stream stands. The limits are of the average of its means over the n outcomes, whatever these did."""

    n: int
    mean: float | None
    lower: float
    upper: float
    alarm: bool
    alarm_at: int | None
    changed_at: int | None
    """Up to here no single mean fitted what came since the start, or since the change before: it changed."""
    blank: int
    """Lines without an outcome."""
    quantity: str
    """What the mean and the limits are of: error rate, mean of 1 - f1; empty before the first outcome."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@refuse_unknown_options(moved=MOVED)
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
    for ever. `state` keeps what was seen: a restart continues there, a file after the outcomes that were counted (which
    must be those), lines with the first. A silent alarm proves nothing. Limits, alarm and the test for a change are
    each wrong with probability at most delta, at all times together.
    """
    if every < 1:
        raise InputError("every", every, "a whole number of at least 1")
    declared = Declaration.of(declaration).for_verb("watch")
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
    with ExitStack() as begun:
        if state is not None:
            begun.enter_context(held(Path(state)))
        follower = Follower(settings, None if state is None else Path(state), patient=isinstance(source, (str, Path)))
        return _alone(begun.pop_all(), _followed(source, follower, declared, every))


def _alone(held_state: ExitStack, reports: Iterator[Watched]) -> Iterator[Watched]:
    """The reports, while nobody else has the state."""
    with held_state:
        yield from reports


def _followed(
    source: str | Path | Iterable[str], follower: Follower, declared: Declaration, every: int
) -> Iterator[Watched]:
    block: list[float] = []
    stopped: BaseException | None = None
    told = False
    lines = _lines(Path(source)) if isinstance(source, (str, Path)) else source
    values = Stream(lines, declared, follower.what)
    if lines is not source:
        follower.pass_over(values, str(source))
    try:
        for value in values:
            if value is None:
                follower.blank += 1
                continue
            block.append(value)
            if len(block) == every:
                full, block, told, follower.what = block, [], True, values.what
                yield follower.take(full)
    except (InputError, KeyboardInterrupt) as error:
        stopped = error  # what came before a line that cannot be read is not lost
    except GeneratorExit:
        follower.what = values.what
        follower.take(block)
        follower.save()
        raise
    follower.what = values.what
    if block or not (told or stopped is not None):  # a stream that says nothing new has its report, too
        yield follower.take(block)
    follower.save()
    if stopped is not None:
        raise stopped


def lines_of(file: TextIO) -> Iterator[str]:
    """Line by line; one that does not end (of a device, or of no text at all) is refused before it fills the memory."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise InputError("line", shown(line), f"at most {LONGEST_LINE:,} characters", "A line is one outcome")
        yield line.removeprefix("\ufeff")  # what some programs begin a text with


def _lines(path: Path) -> Iterator[str]:
    try:
        # Bytes that are no text become a line that cannot be read, with its number.
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from lines_of(file)
    except OSError as error:
        raise InputError("file", str(path), "a readable file of outcomes, or -", str(error.strerror)) from error


class Follower:
    """The sequence of limits and the alarm, kept in a file."""

    def __init__(self, settings: dict[str, Any], state: Path | None, *, patient: bool) -> None:
        self.settings, self.path = settings, state
        self._patient, self._saved = patient, -SAVED_EVERY
        low, high, delta = settings["low"], settings["high"], settings["delta"]
        kept = _kept(state)
        for name in settings if kept else ():
            if kept["settings"].get(name) != settings[name]:
                began = f"what {state} was begun with: {kept['settings'].get(name)!r}"
                raise InputError(name, settings[name], began, "Begin another state for other settings")
        self.n, self.total, self.squares = kept.get("n", 0), kept.get("total", 0.0), kept.get("squares", 0.0)
        self.checksum, self.what = kept.get("checksum", 0), kept.get("what", "")
        self.changes: list[int] = kept.get("changes", [])
        """After how many outcomes no single mean fitted any more: the test then began anew."""
        self.sequence = self._fresh()
        self.monitor: Monitor | None = None
        if settings["certified"] is not None:
            self.monitor = Monitor(settings["certified"], delta, low=low, high=high)
        if kept:
            self._resume(kept)
        self.blank = 0

    def _resume(self, kept: Mapping[str, Any]) -> None:
        """The tests as they were left; refused unless they are of these settings and have counted what was counted."""
        fresh, alarm = self.sequence, self.monitor
        self.sequence = ConfidenceSequence.resume(kept["sequence"])
        self.monitor = None if alarm is None else Monitor.resume(kept.get("monitor", {}))
        since = self.changes[-1] if self.changes else 0
        whole = 0.0 <= self.total <= self.n and 0.0 <= self.squares <= self.n and self.sequence.n == self.n - since
        names = ("delta", "binary", "low", "high")
        whole = whole and all(getattr(self.sequence, name) == getattr(fresh, name) for name in names)
        if alarm is not None and self.monitor is not None:
            names = ("p0", "delta", "low", "high")
            whole = whole and self.monitor.n == self.n
            whole = whole and all(getattr(self.monitor, name) == getattr(alarm, name) for name in names)
        if not whole:
            raise InputError("--state", str(self.path), WROTE, "It was changed: take it from a copy")

    def _fresh(self) -> ConfidenceSequence:
        """The next test of "one mean fits all": the r-th spends delta/(r(r+1)), all together delta."""
        chosen = self.settings
        share = share_of_run(len(self.changes) + 1, chosen["delta"])
        return ConfidenceSequence(share, binary=chosen["binary"], low=chosen["low"], high=chosen["high"])

    def pass_over(self, values: Iterator[float | None], name: str) -> None:
        """Pass over the outcomes that were counted; another file, or a shorter one, is refused."""
        left, checksum = self.n, 0
        while left and (block := list(islice((one for one in values if one is not None), min(left, BLOCK)))):
            left, checksum = left - len(block), _checksum(block, checksum)
        if left or checksum != self.checksum:
            raise InputError(
                "file", name, f"the {self.n:,} outcomes that {self.path} has counted, and what came after them",
                "Outcomes of another file come through a pipe: certiformer watch - --state STATE < FILE",
            )  # fmt: skip

    def take(self, block: list[float]) -> Watched:
        """Take in outcomes, write the state, and say where things stand."""
        low, width = self.settings["low"], self.settings["high"] - self.settings["low"]
        if block:
            x = np.clip((np.asarray(block, dtype=np.float64) - low) / width, 0.0, 1.0)
            if not self.settings["binary"]:
                self.squares += squares_after(x, self.n, self.total)
            self.n, self.total = self.n + len(x), self.total + float(np.sum(x))
            self.checksum = _checksum(block, self.checksum)
            self.sequence.update(block)
            if self.monitor is not None:
                self.monitor.update(block)
        if self.sequence.changed:
            # What has come stays out of the next test, for it decided when that begins.
            self.changes.append(self.n)
            self.sequence = self._fresh()
        if not self._patient or time.monotonic() - self._saved >= SAVED_EVERY:
            self.save()
        sounded = None if self.monitor is None else self.monitor.alarm
        mean = low + width * self.total / self.n if self.n else None
        squares = None if self.settings["binary"] else self.squares
        ends = running_limits(self.n, min(self.total, float(self.n)), self.settings["delta"], squares)
        limits = low + width * ends[0], low + width * ends[1]
        changed = self.changes[-1] if self.changes else None
        return Watched(self.n, mean, *limits, sounded is not None, sounded, changed, self.blank, mean_of(self.what))

    def save(self) -> None:
        """Write the state, completely or not at all: a process that is killed leaves the last one."""
        if self.path is None:
            return
        from certiformer.theory.core.whole_files import write_text

        kept = {"settings": self.settings, "changes": self.changes, "sequence": self.sequence.state()}
        kept |= {name: getattr(self, name) for name in SUMS}
        if self.monitor is not None:
            kept["monitor"] = self.monitor.state()
        write_text(self.path, json.dumps(kept) + "\n")
        self._saved = time.monotonic()


SUMS = {"n": "integer", "total": "number", "squares": "number", "checksum": "integer", "what": "string"}
"""What is kept of everything that came: how many, their sum, squares where they are real, how to know them, and what
they are."""
SHAPE = holding(
    {name: {"type": type} for name, type in SUMS.items()}
    | {"settings": tables(), "changes": {"type": "array", "items": {"type": "integer"}}, "sequence": {}}
)
WROTE = "a state (--state) that `certiformer watch` wrote"


def _checksum(block: list[float], before: int) -> int:
    return zlib.crc32(np.asarray(block, dtype=np.float64).tobytes(), before)


def _kept(state: Path | None) -> Any:
    if state is None or not state.exists():
        return {}
    found = read_json(state, WROTE)
    require_shape(found, SHAPE, f"--state {state}", f"Name {WROTE}, or a new file")
    return found
