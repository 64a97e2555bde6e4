"""Where a run's numbers come from: the package and its commit, the libraries and the type of processor.

Two runs with the same code, the same libraries and the same type of processor agree in every bit; others to rounding.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certiformer._version import __version__

LIBRARIES = ("numpy", "scipy", "jax", "jaxlib", "numba")
VECTORS = ("avx512f", "avx2", "asimd", "sse4_2")  # the widest that the processor has decides how sums are taken

PACKAGE = Path(__file__).parents[1]
Origin = Mapping[str, Any]


@dataclass(frozen=True)
class Code:
    """The code of this process: its commit, where it runs from a checkout, and what tells it from other code."""

    commit: str | None
    identity: str


@functools.cache
def code() -> Code:
    """As it was when this process first asked: commits that leave the package alone have the same identity."""
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return Code(None, f"release {__version__}")
    commit, tree = (_git("rev-parse", "HEAD", "HEAD:./") or "unborn unborn").split()
    changed = " with changes" if _git("status", "--porcelain", "--untracked-files=no", "--", ".") else ""
    return Code(f"{commit[:12]}{changed}", f"tree {tree[:12]}{changed}")


@functools.cache
def origin() -> Origin:
    """Of this process: {"certiformer", "commit", "python", "libraries", "cpu"}."""
    return {
        "certiformer": __version__,
        "commit": code().commit,
        "python": platform.python_version(),
        "libraries": {name: version for name in LIBRARIES if (version := _installed(name)) is not None},
        "cpu": _cpu(),
    }


def same_arithmetic(one: Origin, other: Origin) -> bool:
    """Whether equal code must give equal bits: the same libraries on the same type of processor, both known."""
    return bool(one) and all(one.get(part) == other.get(part) for part in ("libraries", "cpu"))


def described(one: Origin) -> str:
    """In a line: "certiformer 0.1.0, jax 0.10.2, numpy 2.4.6, AMD EPYC (cpu family 26, model 2, avx512f)"."""
    if not one:
        return "origin not recorded"
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(one["libraries"].items()))
    return f"certiformer {one['certiformer']}, Python {one['python']}, {libraries}, {one['cpu']}"


def utc(seconds: float) -> str:
    """When a run ended, as text: seconds since 1970 as "2025-01-31T12:00:00+00:00"."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _git(*arguments: str) -> str | None:
    """What git says of the package's folder; nothing where there is no git, or no checkout."""
    command = ["git", "-C", str(PACKAGE), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu() -> str:
    """Name, generation and widest vectors: libraries choose their kernels by all three, and hosts hide the name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    told = {name.strip(): text.strip() for name, colon, text in (line.partition(":") for line in lines) if colon}
    flags = (told.get("flags") or told.get("Features") or "").split()
    widest = next((flag for flag in VECTORS if flag in flags), "")
    name = told.get("model name") or platform.machine()
    generation = [f"{part} {told[part]}" for part in ("cpu family", "model", "CPU part") if part in told]
    kind = ", ".join([*generation, widest] if widest else generation)
    return f"{name} ({kind})" if kind else name
