"""The one reader of JSON that others wrote: bounded in depth and digits, of the expected type, or refused."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, overload

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.regular_file import regular

DEEPEST, MOST_DIGITS, LARGEST = 100, 300, 2**30
"""Levels of lists and objects, digits of a number (floats have 309), bytes of a file."""

Wanted = TypeVar("Wanted")
_LONG = re.compile(rf"\d{{{MOST_DIGITS + 1}}}")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NAMES = {dict: "a JSON object", list: "a JSON list", object: "JSON"}


class NotJson(ValueError):
    """What is wrong with a text, in one line."""


@overload
def parse_json(text: str | bytes, *, unique: bool = False) -> dict[str, Any]: ...
@overload
def parse_json(text: str | bytes, kind: type[Wanted], *, unique: bool = False) -> Wanted: ...
def parse_json(text: str | bytes, kind: Any = dict, *, unique: bool = False) -> Any:
    """A JSON text as a dict, a list or (`object`) whatever it is; with `unique`, no object has a name twice."""
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        long = len(text) > MOST_DIGITS and _LONG.search(text) is not None
        found = _decoded(_decoder(unique, long), text)
    except UnicodeDecodeError:
        raise NotJson("it is not UTF-8 text") from None
    except RecursionError:
        raise NotJson(f"it is nested too deeply (more than {DEEPEST} levels)") from None
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(f"it is not JSON ({error})") from None
    if not isinstance(found, kind):
        raise NotJson(f"it is a {type(found).__name__}, not {_NAMES[kind]}")
    if len(text) > DEEPEST and text.count("[") + text.count("{") > DEEPEST and _deeper(found):
        raise NotJson(f"it is nested too deeply (more than {DEEPEST} levels)")
    if "\\u" in text and _SURROGATE.search(text) and not all(map(_unicode, _texts(found))):
        raise NotJson("a text in it has half of a surrogate pair")
    return found


@overload
def read_json(path: Path, what: str, *, unique: bool = False) -> dict[str, Any]: ...
@overload
def read_json(path: Path, what: str, kind: type[Wanted], *, unique: bool = False) -> Wanted: ...
def read_json(path: Path, what: str, kind: Any = dict, *, unique: bool = False) -> Any:
    """The JSON of a file; `what` names it in the refusal. `unique` as for `parse_json`."""
    try:
        size = regular(path, "file", what).stat().st_size
        if size > LARGEST:
            raise InputError("file", str(path), what, f"It has {size} bytes; at most {LARGEST} are read")
        return parse_json(path.read_bytes(), kind, unique=unique)
    except NotJson as error:
        raise InputError("file", str(path), what, f"It cannot be read: {error}") from None
    except OSError as error:
        raise InputError("file", str(path), what, f"It cannot be read: {error.strerror or error}") from None


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:
    """`decoder.decode(text)`, sooner where the text has no white space around it."""
    try:
        found, end = decoder.raw_decode(text)
    except json.JSONDecodeError:
        end = -1
    return found if end == len(text) else decoder.decode(text)


@functools.cache
def _decoder(unique: bool, long: bool) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unique if unique else None, parse_int=_short if long else None)


def _short(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise NotJson(f"a number in it has {len(digits)} digits, more than {MOST_DIGITS}")
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"the key {twice[:80]!r} stands twice in one object")
    return found


def _deeper(value: Any) -> bool:
    """Whether a value has more levels than are read, without recursion."""
    level = [value]
    for _ in range(DEEPEST):
        level = [part for node in level for part in _parts(node) if isinstance(part, (dict, list))]
        if not level:
            return False
    return True


def _texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif isinstance(node, dict):
            yield from node
        stack.extend(_parts(node))


def _parts(node: Any) -> Any:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def _unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
