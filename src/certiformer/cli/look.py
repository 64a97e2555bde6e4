"""`certiformer look FILE`: what is in it, how it would be read, what can be asked about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certiformer.certification.declaration import Declaration
from certiformer.cli import _reading as reading
from certiformer.cli._output import Json, console, print_json
from certiformer.cli._reading import plain


@reading.declared("look")
def look(
    declaration: Declaration,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Predictions, losses or a log of evaluations.")],
    json: Json = False,
) -> None:
    """What is in a results file, and which commands can use it."""
    from certiformer.certification.looking import look as run

    found = run(source, declaration=declaration)
    if json:
        print_json(found.as_json())
        return
    console.print(f"[bold]{plain(found.name)}[/bold]")
    for name, says in found.columns.items():
        console.print(plain(f"  {name}: {says}"), soft_wrap=True)
    if found.refused:
        console.print(plain(f"It cannot be read yet. {found.refused}"), soft_wrap=True)
    else:
        console.print("Read as")
        for text in found.reading:
            console.print(plain(f"  {text}"), soft_wrap=True)
        for one in found.decisions:
            console.print(plain(f"  {one.subject}: {one.choice} ({one.why})"), soft_wrap=True)
    if found.questions:
        console.print("Questions")
    for question in found.questions:
        console.print(plain(f"  {question.asks}"), soft_wrap=True)
        console.print(plain(f"    {question.command or f'missing: {question.missing}'}"), soft_wrap=True)
