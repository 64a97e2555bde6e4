"""`certiformer verify`: a report checked again, from predictor, data and report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.table import Table

from certiformer.cli._output import Csv, Markdown, console, print_json, print_rows
from certiformer.report.page import guaranteed


def verify(
    report: Annotated[
        Path, typer.Argument(help="report.json, with the predictors beside it; or the folder of a hold-out ledger.")
    ],
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What it was certified with: predictions or examples (.npz).")
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Run pick loops again on their picks: as long as their training took.")
    ] = False,
    proof: Annotated[
        str | None,
        typer.Option(
            metavar="[=count]", help="Only this: have the limits checked by a proof kernel; =count: the counts too."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Recompute every row of a report from predictor, data and report, and say which could not be checked."""
    if proof is not None:
        from certiformer.certification.proofs import COUNT, check_file, verdict_on

        told(*verdict_on(lambda: check_file(report, data, count=proof == COUNT)), json)
    if report.is_dir() or report.name == "log.jsonl":
        _ledger(report if report.is_dir() else report.parent, json)
        return
    from certiformer.certification.verify import verify as run

    found = run(report, data=data, replay=replay)
    if json:
        print_json(found.as_json())
    elif csv or markdown:
        print_rows([row.as_json() for row in found.rows], markdown=markdown)
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("row", no_wrap=True)
        for name in ("reported", "recomputed"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("agrees", no_wrap=True)
        table.add_column("from", overflow="fold")
        for row in found.rows:
            again = "-" if row.recomputed is None else guaranteed(row.recomputed)
            source = row.why or ("the data" if row.counted else "the counts in the report")
            answer = "yes" if row.agrees else "NO"
            style = None if row.agrees else "red"
            table.add_row(row.key, guaranteed(row.reported), again, answer, source, style=style)
        console.print(table)
        for why in dict.fromkeys(one.why for one in found.unchecked):
            ids = ", ".join(one.id for one in found.unchecked if one.why == why)
            console.print(f"not checked: {ids}: {why}", highlight=False)
        for name, sentence in (("headline", found.headline), ("basis", found.basis)):
            if not sentence.agrees:
                console.print(f"the {name} says: {sentence.reported}", style="red", highlight=False)
                console.print(f"the rows say: {sentence.recomputed}", style="red", highlight=False)
        counted = sum(row.counted for row in found.rows)
        said = f"the headline {'follows' if found.headline.agrees else 'does NOT follow'} from the rows"
        verdict = "Every number that was computed again agrees" if found.agrees else "The report does not hold"
        rows = "1 row" if counted == 1 else f"{counted} rows"
        console.print(f"[bold]{verdict}[/bold] ({rows} counted again from the data; {said}).")
    if not found.agrees:
        raise typer.Exit(1)


def told(line: str, code: int, json: bool) -> NoReturn:
    """What the proof kernel said, and the exit code that goes with it."""
    if json:
        print_json({"kernel": line, "checked": code == 0})
    else:
        typer.echo(line)
    raise typer.Exit(code)


def _ledger(folder: Path, json: bool) -> None:
    """Replay a hold-out ledger: chain, answers, prices, claim."""
    from certiformer.certification.ledger import replay

    found = replay(folder)
    if json:
        print_json(found.as_json())
    else:
        for line in found.wrong:
            console.print(line, style="red", highlight=False)
        for line in found.unchecked:
            console.print(f"not checked: {line}", highlight=False)
        if found.recomputed is not None:
            console.print(f"the claim: {guaranteed(found.reported or 0.0)}, recomputed {guaranteed(found.recomputed)}")
        console.print("[bold]The ledger agrees[/bold]." if found.agrees else "[bold]The ledger does not hold[/bold].")
    if not found.agrees:
        raise typer.Exit(1)
