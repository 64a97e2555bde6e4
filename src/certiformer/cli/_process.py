"""What a command may do because it owns its process: threads and a cache of compiled programs."""

from __future__ import annotations

import os

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.threads import thread_environment
from certiformer.theory.core.user_dirs import cache_directory


def own_process(threads: int | None) -> int:
    """Limit this process to `threads` CPUs and keep compiled programs on disk; returns the CPUs in use.

    To be called before JAX starts its thread pools, that is before the first array.
    """
    pinned = hasattr(os, "sched_getaffinity")
    available = sorted(os.sched_getaffinity(0)) if pinned else list(range(os.cpu_count() or 1))
    if threads is not None:
        if not 1 <= threads <= len(available):
            raise InputError("--threads", threads, f"between 1 and {len(available)}, the CPUs at hand")
        os.environ.update(thread_environment(threads))
        if pinned:
            os.sched_setaffinity(0, set(available[:threads]))
    import jax

    for flag, value in (
        ("jax_compilation_cache_dir", str(cache_directory() / "compiled")),
        ("jax_persistent_cache_min_compile_time_secs", 0.5),
    ):
        jax.config.update(flag, value)  # type: ignore[no-untyped-call]
    return threads or len(available)
