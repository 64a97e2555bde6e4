"""One comparison: the same steps on the same weights and data, by PyTorch and by certiformer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

Losses = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Case:
    """A step of one of the papers' experiments; `make(dtype)` gives the plain and the structured side.

    `steps` are timed together (PyTorch may need fewer: `plain_steps`); `target` is the ratio to reach.
    """

    name: str
    what: str
    target: float
    make: Callable[[str], tuple[Callable[[int], Losses], Callable[[int], Losses]]]
    steps: int = 5
    plain_steps: int = 3
    agreement_steps: int = 3


@dataclass(frozen=True)
class Outcome:
    """CPU seconds per step on one thread, their ratio, and how far the losses are apart in both precisions."""

    name: str
    what: str
    plain_seconds: float
    seconds: float
    ratio: float
    target: float
    loss_difference_float32: float
    loss_difference_float64: float

    @property
    def passed(self) -> bool:
        return (
            self.ratio >= self.target and self.loss_difference_float32 <= 1e-5 and self.loss_difference_float64 <= 1e-10
        )


def one_thread() -> None:
    """Pin this process to one CPU: thread pools that spin while they wait would otherwise distort CPU time."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def compare(case: Case, rounds: int = 5) -> Outcome:
    """Time both sides in turn, `rounds` times each, and take the fastest round of each."""
    difference = {dtype: _agreement(case, dtype) for dtype in ("float64", "float32")}
    plain, ours = case.make("float32")
    plain(1), ours(case.steps)
    plain_best, best = float("inf"), float("inf")
    for _ in range(rounds):
        plain_best = min(plain_best, _cpu_seconds(plain, case.plain_steps))
        best = min(best, _cpu_seconds(ours, case.steps))
    return Outcome(
        case.name,
        case.what,
        plain_best,
        best,
        plain_best / best,
        case.target,
        difference["float32"],
        difference["float64"],
    )


def _agreement(case: Case, dtype: str) -> float:
    with _precision(dtype):
        plain, ours = case.make(dtype)
        expected, got = plain(case.agreement_steps), ours(case.agreement_steps)
    return float(np.max(np.abs(got - expected) / np.abs(expected)))


def _cpu_seconds(run: Callable[[int], Losses], steps: int) -> float:
    start = time.process_time()
    run(steps)
    return (time.process_time() - start) / steps


@contextmanager
def _precision(dtype: str) -> Iterator[None]:
    with jax.enable_x64(dtype == "float64"):
        yield
