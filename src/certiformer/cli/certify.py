"""`certiformer certify`: what theory guarantees about a trained model's error on new data."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from certiformer.cli import _reading as reading
from certiformer.cli._output import Csv, Markdown, console, print_json, print_rows
from certiformer.core.errors import InputError
from certiformer.report.screen import first_screen


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
    every: Annotated[bool, typer.Option("--all", help="The table of all limits too.")] = False,
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
    elif csv or markdown:
        print_rows(report.rows(), markdown=markdown)
    else:
        console.print(first_screen(report, page, text, table=every))
        if told:
            console.print(told, highlight=False)
