"""`certiformer theorems [PAPER]`: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from certiformer.cli._output import Form, forms, print_results
from certiformer.theory.core import Quantity, Status, papers, results
from certiformer.theory.core.errors import UnknownNameError


@forms("json", "csv", "markdown", "latex")
def theorems(
    paper: Annotated[str | None, typer.Argument(help="Only this paper: what stands before the dot in an id.")] = None,
    bounds: Annotated[
        str | None, typer.Option(metavar="QUANTITY", help="Only results that bound this, for example 'risk'.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="STATUS", help="Only these printed statements: true, false, unproven, ..."),
    ] = None,
    form: Form = "",
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
    print_results(found, form)
