"""`certiformer select FILE --error 0.05`: when to answer and when to abstain."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from certiformer.cli import _reading as reading
from certiformer.cli._output import console, print_json
from certiformer.core.errors import InputError
from certiformer.report.numbers import percent_up


def select(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="Predictions with confidences (.csv, .npz, ...).")],
    error: Annotated[float, typer.Option(help="The error rate among answered examples that is allowed.")],
    thresholds: Annotated[
        str | None,
        typer.Option(help="Thresholds fixed beforehand, most cautious first: 0.95,0.9,0.8. Without: ten counts."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability that the claim about the error is wrong.")] = 0.05,
    label: reading.Label = None,
    prediction: reading.Prediction = None,
    confidence: reading.Confidence = None,
    metric: reading.Metric = None,
    id: reading.Id = None,
    classes: reading.Classes = None,
    outputs: reading.Outputs = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Choose a threshold on the confidence so that the error among answered examples is certified."""
    from certiformer.certification.outcomes import outcomes_of
    from certiformer.certification.reading import Reading
    from certiformer.certification.sources import Choice
    from certiformer.evaluation import choose_threshold

    columns = Choice(metric=tuple(metric or ()), label=label, prediction=prediction, id=id, confidence=confidence)
    declared = Reading(classes=reading.classes_of(classes), outputs=outputs)  # type: ignore[arg-type]
    found = outcomes_of(source, columns, declared)
    if not found.binary:
        raise InputError(
            "file", source.name, "right or wrong answers", "A loss between has no error rate among answered"
        )
    if found.confidences is None:
        raise InputError("file", source.name, "confidences", "A column `confidence` (--confidence COLUMN), or logits")
    fixed = None if thresholds is None else [_number(text) for text in thresholds.split(",")]
    chosen = choose_threshold(found.confidences, found.losses, error, delta, fixed)
    if json:
        document = asdict(chosen)
        if chosen.threshold is not None and chosen.threshold == float("-inf"):
            document["threshold"] = "-inf"
        print_json(document)
        return
    if chosen.threshold is None:
        console.print(
            f"[bold]Answer nothing: no threshold is certified to err on at most {percent_up(error)}.[/bold] "
            "More labels, or a larger --error, would help."
        )
        return
    sign = ">" if chosen.strict else ">="
    where = "always" if chosen.threshold == float("-inf") else f"where confidence {sign} {chosen.threshold:.6g}"
    console.print(
        f"[bold]Answer {where}: the error among answered examples is at most {percent_up(chosen.error_upper)}, with "
        f"confidence {100 * (1 - delta):g} %.[/bold]"
    )
    low, high = chosen.coverage
    console.print(
        f"Evidence: {chosen.errors:,} errors among {chosen.answered:,} answered of {chosen.n:,} examples. About "
        f"{100 * chosen.answered / chosen.n:.1f} % of new examples are answered (between {100 * low:.1f} and "
        f"{100 * high:.1f} %, with a confidence of its own of {100 * (1 - delta):g} %)."
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("--thresholds", text, "numbers with commas between them") from None
