"""`certiformer gate FILE --error 0.05`: pass, fail or undecided, as an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certiformer.certification.declaration import Declaration
from certiformer.cli import _reading as reading
from certiformer.cli._output import Form, answered, console, forms
from certiformer.theory.core.errors import InputError


@reading.declared("gate")
@forms("json", "csv", "markdown")
def gate(
    declaration: Declaration,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Predictions, losses or a log of evaluations.")],
    error: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]X", help="The largest error rate or mean loss allowed; NAME=X per metric."),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A baseline on the same items, instead of --error.")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="How much worse than the baseline is still a pass.")] = None,
    anytime: Annotated[
        Path | None, typer.Option(metavar="STATE", help="Look as often as you like: this file keeps what was counted.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Divide delta among the runs that this file counts.")
    ] = None,
    pass_all: Annotated[
        int | None,
        typer.Option(metavar="K", help="Groups are tasks: do K fresh tries of one all succeed?"),
    ] = None,
    pass_any: Annotated[int | None, typer.Option(metavar="K", help="The same: does at least one of K succeed?")] = None,
    proof_file: Annotated[
        Path | None, typer.Option("--proof", metavar="FILE", help="Write a PASS as a proof for a kernel (.v).")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="The table of all metrics and slices too.")] = False,
    delta: reading.Delta = None,
    confidence: reading.Confidence = None,
    form: Form = "",
) -> None:
    """Pass, fail or undecided: is the error rate below a threshold?

    Exit code 0: pass, 1: fail, 3: undecided, 2: wrong use.
    """
    from certiformer.certification.gating import gate as run
    from certiformer.report.screen import first_screen

    report = run(
        source,
        error=_thresholds(error),
        against=against,
        margin=margin,
        anytime=anytime,
        ledger=ledger,
        pass_all=pass_all,
        pass_any=pass_any,
        delta=delta,
        confidence=confidence,
        declaration=declaration,
    )
    told = "" if proof_file is None else "No proof was written: only a PASS is stated to a kernel."
    if proof_file is not None and report.verdict == "pass":
        from certiformer.auditing.proofs import write_proof

        told = write_proof(report.document, proof_file, None)
    if not answered(form, lambda: report.document, report.rows):
        console.print(first_screen(report, table=every))
        if told:
            console.print(told)
    raise typer.Exit(report.exit_code)


def _thresholds(words: list[str] | None) -> float | dict[str, float] | None:
    """0.05 for all, or NAME=0.05 for each metric."""
    if not words:
        return None
    named = {}
    for word in words:
        name, found, number = word.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise InputError("--error", word, "a number, or NAME=NUMBER", "For example --error 0.05") from None
        if not found and len(words) == 1:
            return value
        if not name or name in named:
            raise InputError("--error", word, "one threshold, or NAME=X once for each metric")
        named[name] = value
    return named
