"""The one compiled loop every training run goes through.

    state, metrics_k = step(state, k, data)        k = 0, 1, ..., steps - 1

runs inside `lax.scan` in chunks of a fixed number of steps. Between chunks, and only there, the host looks: it shows
progress, stops, reports divergence and writes checkpoints. A resumed run starts at a chunk's end with the bits it had
there and goes through the same compiled program, so it ends with the bits of the run that was never interrupted (same
machine, same number of threads).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.lab.training import checkpoint as ckpt
from certiformer.theory.core.errors import CertiformerError, InputError, refuse_unknown_options
from certiformer.theory.core.schema import require_shape, tables

Step = Callable[[Any, Array, Any], tuple[Any, dict[str, Array]]]
"""`step(state, k, data) -> (state after step k, metrics)`; `metrics` holds at least the scalar `loss`."""


class DivergenceError(CertiformerError):
    """Training left the finite numbers: the first bad step, what the loss was, and what to try."""

    def __init__(self, step: int, loss: float) -> None:
        self.step, self.loss = step, loss
        super().__init__(
            f"training diverged at step {step}: loss {loss:g}. Use a smaller learning rate, or check the data; "
            "the last checkpoint, if one was written, is from before that step"
        )


@dataclass(frozen=True)
class Select:
    """Keep the parameters with the lowest value of a metric.

    `measured` says what the metric describes: the state a step began with ("before"; a full-batch loss comes with the
    gradient) or the state it ended with ("after"; validation at the end of an epoch).
    """

    metric: str
    measured: str = "before"


def _whole(state: Any) -> Any:
    return state


@dataclass(frozen=True)
class Rules:
    """When to stop, what to keep, what counts as divergence, and who looks on.

    stop: metrics -> bool, checked after every step inside the compiled loop (`reached("accuracy", 1.0)`).
    select: which iterate to keep beside the last one.
    kept: what of its state is kept (the parameters, say).
    look: called between chunks, and before the first, with the number of steps done and the state.
    blowup: a loss above `blowup * (1 + first loss)` counts as divergence, like one that is not finite.
    """

    stop: Callable[[dict[str, Array]], Array] | None = None
    select: Select | None = None
    blowup: float = 1e6
    kept: Callable[[Any], Any] = field(default_factory=lambda: _whole)
    look: Callable[[int, Any], None] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.select is not None and self.select.measured not in ("before", "after"):
            raise InputError("select.measured", self.select.measured, '"before" or "after"')


def reached(metric: str, at_least: float) -> Callable[[dict[str, Array]], Array]:
    """Stop at the first step whose metric is at least this (Trauger's script: running training accuracy 1)."""
    return lambda metrics: metrics[metric] >= at_least


class Carry(NamedTuple):
    """What the loop carries beside the state: the best iterate so far and why a run has stood still."""

    state: Any
    best: Any
    best_value: Array
    best_step: Array
    first_loss: Array
    stopped: Array
    diverged: Array


@dataclass(frozen=True)
class Run:
    """A finished (or stopped) run.

    metrics[name][k] belongs to step k; `stopped` is the step at which that happened, or -1; after it the state stands
    still and the metrics repeat, and `steps` counts what was executed.
    """

    state: Any
    best: Any
    best_step: npt.NDArray[np.int32]
    best_value: npt.NDArray[np.floating]
    metrics: dict[str, npt.NDArray[Any]]
    steps: int
    stopped: npt.NDArray[np.int32]
    seconds: float


@dataclass(frozen=True)
class Saving:
    """Where and how often to write the running state, and what the run is (`identity` must match to resume)."""

    path: Path
    identity: Mapping[str, object]
    every_seconds: float = 60.0
    resume: bool = True


@refuse_unknown_options(moved={"kept": "rules=Rules(kept=...)"})
def run(
    step: Step,
    state: Any,
    data: Any,
    *,
    steps: int,
    chunk: int = 100,
    rules: Rules | None = None,
    saving: Saving | None = None,
    progress: bool | None = None,
    label: str = "training",
) -> Run:
    """Run `step` for `steps` steps; a loss that diverges is a `DivergenceError` that names the step.

    progress: a bar with the time left on stderr; None means only on a terminal.
    """
    if steps < 1:
        raise InputError("steps", steps, "a positive number of steps")
    if chunk < 1:
        raise InputError("chunk", chunk, "a positive number of steps")
    rules = rules or Rules()
    started = time.monotonic()
    state = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=jnp.asarray(leaf).dtype), state)
    advance = _program(step, rules)
    carry = _start(rules, state)
    done = 0
    history: dict[str, npt.NDArray[Any]] = {}
    if saving is not None and saving.resume and saving.path.exists():
        carry, history, done = _restore(saving, carry, chunk)
    saved_at, saved_step = time.monotonic(), done
    if rules.look is not None:
        rules.look(done, carry.state)
    with _bar(label, steps, done, progress) as report:
        while done < steps and int(carry.stopped) < 0:
            length = min(chunk, steps - done)
            carry, metrics = advance(carry, jnp.arange(done, done + length, dtype=jnp.int32), data)
            block = {name: np.asarray(value) for name, value in metrics.items()}
            history = {
                name: np.concatenate([history[name], value]) if name in history else value
                for name, value in block.items()
            }
            done += length
            report(done, block)
            if int(carry.diverged) >= 0:
                raise DivergenceError(int(carry.diverged), float(history["loss"][int(carry.diverged)]))
            if rules.look is not None:
                rules.look(done, carry.state)
            if saving is not None and time.monotonic() - saved_at >= saving.every_seconds:
                _save(saving, carry, history, done, chunk)
                saved_at, saved_step = time.monotonic(), done
    if saving is not None and saved_step != done:
        _save(saving, carry, history, done, chunk)
    return Run(
        state=carry.state,
        best=carry.best if rules.select is not None else None,
        best_step=np.asarray(carry.best_step),
        best_value=np.asarray(carry.best_value),
        metrics=history,
        steps=done,
        stopped=np.asarray(carry.stopped),
        seconds=time.monotonic() - started,
    )


@lru_cache(maxsize=32)
def _program(step: Step, rules: Rules) -> Callable[[Carry, Array, Any], tuple[Carry, dict[str, Array]]]:
    """The compiled chunk; the same step on new data or another seed of the same shapes is not compiled again."""
    guarded = _guard(step, rules)

    @jax.jit
    def advance(carry: Carry, indices: Array, data: Any) -> tuple[Carry, dict[str, Array]]:
        return jax.lax.scan(lambda c, k: guarded(c, k, data), carry, indices)

    return advance


def _start(rules: Rules, state: Any) -> Carry:
    never, infinite = jnp.asarray(-1, jnp.int32), jnp.asarray(jnp.inf, jnp.result_type(float))
    best = rules.kept(state) if rules.select is not None else ()
    return Carry(state, best, infinite, never, infinite, never, never)


def _guard(step: Step, rules: Rules) -> Callable[[Carry, Array, Any], tuple[Carry, dict[str, Array]]]:
    """The step with the rules around it: a run that has stopped or diverged stands still from there on."""

    def guarded(carry: Carry, index: Array, data: Any) -> tuple[Carry, dict[str, Array]]:
        moved, metrics = step(carry.state, index, data)
        loss = metrics["loss"].astype(carry.first_loss.dtype)
        first = jnp.where(carry.first_loss == jnp.inf, loss, carry.first_loss)
        bad = ~jnp.isfinite(loss) | (loss > rules.blowup * (1 + jnp.abs(first)))
        still = (carry.stopped >= 0) | (carry.diverged >= 0)
        diverged = jnp.where(~still & bad, index, carry.diverged)
        freeze = still | bad
        state = _choose(freeze, carry.state, moved)
        stopped = carry.stopped
        best, best_value, best_step = carry.best, carry.best_value, carry.best_step
        if rules.select is not None:
            value = metrics[rules.select.metric].astype(best_value.dtype)
            better = ~freeze & (value < best_value)
            best = _choose(~better, best, rules.kept(carry.state if rules.select.measured == "before" else moved))
            best_value = jnp.where(better, value, best_value)
            best_step = jnp.where(better, index, best_step)
        if rules.stop is not None:
            stopped = jnp.where(~freeze & (stopped < 0) & rules.stop(metrics), index, stopped)
        return Carry(state, best, best_value, best_step, first, stopped, diverged), metrics

    return guarded


def _choose(pick_first: Array, first: Any, second: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(pick_first, a, b), first, second)


def _save(saving: Saving, carry: Carry, history: Mapping[str, npt.NDArray[Any]], done: int, chunk: int) -> None:
    arrays = ckpt.to_arrays(carry._asdict(), "run")
    arrays |= {f"metrics/{name}": value for name, value in history.items()}
    header = {"kind": "running state", "identity": dict(saving.identity), "done": done, "chunk": chunk}
    ckpt.write(saving.path, arrays, header)


_HEADER = {
    "properties": {"identity": tables(), "chunk": {"type": "integer"}, "done": {"type": "integer"}},
    "required": ["identity", "chunk", "done"],
}


def _restore(saving: Saving, template: Carry, chunk: int) -> tuple[Carry, dict[str, npt.NDArray[Any]], int]:
    arrays, header = ckpt.read(saving.path)
    fix = "Use another checkpoint path, or the settings that wrote this one."
    if header.get("kind") != "running state":
        raise InputError("checkpoint", header.get("kind"), "the running state of a training run", fix)
    require_shape(header, _HEADER, "checkpoint", fix)
    theirs, ours = header["identity"], json.loads(json.dumps(dict(saving.identity)))
    if theirs != ours:
        differing = sorted(name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name))
        raise InputError("checkpoint", {n: theirs.get(n) for n in differing}, f"the same {', '.join(differing)}", fix)
    if header["chunk"] != chunk:
        raise InputError("chunk", chunk, f"{header['chunk']}, as in the checkpoint", fix)
    carry = Carry(**ckpt.from_arrays(template._asdict(), arrays, "run"))
    history = {name.removeprefix("metrics/"): value for name, value in arrays.items() if name.startswith("metrics/")}
    return carry, history, int(header["done"])


@contextmanager
def _bar(
    label: str, steps: int, done: int, wanted: bool | None
) -> Iterator[Callable[[int, Mapping[str, npt.NDArray[Any]]], None]]:
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda done, metrics: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=steps, completed=done)

        def report(done: int, metrics: Mapping[str, npt.NDArray[Any]]) -> None:
            bar.update(task, completed=done, description=f"{label}  loss {float(np.mean(metrics['loss'][-1])):.4g}")

        yield report
