"""Results are found by walking the packages that hold them: a new file is a new result, there is no central list.

Results from elsewhere join them: an installed package names its own under the entry point group `certiformer.results`
(a module or a class), a notebook calls `register`. A file that cannot be loaded is named in a warning and in the
answer to whoever asks for it; everything else works as before.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TypeVar

from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from certiformer.theory.core.result import PLACE_KINDS, Paper, Result

ROOMS = ("certiformer.theory.theorems", "certiformer.certificates")
ENTRY_POINTS = "certiformer.results"

_LONG_SPELLINGS = {long.lower(): short for long, short in PLACE_KINDS.items()}
_registered: dict[str, type[Result]] = {}

AnyResult = TypeVar("AnyResult", bound=type[Result])


class FaultyResultError(CertiformerError):
    """A file or an entry point whose results cannot be loaded."""

    def __init__(self, source: str, cause: Exception) -> None:
        where = f", line {cause.lineno}" if isinstance(cause, SyntaxError) else ""
        super().__init__(f"{source}{where}: its results cannot be loaded ({type(cause).__name__}: {cause})")


class FaultyResultWarning(UserWarning):
    """Something was left out of the list of results because it cannot be loaded."""


def register(result: AnyResult) -> AnyResult:
    """Let every verb find a result that is defined elsewhere, for example in a notebook; also as a decorator.

    docs/add-a-bound.md shows one. Registering a class of the same name again replaces it, as notebooks need.
    """
    if not (isinstance(result, type) and issubclass(result, Result)):
        raise InputError("register", result, "a subclass of certiformer.theory.core.Result")
    if not (result.id and hasattr(result, "paper")):
        raise InputError(
            "register", result.__name__, "a result with a paper and a place", 'For example place = "Lemma 1"'
        )
    known = _registered.get(result.id)
    ours = known is not None and (known.__module__, known.__qualname__) == (result.__module__, result.__qualname__)
    taken = _own().found.get(result.id) or (None if ours else known)
    if taken is not None and taken is not result:
        raise InputError(
            "register", result.id, f"an id that is free: {taken.__module__} has it", "Change paper or place"
        )
    _registered[result.id] = result
    for cached in (_loaded, _found):
        cached.cache_clear()
    return result


@dataclass(frozen=True, slots=True)
class Loaded:
    """Results by id, and what could not be loaded."""

    found: Mapping[str, type[Result]]
    faults: tuple[FaultyResultError, ...]


def results() -> Mapping[str, type[Result]]:
    """Every result by id, in reading order of its paper; what cannot be loaded is named in a warning and left out."""
    return _loaded().found


def faults() -> tuple[FaultyResultError, ...]:
    """The files and entry points that could not be loaded."""
    return _loaded().faults


@functools.cache
def _loaded() -> Loaded:
    """Ours, those of other packages, and those that were registered."""
    own, other = _own(), _of_other_packages()
    found, faults = dict(own.found), [*own.faults, *other.faults]
    for result in (*other.found.values(), *_registered.values()):
        if found.setdefault(result.id, result) is not result:
            taken = ValueError(f"{result.id} is already the id of a result in {found[result.id].__module__}")
            faults.append(FaultyResultError(result.__module__, taken))
    for fault in faults:
        warnings.warn(str(fault), FaultyResultWarning, stacklevel=3)
    return Loaded(
        MappingProxyType(dict(sorted(found.items(), key=lambda item: _reading_order(item[1])))), tuple(faults)
    )


@functools.cache
def _own() -> Loaded:
    found: dict[str, type[Result]] = {}
    faults = []
    for name in _modules():
        try:
            for result in _results_in(name):
                if result.id in found:
                    raise FaultyResultError(
                        name, ValueError(f"{found[result.id].__module__} has the id {result.id} too")
                    )
                found[result.id] = result
        except FaultyResultError as fault:
            faults.append(fault)
    return Loaded(found, tuple(faults))


@functools.cache
def _of_other_packages() -> Loaded:
    """The results that installed packages name under the entry point group."""
    found: dict[str, type[Result]] = {}
    faults = []
    for point in metadata.entry_points(group=ENTRY_POINTS):
        source = f"entry point {point.name} = {point.value}"
        try:
            named = point.load()
            results = list(_defined_in(named)) if isinstance(named, ModuleType) else [named]
            wrong = [one for one in results if not (isinstance(one, type) and issubclass(one, Result) and one.id)]
            if wrong or not results:
                raise TypeError("expected a Result with a paper and a place, or a module that defines some")
        except Exception as error:  # whatever happens in a stranger's module is told, and stops nobody else
            faults.append(FaultyResultError(source, error))
            continue
        found.update((result.id, result) for result in results)
    return Loaded(found, tuple(faults))


def find(id: str | type[Result]) -> type[Result]:
    """The result with this id; long spellings (`trauger.theorem4.1`), places and any case are understood.

    Only the module that holds it is imported, if its name tells or its text names the id. A class is its own answer.

    >>> find("trauger.theorem4.1").id, find("Trauger Theorem 4.1").id
    ('trauger.thm4.1', 'trauger.thm4.1')
    """
    if isinstance(id, str):
        return _found(id)
    if isinstance(id, type) and issubclass(id, Result):
        return id
    raise InputError("id", id, "the id of a result, or a subclass of Result")


@functools.cache
def _found(id: str) -> type[Result]:
    normal = normalise(id)
    for result in _registered.values():
        if result.id.lower() == normal:
            return result
    for name in _likely_modules(normal):
        for result in _results_in(name):
            if result.id.lower() == normal:
                return result
    known = results()
    by_lower = {name.lower(): name for name in known}
    if normal in by_lower:
        return known[by_lower[normal]]
    return _at_place(id, known)


def _at_place(words: str, known: Mapping[str, type[Result]]) -> type[Result]:
    """The result at `Trauger Theorem 4.1` or `Thm. 4.1 of Trauger`: paper, kind and number must all agree."""
    asked = places_in(_SHORT.sub(lambda match: f"{_KIND_OF[match[1].lower()]} " if match[1] else "", words))
    of_paper = [result for result in known.values() if _names(result.paper, words)]
    searched = of_paper or list(known.values())
    place = asked[0] if len(asked) == 1 else None
    own = [one for one in searched if place is not None and (places_in(one.place)[:1] == asked or _has_id(one, place))]
    found = own or [result for result in searched if place in places_in(result.place)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownNameError("result", words, (), f"Several are there: {', '.join(each.id for each in found)}.")
    hint = "See `certiformer theorems`, or `certiformer search WORDS`."
    wanted = {part for each in asked for part in each}
    near = [one for one in of_paper if any(wanted & {*at} for at in places_in(one.place))] or search(words)
    if near:
        listed = ", ".join(f"{one.id} ({one.place})" for one in near[:6])
        raise UnknownNameError("result", words, (), f"Near it: {listed}. {hint}")
    raise UnknownNameError("result", words, known, hint)


def _names(paper: Paper, words: str) -> bool:
    """Whether the words name the paper, by key or by an author."""
    surnames = set(re.findall(r"[a-z]+", paper.short.lower())) - {"et", "al", "the"}
    return bool({paper.key, *surnames} & set(re.findall(r"[a-z]+", words.lower())))


_KIND_OF = {short: long for long, short in PLACE_KINDS.items()}
_SHORT = re.compile(rf"(?<![.\w])({'|'.join(_KIND_OF)})(?:\.|\b|(?=\d)) *|\((?:19|20)\d\d\)", re.IGNORECASE)
"""`Thm. 4.1`, `thm4.1`, and the year of a paper, which is no place."""

_REFERENCE = re.compile(
    rf"\b({'|'.join(PLACE_KINDS)})s?\b\.?\s*|[(]?\b([A-Z](?:\.\d+)+|\d+(?:\.\d+)*|[A-Z](?=$|[\s,;]))[)]?(-?)",
    re.IGNORECASE,
)


def places_in(words: str) -> list[tuple[str, str]]:
    """The (kind, number) that words name, in their order; a number in brackets is an equation's.

    >>> places_in("Lemma 1, Remarks 3 and 4")
    [('Lemma', '1'), ('Remark', '3'), ('Remark', '4')]
    >>> places_in("Proposition 3, (9)-(11), with Definition 1")
    [('Proposition', '3'), ('Equation', '9'), ('Equation', '10'), ('Equation', '11')]
    """
    found: list[tuple[str, str]] = []
    kind, dash = "", ""
    for match in _REFERENCE.finditer(words.partition(", with ")[0]):
        if match[1]:
            kind = match[1].capitalize()
            continue
        number = match[2].upper()
        at = "Equation" if match[0].startswith("(") else kind
        if not at:
            continue
        if dash and found and found[-1][1].isdigit() and number.isdigit():
            found += [(at, str(between)) for between in range(int(found[-1][1]) + 1, int(number))]
        found.append((at, number))
        dash = match[3]
    return list(dict.fromkeys(found))


def _has_id(result: type[Result], place: tuple[str, str]) -> bool:
    return result.id.endswith(f".{PLACE_KINDS[place[0]]}{place[1]}")


def search(words: str) -> list[type[Result]]:
    """The results whose docstring contains all the words, those with the words in their title first."""
    wanted = [word.rstrip("s") if len(word) > 3 else word for word in words.lower().split()]

    def text(result: type[Result]) -> str:
        told = result.sections
        parts = (result.id, result.title, result.place, result.paper.reference, result.bounds.value, told.prose)
        claims = (told.printed, told.sound, told.because, *told.assumes, *told.defects)
        return " ".join((*parts, *claims, *(entry.meaning for entry in result.inputs))).lower()

    found = [result for result in results().values() if all(word in text(result) for word in wanted)]
    return sorted(found, key=lambda result: -sum(word in f"{result.title} {result.id}".lower() for word in wanted))


@functools.cache
def _modules() -> Mapping[str, Path]:
    """The public modules of the packages that hold results, and where they are; nothing is imported."""
    found = {}
    for room in ROOMS:
        spec = importlib.util.find_spec(room)
        for folder in map(Path, (spec and spec.submodule_search_locations) or ()):
            for path in sorted(folder.rglob("*.py")):
                if not path.name.startswith("_"):
                    found[".".join((room, *path.relative_to(folder).with_suffix("").parts))] = path
    return found


def _results_in(module: str) -> list[type[Result]]:
    """The results that a module of ours defines."""
    try:
        return list(_defined_in(importlib.import_module(module)))
    except Exception as error:  # a file with a mistake names itself, whatever the mistake is
        raise FaultyResultError(str(_modules()[module]), error) from error


def _defined_in(module: ModuleType) -> Iterator[type[Result]]:
    """The results that a module defines itself."""
    for item in tuple(vars(module).values()):
        own = isinstance(item, type) and issubclass(item, Result) and item.__module__ == module.__name__
        if own and "place" in vars(item):
            yield item


def _likely_modules(id: str) -> Iterator[str]:
    """`trauger.thm4.1` stands in `trauger/theorem_4_1.py`; other ids are written in the file that defines them."""
    paper, _, place = id.rpartition(".") if id.count(".") == 0 else id.partition(".")
    for long, short in _LONG_SPELLINGS.items():
        if place.startswith(short):
            number = place.removeprefix(short).replace(".", "_")
            yield from (name for name in _modules() if name.endswith(f".{paper}.{long}_{number}"))
    for name, path in _modules().items():
        if f'id = "{id}"' in path.read_text(encoding="utf-8"):
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
