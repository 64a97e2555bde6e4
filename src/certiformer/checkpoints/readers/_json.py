"""JSON from files of unknown origin: bounded, without duplicate names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from certiformer.checkpoints.errors import CheckpointError, shown

LARGEST = 100_000_000


def parse_json(path: Path, text: bytes, what: str) -> dict[str, Any]:
    """A JSON object; duplicate names, absurd nesting and anything else that is not one end in one line."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise CheckpointError(path, f"{what} has the name {shown(name)} twice")
            found[name] = value
        return found

    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except CheckpointError:
        raise
    except (ValueError, RecursionError) as error:
        raise CheckpointError(path, f"{what} is not JSON ({shown(error)})") from None
    if not isinstance(found, dict):
        raise CheckpointError(path, f"{what} is not a JSON object")
    return found


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON file of bounded size."""
    try:
        if path.stat().st_size > LARGEST:
            raise CheckpointError(path, f"{what} is larger than {LARGEST} bytes")
        text = path.read_bytes()
    except OSError as error:
        raise CheckpointError(path, f"cannot be read ({error.strerror})") from None
    return parse_json(path, text, what)
