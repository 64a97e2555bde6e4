"""Errors that a user can act on: what was given, what was expected, how to fix it."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar, overload

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


MOST_SHOWN, MOST_SAID = 400, 1_500
"""Characters of a name or value that an error repeats, and of its whole line: names in strangers' files are longer."""


class CertiformerError(Exception):
    """Base of every error that is the caller's to mend; the command line prints it as one line without a traceback."""

    def __str__(self) -> str:
        return _cut(" ".join(str(self.args[0] if self.args else "").split("\n")), MOST_SAID)


def _cut(text: str, most: int = MOST_SHOWN) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def shown(text: object, most: int = 120) -> str:
    """A name from a file as it may be printed: one line, no control characters, not too long."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in str(text))
    return plain if len(plain) <= most else plain[: most - 3] + "..."


class InputError(CertiformerError, ValueError):
    """A value that cannot be used: `name` got `got`, `expected` says what is allowed."""

    def __init__(self, name: str, got: object, expected: str, fix: str = "") -> None:
        self.name, self.got, self.expected, self.fix = name, got, expected, fix
        message = f"{_cut(name)}: got {_cut(repr(got))}, expected {expected}"
        super().__init__(f"{message}. {fix}" if fix else message)


class RangeError(CertiformerError, ArithmeticError):
    """Inputs so extreme that the arithmetic leaves the floating-point numbers."""

    def __init__(self, id: str, cause: Exception) -> None:
        super().__init__(
            f"{id}: these inputs leave the range of floating-point numbers, or of the memory ({cause}). "
            "Choose units in which they are less extreme"
        )


class FormulaError(CertiformerError, ArithmeticError):
    """A formula that has no value at inputs which it accepts: a defect of ours, said as one."""

    def __init__(self, id: str, cause: Exception) -> None:
        super().__init__(
            f"{id}: the formula has no value at these inputs ({cause}), although they are in its range. "
            "This is a defect of certiformer: please report the command"
        )


MOST_LISTED = 30
"""Names that an error lists; of more it says how many."""


class UnknownNameError(CertiformerError, KeyError):
    """A name nobody knows, with the nearest ones that somebody does, or with all of them."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "", *, place: str = "") -> None:
        self.kind, self.name = kind, name
        names = [str(one) for one in known]
        self.nearest = nearest(name, names)
        if not hint and "(" not in place and not self.nearest and names:
            more = f", ... ({len(names)} in all)" if len(names) > MOST_LISTED else ""
            hint = f"Known: {', '.join(names[:MOST_LISTED])}{more}"
        near = f"; did you mean {' or '.join(self.nearest)}?" if self.nearest else "."
        self.message = f"unknown {kind} {_cut(repr(name))}{place}{near}" + (f" {hint}" if hint else "")
        super().__init__(self.message)


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names closest to `name`, best first, whatever their case."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=most, cutoff=0.5)
    return [by_lower[candidate] for candidate in close]


@overload
def refuse_unknown_options(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]: ...
@overload
def refuse_unknown_options(
    function: None = None, *, moved: Mapping[str, str]
) -> Callable[[Callable[Parameters, Answer]], Callable[Parameters, Answer]]: ...
def refuse_unknown_options(
    function: Callable[Parameters, Answer] | None = None, *, moved: Mapping[str, str] | None = None
) -> Any:
    """`function`, which answers a misspelt option with the nearest it has, one that moved with its new place."""
    if function is None:
        return functools.partial(refuse_unknown_options, moved=moved)
    code = inspect.unwrap(function).__code__  # its own parameters, whatever it is wrapped in
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def checked(*args: Parameters.args, **options: Parameters.kwargs) -> Answer:
        for name in options:
            if name not in known and name in (moved or {}):
                raise InputError(name, options[name], "an option", f"It is said elsewhere now: {(moved or {})[name]}")
            if name not in known:
                raise UnknownNameError(
                    "option", name, known, place=f" of {function.__name__} (it has {', '.join(known)})"
                )
        return function(*args, **options)

    return checked
