"""`certiformer reproduce merge FILE ...`: the finished runs of other ledgers, or published ones, into one ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certiformer.cli._output import console, print_json


def merge(
    sources: Annotated[list[Path], typer.Argument(metavar="FILE ...", help="Ledgers, or files of published runs.")],
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Takes the runs; by default the one in your data directory.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Take over finished runs that the ledger does not have; the sources may be on a read-only disk."""
    from certiformer.experiments.reproduce import default_ledger
    from certiformer.sweep import Ledger, read
    from certiformer.sweep.evidence import SUFFIX

    taken: dict[str, int] = {}
    with Ledger(ledger or default_ledger()) as book:
        for source in sources:
            if source.suffix == SUFFIX:
                taken[str(source)] = book.absorb(read(source).rows)
                continue
            with Ledger(source, read_only=True) as other:
                taken[str(source)] = book.absorb(other.rows())
    if json:
        print_json(taken)
        return
    for name, count in taken.items():
        console.print(f"{count} runs from {name}", markup=False, soft_wrap=True)
