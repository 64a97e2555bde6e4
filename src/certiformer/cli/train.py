"""`certiformer train MODEL --task TASK`: train a paper's model, write a checkpoint."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from certiformer.cli import _pairs
from certiformer.cli._output import Json, console, print_json
from certiformer.report.numbers import rounded_up
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.locks import held
from certiformer.theory.core.regular_file import regular
from certiformer.theory.core.threads import thread_environment
from certiformer.theory.core.user_dirs import cache_directory


def train(
    model: Annotated[str | None, typer.Argument(help="A model, e.g. shallow_encoder; a preset brings its own.")] = None,
    task: Annotated[str | None, typer.Option(help="A task, e.g. mnist, or your own FILE.npz.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="A paper's experiment (--presets lists them); other options override it."),
    ] = None,
    presets: Annotated[bool, typer.Option("--presets", help="List the papers' presets and leave.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the model, e.g. d_m=64.")
    ] = None,
    task_settings: Annotated[
        list[str] | None, typer.Option("--task-set", metavar="KEY=VALUE", help="A setting of the task, e.g. n=1200.")
    ] = None,
    optimiser: Annotated[
        str | None, typer.Option(help="gd, sgd, momentum, adam, projected_gd or projected_sgd.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps (epochs for momentum and adam).")] = None,
    batch: Annotated[int | None, typer.Option(help="Samples per batch.")] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="A loss by name, e.g. huber:1.5; default: fits the labels."),
    ] = None,
    select: Annotated[str | None, typer.Option(help="Which iterate to keep: last, or best (validation loss).")] = None,
    seed: Annotated[int, typer.Option(help="Everything random comes from it.")] = 0,
    text: Annotated[
        list[Path] | None,
        typer.Option(help="For byte_lm: a text file, a folder of *.txt, or JSONL."),
    ] = None,
    column: Annotated[str, typer.Option(help="For byte_lm: the column of the text in JSONL.")] = "text",
    minutes: Annotated[float | None, typer.Option(help="For byte_lm: end the pass after so many minutes.")] = None,
    out: Annotated[Path, typer.Option(help="The checkpoint to write.")] = Path("model.safetensors"),
    data: Annotated[
        Path | None,
        typer.Option(help="Where the examples for `certify --data` go (default: data.npz beside the checkpoint)."),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Continue an interrupted run of the same settings.")] = True,
    bounds: Annotated[
        str | None,
        typer.Option(metavar="ID,...", help="Results to follow along training, e.g. trauger.thm4.1,mwigo.thm5."),
    ] = None,
    every: Annotated[int, typer.Option(help="Steps between two looks of --bounds.")] = 10,
    bounds_out: Annotated[
        Path | None,
        typer.Option(help="The table of --bounds, .csv or .json; the picture lies beside it."),
    ] = None,
    delta: Annotated[float, typer.Option(help="Failure probability of --bounds, for all results and steps.")] = 0.05,
    threads: Annotated[int | None, typer.Option(help="CPUs to use (default: all).")] = None,
    float64: Annotated[bool, typer.Option("--float64", help="Train in double precision.")] = False,
    progress: Annotated[bool | None, typer.Option(help="A progress bar (default: on a terminal).")] = None,
    json: Json = False,
) -> None:
    """Train a paper's model and write a safetensors checkpoint.

    An interrupted run leaves its state beside the checkpoint and continues there, bit for bit. The examples, those
    that training never saw apart, go to data.npz: `certiformer certify model.safetensors --data data.npz` goes on.
    """
    # JAX is imported by the commands that need it, not by `certiformer --help`.
    own_process(threads)
    import jax

    from certiformer.lab import models, tasks
    from certiformer.lab.paper_results.bounds_along import facts as along_facts
    from certiformer.lab.tasks.own import ARRAYS
    from certiformer.lab.training.fitting import fit
    from certiformer.lab.training.presets import PRESETS, Recipe
    from certiformer.lab.training.presets import preset as find_preset

    if presets:
        _list(PRESETS, json)
        return
    if model in ("byte_lm", "byte-lm"):
        others = {
            "--task": task, "--preset": preset, "--task-set": task_settings, "--optimiser": optimiser, "--rate": rate,
            "--steps": steps, "--batch": batch, "--loss": loss, "--select": select, "--bounds": bounds,
        }  # fmt: skip
        for name, value in others.items():
            if value:
                raise InputError(name, str(value), "nothing beside byte_lm", "Its settings: --set NAME=VALUE")
        given = {**_pairs.values("--set", settings), "seed": seed}
        told = _byte_lm(text=text, column=column, out=out, data=data, given=given, resume=resume, minutes=minutes)
        if json:
            print_json(told)
        else:
            console.print("\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in told.items()))
        return
    for option, given_value in (("--text", text), ("--minutes", minutes)):
        if given_value is not None:
            raise InputError(
                option, str(given_value), "the model byte_lm beside it", "certiformer train byte_lm --text FILE"
            )
    chosen = None if preset is None else find_preset(preset)
    model_name = _either("MODEL", model, chosen.model if chosen else None)
    models.model_type(model_name)  # an unknown name is said before anything else is asked for
    task_name = _either("--task", task, chosen.task if chosen else None)
    given = {
        "optimiser": optimiser,
        "rate": rate,
        "steps": steps,
        "batch": batch,
        "loss": loss,
        "select": select,
    }
    recipe = replace(chosen.recipe if chosen else Recipe(), **{k: v for k, v in given.items() if v is not None})
    model_settings = {**(chosen.model_settings if chosen else {}), **_pairs.values("--set", settings)}
    chosen_task = {**(chosen.task_settings if chosen else {}), **_pairs.values("--task-set", task_settings)}
    if float64:
        chosen_task["dtype"] = "float64"
    if not out.parent.is_dir():
        raise InputError("--out", str(out), f"a file in an existing folder, not in {out.parent}")
    examples = out.with_name("data.npz") if data is None else data
    given_file = task_name.endswith(".npz")
    if given_file and data is not None:
        raise InputError("--data", str(data), f"nothing: the examples are in {task_name} already")
    if not given_file:
        _refuse_foreign(examples, ARRAYS)
    running = out.with_name(f"{out.name}.running")
    if not resume:
        running.unlink(missing_ok=True)
    along = _follow(bounds, every, delta, bounds_out)
    if along is not None:
        along.training = along_facts(recipe, {**tasks.settings(task_name), **chosen_task}, delta)
    with held(out), jax.enable_x64(float64):  # checkpoint and examples belong together
        fitted = fit(
            model_name,
            task_name,
            recipe,
            seed=seed,
            model_settings=model_settings,
            task_settings=chosen_task,
            chunk=100 if along is None else every,
            running=running if along is None else None,
            resume=resume,
            progress=progress,
            look=None if along is None else along.look,
        )
        models.save(out, fitted.model, fitted.facts)
        kept = task_name if given_file else _write_examples(examples, fitted.task, select=recipe.select)
        running.unlink(missing_ok=True)
    report: dict[str, Any] = {"checkpoint": str(out), "examples": kept}
    if along is not None:
        report["bounds"] = _write_bounds(along, out.with_name("bounds.csv") if bounds_out is None else bounds_out)
    report |= {k: v for k, v in fitted.facts.items() if k != "metrics"}
    if json:
        print_json(report)
    else:
        _show(report)


def own_process(threads: int | None) -> None:
    """Limit this process to `threads` CPUs and keep compiled programs on disk.

    To be called before JAX starts its thread pools, that is before the first array.
    """
    pinned = hasattr(os, "sched_getaffinity")
    available = sorted(os.sched_getaffinity(0)) if pinned else list(range(os.cpu_count() or 1))
    if threads is not None:
        if not 1 <= threads <= len(available):
            raise InputError("--threads", threads, f"between 1 and {len(available)}, the CPUs at hand")
        os.environ.update(thread_environment(threads))
        if pinned:
            os.sched_setaffinity(0, set(available[:threads]))
    import jax

    for flag, value in (
        ("jax_compilation_cache_dir", str(cache_directory() / "compiled")),
        ("jax_persistent_cache_min_compile_time_secs", 0.5),
    ):
        jax.config.update(flag, value)  # type: ignore[no-untyped-call]


def _byte_lm(
    *,
    text: list[Path] | None,
    column: str,
    out: Path,
    data: Path | None,
    given: dict[str, Any],
    resume: bool,
    minutes: float | None,
) -> dict[str, Any]:
    """A language model on one's own documents, and the losses that `certify` reads."""
    import math

    from rich.console import Console

    from certiformer.lab.recipes import byte_lm

    if not text:
        raise InputError("--text", None, "text files, a folder of *.txt, or JSONL with one document per line")
    if not out.parent.is_dir():
        raise InputError("--out", str(out), f"a file in an existing folder, not in {out.parent}")
    out = out.with_suffix(".npz")
    settings = byte_lm.chosen(given)
    documents = byte_lm.corpus(byte_lm.texts(text, column), settings)
    losses = out.with_name("data.npz") if data is None else data
    _refuse_foreign(losses, byte_lm.WRITTEN)
    running = out.with_name(f"{out.name}.running")
    if not resume:
        running.unlink(missing_ok=True)
    errors = Console(stderr=True, highlight=False)

    def say(done: int, mean: float) -> None:
        if done % 200 < settings.batch or done == len(documents.stream):
            errors.print(f"{done:,} of {len(documents.stream):,} documents, the last 200: {mean:.4f} bits per byte")

    with held(out):
        state = byte_lm.run(documents, settings, running, minutes=math.inf if minutes is None else minutes, say=say)
        facts = byte_lm.write_losses(losses, documents, state, settings)
        byte_lm.save(out, state.weights())
        running.unlink(missing_ok=True)
    return {"checkpoint": str(out), "losses": str(losses), **facts}


def _follow(bounds: str | None, every: int, delta: float, out: Path | None) -> Any:
    """The callback of --bounds."""
    if bounds is None:
        return None
    from certiformer.lab.paper_results.bounds_along import BoundsAlong

    if out is not None and out.suffix not in (".csv", ".json"):
        raise InputError("--bounds-out", str(out), "a file name ending in .csv or .json")
    if out is not None and not out.parent.is_dir():
        raise InputError("--bounds-out", str(out), f"a file in an existing folder, not in {out.parent}")
    return BoundsAlong([id.strip() for id in bounds.split(",") if id.strip()], every, delta)


def _write_bounds(along: Any, path: Path) -> dict[str, Any]:
    picture = path.with_suffix(".png")
    for file in (path, picture):
        along.write(file)
    table = along.table
    return {"files": [str(path), str(picture)], "last": [row for row in table if row["step"] == table[-1]["step"]]}


def _refuse_foreign(path: Path, ours: Sequence[str]) -> None:
    """A file of other arrays that happens to have the name is not overwritten."""
    wanted = "a file that `certiformer train` wrote, or none"
    if not regular(path, "--data", wanted).exists():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        names = set()
    if names != set(ours):
        raise InputError("--data", str(path), wanted, "Choose another name")


def _write_examples(path: Path, task: Any, *, select: str) -> str:
    """The examples for `certify --data`; what it says is shown."""
    import numpy as np

    from certiformer.theory.core.whole_files import write_bytes

    if task.labels not in ("signs", "classes"):
        return "not written: the labels are real numbers, and certificates of error rates need classes"
    if select == "best":
        return "not written: the test part chose the iterate, so it cannot certify it; hold others out"
    buffer = io.BytesIO()
    parts = {"train": task.train, "heldout": task.test}
    arrays: dict[str, Any] = {f"{name}_inputs": np.asarray(part.inputs) for name, part in parts.items()}
    arrays |= {f"{name}_labels": np.asarray(part.labels).astype(np.int64) for name, part in parts.items()}
    np.savez(buffer, **arrays)
    write_bytes(path, buffer.getvalue())
    return str(path)


def _either(name: str, given: str | None, default: str | None) -> str:
    if given is None and default is None:
        raise InputError(name, None, "a name", "Or use --preset; `certiformer train --presets` lists them.")
    if given is not None and default is not None and given.replace("-", "_") != default:
        raise InputError(name, given, f"{default}, which the preset trains", "Leave one of them out.")
    return str(given if given is not None else default)


def _list(presets: Any, json: bool) -> None:
    if json:
        print_json({name: {"what": one.what, "model": one.model, "task": one.task} for name, one in presets.items()})
        return
    table = Table("preset", "model", "task", "what", box=None)
    for name, one in presets.items():
        table.add_row(name, one.model, one.task, one.what)
    console.print(table)


def _show(report: dict[str, Any]) -> None:
    table = Table(box=None, show_header=False)
    for name, value in {**report["final"], **report["compare_with"]}.items():
        table.add_row(name.replace("_", " "), f"{value:.6g}")
    ended = report["run"]
    table.add_row("steps", f"{ended['steps']} ({ended['ended']}), {ended['seconds']:.1f} s")
    table.add_row("kept", str(ended["kept"]["iterate"]))
    table.add_row("data", report["data"][:16])
    table.add_row("checkpoint", report["checkpoint"])
    table.add_row("examples", report["examples"])
    for name in report.get("bounds", {}).get("files", ()):
        table.add_row("bounds", name)
    console.print(table)
    for row in report.get("bounds", {}).get("last", ()):
        value = row["failing"] if row["value"] is None else f"{rounded_up(row['value']):.4g} ({row['verdict']})"
        console.print(f"{row['bound']}, {row['side']}, step {row['step']}: {value}; hypotheses: {row['hypotheses']}")
