"""`certiformer certify`: what theory guarantees about a trained model's error on new data."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from certiformer.cli._output import console, print_json
from certiformer.core.errors import InputError
from certiformer.report.numbers import percent_up
from certiformer.report.page import guaranteed, number, percent

SHORT = {"excess_risk": "excess risk", "training_loss": "training loss", "risk_01": "error rate"}
"""What the papers' rows bound; a certificate says itself what it measures."""


def certify(
    checkpoint: Annotated[
        Path | None, typer.Argument(help="A model (.safetensors); without it, the embedded demo.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Examples (.npz): heldout_inputs, heldout_labels, train_...")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Predictions of any model (.npz): heldout_logits, ...")
    ] = None,
    fit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A recipe (.toml): train and certify on the same examples.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Architecture of bare weights (JSON with model, d, ...).")
    ] = None,
    models: Annotated[
        int,
        typer.Option(help="Models compared on the held-out examples, all fixed before any was scored on them."),
    ] = 1,
    delta: Annotated[float, typer.Option(help="Probability that any guarantee of the report is wrong.")] = 0.05,
    seed: Annotated[int | None, typer.Option(help="Seed of splits and draws.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and report.json go.")] = Path("out"),
    allow_twins: Annotated[
        bool, typer.Option("--allow-twins", help="Equal inputs may be independent draws from a small input space.")
    ] = False,
    retrain: Annotated[bool, typer.Option("--retrain", help="Train the demo's models anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Certify a model: what is guaranteed about its error on new data, and what would make the rest say something."""
    if checkpoint is not None and data is None:
        raise InputError("--data", None, "the examples to certify on", "For example --data data.npz")
    if data is not None and checkpoint is None:
        raise InputError("checkpoint", None, "a model to go with --data", "Or use --predictions for any other model")
    if retrain and (checkpoint is not None or predictions is not None):
        raise InputError("--retrain", True, "the embedded demo, which is the only thing that is trained here")
    from certiformer.certification.api import certify as run

    report = run(
        checkpoint,
        data=data,
        predictions=predictions,
        fit=fit,
        config=config,
        models=models,
        delta=delta,
        seed=seed,
        allow_twins=allow_twins,
        retrain=retrain,
        progress=None,
        command=shlex.join(["certiformer", *sys.argv[1:]]),
    )
    page, text = report.write(out)
    if json:
        print_json(report.document)
        return
    show(console, report.document)
    console.print(f"wrote {page} and {text}")
    if report.files:
        console.print(f"and the certified predictors: {', '.join(report.files)} (certiformer.load_predictor)")


def show(target: Console, document: Mapping[str, Any]) -> None:
    """The headline, the observed figures, and a row per certificate."""
    target.print(f"[bold]{_plain(document['headline'])}[/bold]")
    target.print(_plain(document["summary"]))
    observed = ", ".join(
        f"{name.replace('_', ' ')} {percent(value) if 'error' in name else number(value)}"
        for name, value in document["observed"].items()
        if value is not None
    )
    target.print(f"Observed: {observed}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    # An id is what a reader copies into the next command: it is never cut short.
    table.add_column("certificate", no_wrap=True)
    table.add_column("bounds")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("trivial", justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("n needed", justify="right")
    silent = []
    for row in document["certificates"]:
        if row["value"] is None and row["log10"] is None:
            silent.append(row["id"])
            continue
        style = "green" if row["version"] == "sound" and row["verdict"] == "informative" else None
        label = f"{row['id']} (printed)" if row["version"] == "printed" else row["id"]
        table.add_row(
            _plain(label),
            _measures(row),
            _value(row),
            number(row["trivial"]),
            row["verdict"],
            number(row["n_needed"]),
            style="dim" if row["version"] == "printed" else style,
        )
    target.print(table)
    if silent:
        target.print(f"Does not apply here, the report says why: {', '.join(dict.fromkeys(silent))}")


def _measures(row: Mapping[str, Any]) -> str:
    from certiformer.certificates import certificates

    kind = certificates().get(row["id"])
    return SHORT.get(row["bounds"], row["bounds"]) if kind is None else kind.measures


def _value(row: Mapping[str, Any]) -> str:
    value = row["value"]
    if value is None:
        return f"10^{row['log10']:.1f}"
    if isinstance(value, (int, float)) and 0 <= value <= 1 and "risk" in row["bounds"]:
        return percent_up(value)
    return guaranteed(value)


def _plain(text: str) -> str:
    """Square brackets are rich's markup; names from files must not be."""
    return text.replace("[", r"\[")
