"""The engine for one machine: a pool of processes, each with its share of the cores."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from certiformer.reproduction.sweep.run import Failure, Finished, Task, execute
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.threads import cores, thread_environment

_READY = "ready"
KILL_SECONDS = 60.0  # a killed process ends at once, unless the kernel is waiting for a disk


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
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for worker in list(self._workers):
            self._dismiss(worker)

    def submit(self, number: int, task: Task) -> None:
        """Hand a task to a free process, or to a new one."""
        worker = next((w for w in self._workers if w.number is None), None) or self._hire()
        worker.number = number
        # a broken pipe shows again when we wait for the answer
        with contextlib.suppress(OSError):
            worker.pipe.send(task)

    def wait(self, timeout: float) -> list[tuple[int, list[Finished] | Failure]]:
        """What ended within `timeout` seconds."""
        busy = {worker.pipe: worker for worker in self._workers if worker.number is not None}
        ended: list[tuple[int, list[Finished] | Failure]] = []
        for pipe in wait(list(busy), timeout):
            worker = busy[pipe]  # type: ignore[index]
            answer = self._answer(worker)
            if answer is not None and worker.number is not None:
                ended.append((worker.number, answer))
                worker.number = None
        return ended

    def abandon(self) -> None:
        """End the processes that are at work."""
        for worker in [worker for worker in self._workers if worker.number is not None]:
            self._dismiss(worker)

    def _answer(self, worker: _Worker) -> list[Finished] | Failure | None:
        try:
            message: list[Finished] | str = worker.pipe.recv()
        except (EOFError, OSError):
            code = self._dismiss(worker, grace=5.0)
            if not worker.ready:
                raise CertiformerError(
                    f"a worker process ended before it began (exit code {code}); a script that starts a sweep must do "
                    'so under `if __name__ == "__main__":`'
                ) from None
            return Failure(f"the worker process died ({_cause(code)})")
        if isinstance(message, str):
            worker.ready = True
            return None
        return message

    def _hire(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        with _environment(self._environment):
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _dismiss(self, worker: _Worker, grace: float = 0.0) -> int | None:
        """End a worker, at once or after `grace` seconds to die by itself; its exit code."""
        self._workers.remove(worker)
        worker.process.join(grace)
        worker.process.kill()
        worker.process.join(KILL_SECONDS)
        code = worker.process.exitcode
        worker.pipe.close()
        if code is not None:
            worker.process.close()
        return code


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


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    number: int | None = None
    ready: bool = False


def _serve(pipe: Connection) -> None:
    """A worker's life: execute what comes through the pipe until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    os.dup2(2, 1)  # stdout is for results
    threading.Thread(target=_die_with_parent, daemon=True).start()
    pipe.send(_READY)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(execute(pipe.recv()))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


@contextlib.contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """The process's environment with changes: a child takes it over as it is when the child starts."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _cause(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
