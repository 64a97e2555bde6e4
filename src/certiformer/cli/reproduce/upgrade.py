"""`certiformer reproduce upgrade [FILE ...]`: ledgers and published runs of certiformer 0.1 in the present format."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from certiformer.cli import _pairs
from certiformer.cli._output import Json, console, print_json
from certiformer.theory.core.errors import InputError


def upgrade(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE ...]", help="Ledgers, or .runs files; none: the ledger in your data directory."),
    ] = None,
    versions: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="NAME=VERSION", help="Runs of NAME by unknown code are of this version."),
    ] = None,
    json: Json = False,
) -> None:
    """Carry over the runs of certiformer 0.1.

    A ledger's old file is kept beside the new one. Runs by code that is not known get version 0: they are redrawn and
    not counted, unless --as says which version they are of.
    """
    from certiformer.reproduction.reproduce import default_ledger
    from certiformer.reproduction.sweep.upgrade_files import upgrade as upgraded

    told = _pairs.values("--as", versions)
    for name, version in told.items():
        if not isinstance(version, int) or version < 1:
            raise InputError(
                "--as", f"{name}={version}", "a version, a whole number from 1 on", f"Such as --as {name}=1."
            )
    found = [upgraded(file, told) for file in files or [default_ledger()]]
    if json:
        print_json([{k: str(v) if isinstance(v, Path) else v for k, v in dataclasses.asdict(u).items()} for u in found])
        return
    for each in found:
        console.print(str(each), markup=False, soft_wrap=True)
