"""What runs nothing: the list, how far it is, how long it would take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certiformer.cli._output import Form, console, print_json, print_rows

if TYPE_CHECKING:
    from certiformer.experiments import Scale, Study
    from certiformer.sweep import Experiment, Ledger


def show_list(form: Form) -> None:
    from certiformer.cli.reproduce.listing import listed
    from certiformer.report.reproduction import list_table

    entries = listed()
    if form == "json":
        print_json(entries)
    elif form:
        print_rows(entries, markdown=form == "markdown")
    else:
        console.print(list_table(entries))


def show_status(
    chosen: Sequence[Study], part: Mapping[str, Any], ledger: Path | None, *, named: bool, form: Form
) -> None:
    """Every scale of a named experiment, or that part of it; of all of them, those that were begun."""
    from certiformer.core.errors import InputError
    from certiformer.experiments import SCALES
    from certiformer.experiments.reproduce import default_ledger, existing, grid_of
    from certiformer.report.reproduction import status_table

    path = ledger or default_ledger()
    entries = []
    refused: InputError | None = None
    with existing(path) as book:
        for study in chosen:
            for scale in SCALES:
                try:
                    grid = grid_of(study, scale, part)
                except InputError as error:
                    refused = error  # a value may occur at one scale only
                    continue
                entries.append({"experiment": study.id, "scale": scale, **_counts(book, grid)})
    if refused is not None and not entries:
        raise refused
    if not named:
        entries = [entry for entry in entries if entry["done"] or entry["failed"] or entry["running"]]
    if form == "json":
        print_json({"ledger": str(path), "experiments": entries})
    elif form:
        print_rows(entries, markdown=form == "markdown")
    elif entries:
        console.print(status_table(entries))
        console.print(f"ledger: {path}", markup=False, soft_wrap=True)
    else:
        console.print(f"nothing in the ledger {path} yet", markup=False, soft_wrap=True)


def show_estimate(
    grids: Mapping[str, Experiment], scale: Scale, workers: int | None, ledger: Path | None, *, form: Form
) -> None:
    """The processor's time of the runs that the ledger does not have."""
    from certiformer.experiments.reproduce import existing, time_left
    from certiformer.report.reproduction import span
    from certiformer.sweep.local import cores

    count = workers or cores()
    entries = []
    with existing(ledger) as book:
        for id, grid in grids.items():
            told = time_left(grid, book)
            entries.append(
                {
                    "id": id,
                    "runs": told.runs,
                    "missing": told.missing,
                    "unknown": told.unknown,
                    "work_seconds": round(told.work, 1),
                    "seconds": round(told.on(count), 1),
                    "probes": told.probed,
                }
            )
            if not form:
                time = f"{span(told.work)} of work, {span(told.on(count))} on {count} workers"
                if told.missing and not told.lengths:
                    time = "time unknown"
                console.print(f"{id}, scale {scale}: {told.missing} of {told.runs} runs missing, {time}", markup=False)
    if form == "json":
        print_json({"scale": scale, "workers": count, "experiments": entries})
    elif form:
        print_rows(entries, markdown=form == "markdown")


def _counts(book: Ledger | None, grid: Experiment) -> dict[str, float]:
    if book is None:
        return {"done": 0, "failed": 0, "running": 0, "pending": len(grid.runs), "seconds": 0.0}
    found = book.status(grid)
    return {name: getattr(found, name) for name in ("done", "failed", "running", "pending", "seconds")}
