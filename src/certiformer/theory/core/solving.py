"""A bound inverted in one input: the least sample size, width or number of heads at which it is small enough.

Only inputs whose effect the result declares (`monotone`) are solved for, so that everything beyond the answer is on the
same side. The answer is checked where it is and at its neighbour, and both values are shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.theory.core.bound import json_number
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.inputs import Input
from certiformer.theory.core.quantity import Direction
from certiformer.theory.core.result import Evaluation, Result

FARTHEST = 10**18
_SMALLEST = 1e-12
_STEP = 1.0 + 1e-9
_STRIDE = 4

Number = float | int


@dataclass(frozen=True, slots=True)
class Crossing:
    """The answer of one side: where its bound meets the target, and the neighbour at which it does not."""

    side: str
    variant: str
    answer: Number
    value: float
    neighbour: Number | None
    neighbour_value: float | None

    def as_json(self) -> dict[str, Any]:
        beyond = None if self.neighbour_value is None else json_number(self.neighbour_value)
        return {
            "variant": self.variant,
            "answer": self.answer,
            "value": json_number(self.value),
            "neighbour": self.neighbour,
            "value_at_neighbour": beyond,
        }


@dataclass(frozen=True, slots=True)
class Solution:
    """What was asked, and the answers of the sound and of the printed side; None where a side has no answer."""

    result: type[Result]
    name: str
    target: float
    least: bool
    sound: Crossing | None
    printed: Crossing | None
    reasons: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """The document that `certiformer bound --solve --json` prints."""
        sides = {"sound": self.sound, "printed": self.printed}
        relation = "above" if self.result.bounds.direction is Direction.LOWER else "below"
        return {
            "id": self.result.id,
            "solve": {"name": self.name, relation: self.target, "answer_is": "least" if self.least else "largest"},
            **{side: None if found is None else found.as_json() for side, found in sides.items()},
            "reasons": dict(self.reasons),
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row per side that has an answer."""
        found = [one for one in (self.sound, self.printed) if one is not None]
        return [{"result": self.result.id, "side": one.side, "input": self.name, **one.as_json()} for one in found]


def solve(
    result: type[Result],
    given: Mapping[str, Any],
    name: str,
    *,
    below: float | None = None,
    above: float | None = None,
) -> Solution:
    """The least (or largest) value of an input at which the bound is at most `below`, or at least `above`."""
    entry = _solvable(result, given, name)
    lower = result.bounds.direction is Direction.LOWER
    target = above if lower else below
    if target is None or (below is not None and above is not None):
        wanted = "--above" if lower else "--below"
        what = f"the {result.bounds.value} is bounded from {'below' if lower else 'above'}"
        raise InputError("--solve", name, f"{wanted} VALUE, as {what}", f"For example --solve {name} {wanted} 0.1")
    if math.isnan(target):
        raise InputError("--above" if lower else "--below", target, "a number")
    least = (result.directions()[entry.name] < 0) is not lower
    result(**{**given, entry.name: entry.example})  # a mistake in the other inputs is told before anything is sought
    reasons: dict[str, str] = {}
    sides: dict[str, Crossing | None] = {}
    for side in ("sound", "printed"):
        search = _Search(result, {**given}, entry, side, target, lower=lower, least=least)
        sides[side] = search.crossing()
        if sides[side] is None:
            reasons[side] = search.why
    return Solution(result, entry.name, target, least, sides["sound"], sides["printed"], reasons)


def _solvable(result: type[Result], given: Mapping[str, Any], name: str) -> Input:
    entry = result.named_inputs.get(name)
    if entry is None:
        raise UnknownNameError("input", name, result.named_inputs)
    promised = result.directions()
    if entry.name not in promised:
        known = ", ".join(promised) or "none"
        raise InputError("--solve", name, f"an input in which the bound is known to be monotone: {known}")
    if entry.kind not in ("real", "integer"):
        raise InputError("--solve", name, "an input that is a single number")
    if result.bounds.direction is Direction.NEITHER:
        raise InputError("--solve", name, f"a result that bounds something; {result.id} gives a constant")
    if any(each in given for each in (entry.name, *entry.aliases)):
        raise InputError(name, given.get(name), "either a value or --solve, not both")
    return entry


@dataclass
class _Search:
    """One side of a result along one input."""

    result: type[Result]
    given: dict[str, Any]
    entry: Input
    side: str
    target: float
    lower: bool
    least: bool
    why: str = ""

    def crossing(self) -> Crossing | None:
        low, high = self._ends()
        if self.meets(low) is self.least:
            if self.least:
                return self._made(low, None)
            self.why = self._refusal(low)
            return None
        last: Number = low
        while last < high:
            here = min(last * _STRIDE, high)
            if self.meets(here) is self.least:
                fails, meets = (last, here) if self.least else (here, last)
                answer = self._bisected(fails, meets)
                return self._made(answer, self._neighbour(answer))
            last = here
        if self.least:
            self.why = self._refusal(high)
            return None
        return self._made(high, None)

    def _ends(self) -> tuple[Number, Number]:
        """The range that is looked at, the input's own range within it."""
        entry = self.entry
        if entry.kind == "integer":
            return max(int(entry.low), 1) if math.isfinite(entry.low) else 1, int(min(entry.high, FARTHEST))
        low, high = max(entry.low, _SMALLEST), min(entry.high, float(FARTHEST))
        return (low * _STEP if entry.low_open else low), (high / _STEP if entry.high_open else high)

    def _bisected(self, fails: Number, meets: Number) -> Number:
        """The point next to those that fail: exact for whole numbers, to nine digits otherwise."""
        whole = self.entry.kind == "integer"
        while abs(meets - fails) > (1 if whole else (_STEP - 1.0) * abs(meets)):
            middle: Number = math.sqrt(fails) * math.sqrt(meets)
            if whole:
                middle = min(max(round(middle), min(fails, meets) + 1), max(fails, meets) - 1)
            if self.meets(middle):
                meets = middle
            else:
                fails = middle
        return meets

    def _neighbour(self, answer: Number) -> Number:
        if self.entry.kind == "integer":
            return answer - 1 if self.least else answer + 1
        return answer / (1.0 + 1e-6) if self.least else answer * (1.0 + 1e-6)

    def _made(self, answer: Number, neighbour: Number | None) -> Crossing:
        found = self.at(answer)
        beyond = None if neighbour is None else self.at(neighbour)
        assert found is not None
        if neighbour is not None and beyond is not None and self._good(beyond[1]):
            raise InputError("--solve", self.entry.name, "a bound that is monotone there", "It is not: use --sweep")
        variant, value = found
        return Crossing(self.side, variant, answer, value, neighbour, None if beyond is None else beyond[1])

    def meets(self, value: Number) -> bool:
        found = self.at(value)
        return found is not None and self._good(found[1])

    def _good(self, value: float) -> bool:
        return value >= self.target if self.lower else value <= self.target

    def at(self, value: Number) -> tuple[str, float] | None:
        """The variant that speaks for this side and its value; None where none may be offered."""
        try:
            return self._speaks(self.result.evaluate({**self.given, self.entry.name: value}))
        except (InputError, ArithmeticError):  # beyond what the other inputs allow, or what floats hold
            return None

    def _speaks(self, evaluation: Evaluation) -> tuple[str, float] | None:
        if self.side == "sound":
            return None if evaluation.best is None else (evaluation.best, evaluation.sound[evaluation.best].value)
        for name, bound in evaluation.printed.items():
            if bound.bounds in (None, self.result.bounds):
                return name, bound.value
        return None

    def _refusal(self, far: Number) -> str:
        if self.side == "printed" and not self.result.has_printed():
            return "nothing was printed"
        found = self.at(far)
        if found is not None:
            return f"even at {self.entry.name} = {far:g} it is {found[1]:.10g} ({found[0]})"
        variants = self.result(**{**self.given, self.entry.name: self.entry.example}).sound().values()
        blocking = {each.requires: each.why for bound in variants for each in bound.hypotheses if each.blocks}
        told = "; ".join(f"{words} ({why})" if why else words for words, why in blocking.items())
        return f"no variant applies at {self.entry.name} = {far:g}" + (f": {told}" if told else "")
