"""KEY=VALUE, as it is typed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from certiformer.theory.core.errors import InputError


def split(option: str, words: Iterable[str] | None, fix: str = "") -> list[tuple[str, str]]:
    """`width=64` as ("width", "64")."""
    found = []
    for word in words or ():
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise InputError(option, word, "KEY=VALUE", fix)
        found.append((name, text))
    return found


def texts(option: str, words: Iterable[str] | None, fix: str = "") -> dict[str, str]:
    """`width=64` as {"width": "64"}."""
    found: dict[str, str] = {}
    for name, text in split(option, words, fix):
        if name in found:
            raise InputError(name, text, "one value, not two")
        found[name] = text
    return found


def values(option: str, words: Iterable[str] | None) -> dict[str, Any]:
    """`width=64` as {"width": 64}."""
    return {name: value(text) for name, text in texts(option, words).items()}


def value(text: str) -> Any:
    """What is no JSON is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
