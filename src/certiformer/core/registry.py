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


_KINDS = ("def", "ass", "fact", "lem", "prop", "thm", "cor", "rem", "eq")


def _reading_order(result: Result) -> tuple[object, ...]:
    """Papers together; main text before appendices; by section where numbers have one, by kind where they do not."""
    name = result.id.split(".", 1)[-1]
    match = re.fullmatch(r"([a-z]+)([A-Z]?)\.?((?:\d+\.)*\d+)(.*)", name)
    if match is None:
        return result.paper.key, "", (), 0, result.id
    kind, letter, number, _ = match.groups()
    numbers = tuple(int(part) for part in number.split("."))
    rank = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    if len(numbers) == 1 and not letter:
        return result.paper.key, letter, (rank, *numbers), 0, result.id
    return result.paper.key, letter, numbers, rank, result.id
