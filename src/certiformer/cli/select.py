"""`certiformer select FILE --error 0.05`: when to answer and when to abstain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certiformer.certification.declaration import Declaration
from certiformer.cli import _reading as reading
from certiformer.cli._output import Json, console, print_json
from certiformer.cli._reading import conditions, plain
from certiformer.theory.core.errors import InputError


@reading.declared("select")
def select(
    declaration: Declaration,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Predictions with confidences (.csv, .npz, ...).")],
    error: Annotated[float, typer.Option(help="The error rate among answered examples that is allowed.")],
    thresholds: Annotated[
        str | None,
        typer.Option(help="Thresholds fixed beforehand, most cautious first: 0.95,0.9,0.8. Without: ten counts."),
    ] = None,
    delta: reading.Delta = None,
    confidence: reading.Confidence = None,
    json: Json = False,
) -> None:
    """Choose when to abstain, so that answered examples meet a limit."""
    from certiformer.certification.selecting import select as run

    fixed = None if thresholds is None else [_number(text) for text in thresholds.split(",")]
    found = run(source, error=error, thresholds=fixed, delta=delta, confidence=confidence, declaration=declaration)
    if json:
        print_json(found.as_json())
        return
    said = found.report
    console.print(f"[bold]{plain(said.headline)}[/bold] {said.advice}".strip())
    if said.basis:
        console.print(f"Evidence: {said.basis}.")
    conditions(found.conditions, found.not_checked, found.warnings)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("--thresholds", text, "numbers with commas between them") from None
