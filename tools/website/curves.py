"""Printed and sound against an input, as SVG in the page: it takes the colours of the page, also in the dark."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from website.series import BEST, Curve, Series

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 66, 34, 14, 46
COLOURS = 6


def drawing(found: Series, quantity: str) -> str:
    """Both sides on logarithmic axes, with a legend under the picture."""
    logs = [math.log10(x) for x in found.xs]
    heights = [value for curve in found.curves for value in curve.values if value is not None]
    low, high = _range(heights)
    left, right = logs[0], logs[-1] if logs[-1] > logs[0] else logs[0] + 1.0

    def across(log10: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (log10 - left) / (right - left)

    def down(log10: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (log10 - low) / (high - low)

    foot = HEIGHT - BOTTOM
    parts = [f'<svg class="curves" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_title(found, quantity)}">']
    for tick in _ticks(left, right):
        x = across(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{foot}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{foot + 18}" text-anchor="middle">{_number(tick)}</text>')
    for tick in _ticks(low, high):
        y = down(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="axis" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{found.input}</text>')
    classes = kinds(found.curves)
    for curve, kind in zip(found.curves, classes, strict=True):
        parts += [
            f'<polyline class="{kind}" points="{" ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in run)}"/>'
            for run in _runs(logs, curve.values)
        ]
    legend = "".join(
        f'<li class="{kind}"><svg viewBox="0 0 28 8"><line class="{kind}" x1="0" x2="28" y1="4" y2="4"/></svg>'
        f"{curve.side}: {html.escape(curve.name)}</li>"
        for curve, kind in zip(found.curves, classes, strict=True)
    )
    return "".join(parts) + f'</svg><ul class="legend">{legend}</ul>'


def kinds(curves: Sequence[Curve]) -> list[str]:
    """The class of each curve: its side, and a colour of its own within the side."""
    count = {"printed": 0, "sound": 0}
    found = []
    for curve in curves:
        best = " best" if curve.name == BEST else ""
        found.append(f"{curve.side} colour{count[curve.side] % COLOURS}{best}")
        count[curve.side] += 1
    return found


def _title(found: Series, quantity: str) -> str:
    return html.escape(f"{quantity} against {found.input}, as printed and sound, logarithmic axes")


def _range(heights: Sequence[float]) -> tuple[float, float]:
    low, high = min(heights), max(heights)
    if high - low < 0.3:
        low, high = low - 0.3, high + 0.3
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten, at most eight of them; within two decades also 2 and 5 times a power."""
    span = high - low
    if span < 2.2:
        between = [power + math.log10(factor) for power in range(math.floor(low), math.ceil(high) + 1)
                   for factor in ((1, 2, 5) if span > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 8))]  # fmt: skip
        return [tick for tick in between if low <= tick <= high]
    every = max(1, math.ceil(span / 8))
    first = math.ceil(low)
    return [float(power) for power in range(first, math.floor(high) + 1) if (power - first) % every == 0]


def _number(log10: float) -> str:
    if abs(log10 - round(log10)) < 1e-9 and not -3 <= log10 <= 3:
        return f'10<tspan dy="-6" font-size="75%">{round(log10)}</tspan>'
    return f"{10.0**log10:.4g}" if abs(log10) < 5 else f"{10.0**log10:.1e}"


def _runs(logs: Sequence[float], values: Sequence[float | None]) -> list[list[tuple[float, float]]]:
    """The stretches on which a curve has values."""
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(logs, values, strict=True):
        if y is None:
            runs.append([])
        else:
            runs[-1].append((x, y))
    return [run for run in runs if len(run) > 1]
