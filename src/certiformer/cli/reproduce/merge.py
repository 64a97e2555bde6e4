"""`certiformer reproduce merge FILE ...`: the finished runs of other ledgers, or published ones, into one ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from certiformer.cli._output import Json, console, print_json

if TYPE_CHECKING:
    from certiformer.reproduction.sweep import Row


def merge(
    sources: Annotated[list[Path], typer.Argument(metavar="FILE ...", help="Ledgers, or files of published runs.")],
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Takes the runs; by default the one in your data directory.")
    ] = None,
    json: Json = False,
) -> None:
    """Add finished runs to the ledger."""
    from certiformer.reproduction.reproduce import default_ledger
    from certiformer.reproduction.sweep import Ledger

    # all of them are read before anything is made or changed
    found = {str(source): _rows(source) for source in sources}
    with Ledger(ledger or default_ledger()) as book:
        taken = {name: book.absorb(rows) for name, rows in found.items()}
    if json:
        print_json(taken)
        return
    for name, count in taken.items():
        console.print(f"{count} runs from {name}", markup=False, soft_wrap=True)


def _rows(source: Path) -> Sequence[Row]:
    from certiformer.reproduction.sweep import Ledger, read
    from certiformer.reproduction.sweep.published_runs import SUFFIX

    if source.suffix == SUFFIX:
        return read(source).rows
    with Ledger(source, read_only=True) as book:
        return book.rows()
