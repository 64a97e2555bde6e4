"""The cores of this machine, and how numerical libraries are told to keep to some of them."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_environment(threads: int) -> dict[str, str]:
    """The environment in which numerical libraries keep to so many threads; read once, when they are first loaded."""
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NPROC",  # the size of XLA's pool on the CPU, which heeds neither OMP_NUM_THREADS nor its own Eigen flag
    )
    return dict.fromkeys(names, str(threads))
