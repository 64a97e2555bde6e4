"""Mwigo and Dasgupta, figures 1 to 3: training and test loss by epoch, one figure for each width."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._mwigo_grid import PAPER_TABLE_1, experiment
from certiformer.reproduction.papers.mwigo_table_1 import PAPER_RUNS, one_more_run
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import mean_interval
from certiformer.reproduction.study import Analysis, study
from certiformer.reproduction.sweep import Row
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import one_run, sign

WIDTHS = {"mwigo.fig1": 64, "mwigo.fig2": 1024, "mwigo.fig3": 4096}
POINTS = 60  # of a curve


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    d_m = table.config["d_m"]
    for n, part in table.by("n").items():
        _of_cell(notes, d_m, n, part)
    last = min(row.config["epochs"] for row in table)
    falls = Trend(
        f"test loss at epoch {last}, exponent of N",
        table,
        "n",
        lambda row: float(np.interp(last, row.arrays["epoch"], row.arrays["test"])),
        Theory("falls", exponent=0.0, relation="<"),
        paired=True,
    )
    notes.note(falls)
    panels = [
        Panel("epoch", f"{name} loss (nats)", _curves(d_m, n, part, what), f"N = {n:,}", "y")
        for what, name in (("train", "training"), ("test", "test"))
        for n, part in table.by("n").items()
    ]
    fitted = [float(np.mean(part.column(_fitted))) for part in table.by("n").values()]
    caption = (
        "Training loss (top; the mean over the batches of an epoch) and test loss (bottom) by epoch: median over seeds "
        "and single runs (grey). Crosses: the lowest test loss of the paper's single run."
    )
    headline = f"at width {d_m:,} training drives the training loss to at most {max(fitted):.2g} of its start"
    if len(falls.points) > 1:
        headline += f"; the test loss after {last} epochs changes with N with exponent {falls.slope.value:.2f} "
        headline += f"(falls: {notes.word(falls.name)})"
    return notes.analysis(
        f"{headline}.",
        losses=Plot(panels, caption, columns=max(1, len(table.by("n"))), shared=True),
    )


def _fitted(row: Row) -> float:
    return float(row.arrays["train"][-1] / row.arrays["train"][0])


def _of_cell(notes: Notes, d_m: int, n: int, table: Table) -> None:
    name, length = f"N = {n:,}", min(row.config["epochs"] for row in table)
    if (d_m, n) in PAPER_TABLE_1 and length >= PAPER_TABLE_1[d_m, n][1]:
        loss, epoch = PAPER_TABLE_1[d_m, n]
        then = table.column(lambda row: float(np.interp(epoch, row.arrays["epoch"], row.arrays["test"])))
        notes.found(f"{name}: test loss at epoch {epoch}", one_more_run(then), one_run(then, loss), paper=loss)
    fitted = mean_interval(table.column(_fitted))
    notes.found(f"{name}: training loss at epoch {length} over the initial one", fitted, sign(fitted, 1.0), paper="< 1")
    gap = mean_interval(table.column(lambda row: float(row.arrays["test"][-1] - row.arrays["train"][-1])))
    notes.found(f"{name}: test minus training loss at epoch {length}", gap)
    risen = table.column(lambda row: float(row.arrays["test"][-1]) / row.values["lowest"])
    notes.remarks.append(
        f"{name}: on average the test loss is lowest at epoch {np.mean(table.column('epoch')):.0f} of {length} and "
        f"ends at {np.mean(risen):.2f} times that value; {int(np.sum(table.column('falling')))} of {len(table)} runs "
        "are still at their lowest."
    )


def _curves(d_m: int, n: int, table: Table, what: str) -> list[Series]:
    epochs, losses = table.array("epoch")[0], table.array(what).astype(float)
    chosen = np.unique(np.linspace(0, len(epochs) - 1, min(POINTS, len(epochs))).round().astype(int))
    x = epochs[chosen].tolist()
    series = [
        Series("" if seed else "single runs", x, run[chosen].tolist(), kind="runs", points=False)
        for seed, run in enumerate(losses)
    ]
    series.append(Series("median of our runs", x, np.median(losses[:, chosen], axis=0).tolist(), points=False))
    if what == "test" and (d_m, n) in PAPER_TABLE_1:
        loss, epoch = PAPER_TABLE_1[d_m, n]
        series.append(Series("paper, lowest", [epoch], [loss], kind="paper"))
    return series


STUDIES = tuple(
    study(id, functools.partial(experiment, d_m=d_m), analyse, cell=("d_m", "n"), enough=PAPER_RUNS)
    for id, d_m in WIDTHS.items()
)
