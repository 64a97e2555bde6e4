"""The environment of processes that tests start: what this process can import, they can."""

from __future__ import annotations

import os
from pathlib import Path

import certiformer

TESTS = Path(__file__).parent


def python_path() -> str:
    """The tests (for toy modules), the package under test, and whatever was on the path before."""
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(TESTS), str(Path(certiformer.__file__).parents[1]), *([before] if before else [])])
