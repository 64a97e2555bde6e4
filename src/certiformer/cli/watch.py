"""`certiformer watch FILE|-`: a stream of outcomes, its limits at any time, and an alarm that is rarely false."""

from __future__ import annotations

import io
import json as json_module
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from certiformer.certification.declaration import Declaration
from certiformer.cli import _reading as reading
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import visible


@reading.declared("watch")
def watch(
    declaration: Declaration,
    source: Annotated[str, typer.Argument(metavar="FILE|-", help="One outcome per line; - reads standard input.")],
    certified: Annotated[
        float | None, typer.Option(help="The mean loss that was certified: an alarm if it is exceeded.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Probability of any false alarm or wrong limit; default 0.05."),
    ] = None,
    confidence: reading.Confidence = None,
    state: Annotated[Path | None, typer.Option(metavar="FILE", help="Keeps what was seen, for a restart.")] = None,
    every: Annotated[int, typer.Option(help="Outcomes between two reports.")] = 100,
    fail_on_alarm: Annotated[
        bool, typer.Option("--fail-on-alarm", help="Exit code 1 if the alarm has sounded (with --certified).")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per report and line.")] = False,
) -> None:
    """Follow a stream of outcomes: limits at any time, and an alarm.

    Outcomes are 0 or 1 for an error, or losses.

    A line is a number, right or wrong, or a JSON object with loss or error (1 is bad), or with correct or score (1 is
    good). A silent alarm proves nothing. Labels that arrive because somebody complained are not a sample.
    """
    from certiformer.certification.watching import CONDITIONS, NOT_CHECKED, lines_of
    from certiformer.certification.watching import watch as run
    from certiformer.report.numbers import rounded_down, rounded_up

    if fail_on_alarm and certified is None:
        raise InputError("--fail-on-alarm", "no --certified", "the mean that must not be exceeded", "--certified 0.05")
    sounded = shown = False
    given: Any = lines_of(_standard_input()) if source == "-" else source
    for now in run(
        given,
        certified=certified,
        state=state,
        every=every,
        delta=delta,
        confidence=confidence,
        declaration=declaration,
    ):
        if json:
            typer.echo(json_module.dumps(now.as_json()))
            sounded = now.alarm
            continue
        if not shown:
            shown = True
            if now.quantity:
                typer.echo(f"Outcome: the {visible(now.quantity)}.")
            for text in CONDITIONS:
                typer.echo(f"Condition: {text}.")
            for text in NOT_CHECKED:
                typer.echo(f"NOT CHECKED: {text}.")
        mean = "–" if now.mean is None else f"{now.mean:.4g}"
        between = f"between {rounded_down(now.lower):.4g} and {rounded_up(now.upper):.4g}"
        line = f"{now.n:>9,}  seen {mean:<8} true average so far {between}"
        if now.changed_at is not None:
            line += f", it changed before {now.changed_at:,}"
        if now.blank:
            line += f", {now.blank:,} blank lines"
        if now.alarm:
            line += "  " + typer.style(f"ALARM at {now.alarm_at:,}", fg=typer.colors.RED, bold=True)
            if not sounded:
                line += f": the mean is above {certified:g}, or what certified it was wrong"
        sounded = now.alarm
        typer.echo(line)
    if certified is not None and not json and not sounded:
        typer.echo(f"No alarm: it is not shown that the mean is above {certified:g}. That does not prove it below.")
    if fail_on_alarm and sounded:
        raise typer.Exit(1)


def _standard_input() -> Any:
    # Bytes that are no text become a line that cannot be read, with its number.
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    return sys.stdin
