"""The engine for many machines: tasks go to a Dask scheduler, whose workers may come, go and die.

Two ways to a scheduler: one that runs already (`Dask.connect`), or SLURM jobs of our own (`Dask.slurm`). Dask comes
with the extra `certiformer[cluster]`. A task whose worker is lost is given to another by the scheduler; the ledger is
written by the process that runs the sweep and by no other.

Every wait has an end: an engine that has had no worker at all for its `patience` says so and ends.
"""

from __future__ import annotations

import contextlib
import importlib
import queue
import shutil
import time
import uuid
from types import ModuleType
from typing import Any, Self

from certiformer.reproduction.sweep.progress import duration
from certiformer.reproduction.sweep.run import Failure, Finished, Task, execute, failure
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.threads import thread_environment

COUNT_SECONDS = 1.0
FETCH_SECONDS = 30.0
ANSWER_SECONDS = 120.0  # a scheduler that is silent for longer is gone
CONNECT_PATIENCE, SLURM_PATIENCE = 600.0, 7 * 86400.0


class Dask(contextlib.AbstractContextManager["Dask"]):
    """Tasks for the workers of a Dask scheduler. Use it as a context manager, made by `connect` or `slurm`."""

    def __init__(self, client: Any, cluster: Any = None, *, patience: float = CONNECT_PATIENCE) -> None:
        if not patience > 0.0:
            raise InputError("patience", patience, "a positive number of seconds")
        self._client, self._cluster, self._patience = client, cluster, patience
        self._last_worker = time.monotonic()
        self._address = str(client.scheduler.address)
        self._futures: dict[int, Any] = {}
        self._ended: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self._slots, self._counted = 1, float("-inf")

    @classmethod
    def connect(cls, scheduler: str, timeout: float = 10.0, patience: float = CONNECT_PATIENCE) -> Self:
        """The workers of a scheduler that runs already, at an address such as tcp://host:8786.

        Give its workers one thread each (`dask worker ADDRESS --nthreads 1 --nworkers CORES`). They may come late: an
        error says so when there has been none for `patience` seconds.
        """
        if "://" not in scheduler:
            raise InputError("scheduler", scheduler, "an address such as tcp://host:8786")
        distributed = _need("distributed")
        return cls(_client(distributed, scheduler, timeout), patience=patience)

    @classmethod
    def slurm(
        cls, jobs: int = 1, cores: int = 1, memory: str = "4GB", patience: float = SLURM_PATIENCE, **options: Any
    ) -> Self:
        """Workers in `jobs` SLURM jobs of `cores` single-threaded processes each; a week in the queue is waited for.

        `options` go to dask-jobqueue's SLURMCluster: queue, account, walltime, interface, job_extra_directives ...
        """
        if jobs < 1 or cores < 1:
            raise InputError("jobs and cores", (jobs, cores), "at least 1 each")
        distributed = _need("distributed")
        jobqueue = _need("dask_jobqueue")
        if shutil.which("sbatch") is None:
            raise CertiformerError("SLURM's sbatch is not on the PATH; start this on a machine that can submit jobs")
        threads = [f"export {name}={value}" for name, value in thread_environment(1).items()]
        prologue = [*threads, *options.pop("job_script_prologue", [])]
        try:
            cluster = jobqueue.SLURMCluster(
                cores=cores, processes=cores, memory=memory, job_script_prologue=prologue, **options
            )
        except (TypeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise InputError("SLURM options", options, "what dask-jobqueue's SLURMCluster takes", reason) from error
        try:
            cluster.scale(jobs=jobs)
            return cls(_client(distributed, cluster, 60.0), cluster, patience=patience)
        except BaseException:
            _close(cluster)
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop every task, and leave the scheduler; workers that were started here end."""
        self.abandon()
        _close(self._client)
        if self._cluster is not None:
            _close(self._cluster)

    @property
    def slots(self) -> int:
        """One for every thread of the workers there are just now; one while there are none, which is not for ever."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            threads = self._threads()
            now = time.monotonic()
            if threads:
                self._last_worker = now
            elif now - self._last_worker > self._patience:
                raise self._deserted()
            # none in reserve: when a worker dies, Dask suspects whatever was waiting there as much as what was running
            self._slots, self._counted = max(1, threads), now
        return self._slots

    def submit(self, number: int, task: Task) -> None:
        # a key of its own: the ledger, not Dask, decides what need not be done again
        """Hand a task to the cluster."""
        future = self._client.submit(execute, task, key=f"certiformer-{uuid.uuid4().hex}", pure=False)
        self._futures[number] = future
        future.add_done_callback(lambda ended: self._ended.put((number, ended.key)))

    def wait(self, timeout: float) -> list[tuple[int, list[Finished] | Failure]]:
        """What ended within `timeout` seconds."""
        called: list[tuple[int, str]] = []
        with contextlib.suppress(queue.Empty):
            called.append(self._ended.get(timeout=timeout))
            while True:
                called.append(self._ended.get_nowait())
        answers = [(number, self._answer(number, key)) for number, key in called]
        return [(number, answer) for number, answer in answers if answer is not None]

    def abandon(self) -> None:
        """Call off what was handed over and has not ended."""
        futures = list(self._futures.values())
        self._futures.clear()
        if futures and self._client.status == "running":
            # the scheduler may be gone; then there is nothing to call off
            with contextlib.suppress(OSError, TimeoutError):
                self._client.cancel(futures, force=True)

    def _threads(self) -> int:
        try:
            return int(sum(self._client.nthreads(callback_timeout=ANSWER_SECONDS).values()))
        except (OSError, TimeoutError) as error:
            raise self._lost() from error

    def _answer(self, number: int, key: str) -> list[Finished] | Failure | None:
        """What came of a task; None if it was called off, or if it is not over after all."""
        future = self._futures.get(number)
        if future is None or future.key != key:
            return None
        if future.status == "cancelled":
            raise self._lost()
        try:
            answer: list[Finished] | Failure = future.result(timeout=FETCH_SECONDS)
        except TimeoutError:
            # the worker died with the result in its hands, and another is doing the task again
            self._ended.put((number, key))
            return None
        except Exception as error:
            # only the scheduler can say that a task failed; a broken line to it says nothing about the task
            if future.status != "error":
                raise self._lost() from error
            answer = failure(error)
        del self._futures[number]
        return answer

    def _deserted(self) -> CertiformerError:
        return CertiformerError(
            f"the Dask scheduler at {self._address} has had no worker for {duration(self._patience)}; finished "
            "runs are in the ledger: see to the workers (`dask worker ADDRESS --nthreads 1`) and start the same sweep "
            "again to go on"
        )

    def _lost(self) -> CertiformerError:
        return CertiformerError(
            f"the Dask scheduler at {self._address} is gone or dropped our tasks; finished runs are in the ledger: "
            "start the same sweep again to go on"
        )


def _close(what: Any) -> None:
    """Close a client or a cluster; one that does not answer is left to end with this process."""
    with contextlib.suppress(OSError, TimeoutError):
        what.close(timeout=ANSWER_SECONDS)


def _client(distributed: ModuleType, target: Any, timeout: float) -> Any:
    try:
        return distributed.Client(target, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise CertiformerError(f"no Dask scheduler answers at {target}: {error}") from error


def _need(package: str) -> ModuleType:
    """A package that not everybody has, imported when it is needed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        hint = 'install it with: pip install "certiformer[cluster]"'
        raise CertiformerError(f"this engine needs the package {package}; {hint}") from error
