"""`certiformer verify`: a report made again from its data, and compared with what was written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.table import Table
from rich.text import Text

from certiformer.cli._output import Form, answered, console, forms, print_json
from certiformer.report.page import guaranteed
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import visible

MOST = 20
"""Differences that are listed; --json has them all."""


@forms("json", "csv", "markdown")
def verify(
    report: Annotated[
        Path, typer.Argument(help="report.json, its predictors beside it; or a hold-out ledger's folder.")
    ],
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What it was certified with: predictions or examples.")
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Train pick loops again on their picks; this takes as long.")
    ] = False,
    proof: Annotated[
        str | None,
        typer.Option(metavar="[=count]", help="Only have a proof kernel check the limits; =count: counts too."),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="Of a hold-out ledger: a published hash that its chain must contain."),
    ] = None,
    form: Form = "",
) -> None:
    """Make a report again from its data and compare every field.

    Exit code 0: verified, 1: something differs, 3: not verified.
    """
    if (report / "report.json").is_file():
        report = report / "report.json"
    if proof is not None:
        from certiformer.auditing.proofs import COUNT, check_file, verdict_on

        told(*verdict_on(lambda: check_file(report, data, count=proof == COUNT)), form == "json")
    if report.is_dir() or report.name == "log.jsonl":
        _ledger(report if report.is_dir() else report.parent, head, form == "json")
        return
    if head is not None:
        raise InputError("--head", head, "the folder of a hold-out ledger", f"{report} is not one")
    from certiformer.certification.verify import verify as run

    found = run(report, data=data, replay=replay)
    if not answered(form, found.as_json, lambda: [vars(row) for row in found.rows]):
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("statement", no_wrap=True)
        for name in ("reported", "made again"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("agrees", no_wrap=True)
        table.add_column("counted from", no_wrap=True)
        for row in found.rows:
            again = "-" if row.recomputed is None else guaranteed(row.recomputed)
            style = None if row.agrees else "red"
            source = "the data" if row.counted else "the report itself"
            shown = Text(visible(row.key or row.id))
            table.add_row(shown, guaranteed(row.reported), again, "yes" if row.agrees else "NO", source, style=style)
        if found.rows:
            console.print(table)
        for difference in found.differences[:MOST]:
            console.print(Text(visible(str(difference)), "red"))
        if len(found.differences) > MOST:
            console.print(Text(f"and {len(found.differences) - MOST} more fields (--json lists them)", "red"))
        for why in dict.fromkeys(one.why for one in found.unchecked):
            ids = ", ".join(one.id for one in found.unchecked if one.why == why)
            console.print(Text(visible(f"not verified: {ids}: {why}"), "yellow"))
        console.print(Text(found.sentence, "bold"))
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def told(line: str, code: int, json: bool) -> NoReturn:
    """What the proof kernel said, and the exit code that goes with it."""
    if json:
        print_json({"kernel": line, "checked": code == 0})
    else:
        typer.echo(line)
    raise typer.Exit(code)


def _ledger(folder: Path, head: str | None, json: bool) -> None:
    """Replay a hold-out ledger: chain, answers, prices, claim."""
    from certiformer.certification.holdout_log import replay

    found = replay(folder, head)
    if json:
        print_json(found.as_json())
    else:
        for line in found.wrong:
            console.print(Text(visible(line), "red"))
        for line in found.unchecked:
            console.print(Text(visible(f"not checked: {line}")))
        if found.recomputed is not None:
            console.print(f"the claim: {guaranteed(found.reported or 0.0)}, recomputed {guaranteed(found.recomputed)}")
        console.print("[bold]The ledger agrees[/bold]." if found.agrees else "[bold]The ledger does not hold[/bold].")
    if not found.agrees:
        raise typer.Exit(1)
