"""The inputs of a result, as typed fields of its class: meaning, symbol, range; and the parsing of their values.

    C: float = real("log N(eps) <= C/eps^2", example=0.5)
    rho: float = real("half the diameter of the token set", factory=derived("Bx", lambda x: x.Bx))
    odd: bool | None = flag("the activation is odd")

The attribute's name is the input's name. No `default` and no `factory`: the input is required.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from certiformer.theory.core.errors import InputError, UnknownNameError

Kind = Literal["real", "integer", "reals", "integers", "choice", "flag"]
REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Derived:
    """A safe value for an input that was left out: computed from the others, and shown with `how`.

    `factory=derived("Bx: no entry exceeds the norm", lambda x: x.Bx)`.
    """

    how: str
    rule: Callable[[Any], Any]


derived = Derived


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a result; required when it has neither a default nor a rule that derives it."""

    meaning: str
    kind: Kind = "real"
    symbol: str = ""
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    default: Any = REQUIRED
    factory: Derived | None = None
    otherwise: str = ""
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    example: Any = None
    name: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """The attribute's name is the input's name."""
        object.__setattr__(self, "name", name)

    @property
    def required(self) -> bool:
        """Neither a default nor a rule gives it a value."""
        return self.default is REQUIRED and self.factory is None

    @property
    def optional(self) -> bool:
        """It may be left out, and has no value of its own then: it is derived, or stays unknown."""
        return self.factory is not None or self.default is None

    @property
    def left_out(self) -> str:
        """What happens when it is left out."""
        return self.otherwise if self.factory is None else self.factory.how

    @property
    def range(self) -> str:
        """The allowed values in words."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        if self.kind == "flag":
            return "0 or 1"
        interval = _interval(self)
        if self.kind in ("reals", "integers"):
            item = "whole numbers" if self.kind == "integers" else "numbers"
            return f"a comma-separated list of {item} {interval}"
        return f"a whole number {interval}" if self.kind == "integer" else f"a number {interval}"

    @property
    def short_range(self) -> str:
        """The allowed values in symbols: `> 0`, `whole, >= 1`."""
        if self.kind in ("choice", "flag"):
            return self.range
        whole = "whole" if self.kind in ("integer", "integers") else ""
        several = "list" if self.kind in ("reals", "integers") else ""
        bounds = [
            "" if math.isinf(self.low) else f"{'>' if self.low_open else '>='} {self.low:g}",
            "" if math.isinf(self.high) else f"{'<' if self.high_open else '<='} {self.high:g}",
        ]
        return ", ".join(word for word in (several, whole, *bounds) if word)

    @property
    def sample(self) -> str:
        """An example as one would type it."""
        value = self.example
        if isinstance(value, (tuple, list)):
            return f"{self.name}={','.join(_plain(item) for item in value)}"
        return f"{self.name}={_plain(value)}"

    def parse(self, raw: Any) -> Any:
        """The checked value of this input, from text or from a Python value."""
        kind = self.kind
        if kind == "real":
            return self._parse_number(raw, raw, whole=False)
        if kind == "integer":
            if type(raw) is int and self.low <= raw < self.high and raw < 1e15 and not self.low_open:
                return raw
            return self._parse_number(raw, raw, whole=True)
        if kind == "choice":
            return self._parse_choice(raw)
        if kind == "flag":
            return self._parse_flag(raw)
        return self._parse_list(raw)

    def _error(self, got: object) -> InputError:
        return InputError(self.name, got, self.range, f"For example {self.sample}")

    def _parse_choice(self, raw: Any) -> str:
        if isinstance(raw, str) and raw in self.choices:
            return raw
        raise self._error(raw)

    def _parse_flag(self, raw: Any) -> bool:
        if raw is True or raw is False:
            return raw is True
        known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
        key = str(raw).strip().lower()
        if key not in known:
            raise self._error(raw)
        return known[key]

    def _parse_list(self, raw: Any) -> tuple[Any, ...]:
        items: Iterable[Any]
        if isinstance(raw, str):
            items = raw.strip().strip("[]()").split(",")
        elif isinstance(raw, Sequence) or hasattr(raw, "tolist"):
            items = list(raw)
        else:
            items = [raw]
        values = tuple(self._parse_number(item, raw, whole=self.kind == "integers") for item in items)
        if not values:
            raise self._error(raw)
        return values

    def _parse_number(self, item: Any, got: Any, whole: bool) -> float | int:
        try:
            value = float(item)
        except (TypeError, ValueError, OverflowError):
            raise self._error(got) from None
        inside = (value > self.low if self.low_open else value >= self.low) and (
            value < self.high if self.high_open else value <= self.high
        )
        if isinstance(item, bool) or not math.isfinite(value) or not inside:
            raise self._error(got)
        if not whole:
            return value
        if value != int(value):
            raise self._error(got)
        return int(item) if isinstance(item, int) else int(value)


def _plain(value: Any) -> str:
    """As one would type it: no trailing .0, no 1e+06."""
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return str(value)


def _interval(entry: Input) -> str:
    low, high = f"{entry.low:g}", f"{entry.high:g}"
    if math.isinf(entry.low) and math.isinf(entry.high):
        return "(finite)"
    if math.isinf(entry.high):
        return f"{'above' if entry.low_open else 'at least'} {low} (finite)"
    if math.isinf(entry.low):
        return f"{'below' if entry.high_open else 'at most'} {high} (finite)"
    return f"in {'(' if entry.low_open else '['}{low}, {high}{')' if entry.high_open else ']'}"


class Common(TypedDict, total=False):
    """What any number may have beside its range: a default or a rule that derives one, other names, a symbol."""

    default: Any
    factory: Derived | None
    otherwise: str
    symbol: str
    aliases: tuple[str, ...]


def real(
    meaning: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    low_open: bool = True,
    high_open: bool = True,
    example: float = 1.0,
    **common: Unpack[Common],
) -> Any:
    """A real number, positive unless told otherwise."""
    return Input(meaning, "real", low=low, high=high, low_open=low_open, high_open=high_open, example=example, **common)


def count(meaning: str, *, low: int = 1, high: float = math.inf, example: int = 10, **common: Unpack[Common]) -> Any:
    """A whole number, at least one unless told otherwise. `1e6` is a fine way to write it."""
    return Input(meaning, "integer", low=low, high=high, example=example, **common)


def reals(
    meaning: str,
    *,
    example: tuple[float, ...] = (1.0, 2.0),
    low: float = 0.0,
    low_open: bool = True,
    high: float = math.inf,
    **common: Unpack[Common],
) -> Any:
    """A list of numbers: `C=1,2,3`."""
    return Input(meaning, "reals", low=low, low_open=low_open, high=high, example=example, **common)


def integers(meaning: str, *, example: tuple[int, ...] = (0, 1), low: float = -math.inf) -> Any:
    """A list of whole numbers: `j=0,3,-2`."""
    return Input(meaning, "integers", low=low, example=example)


def choice(meaning: str, choices: tuple[str, ...], *, default: str = REQUIRED) -> Any:
    """A name out of a few."""
    return Input(meaning, "choice", choices=choices, default=default, example=choices[0])


def flag(meaning: str, *, default: bool | None = None) -> Any:
    """A statement that the caller makes (1) or denies (0); left out, it stays open."""
    return Input(meaning, "flag", default=default, example=True)


class InputTable(dict[str, Input]):
    """Every input by its name and by its aliases, with what is the same at every evaluation."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        entries = tuple(inputs)
        super().__init__((name, entry) for entry in entries for name in (entry.name, *entry.aliases))
        self.blank = {entry.name: None if entry.factory is not None else entry.default for entry in entries}
        self.required = tuple(entry for entry in entries if entry.required)
        self.derived = tuple((entry, entry.factory) for entry in entries if entry.factory is not None)


def check_inputs(known: InputTable, given: Mapping[str, Any], example: str) -> dict[str, Any]:
    """All inputs parsed and checked; unknown, missing and doubled names are errors that name themselves."""
    values: dict[str, Any] = {}
    for name, raw in given.items():
        entry = known.get(name)
        if entry is None:
            every = ", ".join(dict.fromkeys(each.name for each in known.values()))
            raise UnknownNameError("input", name, known, f"The inputs are {every}.")
        if entry.name in values:
            raise InputError(entry.name, name, "one value, not two", f"{entry.name} and its alias are both given")
        if type(raw) is float and entry.kind == "real" and entry.low < raw < entry.high:
            values[entry.name] = raw  # what most inputs are, without the many questions of `parse`
        elif raw is not None or not entry.optional:
            values[entry.name] = entry.parse(raw)
    missing = [entry for entry in known.required if entry.name not in values]
    if missing:
        names = ", ".join(entry.name for entry in missing)
        given_ones = ", ".join(values) or "none"
        raise InputError("inputs", given_ones, "all without a default", f"Missing: {names}. For example: {example}")
    return {**known.blank, **values}
