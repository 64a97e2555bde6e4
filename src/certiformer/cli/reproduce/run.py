"""`certiformer reproduce [run] [ID]`: run what the ledger lacks, or read what was published; compare, draw."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from certiformer.cli import _pairs
from certiformer.cli._output import Form, answered, console, forms
from certiformer.cli.reproduce.arguments import Wanted, lists, publishable, writable
from certiformer.cli.reproduce.status import show_estimate, show_list, show_status
from certiformer.cli.reproduce.verification import say, say_missing, verify_runs
from certiformer.theory.core.errors import CertiformerError, InputError

if TYPE_CHECKING:
    from certiformer.reproduction.reproduce import Reproduction
    from certiformer.reproduction.sweep import Engine


@forms("json", "csv", "markdown")
def run(
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="An experiment, or `all`; none: the list.")] = None,
    scale: Annotated[
        str | None, typer.Option(help="smoke (seconds), quick (a self-test, minutes) or paper (hours).")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUES", help="Only the runs with one of these in their configuration: lag=4,16."),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUES", help="Another grid: seed=0:20, lag=4,16,128. Again for more keys."),
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Redraw published runs or a ledger; run nothing.")
    ] = None,
    verify: Annotated[
        int | None, typer.Option(metavar="K", help="Repeat K random runs of --from or the ledger, and compare.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--fresh", help="Keep finished runs, or do all of them again.")
    ] = True,
    retry: Annotated[bool, typer.Option("--retry", help="Do runs again that failed.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say how far it is; run nothing.")] = False,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say how long it would take; run nothing.")] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write runs and plotted series (.csv), runs (.json), or to publish (.runs)."),
    ] = None,
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
    form: Form = "",
) -> None:
    """Run a paper's experiment and compare the numbers.

    Besides: `reproduce merge FILE ...` joins ledgers, `reproduce upgrade FILE ...` renews those of certiformer 0.1.
    """
    if export is not None:
        writable(export)
    if listed or (id is None and not status):
        if only or values or source or export or estimate or retry or verify or not resume:
            raise InputError("ID", id, "the name of an experiment, or `all`", "certiformer reproduce lists them.")
        show_list(form)
        return
    from certiformer.theory.core.threads import thread_environment

    # one thread, as a worker has: steps that are timed here take as long there; read when JAX starts
    os.environ.update(thread_environment(1))
    from certiformer.reproduction.reproduce import checked_scale, export_all, folder
    from certiformer.reproduction.study_registry import SCALES, find, studies

    size = checked_scale(scale or "quick")
    if workers is not None and workers < 1:
        raise InputError("--workers", workers, "at least 1")
    chosen = studies() if id in (None, "all") else (find(str(id)),)
    wanted = Wanted(chosen, scale, size, lists("--only", only), lists("--set", values))
    for option, given in (("--only", only), ("--set", values)):
        if given and len(chosen) > 1:
            raise InputError(option, given, "one experiment", "Name it instead of `all`.")
    if export is not None:
        publishable(export, {study.experiment(size).name for study in chosen})
    if source is not None and not source.exists():
        raise InputError(
            "--from", str(source), "published runs, a folder of them, or a ledger", "There is no such file."
        )
    if status:
        show_status(wanted, ledger, named=id not in (None, "all"), form=form)
        if export is not None:
            found, _ = _redrawn(wanted, ledger, out)
            say(f"wrote {export_all(found, export)[0]}")
        return
    if estimate:
        show_estimate(wanted, workers, ledger, form=form)
        return
    engine = _engine(workers, scheduler, slurm, (jobs, cores, memory), _pairs.values("--slurm-option", slurm_option))
    if verify is not None:
        with engine as running:
            verify_runs(wanted, source or ledger, verify, running, form)
        return
    damaged = 0
    if source is not None:
        found, damaged = _redrawn(wanted, source, out)
        _show(found, quiet=bool(form))
    else:
        try:
            with engine as running:
                for study in chosen:
                    folder(out, study.id)
                if not resume:
                    _forget(wanted, ledger)
                found = _run(wanted, running, ledger, out, retry=retry, quiet=bool(form))
        except KeyboardInterrupt:
            say("stopped; finished runs are in the ledger, the same command continues")
            raise typer.Exit(130) from None
    if export is not None:
        say(f"wrote {', '.join(map(str, export_all(found, export)))}")
    told = " and ".join(known for known in SCALES if known in {each.scale for each in found}) or size
    index = _index(found, told, out) if id == "all" else None
    documents = [each.document for each in found]
    rows = [{"experiment": each.study.id, **row} for each in found for row in each.document["rows"]]
    whole = {"scale": told, "experiments": documents, "index": str(index)}
    if not answered(form, lambda: whole if index else documents[0], lambda: rows) and index is not None:
        console.print(f"wrote {index}")
    if source is None and (len(found) < len(chosen) or any(each.swept.failed for each in found)):
        _complain(found)
        raise typer.Exit(1)
    if damaged:
        raise typer.Exit(1)


@contextlib.contextmanager
def _engine(
    workers: int | None, scheduler: str | None, slurm: bool, jobs: tuple[int, int, str], options: Mapping[str, Any]
) -> Iterator[Engine]:
    """Who does the work: this machine, or Dask where a scheduler or SLURM is named."""
    from certiformer.reproduction import sweep
    from certiformer.reproduction.reproduce import worker_environment

    if workers is not None and workers < 1:
        raise InputError("--workers", workers, "at least 1")
    if scheduler is not None and slurm:
        raise InputError("--scheduler", scheduler, "either a running scheduler or --slurm, not both")
    if workers is not None and (scheduler is not None or slurm):
        raise InputError("--workers", workers, "this machine's processes", "A cluster has the workers it has.")
    if scheduler is not None:
        with sweep.Dask.connect(scheduler) as running:
            yield running
    elif slurm:
        cache = [f"export {name}={shlex.quote(value)}" for name, value in worker_environment().items()]
        with sweep.Dask.slurm(*jobs, **{"job_script_prologue": cache, **options}) as running:
            yield running
    else:
        with sweep.Local(workers, environment=worker_environment()) as local:
            yield local


def _run(
    wanted: Wanted, engine: Engine, ledger: Path | None, out: Path, *, retry: bool, quiet: bool
) -> list[Reproduction]:
    from certiformer.reproduction.reproduce import NothingFinished, reproduce

    found = []
    many = len(wanted.studies)
    for position, study in enumerate(wanted.studies, 1):
        place = f"{position}/{many}, " if many > 1 else ""

        def announce(text: str, place: str = place) -> None:
            say(f"{place}{text}")

        try:
            done = reproduce(
                study.id,
                scale=wanted.size,
                ledger=ledger,
                out=out,
                engine=engine,
                only=wanted.part,
                values=wanted.values,
                retry=retry,
                announce=announce,
            )
        except NothingFinished as error:
            if many == 1:
                raise
            typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
            continue
        found.append(done)
        _show([done], quiet=quiet)
    return found


def _redrawn(wanted: Wanted, source: Path | None, out: Path) -> tuple[list[Reproduction], int]:
    """What a file, a folder or a ledger has; of several experiments those that are in it, and how many are damaged."""
    from certiformer.reproduction.reproduce import NoRuns, default_ledger, redraw

    there = source or default_ledger()
    found, damaged = [], 0
    missing: list[str] = []
    said: Any = {"scale": wanted.scale, "only": wanted.part, "values": wanted.values}
    for study in wanted.studies:
        try:
            found.append(redraw(study.id, there, out=out, **said))
        except CertiformerError as error:
            if len(wanted.studies) == 1:
                raise
            if isinstance(error, NoRuns):
                missing.append(study.id)
            else:
                typer.secho(f"error: {study.id}: {error}", err=True, fg=typer.colors.RED)
                damaged += 1
    say_missing(missing, wanted.studies, there)
    return found, damaged


def _forget(wanted: Wanted, ledger: Path | None) -> None:
    """Before anything starts, for experiments share runs: each is to be done afresh once."""
    from certiformer.reproduction.reproduce import default_ledger
    from certiformer.reproduction.sweep import Ledger

    with Ledger(ledger or default_ledger()) as book:
        for study in wanted.studies:
            book.forget(wanted.grid(study))


def _show(found: Sequence[Reproduction], *, quiet: bool) -> None:
    from certiformer.report.reproduction import findings_table

    if quiet:
        return
    for done in found:
        console.print(findings_table(done.document))
        console.print(f"wrote {done.page}" + (f" and {len(done.figures)} figures" if done.figures else ""))
        console.print()


def _complain(found: Sequence[Reproduction]) -> None:
    for each in found:
        for error in each.document["errors"]:
            typer.secho(f"{each.study.id}: a run failed: {error}", err=True, fg=typer.colors.RED)
    say("Finished runs are kept; --retry does the failed ones again.")


def _index(found: Sequence[Reproduction], scale: str, out: Path) -> Path:
    """One page for all: relative links, so that the folder can be moved."""
    from certiformer.report.reproduction import index_page
    from certiformer.theory.core.whole_files import write_text

    pictures = {}
    for each in found:
        images = [path for path in each.figures if path.suffix == ".png"]
        if images:
            pictures[each.study.id] = f"{each.study.id}/{images[0].name}"
    page = out / "index.html"
    write_text(page, index_page([each.document for each in found], scale, pictures))
    return page
