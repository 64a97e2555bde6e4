"""Where text goes: one JSON document on stdout, or tables for people."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

console = Console(highlight=False, soft_wrap=False)


def print_json(document: Any) -> None:
    """One JSON document on stdout, strictly valid (infinities are strings by then)."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as comma-separated values; lists inside a cell are joined by spaces."""
    if not rows:
        return
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _flat(value) for name, value in row.items()} for row in rows)


def print_markdown(rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as a Markdown table."""
    if not rows:
        return
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    lines += ["| " + " | ".join(str(_flat(row[name])).replace("|", "\\|") for name in names) + " |" for row in rows]
    sys.stdout.write("\n".join(lines) + "\n")


def _flat(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
