"""`certiformer reproduce [ID]`: a paper's figure or table, next to ours."""

from __future__ import annotations

import contextlib
import json as json_module
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from certiformer.cli._output import console, print_json
from certiformer.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.experiments import Scale, Study
    from certiformer.experiments.reproduce import Reproduction
    from certiformer.sweep import Engine, Experiment, Ledger, Row


def reproduce(
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="An experiment, or `all`; none: the list.")] = None,
    scale: Annotated[str, typer.Option(help="smoke (seconds), quick (minutes) or paper (hours).")] = "quick",
    only: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Only the runs with this in their configuration.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Keep finished runs, or do all of them again.")
    ] = True,
    retry: Annotated[bool, typer.Option("--retry", help="Do runs again that failed.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say how far it is; run nothing.")] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say how long it would take; run nothing.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the single runs to results.csv or .json.")
    ] = None,
    engine: Annotated[str, typer.Option(help="local (this machine's cores) or dask.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Processes on this machine; one per core by default.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running Dask scheduler, tcp://host:8786.")
    ] = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="Start Dask workers as SLURM jobs.")] = False,
    jobs: Annotated[int, typer.Option(help="With --slurm: how many jobs.")] = 1,
    cores: Annotated[int, typer.Option(help="With --slurm: cores per job.")] = 1,
    memory: Annotated[str, typer.Option(help="With --slurm: memory per job.")] = "4GB",
    slurm_option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="More for dask-jobqueue's SLURMCluster: queue, account, walltime ..."),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Remembers finished runs; by default in your data directory.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Figures and pages go to DIR/ID.")] = Path("out"),
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Reproduce a paper's figure or table: run what the ledger does not have yet, compare, draw."""
    from certiformer.sweep.local import thread_environment

    # one thread, as a worker has: steps that are timed here take as long there; read when JAX starts
    os.environ.update(thread_environment(1))
    from certiformer.experiments import find, studies
    from certiformer.experiments.reproduce import checked_scale, folder

    size = checked_scale(scale)
    if workers is not None and workers < 1:
        raise InputError("--workers", workers, "at least 1")
    if export is not None:
        _writable(export)
    if listed or (id is None and not status):
        if only or export or estimate or retry or not resume:
            raise InputError("ID", id, "the name of an experiment, or `all`", "certiformer reproduce lists them.")
        _show_list(json)
        return
    chosen = studies() if id in (None, "all") else (find(str(id)),)
    if status:
        _show_status(chosen, ledger, None if id in (None, "all") else id, json)
        if export is not None:
            _export(_recorded(chosen, ledger), export)
        return
    part = _pairs("--only", only or [])
    if part and len(chosen) > 1:
        raise InputError("--only", only, "one experiment", "Name it instead of `all`.")
    if estimate:
        _show_estimate(chosen, size, part, workers, json)
        return
    options = _pairs("--slurm-option", slurm_option or [])
    try:
        with _engine(engine, workers, scheduler, slurm, (jobs, cores, memory), options) as running:
            for study in chosen:
                folder(out, study.id)
            if not resume:
                _forget(chosen, size, part, ledger)
            found = _run(chosen, size, part, running, ledger, out, retry=retry, quiet=json)
    except KeyboardInterrupt:
        typer.secho("stopped; finished runs are in the ledger, the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    if export is not None:
        _export([row for each in found for row in each.rows], export)
    index = _index(found, size, out) if id == "all" else None
    if json:
        documents = [each.document for each in found]
        print_json({"scale": size, "experiments": documents, "index": str(index)} if index else documents[0])
    elif index is not None:
        console.print(f"wrote {index}")
    if len(found) < len(chosen) or any(each.swept.failed for each in found):
        _complain(found)
        raise typer.Exit(1)


def _run(
    chosen: Sequence[Study],
    scale: Scale,
    part: Mapping[str, Any],
    engine: Engine,
    ledger: Path | None,
    out: Path,
    *,
    retry: bool,
    quiet: bool,
) -> list[Reproduction]:
    from certiformer.experiments.reproduce import NothingFinished
    from certiformer.experiments.reproduce import reproduce as run
    from certiformer.report.reproduction import findings_table, span

    stderr = Console(stderr=True, highlight=False, soft_wrap=True)
    found = []
    left = _left(chosen, scale, part, ledger, retry) if len(chosen) > 1 else {}
    for position, study in enumerate(chosen, 1):
        place = ""
        if len(chosen) > 1:
            place = f"{position}/{len(chosen)}, {span(sum(left.values()) / max(1, engine.slots))} left for all; "

        def announce(text: str, place: str = place) -> None:
            stderr.print(f"{place}{text}", markup=False)

        try:
            done = run(
                study.id,
                scale=scale,
                ledger=ledger,
                out=out,
                engine=engine,
                only=part,
                retry=retry,
                announce=announce,
            )
        except NothingFinished as error:
            if len(chosen) == 1:
                raise
            typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
            continue
        found.append(done)
        for row in done.rows:
            left.pop(row.key, None)
        if not quiet:
            console.print(findings_table(done.document))
            console.print(f"wrote {done.page}" + (f" and {len(done.figures)} figures" if done.figures else ""))
            console.print()
    return found


def _left(
    chosen: Sequence[Study], scale: Scale, part: Mapping[str, Any], ledger: Path | None, retry: bool
) -> dict[str, float]:
    """Seconds of work for each run still to do, by key: experiments that share a run do it once."""
    from certiformer.experiments.reproduce import default_ledger
    from certiformer.experiments.reproduce import part as part_of

    left: dict[str, float] = {}
    settled = ("done",) if retry else ("done", "failed")
    with _existing(ledger or default_ledger()) as book:
        for study in chosen:
            grid = part_of(study.experiment(scale), part)
            states = {} if book is None else book.states(grid)
            left |= {run.key: study.cost(run.config) for run in grid.runs if states.get(run.key) not in settled}
    return left


def _forget(chosen: Sequence[Study], scale: Scale, part: Mapping[str, Any], ledger: Path | None) -> None:
    """Before anything starts, for experiments share runs: each is to be done afresh once."""
    from certiformer.experiments.reproduce import default_ledger
    from certiformer.experiments.reproduce import part as part_of
    from certiformer.sweep import Ledger

    with Ledger(ledger or default_ledger()) as book:
        for study in chosen:
            book.forget(part_of(study.experiment(scale), part))


def _complain(found: Sequence[Reproduction]) -> None:
    for each in found:
        for error in each.document["errors"]:
            typer.secho(f"{each.study.id}: a run failed: {error}", err=True, fg=typer.colors.RED)
    typer.secho("Finished runs are kept; --retry does the failed ones again.", err=True)


def _index(found: Sequence[Reproduction], scale: Scale, out: Path) -> Path:
    """One page for all: relative links, so that the folder can be moved."""
    from certiformer.report.page import write_text
    from certiformer.report.reproduction import index_page

    pictures = {}
    for each in found:
        images = [path for path in each.figures if path.suffix == ".png"]
        if images:
            pictures[each.study.id] = f"{each.study.id}/{images[0].name}"
    page = out / "index.html"
    write_text(page, index_page([each.document for each in found], scale, pictures))
    return page


@contextlib.contextmanager
def _engine(
    name: str,
    workers: int | None,
    scheduler: str | None,
    slurm: bool,
    jobs: tuple[int, int, str],
    options: Mapping[str, Any],
) -> Iterator[Engine]:
    """Who does the work. Naming a scheduler or SLURM means Dask."""
    from certiformer.experiments.reproduce import worker_environment
    from certiformer.sweep import Dask, Local

    if name not in ("local", "dask"):
        raise InputError("--engine", name, "local or dask")
    if scheduler is not None and slurm:
        raise InputError("--scheduler", scheduler, "either a running scheduler or --slurm, not both")
    if workers is not None and (scheduler is not None or slurm):
        raise InputError("--workers", workers, "this machine's processes", "A cluster has the workers it has.")
    if scheduler is not None:
        with Dask.connect(scheduler) as engine:
            yield engine
    elif slurm:
        cache = [f"export {name}={shlex.quote(value)}" for name, value in worker_environment().items()]
        with Dask.slurm(*jobs, **{"job_script_prologue": cache, **options}) as engine:
            yield engine
    elif name == "dask":
        with Dask.local(workers) as engine:
            yield engine
    else:
        with Local(workers, environment=worker_environment()) as local:
            yield local


def _pairs(option: str, given: Sequence[str]) -> dict[str, Any]:
    """`width=64` as {"width": 64}; what is no JSON is text."""
    pairs = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(option, pair, f"KEY=VALUE, such as {option} seed=0")
        try:
            pairs[name] = json_module.loads(text)
        except ValueError:
            pairs[name] = text
    return pairs


def _show_list(json: bool) -> None:
    from certiformer.experiments import SCALES, studies
    from certiformer.report.reproduction import list_table

    entries = [
        {
            "id": study.id,
            "paper": study.paper,
            "title": study.title,
            "scales": {scale: round(study.seconds(scale), 1) for scale in SCALES},
        }
        for study in studies()
    ]
    if json:
        print_json(entries)
    else:
        console.print(list_table(entries))


def _show_status(chosen: Sequence[Study], ledger: Path | None, id: str | None, json: bool) -> None:
    """Every scale of a named experiment; of all of them, those that were begun."""
    from certiformer.experiments import SCALES
    from certiformer.experiments.reproduce import default_ledger
    from certiformer.report.reproduction import status_table

    path = ledger or default_ledger()
    grids = [(study, scale, study.experiment(scale)) for study in chosen for scale in SCALES]
    with _existing(path) as book:
        entries = [{"experiment": study.id, "scale": scale, **_counts(book, grid)} for study, scale, grid in grids]
    if id is None:
        entries = [entry for entry in entries if entry["done"] or entry["failed"] or entry["running"]]
    if json:
        print_json({"ledger": str(path), "experiments": entries})
    elif entries:
        console.print(status_table(entries))
        console.print(f"ledger: {path}", markup=False, soft_wrap=True)
    else:
        console.print(f"nothing in the ledger {path} yet", markup=False, soft_wrap=True)


def _show_estimate(
    chosen: Sequence[Study], scale: Scale, part: Mapping[str, Any], workers: int | None, json: bool
) -> None:
    from certiformer.experiments.reproduce import estimate
    from certiformer.experiments.reproduce import part as part_of
    from certiformer.report.reproduction import span
    from certiformer.sweep.local import cores

    count = workers or cores()
    entries = []
    for study in chosen:
        grid = part_of(study.experiment(scale), part)
        probe = scale == "paper"
        seconds = estimate(study, grid, lambda _: True, count, probe=probe)
        measured = probe and study.probe is not None
        entries.append({"id": study.id, "runs": len(grid.runs), "seconds": round(seconds, 1), "measured": measured})
        if not json:
            how = "projected from steps measured here" if measured else "as such runs took elsewhere"
            console.print(
                f"{study.id}, scale {scale}: {len(grid.runs)} runs, {span(seconds)} on {count} workers ({how})"
            )
    if json:
        print_json({"scale": scale, "workers": count, "experiments": entries})


@contextlib.contextmanager
def _existing(path: Path) -> Iterator[Ledger | None]:
    """The ledger at `path`; none where there is no file, for looking must not make one."""
    from certiformer.sweep import Ledger

    if not path.exists():
        yield None
        return
    with Ledger(path) as book:
        yield book


def _counts(book: Ledger | None, grid: Experiment) -> dict[str, float]:
    if book is None:
        return {"done": 0, "failed": 0, "running": 0, "pending": len(grid.runs), "seconds": 0.0}
    found = book.status(grid)
    return {name: getattr(found, name) for name in ("done", "failed", "running", "pending", "seconds")}


def _recorded(chosen: Sequence[Study], ledger: Path | None) -> list[Row]:
    """What the ledger has of these experiments, at every scale."""
    from certiformer.experiments import SCALES
    from certiformer.experiments.reproduce import default_ledger

    grids = [study.experiment(scale) for study in chosen for scale in SCALES]
    with _existing(ledger or default_ledger()) as book:
        return [] if book is None else [row for grid in grids for row in book.rows(grid)]


def _writable(path: Path) -> None:
    """Found out before hours of work, not after."""
    if path.suffix.lower() not in (".csv", ".json"):
        raise InputError("--export", str(path), "a file name that ends in .csv or .json")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK) or path.is_dir():
        raise InputError("--export", str(path), "a file in a folder that exists and can be written to")


def _export(rows: Sequence[Row], path: Path) -> None:
    from certiformer.sweep import export

    unique = list({row.key: row for row in rows}.values())
    try:
        written = export(unique, path)
    except OSError as error:
        raise InputError("--export", str(path), "a place that can be written to", str(error)) from error
    Console(stderr=True, highlight=False).print(f"wrote {len(unique)} runs to {written}", markup=False)
