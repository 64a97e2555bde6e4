"""One result over a geometric range of one input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.theory.core import notebook
from certiformer.theory.core.arrays import evaluate_along, frame
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.result import Evaluation, Result

MOST_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class Range:
    """`points` values from `low` to `high`, equal ratios apart."""

    name: str
    low: float
    high: float
    points: int

    def values(self) -> list[float]:
        if self.points == 1:
            return [self.low]
        ratio = math.log(self.high / self.low) / (self.points - 1)
        inner = [self.low * math.exp(ratio * i) for i in range(1, self.points - 1)]
        return [self.low, *inner, self.high]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The evaluations of a result along a range."""

    result: type[Result]
    range: Range
    values: tuple[float, ...]
    evaluations: tuple[Evaluation, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One row per value of the input: every variant, and which sound one is best."""
        sides = {side: list(getattr(self.evaluations[0], side)) for side in ("printed", "sound")}
        return [
            {
                self.range.name: value,
                **{f"{side}_{name}": getattr(e, side)[name].value for side, names in sides.items() for name in names},
                "best": e.best or "",
            }
            for value, e in zip(self.values, self.evaluations, strict=True)
        ]

    def to_frame(self) -> Any:
        """The rows as a pandas data frame."""
        return frame(self.rows())

    def _repr_html_(self) -> str:
        rows = self.rows()
        return notebook.table(
            f"{self.result.id}: {self.result.title}", list(rows[0]), [list(row.values()) for row in rows]
        )

    def as_json(self) -> dict[str, Any]:
        """Every evaluation as JSON."""
        return {
            "id": self.result.id,
            "sweep": {"name": self.range.name, "values": list(self.values)},
            "points": [evaluation.as_json() for evaluation in self.evaluations],
        }


def parse_sweep(text: str) -> Range:
    """`n=1e2:1e8:40` is forty values of n from 100 to 100 million."""
    name, equals, rest = text.partition("=")
    example = "For example --sweep n=1e2:1e8:40"
    parts = rest.split(":")
    if not equals or not name or len(parts) != 3:
        raise InputError("--sweep", text, "KEY=FROM:TO:POINTS", example)
    try:
        low, high, points = float(parts[0]), float(parts[1]), float(parts[2])
    except ValueError:
        raise InputError("--sweep", text, "three numbers FROM:TO:POINTS", example) from None
    if not (0.0 < low <= high and math.isfinite(high)):
        raise InputError("--sweep", text, "0 < FROM <= TO, both finite (the range is geometric)", example)
    if points != int(points) or not 1 <= points <= MOST_POINTS:
        raise InputError("--sweep", text, f"a whole number of points in [1, {MOST_POINTS}]", example)
    return Range(name, low, high, int(points))


def sweep(result: type[Result], given: Mapping[str, Any], over: Range) -> Sweep:
    """Evaluate `result` along `over`; whole-number inputs are rounded to whole numbers, doubles dropped."""
    entry = next((i for i in result.inputs if over.name in (i.name, *i.aliases)), None)
    if entry is None:
        raise UnknownNameError("input", over.name, [i.name for i in result.inputs])
    if entry.kind not in ("real", "integer"):
        raise InputError("--sweep", over.name, "an input that is a single number")
    if any(name in given for name in (entry.name, *entry.aliases)):
        raise InputError(over.name, given.get(over.name), "either a value or a sweep, not both")
    values = over.values()
    if entry.kind == "integer":
        values = sorted({float(round(value)) for value in values})
    evaluations = evaluate_along(result, given, {entry.name: tuple(values)}).points
    return Sweep(result, over, tuple(values), evaluations)
