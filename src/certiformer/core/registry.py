"""Results are found by walking the package `theorems`: a new file is a new result, there is no central list."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Mapping
from types import MappingProxyType

from certiformer.core.errors import UnknownNameError
from certiformer.core.result import Paper, Result

_LONG_SPELLINGS = {
    "lemma": "lem",
    "theorem": "thm",
    "corollary": "cor",
    "proposition": "prop",
    "definition": "def",
    "assumption": "ass",
    "remark": "rem",
    "equation": "eq",
    "section": "sec",
    "appendix": "app",
}


@functools.cache
def results() -> Mapping[str, Result]:
    """Every registered result by id, in reading order of its paper."""
    package = importlib.import_module("certiformer.theorems")
    found: dict[str, Result] = {}
    for module_info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module_info.name.rpartition(".")[2].startswith("_"):
            continue
        result = getattr(importlib.import_module(module_info.name), "RESULT", None)
        if result is None:
            continue
        if result.id in found:
            raise RuntimeError(f"two modules register {result.id}")
        found[result.id] = result
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: _reading_order(item[1]))))


def find(id: str) -> Result:
    """The result with this id; long spellings (`trauger.theorem4.1`) and any case are understood."""
    known = results()
    if id in known:
        return known[id]
    by_lower = {name.lower(): name for name in known}
    normal = normalise(id)
    if normal in by_lower:
        return known[by_lower[normal]]
    raise UnknownNameError("result", id, known, "See `certiformer theorems`.")


def papers() -> Mapping[str, Paper]:
    """The papers that have results here, by key."""
    return {result.paper.key: result.paper for result in results().values()}


def normalise(id: str) -> str:
    """`Deora.Lemma 2` and `deora.lemma2` are `deora.lem2`."""
    text = re.sub(r"\s+", "", id.lower())
    for long, short in _LONG_SPELLINGS.items():
        text = text.replace(f".{long}", f".{short}")
    return text


def _reading_order(result: Result) -> tuple[object, ...]:
    """Papers together, the main text before the appendices, numbers as numbers."""
    tail = result.id.rpartition(".")[2] if "." not in result.id else result.id.split(".", 1)[1]
    match = re.match(r"[a-z0-9]*?([A-Z]?)\.?([\d.]*)$", tail)
    letter = match.group(1) if match else ""
    numbers = tuple(int(part) for part in re.findall(r"\d+", match.group(2))) if match else ()
    return result.paper.key, letter, numbers, result.id
