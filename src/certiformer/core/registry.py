"""Results are found by walking the rooms that hold them: a new file is a new result, there is no central list."""

from __future__ import annotations

import functools
import importlib
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
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


ROOMS = ("certiformer.theorems", "certiformer.certificates")


@functools.cache
def results() -> Mapping[str, type[Result]]:
    """Every registered result by id, in reading order of its paper."""
    found: dict[str, type[Result]] = {}
    for name in _modules():
        result = _result_in(name)
        if result is None:
            continue
        if result.id in found:
            raise RuntimeError(f"two modules register {result.id}")
        found[result.id] = result
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: _reading_order(item[1]))))


@functools.cache
def find(id: str) -> type[Result]:
    """The result with this id; long spellings (`trauger.theorem4.1`) and any case are understood.

    Only the module that holds it is imported, if its name tells or its text names the id.

    >>> find("trauger.theorem4.1").id, find("Trauger Theorem 4.1").id
    ('trauger.thm4.1', 'trauger.thm4.1')
    """
    normal = normalise(id)
    for name in _likely_modules(normal):
        result = _result_in(name)
        if result is not None and result.id.lower() == normal:
            return result
    known = results()
    by_lower = {name.lower(): name for name in known}
    if normal in by_lower:
        return known[by_lower[normal]]
    at_place = [result for result in known.values() if _is_at(result, id)]
    if len(at_place) == 1:
        return at_place[0]
    if at_place:
        raise UnknownNameError("result", id, known, f"Several are there: {', '.join(each.id for each in at_place)}.")
    raise UnknownNameError("result", id, known, "See `certiformer theorems`, or `certiformer search WORDS`.")


def _is_at(result: type[Result], words: str) -> bool:
    """`Theorem 4.1`, `Trauger Theorem 4.1` and `theorem 4.1 of Trauger` name a place in a paper."""
    asked = set(re.findall(r"[a-z0-9.]+", words.lower())) - {"of", "in", "the", "by", "and", "et", "al", "al."}
    place = set(re.findall(r"[a-z0-9.]+", result.place.lower()))
    paper = {result.paper.key, *re.findall(r"[a-z]+", result.paper.short.lower())}
    return bool(asked) and asked <= place | paper and bool(asked & place) and any(c.isdigit() for c in words)


def search(words: str) -> list[type[Result]]:
    """The results whose story contains all the words, those with the words in their title first."""
    wanted = [word.rstrip("s") if len(word) > 3 else word for word in words.lower().split()]

    def text(result: type[Result]) -> str:
        story = result.story
        parts = (result.id, result.title, result.place, result.paper.reference, result.bounds.value, story.prose)
        told = (story.printed, story.sound, story.because, *story.assumes, *story.defects)
        return " ".join((*parts, *told, *(entry.meaning for entry in result.inputs))).lower()

    found = [result for result in results().values() if all(word in text(result) for word in wanted)]
    return sorted(found, key=lambda result: -sum(word in f"{result.title} {result.id}".lower() for word in wanted))


@functools.cache
def _modules() -> Mapping[str, Path]:
    """The public modules of the rooms that hold results, and where they are; nothing is imported."""
    top = Path(__file__).parents[1]
    return {
        "certiformer." + ".".join(path.relative_to(top).with_suffix("").parts): path
        for room in ROOMS
        for path in sorted((top / room.rpartition(".")[2]).rglob("*.py"))
        if not path.name.startswith("_")
    }


def checksums() -> dict[str, int]:
    """The files of the rooms that hold results, those that results share included, each with the CRC of its bytes."""
    top = Path(__file__).parents[1]
    return {
        path.relative_to(top).as_posix(): zlib.crc32(path.read_bytes())
        for room in ROOMS
        for path in sorted((top / room.rpartition(".")[2]).rglob("*.py"))
    }


def _result_in(module: str) -> type[Result] | None:
    """The result that a module defines."""
    for item in vars(importlib.import_module(module)).values():
        if isinstance(item, type) and issubclass(item, Result) and item.__module__ == module and "place" in vars(item):
            return item
    return None


def _likely_modules(id: str) -> Iterator[str]:
    """`trauger.thm4.1` stands in `trauger/theorem_4_1.py`; other ids are written in the file that defines them."""
    paper, _, place = id.rpartition(".") if id.count(".") == 0 else id.partition(".")
    for long, short in _LONG_SPELLINGS.items():
        if place.startswith(short):
            number = place.removeprefix(short).replace(".", "_")
            yield from (name for name in _modules() if name.endswith(f".{paper}.{long}_{number}"))
    for name, path in _modules().items():
        if f'"{id}"' in path.read_text(encoding="utf-8"):
            yield name


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


def _reading_order(result: type[Result]) -> tuple[object, ...]:
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
