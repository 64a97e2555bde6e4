"""What the figures of Deora's experiments share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from certiformer.experiments.statistics import Interval
from certiformer.report import plots


def curve(
    axes: Axes, x: Sequence[float], middle: Sequence[Interval], name: str, index: int, *, marker: bool = True
) -> None:
    """A mean with its interval; on a logarithmic axis an interval that reaches below zero is cut."""
    lows = [max(each.low, 0.3 * each.value) for each in middle]
    highs = [each.high for each in middle]
    plots.band(axes, x, [each.value for each in middle], lows, highs, label=name, index=index, marker=marker)


def ticks(axes: Axes, values: Sequence[float]) -> None:
    """The abscissas themselves, written as plain numbers."""
    names = [f"{value:g}" for value in values]
    axes.set_xticks(list(values), names, rotation=40 if max(map(len, names), default=0) > 4 else 0)
    axes.set_xticks([], minor=True)
    axes.tick_params(which="both", labelsize=8)


def legend(figure: Figure, axes: Sequence[Axes], *, spare: Axes | None = None, columns: int = 4) -> None:
    """One legend for all panels: in a spare one, or below them."""
    named: dict[str, Any] = {}
    for panel in axes:
        for handle, name in zip(*panel.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    if spare is not None:
        spare.set_axis_off()
        spare.legend(named.values(), named, fontsize=8, frameon=False, loc="center")
    elif named:
        figure.legend(named.values(), named, fontsize=8, frameon=False, loc="outside lower center", ncols=columns)
