"""Where a run's numbers come from, besides its code: the package, the libraries and the type of processor.

Two runs with the same code, the same libraries and the same type of processor agree in every bit; others to rounding.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certiformer._version import __version__

LIBRARIES = ("numpy", "scipy", "jax", "jaxlib", "numba")
VECTORS = ("avx512f", "avx2", "asimd", "sse4_2")  # the widest that the processor has decides how sums are taken

Origin = Mapping[str, Any]


@functools.cache
def origin() -> Origin:
    """Of this process: {"certiformer", "python", "libraries", "cpu"}."""
    return {
        "certiformer": __version__,
        "python": platform.python_version(),
        "libraries": {name: version for name in LIBRARIES if (version := _installed(name)) is not None},
        "cpu": _cpu(),
    }


def same_arithmetic(one: Origin, other: Origin) -> bool:
    """Whether equal code must give equal bits: the same libraries on the same type of processor, both known."""
    return bool(one) and all(one.get(part) == other.get(part) for part in ("libraries", "cpu"))


def described(one: Origin) -> str:
    """In a line: "certiformer 0.1.0, jax 0.10.2, numpy 2.4.6, AMD EPYC (avx512f)"."""
    if not one:
        return "origin not recorded"
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(one["libraries"].items()))
    return f"certiformer {one['certiformer']}, Python {one['python']}, {libraries}, {one['cpu']}"


def utc(seconds: float) -> str:
    """When a run ended, as text: seconds since 1970 as "2025-01-31T12:00:00+00:00"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    told = {name.strip(): text.strip() for name, colon, text in (line.partition(":") for line in lines) if colon}
    flags = (told.get("flags") or told.get("Features") or "").split()
    widest = next((flag for flag in VECTORS if flag in flags), "")
    name = told.get("model name") or platform.machine()
    return f"{name} ({widest})" if widest else name
