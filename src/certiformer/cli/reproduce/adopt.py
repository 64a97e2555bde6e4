"""`certiformer reproduce adopt ID`: runs of older code, taken over if some of them come out the same under the new."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certiformer.cli._output import console, print_json
from certiformer.cli.reproduce._engines import engine
from certiformer.cli.reproduce._given import lists


def adopt(
    id: Annotated[str, typer.Argument(metavar="ID", help="An experiment.")],
    scale: Annotated[str, typer.Option(help="smoke, quick or paper.")] = "paper",
    runs: Annotated[int, typer.Option("--runs", metavar="K", help="How many to do again.")] = 3,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUES", help="Only the runs with one of these in their configuration."),
    ] = None,
    values: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUES", help="Another grid.")] = None,
    seed: Annotated[int | None, typer.Option(help="Chooses the runs to do again; random by default.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; one per core by default.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Remembers finished runs; by default in your data directory.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Do K of the runs that older code left in the ledger again; if they agree, take over the rest.

    They must agree in every bit on the same library versions and type of processor, else to 1e-6; which, is said.
    """
    from certiformer.core.errors import CertiformerError
    from certiformer.experiments import find
    from certiformer.experiments.reproduce import checked_scale, default_ledger, grid_of
    from certiformer.sweep import Ledger
    from certiformer.sweep import adopt as take_over

    grid = grid_of(find(id), checked_scale(scale), lists("--only", only), lists("--set", values))
    path = ledger or default_ledger()
    if not path.exists():
        raise CertiformerError(f"there is no ledger {path}, and so no runs of {id} by older code")
    with Ledger(path) as book, engine("local", workers) as running:
        found = take_over(grid, book, runs, running, seed=seed)
    if json:
        print_json({"id": id, "agrees": found.agrees, "again": len(found.comparisons), "taken": found.taken})
    else:
        rest = f"; {found.taken} others taken over" if found.agrees else "; nothing was taken over"
        console.print(f"{id}: {found}{rest}", markup=False, soft_wrap=True)
    if not found.agrees:
        raise typer.Exit(1)
