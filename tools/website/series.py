"""A result along one of its inputs: what a page plots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from certiformer.theory.core import Bound, Evaluation, Input, Result, Status
from certiformer.theory.core.errors import CertiformerError

PREFERRED = ("n", "N", "eps", "radius", "m", "H", "heads", "layers", "T", "K", "t", "d", "M")
"""The inputs that people vary, the first of them that a result has is the axis."""
DECADES_OF_N = (2.0, 9.0)
POINTS = 9
BEST = "the best that applies"


@dataclass(frozen=True, slots=True)
class Curve:
    """The decimal logarithms of one variant along the input; None where there is none, or a hypothesis fails."""

    name: str
    side: str  # "printed" or "sound"
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """The curves of a result along `input`, everything else as in `given`."""

    input: str
    xs: tuple[float, ...]
    given: Mapping[str, Any]
    curves: tuple[Curve, ...]


def example_inputs(result: type[Result]) -> dict[str, Any]:
    """The inputs of the command that the result's page shows."""
    return {entry.name: entry.example for entry in result.inputs if entry.required}


def varied(result: type[Result]) -> list[Input]:
    """The inputs that can be moved: positive numbers of the example, those that people vary most often first."""
    numeric = {
        entry.name: entry
        for entry in result.inputs
        if entry.required and entry.kind in ("real", "integer") and _positive(entry.example)
    }
    return [numeric[name] for name in dict.fromkeys((*PREFERRED, *numeric)) if name in numeric]


def natural_input(result: type[Result]) -> Input | None:
    """The input on the horizontal axis: the sample size if there is one, else what is varied most often."""
    return next(iter(varied(result)), None)


def _positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and value > 0


def grid(entry: Input, points: int = POINTS, *, theory: bool = True) -> tuple[float, ...]:
    """Values equal ratios apart: seven decades of a theorem's sample size, a decade to each side of other examples."""
    if theory and entry.name in ("n", "N") and math.isinf(entry.high):
        low, high = (10.0**power for power in DECADES_OF_N)
    else:
        low, high = float(entry.example) / 10.0, float(entry.example) * 10.0
    low, high = max(low, entry.low, 1e-300), min(high, entry.high)
    if entry.low_open and low == entry.low:
        low = float(entry.example) / 10.0
    if entry.high_open and high == entry.high:
        high = low + 0.999 * (high - low)
    values = [low * (high / low) ** (step / (points - 1)) for step in range(points)]
    if entry.kind == "integer":
        values = sorted({float(max(1, round(value))) for value in values})
    return tuple(values)


def series(result: type[Result], points: int = POINTS) -> Series | None:
    """The printed and the sound variants along the natural input; None where nothing can be drawn."""
    entry = natural_input(result)
    if entry is None:
        return None
    given = example_inputs(result)
    xs, evaluations = [], []
    for value in grid(entry, points, theory=result.status is not Status.NONE):
        try:
            evaluations.append(result.evaluate({**given, entry.name: value}))
        except CertiformerError:
            continue
        xs.append(value)
    curves = tuple(
        curve
        for side in ("printed", "sound")
        for curve in _curves(result, side, evaluations)
        if sum(value is not None for value in curve.values) > 1
    )
    rest = {name: value for name, value in given.items() if name != entry.name}
    return Series(entry.name, tuple(xs), rest, curves) if len(xs) > 1 and curves else None


def _curves(result: type[Result], side: str, evaluations: Sequence[Evaluation]) -> list[Curve]:
    """Every variant that bounds the quantity of the result; of several sound ones also the best that applies."""
    names = list(dict.fromkeys(name for one in evaluations for name in getattr(one, side)))
    found = []
    for name in names:
        bounds = [getattr(one, side).get(name) for one in evaluations]
        curve = Curve(_label(name, side, bounds), side, tuple(_shown(bound, result, side) for bound in bounds))
        if any(value is not None for value in curve.values):
            found.append(curve)
    if side == "printed" or len(found) <= 1:
        return found
    best = tuple(None if one.best is None else _height(one.sound[one.best]) for one in evaluations)
    known = any(curve.values == best for curve in found)
    return found if known or all(value is None for value in best) else [Curve(BEST, side, best), *found]


def _label(name: str, side: str, bounds: Sequence[Bound | None]) -> str:
    """A sound variant that waits for a word of the caller says so."""
    waits = side == "sound" and any(bound is not None and not bound.applies and not _fails(bound) for bound in bounds)
    return f"{name} (if its open hypothesis is stated)" if waits else name


def _fails(bound: Bound) -> bool:
    return any(hypothesis.state == "fails" for hypothesis in bound.hypotheses)


def _shown(bound: Bound | None, result: type[Result], side: str) -> float | None:
    if bound is None or bound.bounds not in (None, result.bounds) or (side == "sound" and _fails(bound)):
        return None
    return _height(bound)


def _height(bound: Bound) -> float | None:
    """The decimal logarithm, which every positive bound has, also one beyond the floats."""
    log10 = bound.log10
    return log10 if log10 is not None and math.isfinite(log10) else None
