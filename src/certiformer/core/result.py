"""A result of a paper: its statement, its inputs, and its two sides, as printed and sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

from certiformer.core.bound import Bound
from certiformer.core.errors import CertiformerError, RangeError
from certiformer.core.inputs import Input, check_inputs
from certiformer.core.quantity import Direction, Quantity

Variants = Mapping[str, Bound]
Side = Callable[..., Variants]


@dataclass(frozen=True, slots=True)
class Paper:
    """Where a result comes from; the year is left out where our copy of the paper does not tell it."""

    key: str
    authors: str
    title: str
    year: int | None = None
    venue: str = ""

    @property
    def short(self) -> str:
        """`Trauger & Tewari`, or `Li et al.`"""
        surnames = [name.split()[-1] for name in self.authors.replace(" and ", ", ").split(", ")]
        return " & ".join(surnames) if len(surnames) <= 2 else f"{surnames[0]} et al."

    @property
    def reference(self) -> str:
        when = "" if self.year is None else f" ({self.year})"
        return f"{self.authors}{when}. {self.title}." + (f" {self.venue}." if self.venue else "")


class Status(Enum):
    """What became of a printed statement when it was checked."""

    TRUE = "true"
    FALSE = "false"
    CONSTANT = "constant missing"
    UNPROVEN = "unproven"
    RECONSTRUCTED = "reconstructed"
    NONE = "not in a paper"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    Status.TRUE: "holds as printed",
    Status.FALSE: "an explicit counterexample is known",
    Status.CONSTANT: "right up to a constant that is not given, so the printed number bounds nothing",
    Status.UNPROVEN: "statement and proof disagree; no counterexample is known",
    Status.RECONSTRUCTED: "the printed formula is lost in our copy and was rebuilt from the proof",
    Status.NONE: "a tool of the trade; nothing was printed",
}


@dataclass(frozen=True, slots=True)
class Result:
    """One numbered result. `printed` and `sound` take the inputs by name and return named bounds.

    `statement` is the printed claim, `sound_statement` what holds instead, both in plain text;
    `latex` is the printed claim for typesetting. `monotone` says how the sound side answers to an input
    (+1 non-decreasing, -1 non-increasing): a promise that the tests keep.
    """

    id: str
    title: str
    paper: Paper
    place: str
    bounds: Quantity
    statement: str
    latex: str
    sound_statement: str
    inputs: tuple[Input, ...]
    status: Status
    reason: str
    printed: Side | None
    sound: Side
    assumptions: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    monotone: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    proof: str = ""

    @property
    def example(self) -> str:
        """A command line that works."""
        words = [entry.sample for entry in self.inputs if entry.required]
        return f"certiformer bound {self.id} {' '.join(words)}"

    def check_inputs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return check_inputs(self.inputs, given, self.example)

    def evaluate(self, given: Mapping[str, Any]) -> Evaluation:
        """Both sides at the given inputs (text or numbers), after checking them."""
        inputs = self.check_inputs(given)
        try:
            printed = dict(self.printed(**inputs)) if self.printed else {}
            sound = dict(self.sound(**inputs))
        except CertiformerError:
            raise
        except (ArithmeticError, ValueError) as error:
            raise RangeError(self.id, error) from error
        return Evaluation(self, inputs, printed, sound)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A result at given inputs: every variant of both sides, and the best sound one."""

    result: Result
    inputs: Mapping[str, Any]
    printed: Variants
    sound: Variants

    @property
    def best(self) -> str | None:
        """The name of the tightest sound variant whose hypotheses are not known to fail."""
        direction = self.result.bounds.direction
        eligible = [
            name
            for name, bound in self.sound.items()
            if bound.applies and bound.bounds in (None, self.result.bounds) and direction is not Direction.NEITHER
        ]
        if not eligible:
            return None
        return (max if direction is Direction.LOWER else min)(eligible, key=lambda name: _rank(self.sound[name]))

    def as_json(self) -> dict[str, Any]:
        sides = {"printed": self.printed, "sound": self.sound}
        return {
            "id": self.result.id,
            "title": self.result.title,
            "bounds": self.result.bounds.value,
            "inputs": {name: value for name, value in self.inputs.items() if value is not None},
            "printed": {name: bound.as_json() for name, bound in self.printed.items()},
            "sound": {name: bound.as_json() for name, bound in self.sound.items()},
            "best": self.best,
            "status": {"printed": self.result.status.value, "reason": self.result.reason},
            "checks": [
                {"side": side, "variant": name, **check.as_json()}
                for side, variants in sides.items()
                for name, bound in variants.items()
                for check in bound.checks
            ],
        }


def _rank(bound: Bound) -> tuple[float, float]:
    """Order by value, and by logarithm among the values that overflow."""
    return bound.value, bound.ln if bound.overflowed and bound.ln is not None else 0.0
