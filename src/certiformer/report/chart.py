"""Bounds as dots beside what was observed, as SVG that needs nothing from elsewhere. One panel per quantity.

A dot is a guarantee, a ring is what was observed, the line between them is the price of the guarantee. The axis is
linear from zero where the values are close together, logarithmic where they are decades apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

ROW, LEFT, RIGHT, TOP, BOTTOM, WIDTH = 26, 190, 84, 30, 34, 720
NARROWEST = 200
SPREAD = 30.0
"""Beyond this ratio of the largest to the smallest bound the axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One bound: its label, its decimal logarithm, how it is to be read, its value as text, and what was observed."""

    label: str
    log10: float
    kind: str  # "informative", "vacuous" or "printed"
    text: str
    observed: float | None = None


def panel(title: str, marks: Sequence[Mark], guessing: float | None, unit: str) -> Markup:
    """A row per bound; a line through all rows at the logarithm of what guessing attains, if that is in the range."""
    # On a phone letters are larger beside everything else: 9 units each.
    left = max(LEFT, 9 * max((len(mark.label) for mark in marks), default=0) + 16)
    place, ticks, high = _axis(marks, guessing, unit, left)
    height = TOP + ROW * len(marks) + BOTTOM
    foot = height - BOTTOM
    width = max(WIDTH, left + NARROWEST + RIGHT)
    parts = [
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
    ]
    parts += [
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{foot}"/>'
        f'<text class="tick" x="{x:.1f}" y="{foot + 16}" text-anchor="middle">{text}</text>'
        for x, text in ticks
    ]
    for row, mark in enumerate(marks):
        y = TOP + ROW * row + ROW / 2
        end = place(mark.log10)
        seen = None if mark.observed is None or mark.observed < 0 else place(_log(mark.observed))
        span = "" if seen is None else f'<line class="span" x1="{seen:.1f}" x2="{end:.1f}" y1="{y}" y2="{y}"/>'
        ring = "" if seen is None else f'<circle class="seen" cx="{seen:.1f}" cy="{y}" r="4"/>'
        parts.append(
            f'<g class="mark {mark.kind}">'
            f'<text class="label" x="{left - 12}" y="{y + 4}" text-anchor="end">{escape(mark.label)}</text>'
            f'{span}<circle class="dot" cx="{end:.1f}" cy="{y}" r="5.5"/>{ring}'
            f'<text class="value" x="{end + 10:.1f}" y="{y + 4}">{escape(mark.text)}</text></g>'
        )
    if guessing is not None and guessing <= high:
        x = place(guessing)
        parts.append(
            f'<g class="line trivial"><line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{foot}"/>'
            f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">guessing</text></g>'
        )
    parts.append("</svg>")
    return Markup("".join(parts))


def _log(value: float) -> float:
    return math.log10(value) if value > 0 else -math.inf


def _axis(
    marks: Sequence[Mark], guessing: float | None, unit: str, left: int
) -> tuple[Callable[[float], float], list[tuple[float, str]], float]:
    """Where a logarithm stands, the ticks, and the largest logarithm that is shown."""
    bounds = [mark.log10 for mark in marks if math.isfinite(mark.log10)] or [0.0]
    inner = max(NARROWEST, WIDTH - left - RIGHT)
    top, least = max(bounds), min(bounds)
    if top - least <= math.log10(SPREAD) and top < 3:
        high = 10.0**top * 1.08
        step = _step(high)
        values = [k * step for k in range(int(high / step) + 1)]
        return (
            lambda log10: left + inner * min(10.0**log10 if math.isfinite(log10) else 0.0, high) / high,
            [(left + inner * value / high, _text(value, unit)) for value in values],
            math.log10(high),
        )
    points = bounds + [_log(mark.observed) for mark in marks if mark.observed]
    points += [] if guessing is None else [guessing]
    low, upper = math.floor(min(points) - 0.15), math.ceil(max(points) + 0.05)
    upper = max(upper, low + 1)

    def place(log10: float) -> float:
        return left + inner * (min(max(log10, low), upper) - low) / (upper - low)

    every = max(1, math.ceil((upper - low) / 8))
    return place, [(place(tick), _power(tick, unit)) for tick in range(low, upper + 1, every)], float(upper)


def _step(high: float) -> float:
    """A round distance of ticks: 1, 2 or 5 times a power of ten, at most six of them."""
    raw = high / 5.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw)


def _text(value: float, unit: str) -> str:
    return f"{100 * value:.4g} %" if unit == "%" else f"{value:.4g}"


def _power(exponent: int, unit: str) -> str:
    if unit == "%" and -5 <= exponent <= 0:
        return f"{100 * 10.0**exponent:g} %"
    if -4 <= exponent <= 2:
        return f"{10.0**exponent:g}" if exponent <= 0 else str(10**exponent)
    return f'10<tspan dy="-5" font-size="75%">{exponent}</tspan>'
