"""The results as a list, without importing one of them: what `certiformer theorems` shows.

`catalogue.json` is written by `make docs`. It names every file that holds results with a checksum: where one was
added, taken away or changed since, the list is made from the results themselves, as always, only slower.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certiformer.core import registry
from certiformer.core.quantity import Quantity
from certiformer.core.result import Result, Status

FILE = Path(__file__).with_name("catalogue.json")
KEYS = ("id", "title", "paper", "place", "bounds", "printed", "reason", "inputs")


@dataclass(frozen=True, slots=True)
class Entry:
    """A result in the list."""

    id: str
    title: str
    paper: str
    place: str
    bounds: Quantity
    status: Status
    reason: str
    inputs: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The row that `certiformer theorems --json` prints."""
        values = (self.id, self.title, self.paper, self.place, self.bounds.value, self.status.value, self.reason)
        return dict(zip(KEYS, (*values, list(self.inputs)), strict=True))


def entry(result: type[Result]) -> Entry:
    """The entry of a result."""
    told = (result.id, result.title, result.paper.key, result.place, result.bounds, result.status, result.reason)
    return Entry(*told, tuple(one.name for one in result.inputs))


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Every result, in reading order of its paper."""
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if kept.get("files") == registry.checksums():
        return tuple(map(_read, kept["results"]))
    return tuple(map(entry, registry.results().values()))


def written() -> str:
    """What belongs in `catalogue.json`."""
    rows = [entry(result).as_json() for result in registry.results().values()]
    return json.dumps({"files": registry.checksums(), "results": rows}, indent=1, ensure_ascii=False) + "\n"


def _read(row: Mapping[str, Any]) -> Entry:
    name, title, paper, place, bounds, status, reason, inputs = (row[key] for key in KEYS)
    return Entry(name, title, paper, place, Quantity(bounds), Status(status), reason, tuple(inputs))
