"""Processes that attack claims side by side, of one thread each: each finds what the same search finds alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from certiformer.theory.core.threads import thread_environment
from certiformer.theory.core.workers import Worker, answering


def spread(
    work: Callable[[Any], Any], tasks: Sequence[Any], workers: int, done: Callable[[int, Any], None]
) -> list[Any]:
    """`work(task)` of every task, in the order of the tasks; `done(index, result)` as they come in."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    environment = {**thread_environment(1), "XLA_FLAGS": flags.strip()}
    pool: list[Worker] = []
    following, busy, results = iter(enumerate(tasks)), dict[Worker, int](), dict[int, Any]()

    def hand(worker: Worker) -> None:
        for index, task in following:
            busy[worker] = index
            worker.hand(work, task)
            return

    try:
        for _ in range(workers):
            pool.append(Worker(environment))
            hand(pool[-1])
        while busy:
            for worker in answering(busy):
                try:
                    answer = worker.answer()
                except (EOFError, OSError) as error:
                    raise RuntimeError(f"a worker of the audit ended unexpectedly ({error})") from None
                if answer is None:
                    continue
                good, result = answer
                if not good:
                    raise result
                index = busy.pop(worker)
                results[index] = result
                done(index, result)
                hand(worker)
        return [results[index] for index in range(len(tasks))]
    finally:
        for worker in pool:
            worker.end()
