"""`certiformer watch FILE|-`: a stream of outcomes, its limits at any time, and an alarm that is rarely false."""

from __future__ import annotations

import io
import json as json_module
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from certiformer.core.errors import InputError

LOSS, SCORE = ("loss", "error"), ("correct", "score", "acc", "exact_match")
WORDS = {"right": 0.0, "wrong": 1.0}
TRUTHS = {"true": 1.0, "false": 0.0}
"""Right or wrong? `--correct` says right; without it they are asked about."""
KNOWN = 1000
"""Different lines that are remembered with what they mean."""
SAVED_EVERY = 1.0
"""Seconds between two states of a file: it can be read again from where the last one stands, a pipe cannot."""


def watch(
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="One outcome per line; - reads standard input.")],
    certified: Annotated[
        float | None, typer.Option(help="The mean loss that was certified: an alarm if it is exceeded.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability of ever a false alarm; of limits that are wrong.")] = 0.05,
    limits: Annotated[
        tuple[float, float] | None,
        typer.Option("--range", metavar="LOW HIGH", help="Outcomes are losses in this range; else 0 or 1 (an error)."),
    ] = None,
    correct: Annotated[bool, typer.Option("--correct", help="1 means right, not wrong.")] = False,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keeps what was seen: a restart goes on from there.")
    ] = None,
    every: Annotated[int, typer.Option(help="Outcomes between two reports.")] = 100,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per report and line.")] = False,
) -> None:
    """Follow a stream of outcomes (0 or 1 for an error, or losses): limits that may be read at any time, and an alarm.

    A line is a number, right or wrong, or a JSON object with loss or error (1 is bad), or with correct or score (1 is
    good). A silent alarm proves nothing. Labels that arrive because somebody complained are not a sample.
    """
    if every < 1:
        raise InputError("--every", every, "a whole number of at least 1")
    low, high = limits or (0.0, 1.0)
    settings = {"certified": certified, "delta": delta, "low": low, "high": high, "binary": limits is None}
    follower = _Follower(settings, state, patient=source != "-")
    with _opened(source) as file:
        block: list[float] = []
        try:
            for value in _outcomes(file, correct, limits, skip=follower.n if source != "-" else 0):
                block.append(value)
                if len(block) == every:
                    _report(follower, block, json)
                    block = []
        finally:
            # What came before a line that cannot be read, or before Ctrl-C, is not lost.
            if block or follower.n == 0:
                _report(follower, block, json)
            follower.save()


class _Follower:
    """The sequence of limits and the alarm, kept in a file."""

    def __init__(self, settings: dict[str, Any], state: Path | None, *, patient: bool) -> None:
        from certiformer.evaluation import ConfidenceSequence, Monitor

        self.settings, self.path = settings, state
        self._patient, self._saved = patient, -SAVED_EVERY
        low, high, delta = settings["low"], settings["high"], settings["delta"]
        kept = _kept(state)
        if kept is not None and kept["settings"] != settings:
            raise InputError("--state", str(state), f"the settings it began with: {kept['settings']}")
        self.sequence = (
            ConfidenceSequence(delta, binary=settings["binary"], low=low, high=high)
            if kept is None
            else ConfidenceSequence.resume(kept["sequence"])
        )
        self.monitor: Monitor | None = None
        if settings["certified"] is not None:
            fresh = kept is None
            self.monitor = (
                Monitor(settings["certified"], delta, low=low, high=high)
                if fresh or kept is None
                else Monitor.resume(kept["monitor"])
            )

        self.since = 0 if kept is None else int(kept["since"])
        """How many outcomes came before the limits began anew, because no single mean fitted them any more."""

    @property
    def n(self) -> int:
        return self.since + self.sequence.n

    def take(self, block: list[float]) -> dict[str, Any]:
        """Take in outcomes, write the state, and say where things stand."""
        if block:
            self.sequence.update(block)
            if self.monitor is not None:
                self.monitor.update(block)
        if self.sequence.changed:
            self._begin_anew()
        if not self._patient or time.monotonic() - self._saved >= SAVED_EVERY:
            self.save()
        sounded = None if self.monitor is None else self.monitor.alarm
        return {
            "n": self.n,
            "mean": self.sequence.mean if self.sequence.n else None,
            "lower": self.sequence.lower,
            "upper": self.sequence.upper,
            "alarm": sounded is not None,
            "alarm_at": sounded,
            "since": self.since,
        }

    def save(self) -> None:
        """Write the state, completely or not at all: a process that is killed leaves the last one."""
        if self.path is None:
            return
        from certiformer.report.page import write_text

        kept = {"settings": self.settings, "since": self.since, "sequence": self.sequence.state()}
        if self.monitor is not None:
            kept["monitor"] = self.monitor.state()
        write_text(self.path, json_module.dumps(kept) + "\n")
        self._saved = time.monotonic()

    def _begin_anew(self) -> None:
        """Limits for what comes next: no single mean fits the stream so far.

        What has come stays out of them, for it decided when they begin; from a stopping time on they are as valid as
        from the start.
        """
        from certiformer.evaluation import ConfidenceSequence

        chosen = self.settings
        self.since = self.n
        self.sequence = ConfidenceSequence(
            chosen["delta"], binary=chosen["binary"], low=chosen["low"], high=chosen["high"]
        )


def _kept(state: Path | None) -> Any:
    if state is None or not state.exists():
        return None
    try:
        found = json_module.loads(state.read_text(encoding="utf-8"))
        needed = {"settings", "since", "sequence"}
        return found if isinstance(found, dict) and needed <= set(found) else _bad(state)
    except (OSError, ValueError, TypeError) as error:
        raise InputError("--state", str(state), "a file that `certiformer watch` wrote", f"({error})") from error


def _bad(state: Path) -> Any:
    raise InputError("--state", str(state), "a file that `certiformer watch` wrote")


def _opened(source: str) -> IO[str]:
    # Bytes that are no text become a line that cannot be read, with its number.
    if source == "-":
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        return sys.stdin
    try:
        return Path(source).open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError("file", source, "a readable file of outcomes, or -", str(error.strerror)) from error


def _outcomes(file: IO[str], correct: bool, limits: tuple[float, float] | None, skip: int) -> Iterator[float]:
    """The losses, line by line; the first `skip` outcomes were seen before the restart.

    A line that was read before means the same again, so that ten million times 0 or 1 is read in seconds.
    """
    low, high = limits or (0.0, 1.0)
    known: dict[str, float] = {}
    seen = 0
    for number, line in enumerate(file, 1):
        value = known.get(line)
        if value is None:
            text = line.strip()
            if not text:
                continue
            if seen < skip:
                seen += 1
                continue
            value = _checked(_loss(text, number, correct, (low, high)), number, low, high, binary=limits is None)
            if len(known) < KNOWN:
                known[line] = value
        yield value


def _loss(text: str, number: int, correct: bool, limits: tuple[float, float]) -> float:
    """The loss in a line; a score counts from the other end of the range."""
    word = text.lower()
    if word in WORDS:
        return WORDS[word]
    if word in TRUTHS and not correct:
        raise InputError(f"line {number}", text, "right or wrong, or 0 or 1", "If true means right, say --correct")
    try:
        if text.startswith("{"):
            entry = json_module.loads(text)
            for names, good in ((LOSS, False), (SCORE, True)):
                for name in names:
                    if name in entry:
                        return sum(limits) - float(entry[name]) if good else float(entry[name])
            raise InputError(f"line {number}", sorted(entry), f"one of {', '.join((*LOSS, *SCORE))}")
        value = TRUTHS[word] if word in TRUTHS else float(text)
    except (ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"line {number}", text[:40], "a number, or a JSON object with loss or correct") from error
    return sum(limits) - value if correct else value


def _checked(value: float, number: int, low: float, high: float, *, binary: bool) -> float:
    if binary and value not in (0.0, 1.0):
        raise InputError(f"line {number}", value, "0 or 1", "For losses declare their range: --range 0 1")
    if not low <= value <= high:
        raise InputError(f"line {number}", value, f"a number in [{low:g}, {high:g}]")
    return value


def _report(follower: _Follower, block: list[float], json: bool) -> None:
    before = follower.monitor is not None and follower.monitor.alarm is not None
    now = follower.take(block)
    if json:
        typer.echo(json_module.dumps(now))
        return
    mean = "–" if now["mean"] is None else f"{now['mean']:.4g}"
    since = f" since {now['since']:,} (it changed)" if now["since"] else ""
    line = f"{now['n']:>9,}  mean {mean:<8}{since} between {now['lower']:.4g} and {now['upper']:.4g}"
    if now["alarm"]:
        line += "  " + typer.style(f"ALARM at {now['alarm_at']:,}", fg=typer.colors.RED, bold=True)
        if not before:
            line += f": the mean is above {follower.settings['certified']:g}, or what certified it was wrong"
    typer.echo(line)
