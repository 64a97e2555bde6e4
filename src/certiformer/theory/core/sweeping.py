"""One result over a range of one input, or of two: in equal ratios, or in equal steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.theory.core.arrays import Evaluations, evaluate_along
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.result import Result

MOST_POINTS = 10_000
SPACINGS = ("log", "linear")
_EXAMPLE = "For example --sweep n=1e2:1e8:40, or --sweep eps=0:1:11:linear"


@dataclass(frozen=True, slots=True)
class Range:
    """`points` values from `low` to `high`: equal ratios apart, or equal steps if `linear`."""

    name: str
    low: float
    high: float
    points: int
    linear: bool = False

    def values(self) -> list[float]:
        if self.points == 1:
            return [self.low]
        parts = range(1, self.points - 1)
        if self.linear:
            step = (self.high - self.low) / (self.points - 1)
            inner = [self.low + step * i for i in parts]
        else:
            ratio = math.log(self.high / self.low) / (self.points - 1)
            inner = [self.low * math.exp(ratio * i) for i in parts]
        return [self.low, *inner, self.high]


def parse_sweep(text: str) -> Range:
    """`n=1e2:1e8:40` is forty values of n from 100 to 100 million; `eps=0:1:11:linear` has equal steps."""
    name, equals, rest = text.partition("=")
    parts = rest.split(":")
    if not equals or not name or len(parts) not in (3, 4):
        raise InputError("--sweep", text, "KEY=FROM:TO:POINTS, or KEY=FROM:TO:POINTS:linear", _EXAMPLE)
    if len(parts) == 4 and parts[3] not in SPACINGS:
        raise InputError("--sweep", parts[3], f"one of {', '.join(SPACINGS)} after the last colon", _EXAMPLE)
    linear = parts[3:] == ["linear"]
    try:
        low, high, points = float(parts[0]), float(parts[1]), float(parts[2])
    except ValueError:
        raise InputError("--sweep", text, "three numbers FROM:TO:POINTS", _EXAMPLE) from None
    if not (low <= high and math.isfinite(low) and math.isfinite(high)):
        raise InputError("--sweep", text, "FROM <= TO, both finite", _EXAMPLE)
    if not linear and low <= 0.0:
        raise InputError("--sweep", text, "0 < FROM (the steps are equal ratios)", f"Add :linear, {text}:linear")
    if not (math.isfinite(points) and points == int(points) and 1 <= points <= MOST_POINTS):
        raise InputError("--sweep", text, f"a whole number of points in [1, {MOST_POINTS}]", _EXAMPLE)
    return Range(name, low, high, int(points), linear)


def sweep(result: type[Result], given: Mapping[str, Any], *over: Range) -> Evaluations:
    """Evaluate `result` along one range or two; whole-number inputs are rounded to whole numbers, doubles dropped."""
    axes: dict[str, tuple[float, ...]] = {}
    for one in over:
        entry = next((i for i in result.inputs if one.name in (i.name, *i.aliases)), None)
        if entry is None:
            raise UnknownNameError("input", one.name, [i.name for i in result.inputs])
        if entry.kind not in ("real", "integer"):
            raise InputError("--sweep", one.name, "an input that is a single number")
        if any(name in given for name in (entry.name, *entry.aliases)):
            raise InputError(one.name, given.get(one.name), "either a value or a sweep, not both")
        if entry.name in axes:
            raise InputError("--sweep", one.name, "two different inputs")
        values = one.values()
        axes[entry.name] = tuple(sorted({float(round(v)) for v in values}) if entry.kind == "integer" else values)
    if len(axes) > 2 or math.prod(map(len, axes.values())) > MOST_POINTS:
        count = " x ".join(str(len(values)) for values in axes.values())
        raise InputError("--sweep", f"{count} points", f"one range or two, at most {MOST_POINTS:,} points together")
    return evaluate_along(result, given, axes)
