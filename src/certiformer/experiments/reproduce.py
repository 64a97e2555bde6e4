"""From the name of an experiment to its table, figures and page: sweep, analyse, write."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from certiformer.core.errors import CertiformerError, InputError, UnknownNameError, refuse_unknown_options
from certiformer.core.places import cache_directory, data_directory
from certiformer.experiments import find
from certiformer.experiments.study import SCALES, Analysis, Scale, Study, strict
from certiformer.report.figure import save
from certiformer.report.page import write_text
from certiformer.report.reproduction import experiment_page
from certiformer.sweep import Engine, Experiment, Ledger, Local, Row, Swept, sweep
from certiformer.sweep.progress import duration
from certiformer.sweep.run import Config


class NothingFinished(CertiformerError):
    """An experiment of which every run failed: there is nothing to show."""


@dataclass(frozen=True)
class Reproduction:
    """An experiment that was run: what was done, what came out, and the files that were written."""

    study: Study
    scale: Scale
    swept: Swept
    rows: Sequence[Row]
    analysis: Analysis
    figures: tuple[Path, ...]
    page: Path
    document: Mapping[str, Any]


def default_ledger() -> Path:
    """Where finished runs are kept if no place is named."""
    return data_directory() / "ledger.db"


def worker_environment() -> dict[str, str]:
    """Workers keep compiled programs on disk: the second sweep does not compile again."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(cache_directory() / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
    }


@refuse_unknown_options
def reproduce(
    id: str,
    *,
    scale: str = "quick",
    ledger: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] = "out",
    engine: Engine | None = None,
    only: Mapping[str, Any] | None = None,
    retry: bool = False,
    fresh: bool = False,
    progress: bool = True,
    announce: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run the experiment `id` as far as the ledger does not have it yet, and compare with its paper.

    scale     "smoke" (seconds), "quick" (minutes) or "paper" (the paper's full setting);
    ledger    the file that remembers finished runs, by default in the user's data directory;
    out       table, figures and page go to `out/id`;
    engine    who does the runs: `sweep.Local` (the default, all cores), `sweep.Dask`, `sweep.Inline`;
    only      a part of the grid, {"width": 64}: the runs whose configuration says so;
    retry     do failed runs again; fresh: do all of them again;
    announce  told how long it will take, before it starts.
    """
    study = find(id)
    size = checked_scale(scale)
    grid = part(study.experiment(size), only or {})
    target = folder(out, id)
    with Ledger(default_ledger() if ledger is None else ledger) as book:
        if engine is None:
            with Local(environment=worker_environment()) as local:
                swept = _swept(study, size, grid, book, local, retry, fresh, progress, announce)
        else:
            swept = _swept(study, size, grid, book, engine, retry, fresh, progress, announce)
        rows = book.rows(grid)
    return write(study, size, swept, rows, target, only or {})


def estimate(study: Study, grid: Experiment, pending: Callable[[Config], bool], workers: int, *, probe: bool) -> float:
    """Seconds for the runs still to do on so many workers; with `probe`, from steps measured here and now."""
    left = dataclasses.replace(grid, configs=[c for c in grid.configs if pending(c)])
    return study.estimate(left, study.probed(left) if probe else study.cost, workers)


def part(experiment: Experiment, only: Mapping[str, Any]) -> Experiment:
    """The runs whose configuration has these values; keys stay the same, so that nothing is ever done twice."""
    known = {name for config in experiment.configs for name in config}
    for name in only:
        if name not in known:
            raise UnknownNameError("part of a configuration", name, known, f"Known: {', '.join(sorted(known))}.")
    kept = [c for c in experiment.configs if all(name in c and c[name] == value for name, value in only.items())]
    if not kept:
        there = {name: sorted({c[name] for c in experiment.configs if name in c}, key=str) for name in only}
        raise InputError("--only", dict(only), f"values that occur in the grid: {there}")
    return dataclasses.replace(experiment, configs=kept)


def checked_scale(scale: str) -> Scale:
    for known in SCALES:
        if scale == known:
            return known
    raise InputError("--scale", scale, f"one of {', '.join(SCALES)}")


def folder(out: str | os.PathLike[str], id: str) -> Path:
    """The experiment's own folder; found out before hours of work, not after."""
    target = Path(out) / id
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--out", str(out), "a folder that can be written to", str(error)) from error
    return target


def write(
    study: Study, scale: Scale, swept: Swept, rows: Sequence[Row], target: Path, only: Mapping[str, Any]
) -> Reproduction:
    """Analyse the finished runs and write figures (PDF and PNG), report.json and report.html into `target`."""
    done = [row for row in rows if row.state == "done"]
    failed = [row for row in rows if row.state == "failed"]
    if not done:
        why = f": {failed[0].error}" if failed else ""
        raise NothingFinished(f"{study.id}: all {len(rows)} runs failed{why}. Mend the cause and add --retry")
    analysis = study.analyse(done)
    figures = tuple(path for stem, plot in analysis.plots.items() for path in _save(plot.figure, target / stem))
    document = {
        "id": study.id,
        "paper": study.paper,
        "title": study.title,
        "claim": study.claim,
        "scale": scale,
        "only": dict(only),
        "runs": swept.runs,
        "reused": swept.reused,
        "failed": swept.failed,
        "errors": sorted({row.error for row in failed if row.error}),
        "rows": [finding.as_json() for finding in analysis.findings],
        "fits": strict(analysis.fits),
        "remarks": list(analysis.remarks),
        "readings": list(study.readings),
        "figures": [str(path) for path in figures],
        "captions": {stem: plot.caption for stem, plot in analysis.plots.items()},
        "seeds": sorted({row.config["seed"] for row in done if "seed" in row.config}),
        "ledger": swept.digest,
        "version": swept.version,
        "seconds": round(swept.seconds, 3),
        "wall_seconds": round(wall_seconds(done), 3),
        "work_seconds": round(math.fsum(row.seconds or 0.0 for row in done), 3),
    }
    drawings = {stem: _svg(plot.figure, f"{study.id}/{stem}") for stem, plot in analysis.plots.items()}
    page = target / "report.html"
    write_text(target / "report.json", _json(document))
    write_text(page, experiment_page(document, drawings))
    return Reproduction(study, scale, swept, rows, analysis, figures, page, document)


def wall_seconds(rows: Sequence[Row]) -> float:
    """How long at least one of these runs was under way, by the ledger: pauses between sweeps do not count."""
    later: dict[str, float] = {}
    spans = []
    # a worker does one thing after another; runs of a batch end together and share its time
    for row in sorted(rows, key=lambda row: -(row.finished or 0.0)):
        end = min(row.finished or 0.0, later.get(row.worker or "", math.inf))
        later[row.worker or ""] = end - (row.seconds or 0.0)
        spans.append((later[row.worker or ""], end))
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _swept(
    study: Study,
    scale: Scale,
    grid: Experiment,
    book: Ledger,
    engine: Engine,
    retry: bool,
    fresh: bool,
    progress: bool,
    announce: Callable[[str], None] | None,
) -> Swept:
    if announce is not None:
        states = {} if fresh else book.states(grid)
        settled = {"done"} if retry else {"done", "failed"}
        open_runs = [run.config for run in grid.runs if states.get(run.key) not in settled]
        if open_runs:
            announce(_announcement(study, scale, grid, open_runs, max(1, engine.slots)))
    return sweep(grid, book, engine, retry=retry, fresh=fresh, progress=progress, cost=study.cost)


def _announcement(study: Study, scale: Scale, grid: Experiment, open_runs: Sequence[Config], workers: int) -> str:
    probe = scale == "paper" and study.probe is not None
    seconds = estimate(study, grid, lambda config: config in open_runs, workers, probe=probe)
    how = "projected from steps measured here" if probe else "as such runs took elsewhere"
    return (
        f"{study.id}, scale {scale}: {len(open_runs)} of {len(grid.runs)} runs to do, "
        f"about {duration(seconds)} on {workers} worker{'s' if workers > 1 else ''} ({how})"
    )


def _save(figure: Figure, stem: Path) -> list[Path]:
    """The figure as PDF and PNG, without dates: the same runs give the same bytes."""
    paths = [stem.with_name(f"{stem.name}{suffix}") for suffix in (".pdf", ".png")]
    for path in paths:
        save(figure, path)
    return paths


def _svg(figure: Figure, salt: str) -> str:
    """The figure as SVG text, the same for the same runs."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
