"""`certiformer compose FILE`: the bound of an architecture written as TOML, of a config.json or of a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from certiformer.cli._output import Form, answered, console, forms
from certiformer.theory.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.theory.networks.network import Composition


@forms("json", "csv", "markdown")
def compose(
    file: Annotated[Path, typer.Argument(help="TOML (docs/compose.md), a config.json or a checkpoint.")],
    n: Annotated[int | None, typer.Option("-n", help="Sample size, for the complexity.", min=1)] = None,
    radius: Annotated[list[float] | None, typer.Option(help="A radius for ln N; may be given again.")] = None,
    spectral: Annotated[float, typer.Option(help="config.json only: the assumed norm of every matrix.")] = 1.0,
    classes: Annotated[int | None, typer.Option(help="config.json only: outputs of a classifier.", min=1)] = None,
    assume_unused: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A key or tensor that plays no part; may be given again.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the layers (.png, .pdf or .svg).")] = None,
    form: Form = "",
) -> None:
    """Bound the complexity of a network from its layers.

    Sensitivities, radii, covering number, what dominates and what would help.
    """
    from certiformer.checkpoints.composing import compose as run

    if not file.exists():
        expected = "a TOML file, a config.json or a checkpoint"
        raise InputError("file", str(file), expected, "examples/networks/ has one per family")
    found = run(file, n=n, radii=radius or None, spectral=spectral, classes=classes, assume_unused=assume_unused or ())
    if plot is not None:
        from certiformer.report.figure import save
        from certiformer.report.networks import network_figure

        save(network_figure(found), plot)
    if answered(form, found.as_json, lambda: found.dominating):
        return
    _print(found)
    if plot is not None:
        console.print(f"wrote {plot}")


def _print(found: Composition) -> None:
    unused = f", if {', '.join(found.network.unused)} play no part" if found.network.unused else ""
    table = Table(title=f"{found.network.name}{unused}", show_header=False)
    for label, value in found.lines():
        table.add_row(label, value)
    console.print(table)
    paying = Table("weights", "nats", "share", "parameters", title=f"at radius {min(found.network.radii):g}")
    for row in found.dominating[:6]:
        paying.add_row(row["weight"], f"{row['nats']:.4g}", f"{row['share']:.1%}", f"{row['parameters']:,}")
    console.print(paying)
    for line in found.advice:
        console.print(f"- {line}")
    for one in found.hypotheses:
        console.print(f"{one['state']}: {one['requires']} ({one['why']})", style="dim")
