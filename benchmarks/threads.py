"""One thread for everything: to be called before NumPy is imported, which asks for threads only then."""

from __future__ import annotations

import os


def one_thread() -> None:
    """Pin this process to one CPU: thread pools that spin while they wait would otherwise distort CPU time."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"):
        os.environ[name] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
