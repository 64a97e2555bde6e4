"""`certiformer theorems [PAPER]`: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

import certiformer
from certiformer.cli._output import Csv, Markdown, console, print_json, print_rows
from certiformer.core import Quantity, Status
from certiformer.core.errors import UnknownNameError
from certiformer.report.table import theorem_rows, theorem_table


def theorems(
    paper: Annotated[str | None, typer.Argument(help="Only this paper: what stands before the dot in an id.")] = None,
    bounds: Annotated[
        str | None, typer.Option(metavar="QUANTITY", help="Only results that bound this, for example 'risk'.")
    ] = None,
    status: Annotated[
        str | None, typer.Option(metavar="STATUS", help="Only these printed statements: true, false, unproven, ...")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """List the results: what each bounds, and what became of its printed statement."""
    found = certiformer.results(paper)
    if bounds is not None:
        quantities = {quantity.value: quantity for quantity in Quantity}
        if bounds not in quantities:
            raise UnknownNameError("quantity", bounds, quantities)
        found = [result for result in found if result.bounds is quantities[bounds]]
    if status is not None:
        states = {state.value: state for state in Status}
        if status not in states:
            raise UnknownNameError("status", status, states)
        found = [result for result in found if result.status is states[status]]
    rows = theorem_rows(found)
    if json:
        print_json(rows)
    elif csv or markdown:
        print_rows(rows, markdown=markdown)
    else:
        console.print(theorem_table(found, console.width))
