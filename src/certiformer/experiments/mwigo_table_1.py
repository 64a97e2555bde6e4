"""Mwigo and Dasgupta, Table 1: the lowest test loss for three widths and three sample sizes, and what it hangs on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

import certiformer
from certiformer.experiments._mwigo_runs import (
    BASE,
    OTHERS,
    PAPER_TABLE_1,
    READINGS,
    SPOKEN,
    Cell,
    Vector,
    cells,
    cost,
    experiment,
    falls,
    one_more_run,
    paired_by_size,
    probe,
    reading,
    spoken,
    tells,
)
from certiformer.experiments.statistics import Interval, power_law, prediction_interval, ratio
from certiformer.experiments.study import Analysis, Finding, Plot, Study
from certiformer.report import plots
from certiformer.sweep import Row
from certiformer.tasks.mnist import scale

TOKENS = {"padded": 16, "flat": 13, "cropped": 9, "flat_cropped": 12}
PIXELS_PER_TOKEN = 64
DELTA = 0.05


def analyse(rows: Sequence[Row]) -> Analysis:
    base = cells(rows)
    others = {spoken(chosen): found for chosen in OTHERS if (found := cells(rows, chosen))}
    widths = {d_m: [c for c in base if c.d_m == d_m] for d_m in sorted({c.d_m for c in base})}
    bounds = {cell: _theorem_5(cell) for cell in base}
    findings = [
        *(finding for cell in base for finding in _of_cell(cell, bounds[cell])),
        *(finding for d_m, row in widths.items() for finding in _of_width(f"d_m = {d_m:,}", row)),
        *(finding for name, found in others.items() for finding in _of_reading(name, found)),
    ]
    exponents = {f"d_m = {d_m}": _exponent(row, _lowest).as_json() for d_m, row in widths.items() if len(row) > 1}
    for name, found in others.items():
        for d_m in sorted({c.d_m for c in found}):
            row = [c for c in found if c.d_m == d_m]
            if len(row) > 1:
                exponents[f"d_m = {d_m}, {name}"] = _exponent(row, _lowest).as_json()
    factors = {cell: varied for cell in base if (varied := _factors(cell, others))}
    fits = {
        "exponents of N": exponents,
        "factors": {cell.name: varied for cell, varied in factors.items()},
        "theorem 5": {cell.name: {"sound": sound, "printed": printed} for cell, (sound, printed) in bounds.items()},
    }
    figures = {}
    if base:
        figures["lowest_test_loss"] = _figure_cells(widths)
    for d_m in sorted({cell.d_m for cell in factors}):
        shown = [cell for cell in factors if cell.d_m == d_m]
        there = {name: same for name, found in others.items() if (same := [c for c in found if c.d_m == d_m])}
        figures[f"readings_{d_m}"] = _figure_readings(shown, there)
    return Analysis(tuple(findings), fits, figures, tuple(_remarks(rows, base, widths, others, factors, bounds)))


def _lowest(cell: Cell) -> Vector:
    return cell.lowest


def _at(epoch: float) -> Callable[[Cell], Vector]:
    return lambda cell: cell.at(epoch)


def _of_cell(cell: Cell, bounds: tuple[float, float | None]) -> Iterator[Finding]:
    sound = f"≤ {bounds[0]:.3g} (Theorem 5 at its radii)"
    found = one_more_run(cell.lowest)
    setting = f"{cell.name}: lowest test loss"
    if cell.paper is None:
        yield Finding(setting, None, found.value, found.ends, "measured", sound)
        return
    loss, epoch = cell.paper
    if cell.length < epoch:
        yield Finding(f"{setting} by epoch {cell.length}", loss, found.value, found.ends, "inconclusive", sound)
        return
    yield Finding(setting, loss, found.value, found.ends, _compared(cell), sound)
    then = one_more_run(cell.at(epoch))
    setting = f"{cell.name}: test loss at the paper's epoch {epoch}"
    yield Finding(setting, loss, then.value, then.ends, tells(then, cell))
    when = prediction_interval(cell.epochs)
    setting, said = f"{cell.name}: epoch of the lowest test loss", tells(when, cell, column=1)
    if cell.falling:
        setting += f" ({cell.falling} of {len(cell.rows)} runs still improve at the end)"
        said = "inconclusive"
    yield Finding(setting, epoch, when.value, (max(0.0, when.low), when.high), said)


def _compared(cell: Cell) -> str:
    """The lowest loss against the paper's; while it still falls, a longer run could reach a paper's number below it."""
    found = one_more_run(cell.lowest)
    out_of_reach_yet = cell.paper is not None and cell.falling > 0 and cell.paper[0] < found.low
    return "inconclusive" if out_of_reach_yet else tells(found, cell)


def _of_width(name: str, row: Sequence[Cell]) -> Iterator[Finding]:
    """Does the loss fall with N? Over the whole range, and from one of the paper's sizes to the next."""
    if len(row) < 2:
        return
    sizes = f"N = {row[0].n:,} to {row[-1].n:,}"
    theirs = {float(n): [loss] for (d_m, n), (loss, _) in PAPER_TABLE_1.items() if d_m == row[0].d_m}
    claimed = "< 0" + (f" ({power_law(theirs).value:.2f} in its table)" if len(theirs) > 1 else "")
    found = _exponent(row, _lowest)
    yield Finding(f"{name}: exponent of N in the lowest test loss, {sizes}", claimed, *_said(found, 0.0))
    last = min(cell.length for cell in row)
    found = _exponent(row, _at(last))
    yield Finding(f"{name}: exponent of N in the test loss at epoch {last}, {sizes}", "< 0", *_said(found, 0.0))
    known = [cell for cell in row if cell.paper is not None]
    for small, large in itertools.pairwise(known):
        over, under = large.paired(small, _lowest)
        if len(over) and small.paper is not None and large.paper is not None:
            setting = f"{name}: lowest test loss at N = {large.n:,} over that at N = {small.n:,}"
            claimed = f"< 1 ({large.paper[0] / small.paper[0]:.2f} in its table)"
            yield Finding(setting, claimed, *_said(ratio(over, under, paired=True), 1.0))


def _said(found: Interval, level: float) -> tuple[float | None, tuple[float, float], str]:
    return (None if math.isnan(found.value) else found.value), found.ends, falls(found, level)


def _of_reading(name: str, found: Sequence[Cell]) -> Iterator[Finding]:
    for cell in found:
        interval = one_more_run(cell.lowest)
        paper = None if cell.paper is None or cell.length < cell.paper[1] else cell.paper[0]
        said = "measured" if paper is None else _compared(cell)
        yield Finding(f"{cell.name}, {name}: lowest test loss", paper, interval.value, interval.ends, said)


def _exponent(row: Sequence[Cell], values: Callable[[Cell], Vector]) -> Interval:
    points, paired = paired_by_size(row, values)
    return power_law(points, paired=paired)


def _factors(cell: Cell, others: Mapping[str, Sequence[Cell]]) -> dict[str, float]:
    """By what the lowest test loss of a cell changes: largest over smallest geometric mean, for every open question."""
    same = [c for found in others.values() for c in found if (c.d_m, c.n) == (cell.d_m, cell.n)]
    if not same:
        return {}
    factors = {}
    for question, name in (("pixels", "pixel scaling"), ("tokens", "tokenisation"), ("logits", "one or two logits")):
        varied = [c for c in same if reading(c.rows[0].config)[question] != BASE[question]]
        if varied:
            means = [one_more_run(c.lowest).value for c in (cell, *varied)]
            factors[name] = max(means) / min(means)
    stopped = cell.at(min(cell.length, cell.paper[1] if cell.paper else cell.length))
    factors["stopping"] = one_more_run(stopped).value / one_more_run(cell.lowest).value
    if len(cell.rows) > 1:
        factors["seed"] = float(cell.lowest.max() / cell.lowest.min())
    return factors


def _theorem_5(cell: Cell) -> tuple[float, float | None]:
    """Theorem 5 at the networks that were found, largest over seeds: the best sound variant, and the printed formula.

    Radii are those that each run moved, as if they had been fixed beforehand. The printed formula needs alpha, which is
    0 where d_m < N; elsewhere it was not measured.
    """
    sound, printed = [], []
    for row in cell.rows:
        low, high = scale(np.array([[[0, 255]]], np.uint8), row.config["pixels"], np.float64).values.ravel()
        side = math.sqrt(PIXELS_PER_TOKEN)
        found = certiformer.bound(
            "mwigo.thm5",
            n=cell.n,
            ds=TOKENS[row.config["tokens"]],
            d=PIXELS_PER_TOKEN,
            dm=cell.d_m,
            RX=side * float(max(abs(low), abs(high))),
            rho=side * float(high - low) / 2.0,
            # a larger ball is still a ball around the initial weights: one that was never left has no radius
            **{name: max(radius, 1e-6) for name, radius in row.values["moved"].items()},
            **row.values["start"],
            # enters the printed side only
            alpha=1e-300,
            delta=DELTA,
            LS=row.values["train"],
            ymax=1.0,
        )
        assert found.best is not None
        sound.append(found.sound[found.best].value)
        printed.append(found.printed["value"].value)
    return max(sound), max(printed) if cell.d_m < cell.n else None


def _remarks(
    rows: Sequence[Row],
    base: Sequence[Cell],
    widths: Mapping[int, Sequence[Cell]],
    others: Mapping[str, Sequence[Cell]],
    factors: Mapping[Cell, Mapping[str, float]],
    bounds: Mapping[Cell, tuple[float, float | None]],
) -> Iterator[str]:
    comparable = [c for c in base if c.paper is not None and c.length >= c.paper[1] and len(c.rows) > 1]
    if comparable:
        for name, intervals in (
            ("lowest loss", [one_more_run(c.lowest) for c in comparable]),
            ("loss at the paper's epoch", [one_more_run(c.at(c.paper[1])) for c in comparable if c.paper]),
        ):
            said = [tells(found, cell) for found, cell in zip(intervals, comparable, strict=True)]
            inside = len(said) - said.count("does not agree")
            yield (
                f"{name.capitalize()}: in {inside} of {len(said)} cells of Table 1 that we ran as long as the paper's "
                "best epoch, the paper's number lies where one more run of ours would fall; "
                f"{said.count('agrees')} of these intervals can tell it from the paper's numbers for other N."
            )
    slopes = {d_m: _exponent(row, _lowest) for d_m, row in widths.items() if len(row) > 1}
    if slopes:
        down = [f"{d_m:,}" for d_m, slope in slopes.items() if slope.high < 0]
        yield (
            f"The lowest test loss falls with N, at a confidence of 95 %, at {len(down)} of {len(slopes)} widths"
            + (f": d_m = {', '.join(down)}." if down else ".")
        )
    for cell, found in factors.items():
        ranked = sorted(found.items(), key=lambda item: -max(item[1], 1.0 / item[1]))
        yield (
            f"What the lowest test loss of {cell.name} hangs on, as the largest over the smallest value: "
            + ", ".join(f"{name} {factor:.2g}" for name, factor in ranked)
            + ". (Stopping: the loss at the paper's epoch over the lowest. Seed: under our own reading.)"
        )
    falling = sum(bool(row.values["falling"]) for row in rows)
    yield (
        f"{falling} of {len(rows)} runs had their lowest test loss at the last epoch: there, a longer run would report "
        "a lower loss and a later epoch."
    )
    peaks = {}
    for d_m, row in widths.items():
        risen = [float(r.arrays["test"].max() / r.arrays["test"][0]) for c in row for r in c.rows]
        peaks[d_m] = max(risen)
    unstable = [f"{peak:.3g} times its initial value at d_m = {d_m:,}" for d_m, peak in peaks.items() if peak > 1.5]
    if unstable:
        yield (
            "The step of 0.1 is too long for the first updates of wide networks: among recorded epochs the test loss "
            f"rises up to {', and '.join(unstable)}, before it falls."
        )
    diverged = sum(row.values["diverged"] is not None for row in rows)
    if diverged:
        yield f"{diverged} of {len(rows)} runs diverged; their lowest loss is from before."
    if base:
        cell = base[-1]
        sound, printed = bounds[cell]
        yield (
            f"Theorem 5, which the table is meant to support, says at {cell.name} that the true loss of the network "
            f"with the lowest test loss is at most {sound:.3g} (repaired, at the radii it moved, as if they had been "
            "fixed beforehand)"
            + ("" if printed is None else f" or {printed:.3g} (printed, constants read as 1)")
            + f"; its test loss is {one_more_run(cell.lowest).value:.3g}."
        )


def _figure_cells(widths: Mapping[int, Sequence[Cell]]) -> Plot:
    figure, axes = plots.panels(len(widths), sharey=True)
    for index, (panel, (d_m, row)) in enumerate(zip(axes, widths.items(), strict=True)):
        sizes = [cell.n for cell in row]
        found = [one_more_run(cell.lowest) for cell in row]
        means, low, high = ([getattr(f, end) for f in found] for end in ("value", "low", "high"))
        low = [end if end > 0 else mean for end, mean in zip(low, means, strict=True)]
        plots.band(panel, sizes, means, low, high, label="ours, with 95 % for one more run")
        for cell in row:
            panel.plot([cell.n] * len(cell.rows), cell.lowest, ".", color="0.35", ms=3, zorder=2)
        theirs = {n: loss for (width, n), (loss, _) in PAPER_TABLE_1.items() if width == d_m}
        plots.theory(panel, list(theirs), list(theirs.values()), label="paper, one run", printed=True)
        panel.plot(list(theirs), list(theirs.values()), "X", color=plots.PRINTED_COLOUR, ms=5, zorder=4)
        first = index == 0
        plots.label(
            panel,
            "training images N",
            "lowest test loss (nats)" if first else "",
            title=f"$d_m$ = {d_m:,}",
            log="xy",
            legend=False,
        )
        panel.yaxis.set_minor_formatter(NullFormatter())
    _legend(figure, axes[0])
    return Plot(
        figure,
        "Lowest test loss of a run against the number of training images: geometric mean over seeds, where one more "
        "run would fall, single runs (dots), and the paper's single runs (crosses).",
    )


def _figure_readings(shown: Sequence[Cell], others: Mapping[str, Sequence[Cell]]) -> Plot:
    names = [f"{SPOKEN['symmetric']},\n{SPOKEN['padded']},\n{SPOKEN['one']} (ours)", *others]
    figure, axes = plots.panels(len(shown), height=0.42 * len(names) + 0.9, sharex=True, sharey=True)
    for panel, base in zip(axes, shown, strict=True):
        for place, found in enumerate([[base], *others.values()]):
            for cell in (c for c in found if (c.d_m, c.n) == (base.d_m, base.n)):
                colour = plots.COLOURS[0]
                interval = one_more_run(cell.lowest)
                if interval.low > 0:
                    panel.plot(interval.ends, [place, place], color=colour, lw=5, alpha=0.25, solid_capstyle="butt")
                dots = [place] * len(cell.rows)
                first = place == 0
                panel.plot(cell.lowest, dots, "o", color=colour, ms=4, label="lowest" if first else None)
                if cell.paper is not None and cell.length >= cell.paper[1]:
                    at = "at the paper's epoch" if first else None
                    panel.plot(cell.at(cell.paper[1]), dots, "o", mfc="none", color="0.35", ms=4, label=at)
        if base.paper is not None:
            panel.axvline(base.paper[0], color=plots.PRINTED_COLOUR, ls="--", lw=1.3, label="paper")
        panel.set_yticks(range(len(names)), names)
        panel.set_ylim(len(names) - 0.5, -0.5)
        plots.label(panel, "test loss (nats)", "", title=base.name.replace("d_m", "$d_m$"), log="x", legend=False)
    low, high = axes[0].get_xlim()
    axes[0].xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 40.0 * low else (1.0,)))
    axes[0].xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes[0].xaxis.set_minor_formatter(NullFormatter())
    _legend(figure, axes[0])
    return Plot(
        figure,
        "The same cells under other readings of what the paper leaves open, one thing changed at a time: every seed, "
        "and where one more run would fall (bars).",
    )


def _legend(figure: Figure, axes: Axes) -> None:
    """One for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), fontsize=7.5, frameon=False)


STUDIES = (
    Study(
        id="mwigo.table1",
        paper="mwigo",
        title="Lowest test loss on MNIST zeros and ones, by width and sample size",
        claim=(
            "For each of the widths 64, 1,024 and 4,096 the lowest test loss of the trained encoder decreases as the "
            "number of training images grows from 400 over 1,200 to 10,000."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        probe=probe,
        readings=READINGS,
    ),
)
