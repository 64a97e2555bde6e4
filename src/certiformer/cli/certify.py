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

from certiformer.cli import _reading as reading
from certiformer.cli._output import Csv, Markdown, console, print_json, print_rows
from certiformer.core.errors import InputError
from certiformer.report.numbers import percent_up
from certiformer.report.page import at_least, guaranteed, number, percent

SHORT = {"excess_risk": "excess risk", "training_loss": "training loss", "risk_01": "error rate"}
"""What the papers' rows bound; a certificate says itself what it measures."""


def certify(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="A model (.safetensors), or predictions, losses or a log of evaluations (.npz, .npy, .csv, .jsonl, "
            ".parquet, .json, .eval); any checkpoint beside --predictions; without it, the embedded demo.",
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
    models: Annotated[
        int,
        typer.Option(help="Models compared on the held-out examples, all fixed before any was scored on them."),
    ] = 1,
    only: Annotated[
        str | None, typer.Option(metavar="ID", help="One certificate, decided beforehand, has the whole of delta.")
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability that any guarantee of the report is wrong.")] = 0.05,
    seed: Annotated[int | None, typer.Option(help="Seed of splits and draws.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and report.json go.")] = Path("out"),
    allow_twins: Annotated[
        bool, typer.Option("--allow-twins", help="Equal inputs may be independent draws from a small input space.")
    ] = False,
    retrain: Annotated[bool, typer.Option("--retrain", help="Train the demo's models anew.")] = False,
    metric: reading.Metric = None,
    label: reading.Label = None,
    prediction: reading.Prediction = None,
    id: reading.Id = None,
    group: reading.Group = None,
    slices: reading.Slice = None,
    filter: reading.Filter = None,
    score: reading.Score = None,
    unscored: reading.Unscored = "refuse",
    limits: reading.Range = None,
    clip: reading.Clip = None,
    two_sided: reading.TwoSided = False,
    order: reading.Order = "average",
    estimand: reading.Estimand = "groups",
    max_size: reading.MaxSize = None,
    repeats: reading.Repeats = "refuse",
    outputs: reading.Outputs = None,
    classes: reading.Classes = None,
    abstain: reading.Abstain = None,
    proof: Annotated[
        str | None,
        typer.Option(
            metavar="[=count]",
            help="Write proof.v, which a proof kernel checks (verify --proof); with =count the kernel counts too.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    csv: Csv = False,
    markdown: Markdown = False,
) -> None:
    """Certify a model: what is guaranteed about its error on new data, and what would make the rest say something."""
    from certiformer.certification import sources
    from certiformer.certification.api import certify as run

    if predictions is None and data is None and source is not None and source.suffix.lower() in sources.ENDINGS:
        source, predictions = None, source
    if predictions is not None and data is not None:
        raise InputError("--predictions", str(predictions), f"predictions or examples, not {data} too")
    if source is not None and data is None and predictions is None:
        raise InputError("--data", None, "the examples to certify on", "For example --data data.npz")
    if data is not None and source is None:
        raise InputError("checkpoint", None, "a model to go with --data", "Or use --predictions for any other model")
    if retrain and (source is not None or predictions is not None):
        raise InputError("--retrain", True, "the embedded demo, which is the only thing that is trained here")
    # `--slice label` means the classes, unless a table has a column of that name.
    by_label = slices == "label" and (predictions is None or predictions.suffix.lower() in (".npz", ".npy"))
    report = run(
        source,
        data=data,
        predictions=predictions,
        fit=fit,
        columns=sources.Choice(
            metric=tuple(metric or ()),
            label=label,
            prediction=prediction,
            id=id,
            group=group,
            slices=None if by_label else slices,
            filter=filter,
            score=score,
            unscored=unscored,
        ),
        config=config,
        models=models,
        classes=reading.classes_of(classes),
        outputs=outputs,  # type: ignore[arg-type]
        abstain=reading.abstain_of(abstain),
        low=0.0 if limits is None else limits[0],
        high=None if limits is None else limits[1],
        clip=clip,
        two_sided=two_sided,
        order=order,  # type: ignore[arg-type]
        estimand=estimand,  # type: ignore[arg-type]
        max_size=max_size,
        repeats=repeats,  # type: ignore[arg-type]
        slices="label" if by_label else None,
        only=only,
        delta=delta,
        seed=seed,
        allow_twins=allow_twins,
        retrain=retrain,
        progress=None,
        command=shlex.join(["certiformer", *sys.argv[1:]]),
    )
    page, text = report.write(out)
    told = ""
    if proof is not None:
        from certiformer.certification.proofs import write_proof

        told = write_proof(report.document, out / "proof.v", predictions, proof)
    if json:
        print_json(report.document)
        return
    if csv or markdown:
        print_rows([_row(row) for row in report.document["certificates"] if _says(row)], markdown=markdown)
        return
    show(console, report.document)
    console.print(f"wrote {page} and {text}")
    if told:
        console.print(told, highlight=False)
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
