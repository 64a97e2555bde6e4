"""Figures of experiments at the size of a paper: labelled axes, bands for confidence, the theory's curve on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from certiformer.report.figure import PRINTED_COLOUR

COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P")
COLUMN, PAGE = 3.4, 6.8  # inches: one column of a paper, the width of its page
HEIGHT = 2.6

__all__ = ["COLOURS", "COLUMN", "MARKERS", "PAGE", "PRINTED_COLOUR", "band", "label", "panels", "theory"]


def panels(columns: int = 1, rows: int = 1, *, height: float = HEIGHT, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure one column of a paper wide for one panel, a page wide for more; its axes row by row."""
    figure = Figure(figsize=(COLUMN * 1.3 if columns == 1 else PAGE, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(grid.flat)


def band(
    axes: Axes,
    x: Sequence[float],
    middle: Sequence[float],
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    *,
    label: str | None = None,
    index: int = 0,
    marker: bool = True,
) -> None:
    """A measured curve: points joined by a line, its confidence interval as a band; the index picks the colour."""
    colour = COLOURS[index % len(COLOURS)]
    if low is not None and high is not None:
        below, above = (np.where(np.isfinite(side), side, middle) for side in (low, high))
        axes.fill_between(x, below, above, color=colour, alpha=0.18, lw=0)
    shape = MARKERS[index % len(MARKERS)] if marker else None
    axes.plot(x, middle, color=colour, lw=1.4, marker=shape, ms=4, label=label)


def theory(axes: Axes, x: Sequence[float], y: Sequence[float], *, label: str, printed: bool = False) -> None:
    """A prediction: the printed theory is orange and dashed, the sound one black and dash-dotted."""
    colour, dashes = (PRINTED_COLOUR, "--") if printed else ("#000000", "-.")
    axes.plot(x, y, color=colour, ls=dashes, lw=1.3, label=label, zorder=3)


def label(axes: Axes, x: str, y: str, *, title: str = "", log: str = "", legend: bool = True) -> None:
    """Names of the axes with their units; `log` is "", "x", "y" or "xy"."""
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    if "x" in log:
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis, *axes.get_xlim())
    if "y" in log:
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis, *axes.get_ylim())
    if title:
        axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(True, which="major", color="0.9", lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7.5, frameon=False)


def _plain_ticks(axis: Axis, low: float, high: float) -> None:
    """Over less than two decades 1, 2, 5, 10 as plain numbers; over more, powers of ten alone."""
    if low > 0 and high < 60 * low:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())
