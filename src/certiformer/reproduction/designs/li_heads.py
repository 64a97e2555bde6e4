"""Heads: the excess risk against their number, with norms for each head or a budget shared by all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certiformer.reproduction.designs import _li_analysis
from certiformer.reproduction.designs._li_analysis import HEAD, at, calibration, growth, rate, scaled
from certiformer.reproduction.designs._li_theory import printed, sound
from certiformer.reproduction.panel import Panel, Plot
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.study import Analysis, Scale, study
from certiformer.reproduction.sweep import Experiment, Row
from certiformer.reproduction.trend import Notes, Theory, Trend, fitted_exponent

RATE_HEADS = 4
GRIDS: dict[Scale, dict[str, Any]] = {
    "smoke": {"seeds": 2, "test": 512, "n": 512, "heads": (1, 2), "rate": (256,)},
    "quick": {"seeds": 8, "test": 4096, "n": 8192, "heads": (1, 2, 3, 4, 6, 8), "rate": (512, 1024, 2048, 4096)},
    "paper": {
        "seeds": 10,
        "test": 16384,
        "n": 32768,
        "heads": (1, 2, 3, 4, 6, 8, 12, 16),
        "rate": (1024, 2048, 4096, 8192, 16384),
    },
}


def experiment(scale: Scale) -> Experiment:
    """Readouts of norm 1 for every head, or 1/H, against H; and against n at one H with the shared budget."""
    grid = GRIDS[scale]
    head = {**HEAD, "d": 3, "k": 3, "attention": 8.0, "sigma": 0.02, "test": grid["test"]}
    cells = []
    for heads in grid["heads"]:
        at = {**head, "heads": heads, "n": grid["n"], "restarts": 1}
        cells.append({**at, "readout": 1.0 / heads, "budget": "shared"})
        cells.append({**at, "readout": 1.0, "budget": "each"})
    heads = min(RATE_HEADS, max(grid["heads"]))
    cells += [
        {**head, "heads": heads, "readout": 1.0 / heads, "budget": "shared", "n": n, "restarts": 0}
        for n in grid["rate"]
    ]
    return _li_analysis.experiment("li.heads", cells, grid["seeds"])


def analyse(rows: Sequence[Row]) -> Analysis:
    """Growth with H under both budgets, the rate in n, and the sound bound's growth."""
    table, notes = Table(rows), Notes()
    searched = table.where(lambda row: row.config["restarts"] > 0)
    alone = max((row.config["heads"] for row in rows if not row.config["restarts"]), default=0)
    along = table.where(heads=alone, budget="shared")
    shared, each = searched.where(budget="shared"), searched.where(budget="each")
    units = "n · excess / σ²"
    panels = [
        Panel("heads H", units, growth(notes, shared, "heads", "norms 1/H, exponent in H", printed),
              "norms 1/H: budget shared", "xy"),
        Panel("heads H", units, growth(notes, each, "heads", "norms 1 each, exponent in H", printed),
              "norms 1 for each head", "xy"),
        Panel("sample size n", "excess risk", rate(notes, along, f"H = {alone}: slope in n"),
              f"H = {alone}: rate in n", "xy"),
    ]  # fmt: skip
    if len(table):
        calibration(notes, table, sound)
    for name, chosen in (("norms 1/H", shared), ("norms 1 each", each)):
        curve = chosen.curve("heads", at(sound))
        if len(curve) > 1:
            bound = fitted_exponent(list(curve), list(curve.values()))
            notes.fits[f"{name}: exponent in H of the sound bound"] = bound
            notes.remarks.append(f"With {name} the sound bound (S2) grows like H^{bound:.2f}.")
    if len(searched):
        reached = {heads: float(np.mean(part.column("random_fits"))) for heads, part in searched.by("heads").items()}
        shares = ", ".join(f"{share:.0%} at H = {heads}" for heads, share in reached.items())
        notes.remarks.append(f"From a random start the teacher's training loss is reached by {shares}.")
    said = Theory("", at(printed))
    grown = Trend("", shared, "heads", scaled, said)
    caption = (
        "Excess risk of H heads in units of σ²/n, mean and 95 % interval over seeds, started at the teacher, beside "
        "the directions in which the class can move, and the printed bound, scaled to the first point. Left: the norm "
        "of the readout is shared by the heads, so the class has the same range for every H."
    )
    headline = "too few numbers of heads for an exponent."
    if len(grown.points) > 1:
        headline = (
            "with a shared budget of norms the excess risk changes with the number of heads with exponent "
            f"{grown.slope}, the printed bound with exponent {grown.said(said):.2g}."
        )
    return notes.analysis(headline, heads=Plot(panels, caption, 2, 3.0))


STUDIES = (study("li.heads", experiment, analyse),)
