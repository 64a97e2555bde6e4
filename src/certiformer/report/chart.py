"""A chart of bounds on a logarithmic axis, as SVG that needs nothing from elsewhere. One panel per quantity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

ROW, LEFT, RIGHT, TOP, BOTTOM, WIDTH = 26, 190, 84, 30, 34, 720


@dataclass(frozen=True, slots=True)
class Mark:
    """One bound: its label, the decimal logarithm of its value, how it is to be read, and the value as text."""

    label: str
    log10: float
    kind: str  # "informative", "vacuous" or "printed"
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A vertical reference: the observed error, the trivial value."""

    label: str
    log10: float
    kind: str  # "observed" or "trivial"


def panel(title: str, marks: Sequence[Mark], lines: Sequence[Line]) -> Markup:
    """Bars from the left edge to each bound; reference lines through all rows."""
    positions = [mark.log10 for mark in marks] + [line.log10 for line in lines]
    finite = [position for position in positions if math.isfinite(position)]
    low, high = math.floor(min(finite) - 0.15), math.ceil(max(finite) + 0.05)
    high = max(high, low + 1)
    height = TOP + ROW * len(marks) + BOTTOM
    inner = WIDTH - LEFT - RIGHT

    def x(log10: float) -> float:
        return LEFT + inner * (min(max(log10, low), high) - low) / (high - low)

    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
    ]
    foot = height - BOTTOM
    parts += [
        f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{foot}"/>'
        f'<text class="tick" x="{x(tick):.1f}" y="{foot + 16}" text-anchor="middle">{_power(tick)}</text>'
        for tick in _ticks(low, high)
    ]
    for row, mark in enumerate(marks):
        y = TOP + ROW * row
        end = x(mark.log10)
        parts.append(
            f'<g class="bar {mark.kind}">'
            f'<text class="label" x="{LEFT - 8}" y="{y + 17}" text-anchor="end">{escape(mark.label)}</text>'
            f'<rect x="{LEFT}" y="{y + 6}" width="{max(end - LEFT, 1):.1f}" height="{ROW - 12}" rx="2"/>'
            f'<text class="value" x="{end + 6:.1f}" y="{y + 17}">{escape(mark.text)}</text></g>'
        )
    parts += [
        f'<g class="line {line.kind}">'
        f'<line x1="{x(line.log10):.1f}" x2="{x(line.log10):.1f}" y1="{TOP - 6}" y2="{foot}"/>'
        f'<text x="{x(line.log10):.1f}" y="{TOP - 12}" text-anchor="middle">{escape(line.label)}</text></g>'
        for line in lines
    ]
    parts.append("</svg>")
    return Markup("".join(parts))


def _ticks(low: int, high: int) -> list[int]:
    step = max(1, math.ceil((high - low) / 8))
    return list(range(low, high + 1, step))


def _power(exponent: int) -> str:
    if -4 <= exponent <= 2:
        return f"{10.0**exponent:g}" if exponent <= 0 else str(10**exponent)
    return f'10<tspan dy="-5" font-size="75%">{exponent}</tspan>'
