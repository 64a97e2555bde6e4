"""What runs nothing: the list, how far it is, how long it would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from certiformer.cli._output import Form, answered, console
from certiformer.cli.reproduce.arguments import Wanted

if TYPE_CHECKING:
    from certiformer.reproduction.sweep import Experiment, Ledger


def show_list(form: Form) -> None:
    from certiformer.report.reproduction import list_table
    from certiformer.reproduction.study_registry import SCALES, studies

    entries: list[dict[str, Any]] = [
        {
            "id": study.id,
            "paper": study.paper,
            "title": study.title,
            "runs": {scale: len(study.experiment(scale).configs) for scale in SCALES},
        }
        for study in studies()
    ]
    if not answered(form, lambda: entries, lambda: entries):
        console.print(list_table(entries))


def show_status(wanted: Wanted, ledger: Path | None, *, named: bool, form: Form) -> None:
    """Every scale of a named experiment, or that part of it; of all of them, those that were begun."""
    from certiformer.report.reproduction import older_versions, status_table
    from certiformer.reproduction.reproduce import default_ledger, existing

    path = ledger or default_ledger()
    entries: list[dict[str, Any]] = []
    hints: dict[str, str] = {}
    with existing(path) as book:
        for study in wanted.studies:
            for size, grid in wanted.grids(study).items():
                entries.append({"experiment": study.id, "scale": size, **_counts(book, grid)})
                # the last scale that has any is the largest
                older = int(entries[-1]["older"])
                hints[study.id] = older_versions(older, str(path)) or hints.get(study.id, "")
    if not named:
        entries = [e for e in entries if e["done"] or e["failed"] or e["running"] or e["older"]]
    if answered(form, lambda: {"ledger": str(path), "experiments": entries}, lambda: entries):
        return
    if entries:
        console.print(status_table(entries))
        for id, hint in hints.items():
            if hint:
                console.print(f"{id}: {hint}", markup=False, soft_wrap=True)
        console.print(f"ledger: {path}", markup=False, soft_wrap=True)
    else:
        console.print(f"nothing in the ledger {path} yet", markup=False, soft_wrap=True)


def show_estimate(wanted: Wanted, workers: int | None, ledger: Path | None, *, form: Form) -> None:
    """The processor's time of the runs that the ledger does not have."""
    from certiformer.report.reproduction import older_versions, span
    from certiformer.reproduction.reproduce import default_ledger, existing, time_left
    from certiformer.theory.core.threads import cores

    count = workers or cores()
    entries = []
    with existing(ledger) as book:
        for study in wanted.studies:
            grid = wanted.grid(study)
            told = time_left(grid, book)
            entries.append(
                {
                    "id": study.id,
                    "runs": told.runs,
                    "missing": told.missing,
                    "unknown": told.unknown,
                    "work_seconds": round(told.work, 1),
                    "seconds": round(told.on(count), 1),
                    "published": told.published,
                    "older": (older := 0 if book is None else book.older(grid)),
                }
            )
            if not form:
                time = f"{span(told.work)} of work, {span(told.on(count))} on {count} workers"
                if told.missing and told.typical is None:
                    time = "time unknown"
                said = f"{study.id}, scale {wanted.size}: {told.missing} of {told.runs} runs missing, {time}"
                if told.published:
                    said += f" (published times of {told.published} runs)"
                if told.lengths and told.unknown:
                    said += f" ({told.unknown} runs taken as long as the others on average)"
                elif told.unknown and told.typical is not None:
                    said += " (if each takes as long as the published runs on average; smaller ones take less)"
                hint = older_versions(older, str(ledger or default_ledger()))
                console.print(". ".join(filter(None, (said, hint))), markup=False, soft_wrap=True)
    answered(form, lambda: {"scale": wanted.size, "workers": count, "experiments": entries}, lambda: entries)


def _counts(book: Ledger | None, grid: Experiment) -> dict[str, float]:
    if book is None:
        return {"done": 0, "failed": 0, "running": 0, "pending": len(grid.runs), "seconds": 0.0, "older": 0}
    found = book.status(grid)
    counts = {name: getattr(found, name) for name in ("done", "failed", "running", "pending", "seconds")}
    return {**counts, "older": book.older(grid)}
