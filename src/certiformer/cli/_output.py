"""Where text goes: one JSON document on stdout, or tables for people."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

console = Console(highlight=False, soft_wrap=False)


def print_json(document: Any) -> None:
    """One JSON document on stdout, strictly valid (infinities are strings by then)."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")
