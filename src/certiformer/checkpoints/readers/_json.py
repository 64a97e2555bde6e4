"""JSON from files of unknown origin: bounded, without duplicate names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certiformer.checkpoints.errors import CheckpointError, shown
from certiformer.theory.core.json_reader import NotJson
from certiformer.theory.core.json_reader import parse_json as parse_json_text

LARGEST = 100_000_000


def parse_json(path: Path, text: bytes, what: str) -> dict[str, Any]:
    """A JSON object; duplicate names, absurd nesting and anything else that is not one end in one line."""
    try:
        return parse_json_text(text, unique=True)
    except NotJson as error:
        raise CheckpointError(path, f"{what} cannot be read: {shown(error)}") from None


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON file of bounded size."""
    try:
        if path.stat().st_size > LARGEST:
            raise CheckpointError(path, f"{what} is larger than {LARGEST} bytes")
        text = path.read_bytes()
    except OSError as error:
        raise CheckpointError(path, f"cannot be read ({error.strerror})") from None
    return parse_json(path, text, what)
