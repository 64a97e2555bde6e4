"""`certiformer check ID`: what a result still lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certiformer.cli._output import Json, console, print_json
from certiformer.theory.core import find


def check(
    id: Annotated[str, typer.Argument(help="A result, for example one that you are writing.")],
    json: Json = False,
) -> None:
    """List what a result of yours still lacks.

    Statement, example, promise, proof note, vector, tests, attack.

    Exit code 0: nothing. 1: something. What belongs to the repository is looked for in the checkout you are in.
    """
    from certiformer.auditing.completeness import checkout, gaps

    result = find(id)
    root = checkout(Path.cwd())
    found = gaps(result, root)
    if json:
        print_json({"id": result.id, "checkout": root is not None, "lacks": [gap._asdict() for gap in found]})
    else:
        for gap in found:
            console.print(f"- {gap.what}: {gap.remedy}", markup=False, highlight=False)
        where = "" if root is not None else " (proof, vector and tests are looked for in a checkout only)"
        console.print(f"{result.id}: {f'{len(found)} things are missing' if found else 'nothing is missing'}{where}")
    if found:
        raise typer.Exit(1)
