"""Ranks or parameters: the excess risk of low-rank heads against the dimension d and against the rank r."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certiformer.reproduction.designs import _li_analysis
from certiformer.reproduction.designs._li_analysis import HEAD, at, broken, calibration, growth, rate
from certiformer.reproduction.designs._li_theory import printed, sound
from certiformer.reproduction.panel import Panel, Plot
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.study import Analysis, Scale, study
from certiformer.reproduction.sweep import Config, Experiment, Row
from certiformer.reproduction.trend import Notes, Theory, Trend

GRIDS: dict[Scale, dict[str, Any]] = {
    "smoke": {
        "seeds": 2,
        "test": 512,
        "n": 512,
        "d": (3, 4),
        "r": (1, 0),
        "r_d": 4,
        "rate": (256,),
        "rate_d": 4,
        "exact_n": 10**5,
        "exact_d": (4, 64),
    },
    "quick": {
        "seeds": 10,
        "test": 4096,
        "n": 4096,
        "d": (4, 6, 8, 12, 16),
        "r": (1, 2, 3, 4, 0),
        "r_d": 8,
        "rate": (512, 1024, 2048, 8192),
        "rate_d": 8,
        "exact_n": 10**7,
        "exact_d": (4, 16, 64, 256, 1024),
    },
    "paper": {
        "seeds": 20,
        "test": 16384,
        "n": 16384,
        "d": (4, 6, 8, 12, 16, 24, 32),
        "r": (1, 2, 3, 4, 6, 8, 0),
        "r_d": 12,
        "rate": (512, 1024, 2048, 4096, 8192, 32768),
        "rate_d": 8,
        "exact_n": 10**8,
        "exact_d": (4, 16, 64, 256, 1024, 4096),
    },
}


def experiment(scale: Scale) -> Experiment:
    """Rank one against d; rank against r at one d (0 stands for full); rank one against n; the l2 ball against d."""
    grid = GRIDS[scale]
    head = {**HEAD, "kind": "head", "attention": 16.0, "sigma": 0.02, "test": grid["test"]}
    cells = [{**head, "n": grid["n"], "d": d, "k": 4, "rank": 1, "restarts": 1} for d in grid["d"]]
    wide = {**head, "n": grid["n"], "d": grid["r_d"], "k": grid["r_d"], "restarts": 1}
    cells += [{**wide, "rank": r} for r in grid["r"] if wide["k"] != 4 or r != 1]
    cells += [{**head, "n": n, "d": grid["rate_d"], "k": 4, "rank": 1, "restarts": 0} for n in grid["rate"]]
    cells += [{"kind": "ball", "norm": "two", "n": grid["exact_n"], "d": d} for d in grid["exact_d"]]
    return _li_analysis.experiment("li.rank", cells, grid["seeds"])


def analyse(rows: Sequence[Row]) -> Analysis:
    """The growth with d and with r, against what ranks and what parameters predict."""
    table, notes = Table(rows), Notes()
    heads, ball = table.where(kind="head"), table.where(kind="ball")
    searched = heads.where(lambda row: row.config["restarts"] > 0)
    thin = searched.where(k=4, rank=1)
    wide = max((row.config["d"] for row in searched if row.config["rank"] != 1), default=0)
    square = searched.where(d=wide, k=wide)
    rate_d = max((row.config["d"] for row in heads if not row.config["restarts"]), default=0)
    along = heads.where(k=4, d=rate_d, rank=1)
    units = "n · excess / σ²"
    panels = [
        Panel("token dimension d", units, growth(notes, thin, "d", "rank one, exponent in d", printed),
              "rank one: dimension", "xy"),
        Panel("rank r", units, growth(notes, square, _rank, f"d = k = {wide}, exponent in r", printed),
              f"rank, d = k = {wide}", "xy"),
    ]  # fmt: skip
    exact = Trend(
        f"exact example, n = {ball.config['n']:.0e}, exponent in d" if len(ball) else "exact example",
        ball,
        "d",
        "local",
        printed=Theory("printed, Theorem B.4", at(printed), claimed=False),
        sound=Theory("sound (S2)", at(sound), claimed=False),
        label="exact least squares",
    )
    panels.append(Panel("dimension d", "excess risk", notes.note(exact), "exact example of rank one", "xy"))
    start = broken(notes, ball, "d", printed, "exact example: excess over printed bound (B.4), largest, d = {}")
    panels.append(
        Panel("sample size n", "excess risk", rate(notes, along, f"rank one, d = {rate_d}: slope in n"),
              f"rank one, d = {rate_d}: rate in n", "xy")
    )  # fmt: skip
    if len(heads):
        calibration(notes, heads, sound)
    if len(searched):
        notes.remarks.append(
            f"From a random start {np.mean(searched.column('random_fits')):.0%} of the fits reach the teacher's "
            "training loss. The levels are those of the estimate started at the teacher."
        )
    headline = f"inside the rank-one class the excess risk grows with the dimension, with exponent {exact.slope}"
    if start is not None:
        headline += f"; the printed bound, which knows no dimension, is violated from d = {start:g} on"
    caption = (
        "Excess risk of low-rank classes, mean and 95 % interval over seeds. Top: in units of σ²/n against the "
        "dimension at rank one, and against the rank; the printed bound is scaled to the first point. Bottom left: "
        "regression inside the rank-one class, solved exactly, with the bounds themselves. Bottom right: the rate."
    )
    return notes.analysis(f"{headline}.", rank=Plot(panels, caption, columns=2, height=3.0))


def _rank(config: Config) -> float:
    return float(config["rank"] or min(config["d"], config["k"]))


STUDIES = (study("li.rank", experiment, analyse),)
