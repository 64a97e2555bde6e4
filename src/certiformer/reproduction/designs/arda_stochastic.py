"""Arda et al., Proposition 1: projected stochastic gradient descent, its training loss against the number of steps."""

from __future__ import annotations

from collections.abc import Sequence

import certiformer
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._arda_width_grid import DIMENSION, RADIUS, RUN, step_size
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, mean_interval, ratio
from certiformer.reproduction.study import Analysis, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Config, Experiment, Row
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import rate_allowed

SIDES = {"paper": "printed", "sound": "sound"}


def experiment(scale: Scale) -> Experiment:
    """Horizons times sizes of mini-batches; 0 is the whole sample."""
    horizons, batches, seeds, base = {
        "smoke": ((4, 16), (2, 0), 2, {"width": 4, "n": 32, "n_more": 8, "pool": 64}),
        "quick": ((16, 64, 256), (1, 16, 0), 5, {"width": 16, "n": 250, "n_more": 50, "pool": 512}),
        "paper": ((16, 64, 256, 1024, 4096), (1, 16, 0), 10, {"width": 64, "n": 1000, "n_more": 250, "pool": 2048}),
    }[scale]
    cells = [{"teacher": "paper", **base, "batch": batch, "steps": steps} for steps in horizons for batch in batches]
    return Experiment("arda.projsgd", f"{RUN}_stochastic", seed_by_seed(cells, seeds))


def analyse(rows: Sequence[Row]) -> Analysis:
    """The mean loss along the steps: its exponent in their number, batch by batch, and both bounds."""
    table, notes = Table(rows), Notes()
    by_batch = dict(sorted(table.by("batch").items(), key=lambda entry: (not entry[0], entry[0])))
    series: list[Series] = []
    trends = {}
    for batch, part in by_batch.items():
        trends[batch] = Trend(
            f"mean training loss, {_called(batch)}, exponent in the number of steps",
            part,
            "steps",
            "mean",
            printed=Theory("the rate's -1/2", exponent=-0.5, claimed=False),
            paired=True,
            label=_called(batch),
        )
        drawn = notes.note(trends[batch])
        series += drawn[:1] if series else drawn
    limits = {}
    for side in SIDES:
        limits[side] = worst = max(
            (_over(part, side) for part in table.by(_cell).values()), key=lambda found: found.high
        )
        setting = f"mean training loss over the {SIDES[side]} bound, largest of all cells"
        notes.found(setting, worst, rate_allowed(worst, 1.0), **{side: "≤ 1"})
    for steps, part in table.by("steps").items():
        points = part.points("batch", "mean", paired=True)
        for batch in points:
            if batch and 0.0 in points:
                found = ratio(points[batch], points[0.0], paired=True)
                notes.found(f"mean training loss, {_called(int(batch))} / the whole sample, {steps:,} steps", found)
    small = min(by_batch, key=lambda batch: (not batch, batch))
    told = [
        f"{trend.slope.value:z.2f} with {_called(batch)}"
        for batch, trend in trends.items()
        if batch in (small, 0) and len(trend.points) > 1
    ]
    headline = (
        f"the mean training loss falls with the steps with exponent {' and '.join(told)}; it is at most "
        f"{limits['sound'].value:.0e} of the sound bound."
        if told
        else "one number of steps only: no rate."
    )
    caption = (
        "The training loss, averaged over all steps of a run, against their number, which also sets the step size. "
        "Lines: means over seeds; bands: 95 % intervals; dashed: the rate of Proposition 1 through the first point."
    )
    panel = Panel("number of steps", "mean training loss", series, "", "xy")
    return notes.analysis(headline, stochastic=Plot([panel], caption, columns=1))


def _called(batch: int) -> str:
    return f"mini-batches of {batch}" if batch else "the whole sample"


def _cell(config: Config) -> str:
    return repr((config["batch"], config["steps"], config["width"], config["n"]))


def _over(part: Table, side: str) -> Interval:
    """The mean over seeds of one cell over the bound; the sound one for steps of any length."""
    config = part.config
    radii = {f"{kind}_{block}": RADIUS for kind in ("rho", "nu") for block in "cuw"}
    found = certiformer.bound(
        "arda.prop1",
        activation="tanh",
        m=config["width"],
        d=DIMENSION,
        n=config["n"],
        delta=0.05,
        delta_R=0.05,
        eta=step_size(config["steps"]),
        tau=config["steps"],
        **radii,
    )
    limit = found.printed["value"] if side == "paper" else found.sound["any_step"]
    return mean_interval(part.column("mean")) / limit.value


STUDIES = (study("arda.projsgd", experiment, analyse),)
