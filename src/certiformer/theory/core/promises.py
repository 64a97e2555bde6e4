"""Whether a result keeps its promise of monotonicity, tried at random points near its example and far from it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from certiformer.theory.core.errors import InputError, RangeError
from certiformer.theory.core.inputs import Input
from certiformer.theory.core.result import Evaluation, Result

NEAR, FAR = (0.3, 1.5), (3.0, 20.0)
"""How far inputs are moved from the example (in logarithms), and by which factor one of them is then enlarged."""

_SLACK = 1e-6


def example_inputs(result: type[Result]) -> dict[str, Any]:
    """The example of every input that is required."""
    return {entry.name: entry.example for entry in result.inputs if entry.required}


def broken_promise(result: type[Result], points: int, rng: random.Random) -> str:
    """Where a variant moved against the promise of `monotone`, in words; empty if it did nowhere.

    At every point each input that the promise names is enlarged. Inputs that may be left out are given at every other
    point; variants that do not apply play no part.
    """
    by_name = {entry.name: entry for entry in result.inputs}
    for number in range(points):
        spread, factor = (NEAR, FAR)[number % 2]
        base = {name: _moved(by_name[name], value, rng, spread) for name, value in example_inputs(result).items()}
        for entry in result.inputs:
            if not entry.required and rng.random() < 0.5:
                base[entry.name] = _moved(entry, entry.example, rng, spread)
        below = _evaluated(result, base)
        for name, sign in result.directions().items():
            entry, at, low = by_name[name], base, below
            if base.get(name) is None:
                at = {**base, name: _moved(entry, entry.example, rng, spread)}
                low = _evaluated(result, at)
            larger = _enlarged(entry, at[name], factor)
            high = None if larger is None else _evaluated(result, {**at, name: larger})
            if low is None or high is None:
                continue
            for variant, before, after in _both(result, low, high):
                slack = _SLACK * max(abs(before), abs(after)) if math.isfinite(before + after) else 0.0
                if sign * (after - before) < -slack and before != after:
                    return f"{variant}: {name} {at[name]} -> {larger} moved it from {before} to {after} at {at}"
    return ""


def _both(result: type[Result], low: Evaluation, high: Evaluation) -> list[tuple[str, float, float]]:
    """The variants that bound what the result bounds and apply at both points."""
    return [
        (name, bound.value, high.sound[name].value)
        for name, bound in low.sound.items()
        if bound.bounds in (None, result.bounds) and bound.applies and name in high.sound and high.sound[name].applies
    ]


def _evaluated(result: type[Result], inputs: Mapping[str, Any]) -> Evaluation | None:
    """The result there; None where inputs contradict each other, which happens far from the example."""
    try:
        return result.evaluate(inputs)
    except (InputError, RangeError):
        return None


def _moved(entry: Input, value: Any, rng: random.Random, spread: float) -> Any:
    if entry.kind not in ("real", "integer"):
        return value
    candidate = value * math.exp(rng.uniform(-spread, spread))
    return _allowed(entry, max(entry.low, round(candidate)) if entry.kind == "integer" else candidate, value)


def _enlarged(entry: Input, value: Any, factor: float) -> Any:
    if entry.kind == "real":
        return _allowed(entry, value * factor if value > 0 else 0.1, None)
    return _allowed(entry, max(value + 1, round(value * factor)), None) if entry.kind == "integer" else None


def _allowed(entry: Input, candidate: Any, otherwise: Any) -> Any:
    try:
        return entry.parse(candidate)
    except InputError:
        return otherwise
