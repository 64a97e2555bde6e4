"""Who does the work. Naming a scheduler or SLURM means Dask."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from certiformer.theory.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.reproduction.sweep import Engine


@contextlib.contextmanager
def engine(
    name: str,
    workers: int | None,
    scheduler: str | None = None,
    slurm: bool = False,
    jobs: tuple[int, int, str] = (1, 1, "4GB"),
    options: Mapping[str, Any] | None = None,
) -> Iterator[Engine]:
    from certiformer.reproduction import sweep
    from certiformer.reproduction.reproduce import worker_environment

    if name not in ("local", "dask"):
        raise InputError("--engine", name, "local or dask")
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
        with sweep.Dask.slurm(*jobs, **{"job_script_prologue": cache, **(options or {})}) as running:
            yield running
    elif name == "dask":
        with sweep.Dask.local(workers) as running:
            yield running
    else:
        with sweep.Local(workers, environment=worker_environment()) as local:
            yield local
