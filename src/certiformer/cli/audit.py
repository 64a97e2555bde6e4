"""`certiformer audit [ID ...]`: attack the claims, printed and sound, and show what breaks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from certiformer.cli._output import Form, answered, console, forms, progress_bar
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import NotJson, parse_json, read_json

if TYPE_CHECKING:
    from certiformer.auditing.attack import Verdict

_FEW = 3


@forms("json", "csv", "markdown", "latex")
def audit(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Results to attack; all by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of every search.")] = 0,
    budget: Annotated[float, typer.Option(help="Seconds on two cores, turned into a number of points.")] = 60.0,
    workers: Annotated[
        int | None, typer.Option(help="Processes (default: one per core); verdicts do not depend on it.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw attained against bound (.png, .pdf, .svg).")
    ] = None,
    recheck: Annotated[
        str | None,
        typer.Option(metavar="FILE|JSON", help="Check recorded counterexamples again: no search, plain numpy."),
    ] = None,
    form: Form = "",
) -> None:
    """Search for counterexamples to a claim, and show how tight it is."""
    from certiformer.auditing import audit_report, runner

    if recheck is not None:
        verdicts = [runner.recheck(document) for document in runner.recorded(_document(recheck))]
        claims = {"claims": [verdict.as_json() for verdict in verdicts]}
        if not answered(form, lambda: claims, lambda: [_row(verdict) for verdict in verdicts]):
            console.print(audit_report.details(verdicts))
        return
    with progress_bar("audit", quiet=False) as progress:
        found = runner.run(ids or (), seed=seed, budget=budget, workers=workers, progress=progress)
    if plot is not None:
        from certiformer.report.figure import save

        save(audit_report.audit_figure(found), plot)
    if answered(form, found.as_json, lambda: [_row(verdict) for verdict in found.verdicts]):
        return
    few = ids is not None and 0 < len(set(ids)) <= _FEW
    console.print(audit_report.details(found.verdicts) if few else audit_report.audit_table(found))
    if plot is not None:
        console.print(f"wrote {plot}")


def _row(verdict: Verdict) -> dict[str, Any]:
    """A verdict in plain cells; instead of the counterexample the command that checks it again."""
    cells = verdict.as_json()
    found = cells.pop("counterexample")
    del cells["where"]
    return {**cells, "counterexample": None if found is None else found["command"]}


def _document(text: str) -> dict[str, Any]:
    """A JSON document given as text, or as the name of a file (`-` is standard input)."""
    if text != "-" and not text.lstrip().startswith("{"):
        return read_json(Path(text), "a JSON document, or a file with one (--recheck)")
    try:
        return parse_json(sys.stdin.read() if text == "-" else text)
    except NotJson as error:
        raise InputError(
            "--recheck", text, "a JSON document, or a file with one", f"It cannot be read: {error}"
        ) from None
