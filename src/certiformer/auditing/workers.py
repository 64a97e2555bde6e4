"""Processes that attack claims side by side. Work and verdicts travel pickled through the pipes of a child we started.

A child is an interpreter of its own, not a fork and not a second run of the caller's script: `certiformer.audit()`
works from any program. It has one thread, so that it finds what the same search finds alone.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

from certiformer.theory.core.threads import thread_environment

_PROGRAM = "from certiformer.auditing.workers import serve; serve()"

Work = Callable[[Any], Any]
LOOK_SECONDS = 0.5


def spread(work: Work, tasks: Sequence[Any], workers: int, done: Callable[[int, Any], None]) -> list[Any]:
    """`work(task)` of every task, in the order of the tasks; `done(index, result)` as they come in."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    finished: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    for index in range(len(tasks)):
        waiting.put(index)
    with _children(workers) as children:
        for child in children:
            threading.Thread(target=_feed, args=(child, work, tasks, waiting, finished), daemon=True).start()
        results: dict[int, Any] = {}
        while len(results) < len(tasks):
            index, result, error = finished.get()
            if error is not None:
                raise error
            results[index] = result
            done(index, result)
    return [results[index] for index in range(len(tasks))]


def _feed(child: subprocess.Popen[bytes], work: Work, tasks: Sequence[Any], waiting: Any, finished: Any) -> None:
    """Give a child one task after the other until none is left."""
    assert child.stdin is not None
    assert child.stdout is not None
    while True:
        try:
            index = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            _send(child.stdin, (work, tasks[index]))
            good, result = pickle.load(child.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            # it ended, or was ended because another had failed: what it was sending is cut off or its pipe closed
            finished.put((index, None, RuntimeError(f"a worker of the audit ended unexpectedly ({error})")))
            return
        finished.put((index, result, None) if good else (index, None, result))


@contextmanager
def _children(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    paths = os.pathsep.join(path for path in sys.path if path)
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    surroundings = {**os.environ, **thread_environment(1), "PYTHONPATH": paths, "XLA_FLAGS": flags.strip()}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=surroundings
        )
        for _ in range(count)
    ]
    try:
        yield children
    finally:
        for child in children:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()


def _send(pipe: IO[bytes], message: Any) -> None:
    pickle.dump(message, pipe)
    pipe.flush()


def serve() -> None:
    """The life of a child: read a task, do it, send back the result or the error, until the pipe closes."""
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            work, task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            message = (True, work(task))
        except Exception as error:
            message = (False, error)
        try:
            _send(answers, message)
        except BrokenPipeError:
            return


def _end_with(parent: int) -> None:
    """End this process, whatever it is computing, when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    os._exit(1)
