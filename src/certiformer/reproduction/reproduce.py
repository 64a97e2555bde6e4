"""From the name of an experiment to its table, figures and page: sweep, analyse, write; or redraw."""

from __future__ import annotations

import functools
import io
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from certiformer.report.figure import content
from certiformer.report.reproduction import experiment_page, older_versions
from certiformer.reproduction.panel import COLUMNS
from certiformer.reproduction.study import SCALES, Analysis, Scale, Study
from certiformer.reproduction.study_registry import find
from certiformer.reproduction.sweep import (
    Engine,
    Estimate,
    Experiment,
    Ledger,
    Local,
    Row,
    Swept,
    canonical,
    counting,
    estimate,
    export,
    extended,
    part,
    publish,
    read,
    sweep,
)  # fmt: skip
from certiformer.reproduction.sweep.exports import json_text, strict
from certiformer.reproduction.sweep.ledger import digest
from certiformer.reproduction.sweep.origin import described
from certiformer.reproduction.sweep.progress import duration
from certiformer.reproduction.sweep.published_runs import SUFFIX
from certiformer.theory.core.csv_writer import csv_text
from certiformer.theory.core.errors import CertiformerError, InputError, refuse_unknown_options
from certiformer.theory.core.user_dirs import cache_directory, data_directory
from certiformer.theory.core.whole_files import write_folder, write_text

TIMES = Path(__file__).with_name("processor_times.json")
"""Written by `tools/generate_reproduction.py` from the published runs."""


class NothingFinished(CertiformerError):
    """An experiment of which every run failed: there is nothing to show."""


class NoRuns(CertiformerError):
    """A place that has no finished run of an experiment: nothing is wrong with it, there is nothing to redraw."""


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
    values: Mapping[str, Sequence[Any]] | None = None,
    retry: bool = False,
    fresh: bool = False,
    progress: bool = True,
    announce: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run the experiment `id` as far as the ledger does not have it yet, and compare with its paper.

    scale     "smoke" (seconds), "quick" (a self-test of minutes) or "paper" (the paper's full setting);
    ledger    the file that remembers finished runs, by default in the user's data directory;
    out       table, figures and page go to `out/id`;
    engine    who does the runs: `sweep.Local` (the default, all cores), `sweep.Dask`, `sweep.Inline`;
    only      a part of the grid, {"width": [64, 128]}: the runs whose configuration says so;
    values    another grid, {"seed": range(20), "lag": [4, 16, 128]}: these values, whether the grid has them or not;
    retry     do failed runs again; fresh: do all of them again;
    announce  told how long it will take, before it starts.
    """
    study = find(id)
    size = checked_scale(scale)
    grid = grid_of(study, size, only, values)
    target = folder(out, id)
    place = default_ledger() if ledger is None else ledger
    own = Local(environment=worker_environment()) if engine is None else nullcontext(engine)
    with Ledger(place) as book, own as running:
        older = older_versions(book.older(grid), str(book.path))
        if fresh:
            book.forget(grid)
        told = time_left(grid, book, retry=retry)
        if announce is not None and told.missing:
            announce(". ".join(filter(None, (_announcement(study, size, told, max(1, running.slots)), older))))
        swept = sweep(grid, book, running, retry=retry, progress=progress, lengths=told.lengths)
        rows = book.rows(grid)
    return write(study, size, swept, rows, target, only or {}, values or {})


def redraw(
    id: str,
    source: str | os.PathLike[str],
    *,
    scale: str | None = None,
    out: str | os.PathLike[str] = "out",
    only: Mapping[str, Any] | None = None,
    values: Mapping[str, Sequence[Any]] | None = None,
) -> Reproduction:
    """Table, figures and page of the experiment `id` from published runs or from a ledger, without running anything.

    Runs are recognised by their configuration, whatever their version: where there are several of one, that of the
    present version counts, else the latest. The scale is the one they fit best, if it is not given.
    """
    study = find(id)
    grids = grids_of(study, scale, only, values)
    kept = counting(recorded(study, source), study.version)
    found = {
        size: [kept[c] for run in grid.runs if (c := canonical(run.config)) in kept] for size, grid in grids.items()
    }
    size = max(grids, key=lambda s: (len(found[s]) / len(grids[s].runs), len(found[s])))
    if not found[size]:
        raise NoRuns(f"{source} has no finished run of {id}" + (f" at scale {scale}" if scale else ""))
    rows = found[size]
    swept = Swept(grids[size].name, study.version, len(grids[size].runs), len(rows), 0, 0.0, digest(rows))
    return write(study, size, swept, rows, folder(out, id), only or {}, values or {})


def recorded(study: Study, source: str | os.PathLike[str]) -> list[Row]:
    """The finished runs of an experiment in a file of published runs, in a folder of such files, or in a ledger."""
    path = Path(source)
    name = study.experiment("smoke").name
    if path.is_dir():
        path = path / f"{name}{SUFFIX}"
        if not path.exists():
            raise NoRuns(f"{source} has no published runs of {study.id}: there is no {path.name}")
    if path.suffix == SUFFIX:
        published = read(path)
        if published.experiment != name:
            raise NoRuns(f"{source} has no runs of {name}: they are of {published.experiment}")
        return list(published.rows)
    with Ledger(path, read_only=True) as book:
        return [row for row in book.rows(name) if row.state == "done"]


def grid_of(
    study: Study,
    scale: Scale,
    only: Mapping[str, Any] | None = None,
    values: Mapping[str, Sequence[Any]] | None = None,
) -> Experiment:
    """The grid of a study at a scale, with other values, and then a part of it."""
    grid = study.experiment(scale)
    return part(extended(grid, values) if values else grid, only) if only else extended(grid, values or {})


def grids_of(
    study: Study,
    scale: str | None,
    only: Mapping[str, Any] | None = None,
    values: Mapping[str, Sequence[Any]] | None = None,
) -> dict[Scale, Experiment]:
    """The same at the named scale, or at every scale that has such a part: a value may occur at one scale only.

    Where none has it, what the full grid says against it is raised.
    """
    grids: dict[Scale, Experiment] = {}
    for size in SCALES if scale is None else (checked_scale(scale),):
        try:
            grids[size] = grid_of(study, size, only, values)
        except CertiformerError as error:
            refused = error
    if not grids:
        raise refused
    return grids


def time_left(grid: Experiment, book: Ledger | None, *, retry: bool = False) -> Estimate:
    """The time for what the ledger does not have yet."""
    states = {} if book is None else book.states(grid)
    settled = {"done"} if retry else {"done", "failed"}
    missing = [run for run in grid.runs if states.get(run.key) not in settled]
    finished = [] if book is None else book.rows(grid.name)
    return estimate(grid, missing, finished, published=published_times().get(grid.name))


@functools.cache
def published_times() -> Mapping[str, Mapping[str, float]]:
    """Seconds of the processor that published runs took, by experiment and by the name of a shape."""
    found: dict[str, dict[str, float]] = json.loads(TIMES.read_text(encoding="utf-8"))
    return found


@contextmanager
def existing(path: str | os.PathLike[str] | None) -> Iterator[Ledger | None]:
    """A ledger to look into; none where there is no file, for looking must not make one."""
    place = Path(default_ledger() if path is None else path)
    if not place.exists():
        yield None
        return
    with Ledger(place, read_only=True) as book:
        yield book


def checked_scale(scale: str) -> Scale:
    """The scale of this name; an unknown one is refused with the known ones."""
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
    study: Study,
    scale: Scale,
    swept: Swept,
    rows: Sequence[Row],
    target: Path,
    only: Mapping[str, Any],
    values: Mapping[str, Sequence[Any]],
) -> Reproduction:
    """Analyse the finished runs and write figures (PDF and PNG), report.json and report.html into `target`."""
    done = [row for row in rows if row.state == "done"]
    failed = [row for row in rows if row.state == "failed"]
    if not done:
        why = f": {failed[0].error}" if failed else ""
        raise NothingFinished(f"{study.id}: all {len(rows)} runs failed{why}. Mend the cause and add --retry")
    analysis = study.analyse(done)
    covered = study.covered(done)
    endings = (".pdf", ".png")
    drawn = {f"{stem}{end}": content(plot.figure, end) for stem, plot in analysis.plots.items() for end in endings}
    figures = tuple(target / name for name in drawn)
    document = {
        "id": study.id,
        "paper": study.paper,
        "title": study.title,
        "claim": study.claim,
        "headline": _sentence(f"{covered.opening(scale)}{analysis.headline}"),
        "tally": analysis.tally,
        "covered": {"cells": covered.cells, "of": covered.of},
        "scale": scale,
        "only": dict(only),
        "set": {name: list(chosen) for name, chosen in values.items()},
        "runs": swept.runs,
        "finished": len(done),
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
        "code": _code(done),
        "origins": sorted({described(row.origin) for row in done}),
        "seconds": round(swept.seconds, 3),
        "wall_seconds": None if (wall := wall_seconds(done)) is None else round(wall, 3),
        "work_seconds": round(math.fsum(_work(row) for row in done), 3),
    }
    drawings = {stem: _svg(plot.figure, f"{study.id}/{stem}") for stem, plot in analysis.plots.items()}
    page = experiment_page(document, drawings)
    write_folder(target, {**drawn, "report.json": json_text(document), "report.html": page})
    return Reproduction(study, scale, swept, rows, analysis, figures, target / "report.html", document)


def export_all(found: Sequence[Reproduction], path: Path) -> list[Path]:
    """The runs, to .csv, .json or .runs; with .csv also the plotted series, a record for each point, beside them."""
    rows = list({row.key: row for each in found for row in each.rows}.values())
    if path.suffix == SUFFIX:
        publish(rows, path)
        return [path]
    written = [export(rows, path)]
    if path.suffix.lower() == ".csv":
        series = path.with_name(f"{path.stem}.series.csv")
        records = [
            {"experiment": each.study.id, **record}
            for each in found
            for stem, plot in each.analysis.plots.items()
            for record in plot.tidy(stem)
        ]
        write_text(series, csv_text(records, ["experiment", *COLUMNS]))
        written.append(series)
    return written


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _code(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Of which version and commit the runs are, the latest version first."""
    counts = Counter((row.version, row.origin.get("commit")) for row in rows)
    order = sorted(counts, key=lambda each: (-each[0], each[1] or ""))
    return [{"version": version, "commit": commit, "runs": counts[version, commit]} for version, commit in order]


def _work(row: Row) -> float:
    return row.cpu if row.cpu is not None else row.seconds or 0.0


def wall_seconds(rows: Sequence[Row]) -> float | None:
    """How long at least one of these runs was under way, by the ledger: pauses between sweeps do not count.

    Nobody knows where it is not kept which worker did a run, as in published files: what ran side by side is not told.
    """
    later: dict[str, float] = {}
    spans = []
    # a worker does one thing after another; runs of a batch end together and share its time
    for row in sorted(rows, key=lambda row: -(row.finished or 0.0)):
        if row.worker is None:
            return None
        end = min(row.finished or 0.0, later.get(row.worker, math.inf))
        later[row.worker] = end - (row.seconds or 0.0)
        spans.append((later[row.worker], end))
    total, reached = 0.0, -math.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _announcement(study: Study, scale: Scale, told: Estimate, workers: int) -> str:
    todo = f"{study.id}, scale {scale}: {told.missing} of {told.runs} runs to do"
    if not told.lengths:
        return todo
    how = "by published times" if told.published else "as such runs took before"
    return f"{todo}, about {duration(told.on(workers))} on {workers} worker{'s' if workers > 1 else ''} ({how})"


def _svg(figure: Figure, salt: str) -> str:
    """The figure as SVG text, the same for the same runs."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": salt}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
