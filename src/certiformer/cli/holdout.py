"""`certiformer holdout`: a held-out set that answers, remembers, and prices what was learnt from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from certiformer.certification.declaration import Declaration
from certiformer.cli import _reading as reading
from certiformer.cli._output import Form, Json, answered, console, forms, print_json
from certiformer.report.numbers import percent_up
from certiformer.theory.core.report import confidence_text, visible

holdout = typer.Typer(help="Reuse one held-out set safely: each query is logged and counted.", no_args_is_help=True)
Folder = Annotated[Path, typer.Argument(help="The ledger's folder.")]


@holdout.command()
@reading.declared(only=("label", "id", "repeats"))
def new(
    ledger: Folder,
    declaration: Declaration,
    data: Annotated[
        Path, typer.Option(metavar="FILE", help="The labels (.npz with heldout_labels, .csv, .jsonl, ...).")
    ],
    feedback: Annotated[str, typer.Option(help="ladder (better or not), count, levels, none.")] = "ladder",
    step: Annotated[int, typer.Option(help="ladder: how many errors fewer count as better.")] = 1,
    levels: Annotated[int, typer.Option(help="levels: how many values the rounded error rate has.")] = 10,
    delta: reading.Delta = None,
    confidence: reading.Confidence = None,
    json: Json = False,
) -> None:
    """Start a ledger: labels and rules are fixed before any query."""
    from certiformer.certification.holdout_log import Ledger, Rules
    from certiformer.certification.sample import labels_of
    from certiformer.evaluation._given import failure_probability

    labels, ids, not_checked = labels_of(data, declaration)
    rules = Rules(failure_probability(delta, confidence), feedback, step, levels)
    made = Ledger.new(ledger, labels, rules, ids=ids, not_checked=not_checked)
    if json:
        print_json({"ledger": str(ledger), "m": made.book.m, "head": made.head})
        return
    matched = "their place" if ids is None else "id"
    console.print(
        f"{made.book.m} held-out examples, feedback: {feedback}. Predictions are matched by {matched}. "
        f"Publish this hash now: {made.head}"
    )
    reading.conditions((), not_checked, ())


@holdout.command()
@reading.declared(only=("prediction", "id"))
def ask(
    ledger: Folder,
    declaration: Declaration,
    predictions: Annotated[
        Path,
        typer.Option(metavar="FILE", help="heldout_predictions (classes) or heldout_logits (.npz), or a table."),
    ],
    json: Json = False,
) -> None:
    """Submit a model's predictions and get the ledger's answer."""
    from certiformer.certification.holdout_log import Ledger
    from certiformer.certification.sample import answers_of

    found, answer = Ledger.open(ledger).ask(*answers_of(predictions, declaration))
    price = found.book.price(answer.round)
    if json:
        print_json({"round": answer.round, "answer": answer.says, "nats": price, "head": found.head})
        return
    said = _words(answer.says)
    console.print(f"round {answer.round}: [bold]{said}[/bold]. A claim of this model costs {price:.4g} nats.")


@holdout.command()
def claim(
    ledger: Folder,
    round: Annotated[int | None, typer.Option(help="Which model; the last, if left out.")] = None,
    json: Json = False,
) -> None:
    """Certify the model of one round, which closes the ledger."""
    from certiformer.certification.holdout_log import Ledger

    _, found = Ledger.open(ledger).claim(round)
    if json:
        print_json(found.as_json())
        return
    console.print(
        f"[bold]The model of round {found.round} errs on at most {percent_up(found.value)} of new examples[/bold], "
        f"with confidence {confidence_text(found.delta)} for all rounds together: {found.errors} errors of {found.n}, "
        f"and {found.nats:.4g} nats for what the answers told. The ledger is closed."
    )
    reading.conditions(found.conditions, found.not_checked, ())


@holdout.command()
@forms("json", "csv", "markdown")
def log(
    ledger: Folder,
    head: Annotated[bool, typer.Option("--head", help="Only the hash of the last entry, to publish it.")] = False,
    form: Form = "",
) -> None:
    """What was asked and answered; `certiformer verify LEDGER` replays it."""
    from certiformer.certification.holdout_log import LOG, Ledger, read_log

    if head:
        opened = Ledger.open(ledger)
        if form == "json":
            print_json({"head": opened.head, "entries": len(opened.entries)})
        else:
            typer.echo(opened.head)
        return
    entries = read_log(ledger / LOG)
    if answered(form, lambda: {"entries": list(entries)}, lambda: _lines(entries)):
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("round", "time", "answer", "nats", "model"):
        table.add_column(name, no_wrap=True)
    for line in _lines(entries):
        round, said = str(line["round"]), line["answer"]
        if line["claim"] is not None:
            round, said = "", f"claim of round {round}: at most {percent_up(line['claim'])}"
        table.add_row(round, line["time"][:19], said, f"{line['nats']:.4g}", line["model"][:12])
    console.print(f"{entries[0]['m']} examples, feedback {entries[0]['feedback']}, delta {entries[0]['delta']:g}")
    console.print(table)


@holdout.command()
def repair(ledger: Folder, json: Json = False) -> None:
    """Remove and show a last log line that a crash cut off."""
    from certiformer.certification.holdout_log import repair as run

    removed = run(ledger)
    if json:
        print_json({"removed": removed or None})
    elif removed:
        typer.echo(f"removed the cut-off last line ({len(removed)} characters): {visible(removed)}")
    else:
        typer.echo("every line is complete: nothing was removed")


def _lines(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line per question and claim: what was said, what it costs, and of a claim the limit."""
    lines = []
    for entry in entries[1:]:
        claimed = entry.get("claim")
        about = claimed or entry
        lines.append(
            {
                "round": about["round"],
                "time": entry["time"],
                "answer": "claim" if claimed else _words(entry["answer"]),
                "claim": claimed["value"] if claimed else None,
                "nats": about["nats"],
                "model": entry.get("model", ""),
            }
        )
    return lines


def _words(answer: object) -> str:
    if isinstance(answer, bool):
        return "better" if answer else "not better"
    return "handed in" if answer is None else str(answer)
