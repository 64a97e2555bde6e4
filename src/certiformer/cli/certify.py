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

from certiformer.certification.declaration import Declaration
from certiformer.certification.evidence import Findings
from certiformer.cli import _reading as reading
from certiformer.cli._output import Csv, Form, Markdown, console, print_json, print_rows
from certiformer.core.errors import InputError
from certiformer.report.numbers import percent_up
from certiformer.report.page import at_least, guaranteed, number, percent

SHORT = {"excess_risk": "excess risk", "training_loss": "training loss", "risk_01": "error rate"}
"""What the papers' rows bound; a certificate says itself what it measures."""


@reading.declared()
def certify(
    declaration: Declaration,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Predictions, losses or a log of evaluations (.npz, .npy, .csv, .jsonl, .parquet, .json, .eval, or a "
            "folder of logs); or a model (.safetensors, with --data); any checkpoint beside --predictions.",
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Examples (.npz): heldout_inputs, heldout_labels, train_...")
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The same as FILE, for predictions; of the checkpoint FILE, if both."),
    ] = None,
    fit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A recipe (.toml): train and certify on the same examples.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Architecture of bare weights (JSON with model, d, ...).")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="ID", help="Use only this certificate, chosen before seeing data.")
    ] = None,
    delta: reading.Delta = None,
    confidence: reading.Confidence = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and report.json go.")] = Path("out"),
    json: reading.Json = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Certify a model: what is guaranteed about its error on new data, and what other methods would need."""
    from certiformer.certification.api import Subject, findings
    from certiformer.evaluation._given import failure_probability

    level = failure_probability(delta, confidence)
    for path in (source, predictions, data, fit, config):
        if path is not None and not path.exists():
            raise InputError("file", str(path), "an existing file", "There is no file or folder of this name")
    if source is None and predictions is None and data is None and fit is None:
        raise InputError(
            "certify", "no file", "predictions, a log or a model",
            "For example certiformer certify preds.csv; the demo is certiformer demo",
        )  # fmt: skip
    if predictions is None and data is None and source is not None and _holds_outcomes(source):
        source, predictions = None, source
    if predictions is not None and data is not None:
        raise InputError("--predictions", str(predictions), f"predictions or examples, not {data} too")
    if source is not None and data is None and predictions is None:
        raise InputError("--data", None, "the examples to certify on", "For example --data data.npz")
    if data is not None and source is None:
        raise InputError("checkpoint", None, "a model to go with --data", "Or use --predictions for any other model")
    if config is not None and data is None:
        raise InputError("--config", str(config), "a model with --data", "It describes bare weights")
    if fit is not None and (source is not None or predictions is not None or declaration.as_json()):
        raise InputError("--fit", str(fit), "a recipe alone", "It says itself what it reads")
    found = findings(Subject(source, config=config), declaration, data=data, predictions=predictions, fit=fit)
    write(found, level, only, out, print_as(json, csv, markdown))


def _holds_outcomes(source: Path) -> bool:
    """Whether a file or folder is read as outcomes; a folder with weights is a checkpoint."""
    from certiformer.certification.sources.files import READERS

    if source.is_dir():
        return not any(source.glob("*.safetensors")) and not any(source.glob("*.bin"))
    return source.suffix.lower() in READERS


def print_as(json: bool, csv: bool, markdown: bool) -> Form:
    """The one form that was asked for."""
    return "json" if json else "csv" if csv else "markdown" if markdown else ""


def write(found: Findings, delta: float, only: str | None, out: Path, form: Form) -> None:
    """Build the report, write it, and show it."""
    from certiformer.certification.pipeline import build

    report = build(found, delta, only=only, command=shlex.join(["certiformer", *sys.argv[1:]]))
    page, text = report.write(out)
    if form == "json":
        print_json(report.document)
        return
    if form:
        print_rows([_row(row) for row in report.document["certificates"] if _says(row)], markdown=form == "markdown")
        return
    show(console, report.document)
    console.print(f"wrote {page} and {text}")
    if report.files:
        console.print(f"and the certified predictors: {', '.join(report.files)} (certiformer.load_predictor)")


def show(target: Console, document: Mapping[str, Any]) -> None:
    """The headline, the observed figures, and a row per certificate."""
    target.print(f"[bold]{_plain(document['headline'])}[/bold]")
    if document["basis"]:
        target.print(f"Evidence: {_plain(document['basis'])}.")
    for text in document["not_checked"]:
        target.print(f"[yellow]NOT CHECKED:[/yellow] {_plain(text)}.")
    for text in document["warnings"]:
        target.print(f"[yellow]Warning:[/yellow] {_plain(text)}.")
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
    two_sided = any("lower" in row for row in document["certificates"])
    if two_sided:
        table.add_column("at least", justify="right", no_wrap=True)
    table.add_column("trivial", justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("n needed", justify="right")
    silent = []
    for row in document["certificates"]:
        if not _says(row):
            silent.append(row["id"])
            continue
        style = "green" if row["version"] == "sound" and row["verdict"] == "informative" else None
        label = f"{_key(row)} (printed)" if row["version"] == "printed" else _key(row)
        table.add_row(
            _plain(label),
            _measures(row),
            _value(row),
            *([at_least(row) if "lower" in row else ""] if two_sided else []),
            percent(row["trivial"]) if _is_rate(row) else number(row["trivial"]),
            row["verdict"],
            number(row["n_needed"]),
            style="dim" if row["version"] == "printed" else style,
        )
    target.print(table)
    if silent:
        target.print(f"Does not apply here, the report says why: {', '.join(dict.fromkeys(silent))}")


def _says(row: Mapping[str, Any]) -> bool:
    return row["value"] is not None or row["log10"] is not None


def _key(row: Mapping[str, Any]) -> str:
    return str(row["id"] if row["evidence"] is None else row["evidence"]["key"])


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table as plain values."""
    names = ("version", "bounds", "value", "lower", "log10", "trivial", "verdict", "n_needed", "delta", "subject")
    return {"certificate": _key(row), **{name: row.get(name) for name in names}}


def _is_rate(row: Mapping[str, Any]) -> bool:
    what = (row["evidence"] or {}).get("what", "")
    return ("risk" in row["bounds"] and "excess" not in row["bounds"]) or str(what).endswith("rate")


def _measures(row: Mapping[str, Any]) -> str:
    from certiformer.certificates import certificates

    what = (row["evidence"] or {}).get("what")
    if what is not None:
        return f"mean {what}"
    kind = certificates().get(row["id"])
    return SHORT.get(row["bounds"], row["bounds"]) if kind is None else kind.measures


def _value(row: Mapping[str, Any]) -> str:
    value = row["value"]
    if value is None:
        return f"10^{row['log10']:.1f}"
    if isinstance(value, (int, float)) and 0 <= value <= 1 and _is_rate(row):
        return percent_up(value)
    return guaranteed(value)


def _plain(text: str) -> str:
    """Square brackets are rich's markup; names from files must not be."""
    return text.replace("[", r"\[")
