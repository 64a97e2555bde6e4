"""What a sweep is made of.

A run is a pure function of a configuration: JSON in, an `Outcome` (JSON and small arrays) out. An `Experiment` names
the function and lists the configurations; who executes them, and where, is the business of an engine.

>>> from certiformer.reproduction.sweep import Experiment, Ledger, Local, sweep                 # doctest: +SKIP
>>> grid = [{"width": w, "seed": s} for w in (8, 16) for s in range(10)]                      # doctest: +SKIP
>>> experiment = Experiment("arda.fig1", run="my_module:run", configs=grid)                   # doctest: +SKIP
>>> with Ledger("runs.db") as ledger, Local() as engine:                                      # doctest: +SKIP
...     sweep(experiment, ledger, engine)
...     rows = ledger.rows(experiment)
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import math
import os
import platform
import symtable
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.reproduction.sweep.origin import Origin, code, origin
from certiformer.theory.core.errors import CertiformerError, InputError

Config = dict[str, Any]
"""What one run is of: names and values, the seed among them."""
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Outcome:
    """What a run found: `values` are JSON (numbers may be infinite or nan), `arrays` are small numeric arrays."""

    values: Config
    arrays: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _plain_object(self.values, "values", finite=False))
        object.__setattr__(self, "arrays", {name: _numeric(name, array) for name, array in self.arrays.items()})


@dataclass(frozen=True)
class Failure:
    """Why a run has no outcome."""

    error: str
    traceback: str = ""


@dataclass(frozen=True)
class Finished:
    """The end of one run, good or bad: what came out, how long it took on the clock and of the processor, and where."""

    result: Outcome | Failure
    seconds: float
    worker: str
    cpu: float | None = None
    origin: Origin = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A configuration and the key under which the ledger knows it."""

    key: str
    config: Config


@dataclass(frozen=True)
class Experiment:
    """A named list of configurations for one function.

    name        how the ledger files it;
    run         "module:function", `run(config) -> Outcome`, importable wherever the work is done;
    configs     JSON objects, all different (a seed makes them so);
    run_batch   "module:function", `run_batch(configs) -> [Outcome]`, for runs of equal shape done at once;
    batch_key   which runs have equal shape: those with the same `batch_key(config)` (all, if not given);
    batch_size  the most runs in a batch;
    version     raised by the author whenever a run gives other numbers than before: the ledger keeps both apart.

    Batches depend on the list of configurations only, never on the engine or on what is already done, so that a
    resumed sweep and one on a cluster compute the same arrays of numbers as one that ran through at home.
    """

    name: str
    run: str
    configs: Sequence[Config]
    run_batch: str | None = None
    batch_key: Callable[[Config], object] | None = None
    batch_size: int = 16
    version: int = 1

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("name", self.name, "a name for the experiment")
        for field_name in ("batch_size", "version"):
            number = getattr(self, field_name)
            if not isinstance(number, int) or number < 1:
                raise InputError(field_name, number, "a whole number, at least 1")
        configs = tuple(_plain_object(c, f"configs[{i}]", finite=True) for i, c in enumerate(self.configs))
        object.__setattr__(self, "configs", configs)
        for reference in filter(None, (self.run, self.run_batch)):
            check_reference(reference)
        seen: set[str] = set()
        for config in configs:
            if (text := canonical(config)) in seen:
                raise InputError("configs", config, "configurations that differ", "Give each its own seed.")
            seen.add(text)

    @functools.cached_property
    def runs(self) -> tuple[Run, ...]:
        """Every run, in the order of the configurations."""
        return tuple(Run(run_key(self.name, self.version, config), config) for config in self.configs)

    @functools.cached_property
    def batches(self) -> tuple[tuple[Run, ...], ...]:
        """The runs in groups of equal shape of at most `batch_size`; one by one where no `run_batch` is offered."""
        if self.run_batch is None:
            return tuple((run,) for run in self.runs)
        groups: dict[str, list[Run]] = {}
        for run in self.runs:
            shape = "" if self.batch_key is None else repr(self.batch_key(run.config))
            groups.setdefault(shape, []).append(run)
        size = self.batch_size
        batches = [tuple(g[i : i + size]) for g in groups.values() for i in range(0, len(g), size)]
        place = {run.key: i for i, run in enumerate(self.runs)}
        return tuple(sorted(batches, key=lambda batch: place[batch[0].key]))

    def task(self, runs: Iterable[Run]) -> Task:
        """The order to execute `runs` together."""
        return Task(tuple(runs), self.run, self.run_batch, code().identity)


@dataclass(frozen=True)
class Task:
    """Some runs to be executed together, with all that a worker in another process needs to know.

    code    what tells the code of the sweep from other code: a worker that has other code refuses.
    """

    runs: tuple[Run, ...]
    run: str
    run_batch: str | None
    code: str


def execute(task: Task) -> list[Finished]:
    """One `Finished` per run of the task. A run that raises is a result like any other: nothing is raised here.

    Where a whole batch raises, its runs are done again one by one, so that the good ones are not lost with the bad.
    """
    started = _Clock()
    try:
        _same_code(task)
        run = function_of(task.run)
        together = function_of(task.run_batch) if task.run_batch is not None and len(task.runs) > 1 else None
    except (Exception, SystemExit) as error:
        return [_finished(failure(error), started) for _ in task.runs]
    if together is not None:
        try:
            outcomes = [_outcome(task.run_batch, o) for o in together([_copy(one.config) for one in task.runs])]
            if len(outcomes) != len(task.runs):
                raise CertiformerError(f"{task.run_batch} gave {len(outcomes)} outcomes for {len(task.runs)} runs")
            return [_finished(outcome, started, len(outcomes)) for outcome in outcomes]
        except (Exception, SystemExit):
            pass
    return [_alone(task.run, run, one) for one in task.runs]


def failure(error: BaseException) -> Failure:
    """An exception as text, on its own and with its traceback."""
    what = f"{type(error).__name__}: {error}".removesuffix(": ")
    return Failure(what, "".join(traceback.format_exception(error)))


def function_of(reference: str) -> Callable[[Any], Any]:
    """The function that "module:function" names."""
    module, _, name = reference.partition(":")
    function: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    return function


@functools.cache
def check_reference(reference: str) -> None:
    """Refuse what a worker could not import. The module itself is not imported: it may need more than a grid does."""
    module, colon, name = reference.partition(":")
    if not (colon and module and name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        raise InputError("run", reference, 'a function at the top level of a module, written "module:function"')
    if module == "__main__":
        raise InputError("run", reference, "a module that other processes can import", "Move the function to a file.")
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    file = Path(spec.origin) if spec is not None and spec.origin is not None else None
    if file is None or file.suffix != ".py" or not file.is_file():
        raise InputError("run", reference, "a module with source that other processes can import")
    source = file.read_text(encoding="utf-8")
    if name not in symtable.symtable(source, module, "exec").get_identifiers():
        raise InputError("run", reference, f"a function at the top level of {module}")


def run_key(experiment: str, version: int | str, config: Config) -> str:
    """SHA-256 of (experiment, version, configuration): the run's name in every ledger."""
    return hashlib.sha256(canonical([experiment, version, config]).encode()).hexdigest()


def canonical(value: object) -> str:
    """The one JSON text of a value: keys sorted, no spaces, floats to the last bit."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _alone(name: str, run: Callable[[Config], object], one: Run) -> Finished:
    started = _Clock()
    try:
        return _finished(_outcome(name, run(_copy(one.config))), started)
    except (Exception, SystemExit) as error:
        return _finished(failure(error), started)


class _Clock:
    """Started when it is made; the processor's time counts every thread of this process."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def __call__(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, time.process_time() - self._cpu


def _finished(result: Outcome | Failure, started: _Clock, share: int = 1) -> Finished:
    seconds, cpu = started()
    return Finished(result, seconds / share, _worker(), cpu / share, origin())


def _worker() -> str:
    return f"{platform.node()}:{os.getpid()}"


def _outcome(name: str | None, result: object) -> Outcome:
    if not isinstance(result, Outcome):
        raise CertiformerError(f"{name} gave {type(result).__name__}, expected an Outcome(values, arrays)")
    return result


def _same_code(task: Task) -> None:
    """A worker whose files differ from those the sweep was started with would file its numbers under a false key."""
    here = code().identity
    if here != task.code:
        raise CertiformerError(
            f"this worker has {here} of certiformer, the sweep was started with {task.code}; "
            "install the same code everywhere, restart the workers and retry"
        )


def _copy(config: Config) -> Config:
    """A run may scribble on its configuration; nobody else sees it."""
    copied: Config = json.loads(canonical(config))
    return copied


def _plain_object(value: object, where: str, *, finite: bool) -> Config:
    if not isinstance(value, Mapping):
        raise InputError(where, value, "a JSON object (a dict with text keys)")
    return {_text_key(key, where): _plain(v, f"{where}.{key}", finite=finite) for key, v in value.items()}


def _plain(value: Any, where: str, *, finite: bool) -> Any:
    """`value` as JSON's own types: tuples become lists, zero-dimensional arrays become numbers."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if finite and not math.isfinite(value):
            raise InputError(where, value, "a finite number")
        return value
    if isinstance(value, Mapping):
        return _plain_object(value, where, finite=finite)
    if isinstance(value, (list, tuple)):
        return [_plain(v, f"{where}[{i}]", finite=finite) for i, v in enumerate(value)]
    raise InputError(where, value, "JSON: text, numbers, booleans, None, lists and dicts", "Arrays go into `arrays`.")


def _text_key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise InputError(where, key, "text as the key of a dict")
    return key


def _numeric(name: str, value: object) -> Array:
    """A contiguous little-endian copy, so that equal arrays have equal bytes."""
    array = np.asarray(value)
    if array.dtype.kind not in "biufc":
        raise InputError(f"arrays.{name}", array.dtype, "booleans, integers, floats or complex numbers")
    return np.array(array, dtype=array.dtype.newbyteorder("<"), order="C")
