"""`certiformer reproduce ID --verify K`: some of the kept runs done again, with what was found then and now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from certiformer.cli._output import Form, answered, console
from certiformer.cli.reproduce.arguments import Wanted
from certiformer.theory.core.errors import CertiformerError

if TYPE_CHECKING:
    from certiformer.reproduction.study_registry import Study
    from certiformer.reproduction.sweep import Engine, Experiment, Repeated


def verify_runs(wanted: Wanted, source: Path | None, count: int, engine: Engine, form: Form) -> None:
    """Do `count` of the kept runs again, of several experiments so many of each file, and list both values."""
    from certiformer.reproduction.reproduce import NoRuns, default_ledger, recorded
    from certiformer.reproduction.sweep import verify
    from certiformer.reproduction.sweep.run import canonical

    there = source or default_ledger()
    answers: list[dict[str, Any]] = []
    missing: list[str] = []
    several = len(wanted.studies) > 1
    for study in _one_for_each_file(wanted.studies) if several else wanted.studies:
        try:
            kept = recorded(study, there)
        except NoRuns:
            if not several:
                raise
            missing.append(study.id)
            continue
        configs = {canonical(row.config) for row in kept}
        best = max(
            wanted.grids(study).values(), key=lambda grid: sum(canonical(config) in configs for config in grid.configs)
        )
        found = verify(best, kept, count, engine)
        runs = [comparison.as_json() for comparison in found.comparisons]
        answers.append({"id": study.id, "agrees": found.agrees, "said": str(found), "runs": runs})
        if not form:
            _show(study.id, found, best)
    say_missing(missing, wanted.studies, there)
    rows = [
        {"id": answer["id"], "config": canonical(run["config"]), "agrees": run["agrees"], "number": name, **both}
        for answer in answers
        for run in answer["runs"]
        for name, both in run["values"].items()
    ]
    answered(form, lambda: answers if several else answers[0], lambda: rows)
    if not all(answer["agrees"] for answer in answers):
        raise typer.Exit(1)


def say_missing(missing: Sequence[str], chosen: Sequence[Study], there: Path) -> None:
    """Say which experiments a place has no runs of; a place that has none at all is the wrong one."""
    if len(missing) == len(chosen):
        raise CertiformerError(f"{there} has no finished run of any experiment")
    if missing:
        say(f"{len(missing)} of {len(chosen)} experiments have no runs in {there}: {', '.join(missing)}")


def say(text: str) -> None:
    """A line on stderr: stdout is for results."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)


def _one_for_each_file(chosen: Sequence[Study]) -> list[Study]:
    """Of experiments that share runs the one with most of them."""
    found: dict[str, Study] = {}
    for study in sorted(chosen, key=lambda study: len(study.experiment("paper").configs)):
        found[study.experiment("smoke").name] = study
    return [study for study in chosen if found[study.experiment("smoke").name] is study]


def _show(id: str, found: Repeated, grid: Experiment) -> None:
    console.print(f"{id}: {found}", markup=False, soft_wrap=True)
    varied = [name for name in grid.configs[0] if len({str(config.get(name)) for config in grid.configs}) > 1]
    for run in found.comparisons:
        setting = ", ".join(f"{name} = {run.config[name]}" for name in varied if name in run.config)
        console.print(f"  {setting}: {'agrees' if run.agrees else 'differs'}", markup=False, soft_wrap=True)
        for name, (kept, again) in run.values.items():
            console.print(f"    {name}: kept {kept!r}, again {again!r}", markup=False, soft_wrap=True)
