"""Certificates and what they bound, against n."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from certiformer.experiments._certificate_cells import LETTERS, OTHERS, TITLES, Cell
from certiformer.experiments.study import Plot
from certiformer.report import plots

STYLES = {
    "holdout": 0,
    "pacbayes.single": 1,
    "occam": 2,
    "margin": 3,
    "pacbayes.gibbs": 1,
    "progressive": 4,
    "betting": 0,
}
"""Colours: K1 and K, of one posterior, share theirs."""
TRUTH = 5


def _curve(axes: Axes, line: list[Cell], id: str, *, what: str = "alone", index: int, floor: float) -> None:
    """The mean over seeds with its interval; what is beyond the floor leaves the panel there."""
    kept = [cell for cell in line if id in cell.ids]
    means = [cell.mean(id, what) for cell in kept]
    middle, low, high = (
        [max(end, floor) for end in ends] for ends in zip(*((m.value, *m.ends) for m in means), strict=True)
    )
    finite = [math.isfinite(mean.low) for mean in means]
    low = [end if fine else at for end, at, fine in zip(low, middle, finite, strict=True)]
    plots.band(axes, [float(cell.n) for cell in kept], middle, low, high, index=index)
    if what == "alone" and id in OTHERS and id != "betting":
        axes.lines[-1].set_linestyle("--")


def _finish(axes: Axes, line: list[Cell], ids: Sequence[str], trivial: float, quantity: str) -> None:
    least = min(cell.mean(id).value for cell in line for id in ids if id in cell.ids)
    axes.axhline(trivial, color="0.5", lw=1.0, ls=":")
    plots.label(axes, "examples n", quantity, title=TITLES[line[0].task], log="xy", legend=False)
    axes.set_ylim(bottom=least / 2.5)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())


def _key(id: str | None, text: str) -> Line2D:
    """An entry of the legend; None is the truth."""
    index = TRUTH if id is None else STYLES[id]
    dashes = "--" if id in OTHERS and id != "betting" else "-"
    return Line2D([], [], color=plots.COLOURS[index], marker=plots.MARKERS[index], ms=4, lw=1.4, ls=dashes, label=text)


GUESSING = Line2D([], [], color="0.5", lw=1.0, ls=":", label="guessing")


def risk_plot(tasks: Mapping[str, list[Cell]], delta: float) -> Plot:
    figure, panels = plots.panels(len(tasks), height=3.1)
    ids = [id for id in LETTERS if id != "betting"]
    for axes, line in zip(panels, tasks.values(), strict=True):
        least = min(cell.mean(id).value for cell in line for id in ids if id in cell.ids)
        for id in ids:
            if any(id in cell.ids for cell in line):
                _curve(axes, line, id, index=STYLES[id], floor=least / 20)
        _curve(axes, line, "holdout", what="true", index=TRUTH, floor=least / 20)
        _finish(axes, line, ids, 0.5, "error rate")
    words = {
        "holdout": "H: hold-out",
        "pacbayes.single": "K1: one draw",
        "occam": "O: Occam",
        "margin": "M: margin",
        "pacbayes.gibbs": "K: fresh draws",
        "progressive": "V: iterates of a pass",
    }
    shown = [id for id in ids if any(id in cell.ids for line in tasks.values() for cell in line)]
    keys = [*(_key(id, words[id]) for id in shown), _key(None, "true, H's network"), GUESSING]
    columns = 4 if len(tasks) > 1 else 2
    figure.legend(handles=keys, loc="outside lower center", ncols=columns, fontsize=7.5, frameon=False)
    return Plot(
        figure,
        f"Certificates at delta = {delta:g} each against the number of examples, means over seeds with 95 % bands. "
        "Solid: error rate of one network. Dashed: of networks drawn afresh for each prediction (K) or averaged over "
        "the iterates of a pass (V). Black: what H bounds; a curve that leaves the panel goes on to smaller values, "
        "or to zero.",
    )


def cross_entropy_plot(tasks: Mapping[str, list[Cell]], delta: float) -> Plot:
    figure, panels = plots.panels(len(tasks))
    for axes, line in zip(panels, tasks.values(), strict=True):
        _curve(axes, line, "betting", index=STYLES["betting"], floor=1e-6)
        _curve(axes, line, "betting", what="true", index=TRUTH, floor=1e-6)
        _finish(axes, line, ["betting"], math.log(2.0), "cross-entropy (nats)")
        axes.set_ylim(bottom=min(cell.mean("betting", "true").value for cell in line) / 1.5)
    keys = [_key("betting", "B: betting"), _key(None, "true"), GUESSING]
    figure.legend(handles=keys, loc="outside lower center", ncols=3, fontsize=7.5, frameon=False)
    return Plot(
        figure,
        f"The betting certificate at delta = {delta:g} for the smoothed cross-entropy of H's network, and its true "
        "value; means over seeds with 95 % bands.",
    )
