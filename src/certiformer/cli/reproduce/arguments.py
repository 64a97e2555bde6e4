"""What was typed, as values: parts of a grid, other grids, files to write."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from certiformer.theory.core.errors import InputError

PUBLISHED = ".runs"
ENDINGS = (".csv", ".json", PUBLISHED)


def pairs(option: str, given: Sequence[str] | None) -> dict[str, Any]:
    """`width=64` as {"width": 64}; what is no JSON is text."""
    return {name: _value(text) for name, text in _split(option, given)}


def lists(option: str, given: Sequence[str] | None) -> dict[str, list[Any]]:
    """`seed=0:20` as {"seed": [0, ..., 19]}, `lag=4,16` or `lag=4` and `lag=16` as {"lag": [4, 16]}."""
    found: dict[str, list[Any]] = {}
    for name, text in _split(option, given):
        values: list[Any] = []
        for part in text.split(","):
            first, colon, last = part.partition(":")
            if colon and first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
                values += range(int(first), int(last))
            else:
                values.append(_value(part))
        if not values:
            raise InputError(option, f"{name}={text}", "at least one value", f"Such as {option} {name}=0:20.")
        found.setdefault(name, []).extend(values)
    return found


def writable(path: Path) -> None:
    """Found out before hours of work, not after."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError("--export", str(path), f"a file name that ends in {', '.join(ENDINGS)}")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK) or path.is_dir():
        raise InputError("--export", str(path), "a file in a folder that exists and can be written to")


def publishable(path: Path, names: Collection[str]) -> None:
    """A file to publish has the runs of one experiment, which several figures may share."""
    if path.suffix == PUBLISHED and len(names) > 1:
        fix = "Name one experiment after another, or write all of them to a .csv or .json file."
        raise InputError("--export", str(path), f"runs of one experiment, not of {len(names)}", fix)


def _split(option: str, given: Sequence[str] | None) -> list[tuple[str, str]]:
    found = []
    for pair in given or []:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise InputError(option, pair, f"KEY=VALUE, such as {option} seed=0")
        found.append((name, text))
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
