"""The engine for one machine: a pool of processes, each with its share of the cores."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Mapping

from certiformer.reproduction.sweep.run import Failure, Finished, Task, execute, failure
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.threads import cores, thread_environment
from certiformer.theory.core.workers import Worker, answering


class Local(contextlib.AbstractContextManager["Local"]):
    """`workers` processes (one per core if not given) of `threads` threads each. Use it as a context manager.

    `environment` holds variables for the workers alone, such as the place of a cache.

    Processes start when there is work for them, stay for the next sweep, and end with the block or with this process.
    A worker that dies takes nothing with it but what it was doing. One thread per worker is not only the fastest for
    many runs: sums are then taken in one order, and a run gives the same bits on any number of cores.
    """

    def __init__(
        self, workers: int | None = None, threads: int = 1, environment: Mapping[str, str] | None = None
    ) -> None:
        for name, value in (("workers", workers), ("threads", threads)):
            if value is not None and value < 1:
                raise InputError(name, value, "at least 1")
        self.slots = workers or max(1, cores() // threads)
        self._environment = {**thread_environment(threads), **(environment or {})}
        self._workers: dict[Worker, int | None] = {}  # each with the number of its task

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for worker in list(self._workers):
            self._dismiss(worker)

    def submit(self, number: int, task: Task) -> None:
        """Hand a task to a free process, or to a new one."""
        free = next((worker for worker, busy in self._workers.items() if busy is None), None)
        worker = free or Worker(self._environment)
        self._workers[worker] = number
        worker.hand(execute, task)

    def wait(self, timeout: float) -> list[tuple[int, list[Finished] | Failure]]:
        """What ended within `timeout` seconds."""
        ended: list[tuple[int, list[Finished] | Failure]] = []
        busy = {worker: number for worker, number in self._workers.items() if number is not None}
        for worker in answering(busy, timeout):
            number = busy[worker]
            try:
                answer = worker.answer()
            except (EOFError, OSError):
                ended.append((number, self._death(worker)))
                continue
            if answer is not None:
                done, found = answer
                ended.append((number, found if done else failure(found)))
                self._workers[worker] = None
        return ended

    def abandon(self) -> None:
        """End the processes that are at work."""
        for worker in [worker for worker, number in self._workers.items() if number is not None]:
            self._dismiss(worker)

    def _death(self, worker: Worker) -> Failure:
        code = self._dismiss(worker, grace=5.0)
        if not worker.begun:
            raise CertiformerError(f"a worker process ended before it began (exit code {code})")
        return Failure(f"the worker process died ({_cause(code)})")

    def _dismiss(self, worker: Worker, grace: float = 0.0) -> int | None:
        del self._workers[worker]
        return worker.end(grace)


class Inline(contextlib.AbstractContextManager["Inline"]):
    """The engine that does everything in this process, one task at a time: for debugging and for very small sweeps."""

    slots = 1

    def __init__(self) -> None:
        self._tasks: list[tuple[int, Task]] = []

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop what is in the queue."""
        self.abandon()

    def submit(self, number: int, task: Task) -> None:
        """Put a task in the queue."""
        self._tasks.append((number, task))

    def wait(self, timeout: float) -> list[tuple[int, list[Finished] | Failure]]:
        """Do what is in the queue, here and now."""
        ended: list[tuple[int, list[Finished] | Failure]] = []
        while self._tasks:
            number, task = self._tasks.pop(0)
            # stdout is for results
            with contextlib.redirect_stdout(sys.stderr):
                ended.append((number, execute(task)))
        return ended

    def abandon(self) -> None:
        """Forget what was handed over."""
        self._tasks.clear()


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
