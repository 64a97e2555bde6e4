"""Figures as data: what is drawn in a panel is declared, so that it can also be exported, and drawn in one style."""

from __future__ import annotations

import functools
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from certiformer.report.figure import COLOURS, COLUMN, HEIGHT, MARKERS, PAGE, PRINTED_COLOUR
from certiformer.reproduction.statistics import Interval, Vector, mean_interval

Kind = Literal["measured", "runs", "printed", "sound", "paper"]
Place = Literal["none", "inside", "above"]  # of a panel's legend
COLUMNS = ("figure", "panel", "title", "series", "kind", "x_label", "y_label", "x", "y", "low", "high")
"""Of the table of all points: panels are numbered, and named where they have a title."""
MOST_TICKS = 9
OTHER_DASHES: tuple[tuple[int, tuple[int, ...]], ...] = ((0, (1, 1)), (0, (6, 2)), (0, (3, 1, 1, 1, 1, 1)))
MOST_INSIDE = 2  # lines of a legend that find a place among the curves
LINE, LETTER = 10.5, 3.6  # a line of a legend and a letter in it, in points
HANDLE = 8  # letters: the line or marker before a name in a legend, and the space behind it
MARGIN = 0.85  # inches of a panel's width beside the letters of its legend
REACH = 100.0  # on a logarithmic axis a band may go so far beyond what was seen and said
SLANTED = 0.5  # names of ticks that take more of an axis are slanted
NEAR = 0.03  # of an axis: the room of a letter in the name of a tick


@dataclass(frozen=True)
class Series:
    """A curve: measured (with its interval as a band), single runs, what the printed or the sound theory says, or the
    paper's own numbers. Values that are not finite are gaps. Where the legend says more than its name, such as a fitted
    slope, `name` is what it is called in tables."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    kind: Kind = "measured"
    points: bool = True
    line: bool = True
    name: str = ""

    @classmethod
    def measured(cls, label: str, found: Mapping[Any, Interval], *, points: bool = True, name: str = "") -> Series:
        """Estimates with their intervals, by abscissa."""
        ends = [f.ends for f in found.values()]
        values = [f.value for f in found.values()]
        low, high = [low for low, _ in ends], [high for _, high in ends]
        return cls(label, list(found), values, low, high, points=points, name=name)

    @classmethod
    def means(cls, label: str, points: Mapping[Any, Sequence[float] | Vector], *, name: str = "") -> Series:
        """Means over seeds with Student's intervals."""
        return cls.measured(label, {x: mean_interval(y) for x, y in points.items()}, name=name)

    @classmethod
    def theory(cls, label: str, curve: Mapping[Any, float], *, printed: bool = False, name: str = "") -> Series:
        """A curve of theory, as printed or sound."""
        return cls(label, list(curve), list(curve.values()), kind="printed" if printed else "sound", name=name)


@dataclass(frozen=True)
class Panel:
    """One pair of axes: their names with units, `log` "", "x", "y" or "xy", and the series in it.

    Ticks stand where the data are, if these are few; `marks` are horizontal lines with their names.
    """

    x: str
    y: str
    series: Sequence[Series] = ()
    title: str = ""
    log: str = ""
    marks: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Plot:
    """Panels, row by row, and the sentence or two that stand under them."""

    panels: Sequence[Panel]
    caption: str
    columns: int = 0
    height: float = HEIGHT
    shared: bool = False  # panels of a row have one vertical axis, where they are to be compared

    @functools.cached_property
    def figure(self) -> Figure:
        """The panels drawn side by side."""
        columns = self.columns or min(3, len(self.panels))
        rows = math.ceil(len(self.panels) / columns)
        width = COLUMN * 1.3 if columns == 1 else PAGE
        most = max((len(_labels(panel)) for panel in self.panels), default=0)
        place: Place = "none" if self._one_legend else "above" if most > MOST_INSIDE else "inside"
        letters = max(12, int((width / columns - MARGIN) * 72 / LETTER))
        above = {id(panel): _folded(panel, letters) for panel in self.panels if place == "above"}
        room = LINE / 72 * max((_lines(labels, letters) for labels in above.values()), default=0)
        figure = Figure(figsize=(width, (self.height + room) * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for number, (axes, panel) in enumerate(zip(grid.flat, self.panels, strict=False)):
            beside = self.panels[number - number % columns :][:columns]
            lines = max(_lines(above[id(one)], letters) if id(one) in above else 0 for one in beside)
            _draw(axes, panel, place, above.get(id(panel), []), letters, lines)
        drawn = list(grid.flat)[: len(self.panels)]
        for first in range(0, len(drawn) if self.shared else 0, columns):
            row = drawn[first : first + columns]
            limits = [axes.get_ylim() for axes in row]
            for axes, panel in zip(row, self.panels[first:], strict=False):
                axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
                if "y" in panel.log:
                    _few_ticks(axes.yaxis)
        if self._one_legend:
            named = _named(max(grid.flat, key=lambda axes: len(axes.get_legend_handles_labels()[1])))
            columns = min(4, len(named[1]))
            figure.legend(*named, fontsize=7.5, frameon=False, loc="outside lower center", ncols=columns)
        for axes in list(grid.flat)[len(self.panels) :]:
            axes.set_axis_off()
        return figure

    @property
    def _one_legend(self) -> bool:
        """Panels that say the same names, or the first of them, share one legend below them."""
        named = [[s.label for s in panel.series if s.kind == "measured"] for panel in self.panels]
        every = [set(_labels(panel)) for panel in self.panels]
        most, all_named = max(every, key=len), max(named, key=len)
        same = all(labels and labels <= most for labels in every)
        return len(every) > 1 and same and all(names == all_named[: len(names)] for names in named)

    def tidy(self, name: str) -> Iterator[dict[str, Any]]:
        """One record for each point that is drawn, with the entries of COLUMNS."""
        for number, panel in enumerate(self.panels, 1):
            for series in panel.series:
                where = (name, number, panel.title, series.name or series.label, series.kind, panel.x, panel.y)
                for index, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
                    ends = [None if end is None else float(end[index]) for end in (series.low, series.high)]
                    yield dict(zip(COLUMNS, (*where, float(x), float(y), *ends), strict=True))


def _shown(panel: Panel) -> list[Series]:
    """Those with something to see: a bound that is negative everywhere has nothing on a logarithmic axis."""
    return [series for series in panel.series if np.isfinite(_drawable(series.y, "y" in panel.log)).any()]


def _labels(panel: Panel) -> list[str]:
    return [series.label for series in _shown(panel) if series.label] + list(panel.marks)


def _folded(panel: Panel, letters: int) -> list[str]:
    """The lines of a legend that is no wider than its panel."""
    return ["\n".join(textwrap.wrap(label, letters)) for label in _labels(panel)]


def _columns(labels: Sequence[str], letters: int) -> int:
    """Columns of a legend above its panel: as many as have room beside each other."""
    return max(1, min(len(labels), letters // (HANDLE + max(map(len, labels), default=0))))


def _lines(labels: Sequence[str], letters: int) -> int:
    columns, higher = _columns(labels, letters), any("^" in label for label in labels)
    return higher + (len("\n".join(labels).splitlines()) if columns == 1 else math.ceil(len(labels) / columns))


def _draw(axes: Axes, panel: Panel, place: Place, above: Sequence[str], letters: int, lines: int) -> None:
    """One panel; `above` is its legend, if that stands there, and `lines` are those of the highest in its row."""
    measured, shown, said = 0, _shown(panel), {"sound": 0, "printed": 0, "paper": 0}
    for series in panel.series:
        if series in shown and series.kind in ("measured", "runs"):
            _measured(axes, series, measured, "y" in panel.log)
        elif series in shown:
            _said(axes, series, said[series.kind])
            said[series.kind] += 1
        measured += series.kind == "measured"  # a curve keeps its colour where another one is missing
    for name, level in panel.marks.items():
        axes.axhline(level, color="0.5", lw=1.0, ls=":", label=name)
    axes.set_xlabel(_typeset(panel.x), fontsize=9)
    axes.set_ylabel(_typeset(panel.y), fontsize=9)
    axes.set_title(_typeset(panel.title), fontsize=9, pad=6.0 + LINE * lines)
    if "x" in panel.log:
        axes.set_xscale("log")
    if "y" in panel.log:
        axes.set_yscale("log")
        _few_ticks(axes.yaxis)
    _within_reach(axes, panel)
    _ticks_at_data(axes, panel)
    axes.tick_params(labelsize=8)
    if shown:
        axes.grid(True, which="major", color="0.9", lw=0.6)
    else:
        axes.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
        axes.text(0.5, 0.5, "no runs yet", ha="center", va="center", color="0.4", fontsize=9, transform=axes.transAxes)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if above:
        handles, _ = axes.get_legend_handles_labels()
        corner = (-0.02, 0.99)
        size: dict[str, Any] = {"fontsize": 7.0, "borderpad": 0.1, "ncols": _columns(above, letters)}
        axes.legend(handles, list(map(_typeset, above)), frameon=False, loc="lower left", bbox_to_anchor=corner, **size)
    elif place == "inside" and _labels(panel):
        axes.legend(*_named(axes), fontsize=7.0, frameon=False, loc="best")


def _named(axes: Axes) -> tuple[list[Any], list[str]]:
    """What the legend of a panel shows, and the names."""
    handles, labels = axes.get_legend_handles_labels()
    return handles, list(map(_typeset, labels))


def _typeset(text: str) -> str:
    """x_i, x^2 and x^(1-b) as a reader of formulas writes them."""
    if "$" in text:
        return text
    text = re.sub(r"\^(?:\(([^()]*)\)|(\w+))", r"$^{\1\2}$", text)
    text = re.sub(r"_(\w\w+)", r"$_{\\mathrm{\1}}$", text)
    text = re.sub(r"_(\w|\*)", r"$_{\1}$", text)
    return text.replace("$$", "")


def _within_reach(axes: Axes, panel: Panel) -> None:
    """What was seen and said decides the height of a panel; the band of a few seeds may leave it."""
    drawn = [_drawable(series.y, "y" in panel.log) for series in panel.series]
    values = np.concatenate([*drawn, list(panel.marks.values())]) if drawn else np.zeros(0)
    values = values[np.isfinite(values)]
    if not len(values):
        return
    low, high = axes.get_ylim()
    least, most = float(values.min()), float(values.max())
    if "y" in panel.log and least > 0:
        axes.set_ylim(max(low, least / REACH), min(high, most * REACH))
    elif "y" not in panel.log and most > least:
        room = 0.5 * (most - least)
        axes.set_ylim(max(low, least - room), min(high, most + room))


def _measured(axes: Axes, series: Series, index: int, positive: bool) -> None:
    x, y = np.asarray(series.x, float), _drawable(series.y, positive)
    if series.kind == "runs":
        style = {"marker": ".", "ms": 3, "ls": ""} if series.points else {"lw": 0.5}
        axes.plot(x, y, color="0.45", zorder=1, label=series.label or None, **style)
        return
    colour = COLOURS[index % len(COLOURS)]
    if series.low is not None and series.high is not None:
        low, high = (np.where(np.isfinite(e), e, y) for e in (np.asarray(series.low, float), np.asarray(series.high)))
        if positive:
            # Student's interval of a mean, taken to its logarithm (delta method): it cannot fall through the axis
            student = np.isclose(high - y, y - low)
            half = np.where(student, high - y, 0.0) / y
            low, high = (np.where(student, y * np.exp(s * half), end) for s, end in ((-1.0, low), (1.0, high)))
            low = np.where(low > 0.0, low, 1e-3 * np.nanmin(y))  # another end that is not positive lies below the axis
        axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
    marker = MARKERS[index % len(MARKERS)] if series.points else None
    dashes = "-" if series.line else ""
    axes.plot(x, y, color=colour, lw=1.4, ls=dashes, marker=marker, ms=4, label=series.label or None)


def _said(axes: Axes, series: Series, index: int) -> None:
    """Theory by its side's colour; several curves of one side by their dashes."""
    colour, first = ("#000000", "-.") if series.kind == "sound" else (PRINTED_COLOUR, "--")
    dashes = (first, *OTHER_DASHES)[index % (1 + len(OTHER_DASHES))]
    alone = len(series.x) == 1
    marker, dashes = "X" if alone or series.kind == "paper" else None, "" if alone else dashes
    y = np.where(np.isfinite(series.y), series.y, np.nan)
    axes.plot(series.x, y, color=colour, ls=dashes, lw=1.3, marker=marker, ms=5, label=series.label or None, zorder=3)


def _drawable(values: Sequence[float], positive: bool) -> Vector:
    array = np.asarray(values, float)
    return np.where(np.isfinite(array) & ((array > 0) | (not positive)), array, np.nan)


def _ticks_at_data(axes: Axes, panel: Panel) -> None:
    at = sorted({float(x) for series in panel.series for x in series.x if series.kind != "runs" and series.line})
    if not 2 <= len(at) <= MOST_TICKS:
        if "x" in panel.log:
            _few_ticks(axes.xaxis)
        else:
            axes.xaxis.set_major_locator(MaxNLocator(5))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
        return
    slanted = NEAR * sum(len(_short(value)) for value in at) > SLANTED
    named = _apart(at, "x" in panel.log, slanted)
    axes.xaxis.set_major_locator(FixedLocator(at))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value) if value in named else ""))
    axes.xaxis.set_minor_locator(NullLocator())
    if slanted:
        axes.tick_params(axis="x", labelrotation=45)


def _apart(at: Sequence[float], log: bool, slanted: bool) -> list[float]:
    """Those of the ticks whose names have room, from the right; slanted ones need little."""
    place = np.log(at) if log and at[0] > 0 else np.asarray(at)
    place = (place - place[0]) / (place[-1] - place[0])
    named = [len(at) - 1]
    for index in range(len(at) - 2, -1, -1):
        letters = 2.0 if slanted else 0.5 * (len(_short(at[index])) + len(_short(at[named[-1]])))
        if place[named[-1]] - place[index] >= NEAR * letters:
            named.append(index)
    return [at[index] for index in named]


def _few_ticks(axis: Axis) -> None:
    """Over less than half a decade every half, over less than two 1, 2, 5, 10; over more, powers of ten alone."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator())
    axis.set_major_formatter(LogFormatterSciNotation())
    if low > 0 and high < 100 * low:
        subs = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0) if high < 4 * low else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value > 1.01e-3 else _tiny(value)))
    axis.set_minor_formatter(NullFormatter())


def _tiny(value: float) -> str:
    """5 · 10⁻⁵ rather than 5e-05."""
    factor, power = f"{value:.3e}".split("e")
    times = "" if float(factor) == 1.0 else rf"{float(factor):g} \cdot "
    return f"${times}10^{{{int(power)}}}$"


def _short(value: float) -> str:
    """1e6 rather than 1000000, 2^30 rather than 1073741824."""
    if value >= 2**20 and value.is_integer() and int(value).bit_count() == 1:
        return f"$2^{{{int(value).bit_length() - 1}}}$"
    if value >= 1e5 and math.log10(value) % 1.0 == 0.0:
        return f"$10^{{{round(math.log10(value))}}}$"
    return f"{value:,.0f}" if value >= 1000 and value.is_integer() else f"{value:g}"
