"""`certiformer theorems [PAPER]`: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

import certiformer
from certiformer.cli._output import console, print_json
from certiformer.report.table import theorem_rows, theorem_table


def theorems(
    paper: Annotated[
        str | None, typer.Argument(help="Only this paper: arda, deora, li, mwigo, trauger, toolbox.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """List the results: what each bounds, and what became of its printed statement."""
    found = certiformer.results(paper)
    if json:
        print_json(theorem_rows(found))
    else:
        console.print(theorem_table(found, console.width))
