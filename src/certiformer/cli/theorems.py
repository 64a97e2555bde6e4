"""`certiformer theorems [PAPER]`: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from certiformer.cli._output import Csv, Latex, Markdown, console, print_json, print_results
from certiformer.report.table import theorem_table
from certiformer.theory.core import Quantity, Status, papers, results
from certiformer.theory.core.errors import UnknownNameError


def theorems(
    paper: Annotated[str | None, typer.Argument(help="Only this paper: what stands before the dot in an id.")] = None,
    bounds: Annotated[
        str | None, typer.Option(metavar="QUANTITY", help="Only results that bound this, for example 'risk'.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="STATUS", help="Only these printed statements: true, false, unproven, ..."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    csv: Csv = False,
    markdown: Markdown = False,
    latex: Latex = False,
) -> None:
    """List the results, what each bounds, and whether it is true."""
    if paper is not None and paper not in papers():
        raise UnknownNameError("paper", paper, papers())
    found = [each for each in results().values() if paper in (None, each.paper.key)]
    if bounds is not None:
        quantities = {quantity.value: quantity for quantity in Quantity}
        if bounds not in quantities:
            raise UnknownNameError("quantity", bounds, quantities)
        found = [each for each in found if each.bounds is quantities[bounds]]
    if status is not None:
        states = {state.value: state for state in Status}
        if status not in states:
            raise UnknownNameError("status", status, states)
        found = [each for each in found if each.status is states[status]]
    if json:
        print_json([each.listing() for each in found])
    elif csv or markdown or latex:
        print_results(found, markdown=markdown, latex=latex)
    else:
        console.print(theorem_table(found, console.width))
