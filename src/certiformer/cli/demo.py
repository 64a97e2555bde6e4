"""`certiformer demo`: a small Transformer on digits, certified in every way there is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from certiformer.cli import _reading as reading
from certiformer.cli._output import Form, commanded, forms
from certiformer.cli.certify import Every, show


@forms("json", "csv", "markdown")
def demo(
    seed: Annotated[int | None, typer.Option(help="Seed of splits and draws.")] = None,
    retrain: Annotated[bool, typer.Option("--retrain", help="Train the demo's models anew.")] = False,
    only: Annotated[
        str | None, typer.Option(metavar="ID", help="Use only this certificate, chosen before seeing data.")
    ] = None,
    every: Every = False,
    delta: reading.Delta = None,
    confidence: reading.Confidence = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and report.json go.")] = Path("out"),
    form: Form = "",
) -> None:
    """Certify the demo model: see what a report looks like.

    No file of your own is needed.
    """
    from certiformer.certification.api import demo as run

    report = commanded(run(seed=seed, retrain=retrain, progress=None, only=only, delta=delta, confidence=confidence))
    show(report, report.write(out), form, table=every)
