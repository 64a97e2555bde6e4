"""The picture of bounds along training: losses, error rates and limits above, hypotheses as stripes below."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from certiformer.report.figure import COLOURS, MARKERS, PRINTED_COLOUR

STATES = {
    "verified": ("#009E73", "o", "holds"),
    "stated": ("#56B4E9", "s", "stated by the caller"),
    "open": ("0.6", ".", "cannot be decided from here"),
    "fails": (PRINTED_COLOUR, "X", "fails"),
}
WORDS = 58


def along_figure(
    table: Sequence[Mapping[str, Any]], hypotheses: Mapping[tuple[str, str, str], Mapping[int, str]]
) -> Figure:
    """`table` has a row per step, result and side; `hypotheses` the state of each hypothesis by step."""
    decides = bool(table) and "train_error" in table[0]
    panels = ["loss", "error rate"] if decides else ["loss"]
    names = {key: textwrap.wrap(f"{key[0]} {key[1]}: {key[2]}", WORDS) for key in hypotheses}
    lines = sum(max(1, len(name)) for name in names.values())
    heights = [2.4] * len(panels) + ([0.7 + 0.17 * lines] if hypotheses else [])
    figure = Figure(figsize=(6.8, sum(heights)), layout="constrained")
    grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
    axes: list[Axes] = list(grid.flat)
    for place, (panel, one) in enumerate(zip(panels, axes, strict=False)):
        _curves(one, table, panel)
        last = place == len(heights) - 1
        _label(one, "step" if last else "", panel, log=True)
        one.legend(fontsize=7.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    if hypotheses:
        _stripes(axes[-1], hypotheses, names)
        figure.legend(
            *axes[-1].get_legend_handles_labels(), fontsize=7, frameon=False, ncols=4, loc="outside lower left"
        )
    return figure


def _label(axes: Axes, x: str, y: str, *, log: bool = False) -> None:
    """Names of the axes; over less than two decades 1, 2, 5, 10 as plain numbers, over more powers of ten alone."""
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    if log:
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        if low > 0 and high < 60 * low:
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=8)
    axes.grid(True, which="major", color="0.9", lw=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _curves(axes: Axes, table: Sequence[Mapping[str, Any]], panel: str) -> None:
    key = "loss" if panel == "loss" else "error"
    steps = sorted({row["step"]: row for row in table}.items())
    for part, colour in (("train", COLOURS[0]), ("test", COLOURS[1])):
        axes.plot(*_drawn([(step, row[f"{part}_{key}"]) for step, row in steps]), color=colour, lw=1.4, label=part)
    ids = list(dict.fromkeys(row["bound"] for row in table))
    for side, dashes in (("sound", "-"), ("printed", "--")):
        for row_id in ids:
            rows = [row for row in table if (row["bound"], row["side"]) == (row_id, side)]
            if not rows or (rows[0]["bounds"] == "training_loss") != (key == "loss"):
                continue
            drawn = _drawn([(row["step"], row["limit"]) for row in rows])
            colour = PRINTED_COLOUR if side == "printed" else "#000000"
            note = "" if drawn[0] else ": no number" if rows[-1]["value"] is None else ": negative or infinite"
            shape = MARKERS[ids.index(row_id) % len(MARKERS)]
            axes.plot(*drawn, color=colour, ls=dashes, lw=1.1, marker=shape, ms=3, label=f"{row_id}\n{side}{note}")


def _drawn(points: Sequence[tuple[int, float | None]]) -> tuple[list[int], list[float]]:
    """What a logarithmic axis can show."""
    kept = [(step, value) for step, value in points if value is not None and 0 < value < math.inf]
    return [step for step, _ in kept], [value for _, value in kept]


def _stripes(
    axes: Axes,
    hypotheses: Mapping[tuple[str, str, str], Mapping[int, str]],
    names: Mapping[tuple[str, str, str], Sequence[str]],
) -> None:
    height, ticks = 0.0, []
    seen = dict.fromkeys(state for steps in hypotheses.values() for state in steps.values())
    for key, steps in hypotheses.items():
        lines = max(1, len(names[key]))
        ticks.append(height + (lines - 1) / 2)
        for state, (colour, shape, _) in STATES.items():
            at = [step for step, found in steps.items() if found == state]
            axes.plot(at, [ticks[-1]] * len(at), shape, color=colour, ms=4)
        height += lines
    for state in seen:
        colour, shape, words = STATES[state]
        axes.plot([], [], shape, color=colour, ms=4, label=words)
    _label(axes, "step", "")
    axes.yaxis.tick_right()
    axes.set_yticks(ticks, ["\n".join(names[key]) for key in hypotheses], fontsize=6.5)
    axes.set_ylim(height - 0.5, -0.7)
    axes.set_title("what each number rests on", fontsize=8, loc="left")
