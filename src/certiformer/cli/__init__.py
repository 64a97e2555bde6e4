"""The command line: one thin module per verb. Mistakes of the user end in one clear line and exit code 2."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from certiformer._version import __version__
from certiformer.cli.audit import audit
from certiformer.cli.bound import bound
from certiformer.cli.certify import certify
from certiformer.cli.compare import compare
from certiformer.cli.compose import compose
from certiformer.cli.explain import explain
from certiformer.cli.holdout import holdout
from certiformer.cli.inspect import inspect
from certiformer.cli.plan import plan
from certiformer.cli.probe import probe
from certiformer.cli.reproduce import app as reproduce
from certiformer.cli.search import search
from certiformer.cli.select import select
from certiformer.cli.theorems import theorems
from certiformer.cli.train import train
from certiformer.cli.verify import verify
from certiformer.cli.watch import watch
from certiformer.core.errors import CertiformerError

app = typer.Typer(
    name="certiformer",
    help="The theory of Transformer generalization as numbers a person can rely on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"certiformer {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.command()(theorems)
app.command()(search)
app.command()(explain)
app.command()(bound)
app.command()(compose)
app.command()(compare)
app.command()(train)
app.command()(inspect)
app.command()(certify)
app.command()(probe)
app.command()(verify)
app.add_typer(holdout, name="holdout")
app.command()(plan)
app.command()(watch)
app.command()(select)
app.command()(audit)
app.add_typer(reproduce, name="reproduce")


def main() -> None:
    """Run the command line; an error that is the user's to mend is one line on stderr and exit code 2."""
    try:
        app()
    except CertiformerError as error:
        typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
        sys.exit(2)
    except KeyboardInterrupt:
        typer.secho("stopped", err=True)
        sys.exit(130)
