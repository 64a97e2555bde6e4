"""`certiformer train MODEL --task TASK`: train a paper's model, write a checkpoint."""

from __future__ import annotations

import io
import json as json_module
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from certiformer.cli._output import console, print_json
from certiformer.cli._process import own_process
from certiformer.theory.core.errors import InputError


def train(
    model: Annotated[str | None, typer.Argument(help="A model, e.g. shallow_encoder; a preset brings its own.")] = None,
    task: Annotated[str | None, typer.Option(help="A task, e.g. mnist.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="A paper's experiment: mwigo, certificate, trauger, deora, arda-width, arda-transformer, "
            "arda-indrnn, li. Options given beside it win. `--presets` lists them."
        ),
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
    loss: Annotated[str | None, typer.Option(help="A loss by name; by default the one that fits the labels.")] = None,
    select: Annotated[str | None, typer.Option(help="Which iterate to keep: last, or best (validation loss).")] = None,
    seed: Annotated[int, typer.Option(help="Everything random comes from it.")] = 0,
    out: Annotated[Path, typer.Option(help="The checkpoint to write.")] = Path("model.safetensors"),
    data: Annotated[
        Path | None,
        typer.Option(help="Where the examples for `certify --data` go (default: data.npz beside the checkpoint)."),
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from an interrupted run of the same settings.")] = True,
    every: Annotated[float, typer.Option(help="Seconds between checkpoints of the running state.")] = 60.0,
    threads: Annotated[int | None, typer.Option(help="CPUs to use (default: all).")] = None,
    float64: Annotated[bool, typer.Option("--float64", help="Train in double precision.")] = False,
    progress: Annotated[bool | None, typer.Option(help="A progress bar (default: on a terminal).")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Train a paper's model on a task and write a safetensors checkpoint with config, seed, data hash and metrics.

    An interrupted run leaves its state beside the checkpoint and goes on from there, bit for bit. The examples, those
    that training never saw apart, go to data.npz: `certiformer certify model.safetensors --data data.npz` goes on.
    """
    # JAX is imported by the commands that need it, not by `certiformer --help`.
    own_process(threads)
    import jax

    from certiformer.lab import models
    from certiformer.lab.training.fitting import fit
    from certiformer.lab.training.presets import PRESETS, Recipe
    from certiformer.lab.training.presets import preset as find_preset

    if presets:
        _list(PRESETS, json)
        return
    chosen = None if preset is None else find_preset(preset)
    model_name = _either("MODEL", model, chosen.model if chosen else None)
    models.model_type(model_name)  # an unknown name is said before anything else is asked for
    task_name = _either("--task", task, chosen.task if chosen else None)
    given: dict[str, Any] = {
        "optimiser": optimiser,
        "rate": rate,
        "steps": steps,
        "batch": batch,
        "loss": loss,
        "select": select,
    }
    recipe = replace(chosen.recipe if chosen else Recipe(), **{k: v for k, v in given.items() if v is not None})
    model_settings = {**(chosen.model_settings if chosen else {}), **_pairs(settings)}
    chosen_task = {**(chosen.task_settings if chosen else {}), **_pairs(task_settings)}
    if float64:
        chosen_task["dtype"] = "float64"
    if not out.parent.is_dir():
        raise InputError("--out", str(out), f"a file in an existing folder, not in {out.parent}")
    examples = out.with_name("data.npz") if data is None else data
    _refuse_foreign(examples)
    running = out.with_name(f"{out.name}.running")
    if not resume:
        running.unlink(missing_ok=True)
    with jax.enable_x64(float64):
        fitted = fit(
            model_name,
            task_name,
            recipe,
            seed=seed,
            model_settings=model_settings,
            task_settings=chosen_task,
            running=running,
            every_seconds=every,
            resume=resume,
            progress=progress,
        )
        models.save(out, fitted.model, fitted.facts)
    kept = _write_examples(examples, fitted.task, select=recipe.select)
    running.unlink(missing_ok=True)
    report = {"checkpoint": str(out), "examples": kept, **{k: v for k, v in fitted.facts.items() if k != "metrics"}}
    if json:
        print_json(report)
    else:
        _show(report)


ARRAYS = ("train_inputs", "train_labels", "heldout_inputs", "heldout_labels")


def _refuse_foreign(path: Path) -> None:
    """A file of other arrays that happens to have the name is not overwritten."""
    if not path.exists():
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        names = set()
    if names != set(ARRAYS):
        raise InputError("--data", str(path), "a file that `certiformer train` wrote, or none", "Choose another name")


def _write_examples(path: Path, task: Any, *, select: str) -> str:
    """The examples for `certify --data`; what it says is shown."""
    import numpy as np

    from certiformer.report.page import write_bytes

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


def _pairs(words: list[str] | None) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for word in words or []:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InputError("setting", word, "KEY=VALUE")
        try:
            pairs[name] = json_module.loads(value)
        except json_module.JSONDecodeError:
            pairs[name] = value
    return pairs


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
    for name, value in report["final"].items():
        table.add_row(name.replace("_", " "), f"{value:.6g}")
    ended = report["run"]
    table.add_row("steps", f"{ended['steps']} ({ended['ended']}), {ended['seconds']:.1f} s")
    table.add_row("kept", str(ended["kept"]["iterate"]))
    table.add_row("data", report["data"][:16])
    table.add_row("checkpoint", report["checkpoint"])
    table.add_row("examples", report["examples"])
    console.print(table)
