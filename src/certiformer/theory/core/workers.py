"""Processes that work for this one: tasks and answers travel pickled through their pipes.

A worker is an interpreter of its own, neither a fork nor a second run of the caller's script: any program may have
some. What it prints goes to stderr, and it ends with the process that started it, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any

_PROGRAM = "from certiformer.theory.core.workers import serve; serve()"
LOOK_SECONDS = 0.5
KILL_SECONDS = 60.0  # a killed process ends at once, unless the kernel is waiting for a disk


class Worker:
    """One process; `environment` holds variables for it alone. `begun`: whether it was able to start."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        surroundings = {**os.environ, "PYTHONPATH": paths, **environment}
        (theirs, tasks), (answers, ours) = os.pipe(), os.pipe()
        command = [sys.executable, "-c", _PROGRAM]
        self._process = subprocess.Popen(command, stdin=theirs, stdout=ours, env=surroundings)
        os.close(theirs)
        os.close(ours)
        self._tasks, self._answers = Connection(tasks, readable=False), Connection(answers, writable=False)
        self.begun = False

    def hand(self, work: Callable[[Any], Any], task: Any) -> None:
        """Have `work(task)` done."""
        # a broken pipe shows again when we wait for the answer
        with contextlib.suppress(OSError):
            self._tasks.send((work, task))

    def answer(self) -> tuple[bool, Any] | None:
        """Whether the work was done, and what came of it or the error; None if it only says that it has begun.

        EOFError or OSError where the process has ended.
        """
        if not self.begun:
            self._answers.recv()
            self.begun = True
            return None
        found: tuple[bool, Any] = self._answers.recv()
        return found

    def end(self, grace: float = 0.0) -> int | None:
        """End the process, at once or after `grace` seconds to die by itself; its exit code."""
        for seconds in (grace, KILL_SECONDS):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
            self._process.kill()
        self._tasks.close()
        self._answers.close()
        return self._process.returncode


def answering(workers: Iterable[Worker], timeout: float | None = None) -> list[Worker]:
    """Those that have something to say, or have ended, at latest after `timeout` seconds."""
    by_pipe = {worker._answers: worker for worker in workers}
    return [by_pipe[pipe] for pipe in wait(list(by_pipe), timeout)]  # type: ignore[index]


def serve() -> None:
    """The life of a worker: read a task, do it, send back the result or the error, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    tasks, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        answers.send("begun")
        while True:
            work, task = tasks.recv()
            try:
                message = (True, work(task))
            except Exception as error:
                message = (False, error)
            answers.send(message)


def _end_with(parent: int) -> None:
    """End this process, whatever it is computing, when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)
