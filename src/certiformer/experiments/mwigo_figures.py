"""Mwigo and Dasgupta, figures 1 to 3: training and test loss by epoch, one figure for each width."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from matplotlib.ticker import MaxNLocator

from certiformer.experiments._mwigo_runs import (
    READINGS,
    Cell,
    Vector,
    cells,
    cost,
    experiment,
    falls,
    one_more_run,
    paired_by_size,
    probe,
    tells,
)
from certiformer.experiments.statistics import Interval, mean_interval
from certiformer.experiments.study import Analysis, Finding, Plot, Study
from certiformer.report import plots
from certiformer.sweep import Row

WIDTHS = {"mwigo.fig1": 64, "mwigo.fig2": 1024, "mwigo.fig3": 4096}


def analyse(rows: Sequence[Row]) -> Analysis:
    found = cells(rows)
    gaps = {cell: mean_interval(_gap(cell)) for cell in found}
    slope = _slope(found, _gap)
    findings = [
        *(finding for cell in found for finding in _of_cell(cell, gaps[cell])),
        *_along_n(found, slope),
    ]
    fits = {
        "gap at the last epoch": {cell.name: gap.as_json() for cell, gap in gaps.items()},
        "slope of the gap in ln N": slope.as_json(),
    }
    plot = {"losses": _figure(found)} if found else {}
    return Analysis(tuple(findings), fits, plot, tuple(_remarks(found)))


def _gap(cell: Cell) -> Vector:
    return cell.at(cell.length) - cell.at(cell.length, "train")


def _slope(row: Sequence[Cell], values: Callable[[Cell], Vector]) -> Interval:
    """Change per unit of ln N: a least-squares slope for each seed, then their mean."""
    if len(row) < 2:
        return Interval(math.nan, -math.inf, math.inf)
    points, paired = paired_by_size(row, values)
    if not paired:
        return Interval(math.nan, -math.inf, math.inf)
    x = np.log(list(points))
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    return mean_interval(weights @ np.array(list(points.values())))


def _of_cell(cell: Cell, gap: Interval) -> Iterator[Finding]:
    if cell.paper is not None and cell.length >= cell.paper[1]:
        loss, epoch = cell.paper
        then = one_more_run(cell.at(epoch))
        setting = f"{cell.name}: test loss at epoch {epoch}, one more run"
        yield Finding(setting, loss, then.value, then.ends, tells(then, cell))
    fitted = mean_interval(cell.at(cell.length, "train") / cell.at(0, "train"))
    setting = f"{cell.name}: training loss at epoch {cell.length} over the initial one"
    yield Finding(setting, None, fitted.value, fitted.ends, falls(fitted, 1.0))
    yield Finding(
        f"{cell.name}: test minus training loss at epoch {cell.length}", None, gap.value, gap.ends, "measured"
    )


def _along_n(row: Sequence[Cell], slope: Interval) -> Iterator[Finding]:
    if len(row) < 2:
        return
    sizes = f"N = {row[0].n:,} to {row[-1].n:,}"
    last = min(cell.length for cell in row)
    for name, found in (
        ("test minus training loss", slope),
        ("test loss", _slope(row, lambda cell: cell.at(last))),
    ):
        value = None if math.isnan(found.value) else found.value
        setting = f"slope of the {name} at epoch {last} in ln N, {sizes}"
        yield Finding(setting, None, value, found.ends, falls(found, 0.0))


def _remarks(row: Sequence[Cell]) -> Iterator[str]:
    for cell in row:
        risen = float(np.mean(cell.at(cell.length) / cell.lowest))
        when = float(np.mean(cell.epochs))
        yield (
            f"N = {cell.n:,}: on average the test loss is lowest at epoch {when:.0f} of {cell.length} and ends at "
            f"{risen:.2f} times that value; {cell.falling} of {len(cell.rows)} runs are still at their lowest."
        )


def _figure(row: Sequence[Cell]) -> Plot:
    figure, axes = plots.panels(len(row), 2, sharex=True, sharey="row")
    if len(row) > 1:
        figure.set_size_inches(plots.PAGE, 1.6 * plots.HEIGHT)
    for index, cell in enumerate(row):
        for panel, curve in ((axes[index], "train"), (axes[len(row) + index], "test")):
            epochs, losses = cell.curve(curve)
            found = [one_more_run(column) for column in losses.T]
            middle, high = [f.value for f in found], [f.high for f in found]
            low = [f.low if f.low > 0 else f.value for f in found]
            plots.band(panel, epochs.tolist(), middle, low, high, label="ours", marker=False)
            panel.plot(epochs, losses.T, color="0.45", lw=0.5, zorder=1)
            if curve == "test" and cell.paper is not None:
                panel.plot(cell.paper[1], cell.paper[0], "X", color=plots.PRINTED_COLOUR, ms=6, zorder=4)
        first = index == 0
        title = f"$d_m$ = {cell.d_m:,}, N = {cell.n:,}" if first else f"N = {cell.n:,}"
        plots.label(axes[index], "", "training loss (nats)" if first else "", title=title, log="y", legend=False)
        name = "test loss (nats)" if first else ""
        plots.label(axes[len(row) + index], "epoch", name, log="y", legend=False)
        axes[index].xaxis.set_major_locator(MaxNLocator(3))
    caption = (
        "Training loss (top) and test loss (bottom) by epoch: geometric mean over seeds, where one more run would "
    )
    caption += "fall (95 %, bands), and single runs (grey)."
    if any(cell.paper is not None for cell in row):
        caption += " Crosses: the lowest test loss of the paper's single run."
    return Plot(figure, caption)


STUDIES = tuple(
    Study(
        id=id,
        paper="mwigo",
        title=f"Training and test loss by epoch at width {d_m:,}",
        claim=(
            f"With d_m = {d_m:,}, training drives both losses down, and the test loss gets lower the more training "
            "images there are."
        ),
        experiment=functools.partial(experiment, d_m=d_m),
        analyse=analyse,
        cost=cost,
        probe=probe,
        readings=READINGS,
    )
    for id, d_m in WIDTHS.items()
)
