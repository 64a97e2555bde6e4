"""`certiformer certify`: what theory guarantees about a trained model's error on new data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from certiformer.certification.declaration import Declaration
from certiformer.cli import _reading as reading
from certiformer.cli._output import Form, answered, commanded, console, forms
from certiformer.report.screen import first_screen
from certiformer.theory.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.theory.core.report import Report

Every = Annotated[bool, typer.Option("--all", help="The table of all limits too.")]


@reading.declared("certify")
@forms("json", "csv", "markdown")
def certify(
    declaration: Declaration,
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Predictions, losses, evaluation logs (file or folder), or a model.",
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
    proof: Annotated[
        str | None,
        typer.Option(
            metavar="[=count]",
            help="Write proof.v for a proof kernel; =count: it counts too.",
        ),
    ] = None,
    require: Annotated[
        float | None,
        typer.Option(metavar="X", help="Exit code 0 if the limit meets X, else 1 or 3."),
    ] = None,
    every: Every = False,
    delta: reading.Delta = None,
    confidence: reading.Confidence = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where report.html and report.json go.")] = Path("out"),
    form: Form = "",
) -> None:
    """Limit a model's error on new data, with a stated confidence.

    FILE may be .npz, .npy, .csv, .jsonl, .parquet, .json, .eval or a folder of logs; a model (.safetensors) needs
    --data; with --predictions it may be any checkpoint. Exit code with --require: 0 met, 1 not met, 3 undecided.
    """
    from certiformer.certification.api import certify as run
    from certiformer.certification.counting import Subject
    from certiformer.certification.sources.files import READERS
    from certiformer.evaluation._given import failure_probability

    level = failure_probability(delta, confidence)
    for path in (source, predictions, data, fit, config):
        if path is not None and not path.exists():
            raise InputError("file", str(path), "an existing file", "There is no file or folder of this name")
    if predictions is None and data is None and source is not None and _holds_outcomes(source):
        source, predictions = None, source
    if source is not None and data is None and predictions is None and fit is None:
        raise InputError(
            "--data", None, f"the examples to certify {source} on, if it is a model",
            f"For example --data data.npz; results are {', '.join(READERS)}",
        )  # fmt: skip
    if config is not None and data is None:
        raise InputError("--config", str(config), "a model with --data", "It describes bare weights")
    subject = Subject(source, config=config)
    made = run(subject, data=data, predictions=predictions, fit=fit, only=only, delta=level, declaration=declaration)
    report = commanded(made)
    written = report.write(out)
    told = ""
    if proof is not None:
        from certiformer.auditing.proofs import write_proof

        told = write_proof(report.document, out / "proof.v", predictions, proof)
    show(report, written, form, table=every)
    if told and not form:
        console.print(told, highlight=False)
    if require is not None:
        from certiformer.certification.gating import EXIT, required

        verdict, said = required(report, require)
        typer.echo(said, err=bool(form))
        raise typer.Exit(EXIT[verdict])


def _holds_outcomes(source: Path) -> bool:
    """Whether a file or folder is read as outcomes, or refused there; a folder with weights is a checkpoint."""
    from certiformer.certification.sources.files import OTHERS, READERS

    if source.is_dir():
        return not any(source.glob("*.safetensors")) and not any(source.glob("*.bin"))
    return source.suffix.lower() in {**READERS, **OTHERS}


def show(report: Report, written: tuple[Path, Path], form: Form, *, table: bool = False) -> None:
    """The report in the form that was asked for."""
    if not answered(form, lambda: report.document, report.rows):
        console.print(first_screen(report, *written, table=table))
