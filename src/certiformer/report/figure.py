"""Figures fit for print: vector or PNG, colour-blind safe, labelled axes."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import AutoLocator, NullFormatter, NullLocator, ScalarFormatter

from certiformer.theory.core import Bound, Quantity, Status
from certiformer.theory.core.arrays import Evaluations
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import Report, Statement
from certiformer.theory.core.whole_files import write_bytes

# Okabe and Ito's palette, which survives colour blindness and grey printing.
SOUND_COLOURS = ("#0072B2", "#009E73", "#56B4E9", "#CC79A7", "#E69F00", "#000000")
PRINTED_COLOUR = "#D55E00"
COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of measured curves, in this order."""
MARKERS = ("o", "s", "^", "D", "v", "P")
COLUMN, PAGE, HEIGHT = 3.4, 6.8, 2.6  # inches: one column of a paper, the width of its page, a panel
FORMATS = (".png", ".pdf", ".svg")
_DATES: dict[str, dict[str, str | None]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}


def report_figure(report: Report) -> Figure:
    """The limits of a report that say more than guessing: a dot each, a ring where it was observed."""
    rows = [row for row in report.statements if row.informative and row.value is not None]
    rows = rows or [row for row in report.statements if row is report.best]
    groups: dict[str, list[Statement]] = {}
    for row in rows:
        groups.setdefault("error rate" if row.rate else row.quantity, []).append(row)
    heights = [1.0 + 0.35 * len(group) for group in groups.values()] or [1.0]
    figure = Figure(figsize=(6.0, sum(heights)), layout="constrained")
    grid = figure.subplots(len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, (name, group) in zip(grid.flat, groups.items(), strict=False):
        for place, row in enumerate(group):
            scale = 100.0 if row.rate else 1.0
            seen = row.terms.get("observed", row.terms.get("empirical error of Q"))
            low, high = row.lower, scale * (row.value or 0.0)
            if low is not None:
                axes.plot([scale * low, high], [place, place], "|-", ms=10, color=SOUND_COLOURS[0], lw=1.6, zorder=1)
            elif seen is not None:
                axes.plot([scale * seen, high], [place, place], color="0.7", lw=1.2, zorder=1)
            if seen is not None:
                axes.plot(scale * seen, place, "o", mfc="white", color="0.4")
            if low is None:
                axes.plot(high, place, "o", color=SOUND_COLOURS[0])
        axes.set_yticks(range(len(group)), [row.key for row in group])
        axes.set_ylim(len(group) - 0.5, -0.5)
        axes.set_xlim(min(0.0, axes.get_xlim()[0]), max(0.0, axes.get_xlim()[1]))
        limits = "limits (bar)" if any(row.lower is not None for row in group) else "at most (dot)"
        axes.set_xlabel(f"{name}{' (%)' if name == 'error rate' else ''}: {limits}, observed (ring)")
    figure.suptitle(report.headline, fontsize=9, wrap=True)
    return figure


def sweep_figure(swept: Evaluations) -> Figure:
    """A sweep as a picture: along one input curves, over two a family of curves or a map of the sound bound."""
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    (name, along), *second = swept.axes.items()
    if not second:
        _draw_curves(axes, np.array(along), swept)
    elif len(second[0][1]) <= len(SOUND_COLOURS):
        _draw_family(axes, np.array(along), swept, *second[0])
    else:
        _draw_map(figure, axes, swept)
    axes.set_xscale("log" if geometric(along) else "linear")
    axes.set_xlabel(_named(swept, name))
    result = swept.result
    where = "" if result.status is Status.NONE else f"{result.paper.short}, {result.place}: "
    axes.set_title(f"{where}{result.title}", fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def geometric(values: Sequence[float]) -> bool:
    """Whether values lie nearer to equal ratios than to equal steps, so that a logarithmic axis shows them best."""
    low, middle, high = values[0], values[len(values) // 2], values[-1]
    if low <= 0.0:
        return False
    share = (len(values) // 2) / max(len(values) - 1, 1)
    steps, ratios = low + share * (high - low), low * (high / low) ** share
    return len(values) < 3 or abs(middle - ratios) <= abs(middle - steps)


def _named(swept: Evaluations, name: str) -> str:
    entry = next(i for i in swept.result.inputs if name in (i.name, *i.aliases))
    return f"{entry.name}: {entry.meaning}"


def _draw_curves(axes: Axes, x: np.ndarray, swept: Evaluations) -> None:
    """Printed and sound bounds, the range where the printed form is invalid shaded."""
    quantity = swept.result.bounds
    for (name, bounds), colour in zip(_curves(swept, "sound", quantity), itertools.cycle(SOUND_COLOURS), strict=False):
        heights = _heights([bound if bound.applies else Bound(math.inf) for bound in bounds])
        axes.plot(x, heights, color=colour, lw=1.6, label=f"sound: {name}")
    printed = _curves(swept, "printed", quantity)
    for (name, bounds), dashes in zip(printed, itertools.cycle(("--", "-.", ":")), strict=False):
        axes.plot(x, _heights(bounds), color=PRINTED_COLOUR, lw=1.6, ls=dashes, label=f"printed: {name}")
    if printed:
        _shade_invalid(axes, x, printed[0][1])
    trivial = _trivial(swept)
    if np.isfinite(trivial).any():
        axes.plot(x, trivial, color="0.5", lw=1.0, ls=":", label="trivial value")
    axes.set_yscale("log")
    axes.set_ylabel(quantity.value)
    axes.grid(True, which="major", color="0.9", lw=0.6)
    axes.legend(fontsize=8, frameon=False)


def _draw_family(axes: Axes, x: np.ndarray, swept: Evaluations, name: str, values: Sequence[float]) -> None:
    """The best sound bound along the first input, a curve for each value of the second."""
    best = np.where(swept.best > 0, swept.best, math.nan)
    for column, (value, colour) in enumerate(zip(values, SOUND_COLOURS, strict=False)):
        heights = np.where(np.isfinite(best[:, column]), best[:, column], math.nan)
        axes.plot(x, heights, color=colour, lw=1.6, marker=None, label=f"{name} = {value:.4g}")
    trivial = _trivial(swept).reshape(swept.shape)[:, 0]
    if np.isfinite(trivial).any():
        axes.plot(x, trivial, color="0.5", lw=1.0, ls=":", label="trivial value")
    axes.set_yscale("log")
    axes.set_ylabel(f"{swept.result.bounds.value}: best sound bound")
    axes.grid(True, which="major", color="0.9", lw=0.6)
    axes.legend(fontsize=8, frameon=False)


def _draw_map(figure: Figure, axes: Axes, swept: Evaluations) -> None:
    """The best sound bound over two inputs: colours and contours at powers of ten, a line at the trivial value."""
    (_, along), (name, across) = swept.axes.items()
    best = swept.best.T
    heights = np.full(best.shape, math.nan)
    np.log10(best, out=heights, where=np.isfinite(best) & (best > 0))
    mesh = axes.pcolormesh(along, across, heights, shading="nearest", cmap="cividis", rasterized=True)
    figure.colorbar(mesh, ax=axes, label="log10 of the best sound bound")
    drawn = np.ma.masked_invalid(heights)
    if min(drawn.shape) >= 2 and drawn.count() and drawn.max() > drawn.min():
        lines = axes.contour(along, across, drawn, colors="white", linewidths=0.7, linestyles="solid")
        axes.clabel(lines, fontsize=7, fmt="%g")
        limit = np.log10(_trivial(swept).reshape(swept.shape).T)
        gap = np.ma.masked_invalid(heights - limit)
        if gap.count() and gap.min() < 0.0 < gap.max():
            axes.contour(along, across, gap, levels=[0.0], colors=PRINTED_COLOUR, linewidths=2.0)
            axes.plot([], [], color=PRINTED_COLOUR, lw=2.0, label="vacuous on the brighter side")
            axes.legend(fontsize=8, loc="lower right")
    axes.set_yscale("log" if geometric(across) else "linear")
    axes.set_ylabel(_named(swept, name))


def _trivial(swept: Evaluations) -> np.ndarray:
    """What is known without a bound, at every point; nan where nothing is."""
    values = (None if e.best is None else e.sound[e.best].trivial for e in swept.points)
    return np.array([math.nan if value is None else value for value in values], dtype=float)


def _curves(swept: Evaluations, side: str, quantity: Quantity) -> list[tuple[str, Sequence[Bound]]]:
    """The variants of one side that bound the result's own quantity; sound ones only if they apply somewhere."""
    first = getattr(swept.points[0], side)
    names = [name for name, bound in first.items() if bound.bounds in (None, quantity)]
    curves = [(name, [getattr(e, side)[name] for e in swept.points]) for name in names]
    return [(name, bounds) for name, bounds in curves if side == "printed" or any(b.applies for b in bounds)]


def _heights(bounds: Sequence[Bound]) -> list[float]:
    """What a logarithmic axis can show; the rest is a gap."""
    return [b.value if b.value > 0 and math.isfinite(b.value) else math.nan for b in bounds]


def _shade_invalid(axes: Axes, x: np.ndarray, bounds: Sequence[Bound]) -> None:
    """Grey where a hypothesis of the printed form fails, hatched so that it survives black-and-white printing."""
    invalid = np.array([not bound.applies for bound in bounds])
    if not invalid.any():
        return
    between = np.sqrt(x[1:] * x[:-1]) if geometric(x.tolist()) else (x[1:] + x[:-1]) / 2
    edges = np.concatenate([[x[0]], between, [x[-1]]])
    labelled = False
    for i in np.flatnonzero(invalid):
        axes.axvspan(
            edges[i],
            edges[i + 1],
            facecolor="0.93",
            edgecolor="0.8",
            hatch="///",
            lw=0,
            zorder=0,
            label=None if labelled else "printed form invalid here",
        )
        labelled = True


def _straighten(figure: Figure) -> None:
    """Logarithmic axes with nothing positive to show become linear ones, with ticks of their own."""
    for axes in figure.axes:
        for axis, positive in ((axes.xaxis, axes.dataLim.minposx), (axes.yaxis, axes.dataLim.minposy)):
            if axis.get_scale() == "log" and not math.isfinite(positive):
                (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("linear")
                axis.set_major_locator(AutoLocator())
                axis.set_minor_locator(NullLocator())
                axis.set_major_formatter(ScalarFormatter())
                axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path) -> None:
    """Write a figure, without a date; an existing file is replaced only once the new one is complete."""
    if path.suffix.lower() not in FORMATS:
        raise InputError("--plot", str(path), f"a file name ending in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise InputError("--plot", str(path), "a file in a folder that exists", f"Create {path.parent} first")
    write_bytes(path, content(figure, path.suffix.lower()))


def content(figure: Figure, ending: str) -> bytes:
    """The file of a figure, without a date: the same figure gives the same bytes."""
    buffer = io.BytesIO()
    try:
        figure.savefig(buffer, format=ending[1:], dpi=200, metadata=_DATES.get(ending))
    except ValueError as error:
        if "log-scaled" not in str(error):
            raise
        _straighten(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=ending[1:], dpi=200, metadata=_DATES.get(ending))
    return buffer.getvalue()
