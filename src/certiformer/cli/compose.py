"""`certiformer compose FILE`: the bound of an architecture written as TOML, or of a model's config.json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from certiformer.cli._output import Csv, Markdown, console, print_json, print_rows
from certiformer.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.networks.network import Composition


def compose(
    file: Annotated[Path, typer.Argument(help="An architecture as TOML (docs/compose.md), or a config.json.")],
    n: Annotated[int | None, typer.Option("-n", help="Sample size, for the complexity.", min=1)] = None,
    radius: Annotated[list[float] | None, typer.Option(help="A radius for ln N; may be given again.")] = None,
    spectral: Annotated[float, typer.Option(help="config.json only: the assumed norm of every matrix.")] = 1.0,
    classes: Annotated[int, typer.Option(help="config.json only: outputs of a classifier.", min=2)] = 2,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the layers (.png, .pdf or .svg).")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Sensitivities, radii, covering number and complexity of a network, what dominates and what would help."""
    from certiformer.networks import api

    if not file.is_file():
        raise InputError("file", str(file), "a TOML file or a config.json", "examples/networks/ has one per family")
    found = api.compose(file, n=n, radii=radius or None, spectral=spectral, classes=classes)
    if plot is not None:
        from certiformer.report.figure import save
        from certiformer.report.networks import network_figure

        save(network_figure(found), plot)
    if json:
        print_json(found.as_json())
        return
    if csv or markdown:
        print_rows(found.dominating, markdown=markdown)
        return
    _print(found)
    if plot is not None:
        console.print(f"wrote {plot}")


def _print(found: Composition) -> None:
    table = Table(title=found.network.name, show_header=False)
    for label, value in found.lines():
        table.add_row(label, value)
    console.print(table)
    paying = Table("who pays", "nats", "share", "parameters", title=f"at radius {min(found.network.radii):g}")
    for row in found.dominating[:6]:
        paying.add_row(row["weight"], f"{row['nats']:.4g}", f"{row['share']:.1%}", f"{row['parameters']:,}")
    console.print(paying)
    for line in found.advice:
        console.print(f"- {line}")
    for one in found.hypotheses:
        console.print(f"{one['state']}: {one['requires']} ({one['why']})", style="dim")
