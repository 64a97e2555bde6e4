"""Depth: the excess risk against the number of layers, for contracting and for expanding layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from certiformer.reproduction.designs import _li_analysis
from certiformer.reproduction.designs._li_analysis import (
    HEAD,
    calibration,
    free_directions,
    in_units,
    level,
    rate,
    scaled,
)
from certiformer.reproduction.designs._li_theory import inputs_of, printed, printed_bound, sound
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import ratio
from certiformer.reproduction.study import Analysis, Scale, study
from certiformer.reproduction.sweep import Config, Experiment, Row
from certiformer.reproduction.trend import Notes
from certiformer.reproduction.verdicts import rate_allowed

ATTENTION = 1.0
NETWORK = {**HEAD, "d": 3, "k": 3, "attention": ATTENTION, "sigma": 0.001, "steps": 25}
NORMS = "li.thm5.3"
LAYER_CONSTANTS = (0.5, 1.0, 12.0)  # Lambda = B_c B_v (1 + 2 B_QK): contracting, neutral, expanding
RATE_LAYERS = 2
GRIDS: dict[Scale, dict[str, Any]] = {
    "smoke": {"seeds": 2, "test": 512, "n": 512, "layers": (1, 2), "rate": (256,)},
    "quick": {"seeds": 8, "test": 2048, "n": 4096, "layers": (1, 2, 3, 4, 5), "rate": (512, 1024, 2048, 8192)},
    "paper": {
        "seeds": 20,
        "test": 16384,
        "n": 16384,
        "layers": (1, 2, 3, 4, 5, 6),
        "rate": (512, 1024, 2048, 4096, 8192, 32768),
    },
}


def experiment(scale: Scale) -> Experiment:
    """L against three layer constants; and against n at one depth with expanding layers."""
    grid = GRIDS[scale]
    cells = []
    for constant in LAYER_CONSTANTS:
        # value and output matrices share the constant evenly
        norm = math.sqrt(constant / (1.0 + 2.0 * ATTENTION))
        at = {**NETWORK, "test": grid["test"], "layer_constant": constant, "value": norm, "output": norm}
        cells += [{**at, "layers": layers, "n": grid["n"], "restarts": 1} for layers in grid["layers"]]
        if constant == max(LAYER_CONSTANTS):
            cells += [{**at, "layers": RATE_LAYERS, "n": n, "restarts": 0} for n in grid["rate"]]
    return _li_analysis.experiment("li.depth", cells, grid["seeds"])


def analyse(rows: Sequence[Row]) -> Analysis:
    """Growth with L for every layer constant, the rate at one depth, and what both theories say about depth."""
    table, notes = Table(rows), Notes()
    searched = table.where(lambda row: row.config["restarts"] > 0)
    panels, told, most = [], list[str](), max(LAYER_CONSTANTS)
    for constant, chosen in searched.by("layer_constant").items():
        level(notes, chosen, f"Λ = {constant:g}", "<=")
        panels.append(Panel("layers L", "n · excess / σ²", _curves(chosen), f"Λ = {constant:g}", "y"))
        grown = _grown(notes, constant, chosen)
        told += grown if constant in (min(LAYER_CONSTANTS), most) else []
        reached = float(np.mean(chosen.column("random_fits")))
        notes.remarks.append(f"Λ = {constant:g}: {reached:.0%} of the random starts reach the teacher's training loss.")
    along = table.where(layer_constant=most, layers=RATE_LAYERS)
    name = f"Λ = {most:g}, L = {RATE_LAYERS}"
    panels.append(
        Panel("sample size n", "excess risk", rate(notes, along, f"{name}: slope in n"), f"{name}: rate", "xy")
    )
    if len(table):
        calibration(notes, table, sound)
    caption = (
        "Excess risk of L projected layers in units of σ²/n, mean and 95 % interval over seeds, started at the "
        "teacher, for layer constants Λ = B_c B_v (1 + 2 B_QK); beside the directions in which the class can move, "
        "those that a sample of this size resolves, Σ λ/(λ + σ²/n) over the eigenvalues λ of the information matrix, "
        "and the printed bound of Theorem 5.8, scaled to the first point. Last: the rate in n."
    )
    headline = "too few depths to compare."
    if told:
        headline = (
            f"where the printed bound grows with the layers L, the deepest network has {' and '.join(told)} "
            "the excess risk of the shallowest."
        )
    return notes.analysis(headline, depth=Plot(panels, caption, 2, 3.0))


def _curves(table: Table) -> list[Series]:
    """What was measured, and both theories; no power law, for the excess does not always grow or fall with L."""
    points = table.points("layers", scaled)
    bound = table.curve("layers", in_units(printed))
    first = min(points)
    resolved = table.curve("layers", lambda part: float(np.mean(part.column("resolved"))))
    through = {L: float(np.mean(points[first])) * value / bound[first] for L, value in bound.items()}
    return [
        Series.means("started at the teacher", points),
        Series.theory("printed bound, scaled", through, printed=True),
        Series.theory("free directions P", table.curve("layers", free_directions)),
        Series.theory("resolved at this n", resolved),
    ]


def _entrywise(config: Config) -> dict[str, Any]:
    """The inputs of Theorem 5.3 for a class that contains ours: ||W||_11 <= sqrt(d k min(d, k)) ||W||_2."""
    given = inputs_of(config)
    d, k = config["d"], config["k"]
    factor, square = math.sqrt(d * k * min(d, k)), d * math.sqrt(d)
    wider = {"Bc": factor * given["Bc"], "Bv": factor * given["Bv"], "BQK": square * given["BQK"]}
    return {name: value for name, value in (given | wider).items() if name not in ("rw", "rc", "rv", "rqk")}


def _grown(notes: Notes, constant: float, table: Table) -> list[str]:
    """From one layer to the deepest: what happened, and how much either bound grew."""
    depths = table.by("layers")
    if len(depths) < 2:
        return []
    first, last = depths[min(depths)], depths[max(depths)]

    def grown(bound: Callable[[Config], float]) -> float:
        return bound(last.config) / bound(first.config)

    found = ratio(last.column(scaled), first.column(scaled))
    setting = f"Λ = {constant:g}: excess at L = {max(depths):g} over that at L = {min(depths):g}"
    allowed = grown(printed)
    notes.found(setting, found, rate_allowed(found, allowed), paper=f"≤ {allowed:.3g}")
    ratios = {
        "excess": found.value,
        "printed, Theorem 5.8": grown(printed),
        "printed, Theorem 5.3": grown(lambda c: printed_bound(NORMS, _entrywise(c))),
        "sound, S2 of Theorem 5.8": grown(sound),
    }
    notes.fits[f"Λ = {constant:g}: growth from L = {min(depths):g} to {max(depths):g}"] = ratios
    notes.remarks.append(
        f"Λ = {constant:g}, from L = {min(depths):g} to {max(depths):g}: the excess changes by a factor "
        + ", ".join(f"{value:.2g} ({name})" for name, value in ratios.items())
        + "."
    )
    return [f"{ratios['excess']:.2g} times (Λ = {constant:g})"]


STUDIES = (study("li.depth", experiment, analyse),)
