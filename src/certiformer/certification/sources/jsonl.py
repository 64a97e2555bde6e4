"""One JSON object per line: a table, or the samples of lm-evaluation-harness, which are recognised by their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from certiformer.core.errors import InputError


def lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a JSONL file."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    found = json.loads(line)
                except json.JSONDecodeError as error:
                    raise InputError("file", str(path), "JSON on every line", f"Line {number}: {error}") from error
                if not isinstance(found, dict):
                    raise InputError("file", str(path), "an object on every line", f"Line {number} is another value")
                yield found
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("file", str(path), "a readable JSONL file", f"It cannot be read: {error}") from error


def columns_of(objects: list[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Columns from objects; a key that a line lacks is an empty cell."""
    names = dict.fromkeys(name for entry in objects for name in entry)
    return {name: [entry.get(name) for entry in objects] for name in names}
