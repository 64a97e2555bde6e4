"""Arda et al., the teacher and student of figure 1: errors against the sample size N and the sequence length T."""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.reproduction.panel import Panel, Plot
from certiformer.reproduction.papers._arda_width_grid import RUN, TOKENS
from certiformer.reproduction.papers.arda_figure_1 import bounds_hold
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.study import Analysis, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Experiment, Row
from certiformer.reproduction.trend import Notes, Theory, Trend

MEASURES = {
    "linearisation_largest": "largest linearisation error",
    "approximation": "largest approximation error",
    "training": "lowest training loss",
}
AXES = {"n": ("sample size N", "N"), "tokens": ("sequence length T", "T")}


def experiment(scale: Scale) -> Experiment:
    """One width and the paper's teacher: N at the figure's T, then T at one N."""
    sizes, lengths, n, seeds, base = {
        "smoke": ((32,), (2, TOKENS), 32, 2, {"width": 4, "pool": 64, "steps": 32}),
        "quick": ((125, 250, 500), (8, TOKENS, 32), 250, 5, {"width": 16, "pool": 512, "steps": 250}),
        "paper": (
            (250, 500, 1000, 2000, 4000),
            (4, 8, TOKENS, 32, 64),
            1000,
            10,
            {"width": 64, "pool": 2048, "steps": 1000},
        ),
    }[scale]
    pairs = dict.fromkeys([*((size, TOKENS) for size in sizes), *((n, length) for length in lengths)])
    cells = [{"teacher": "paper", **base, "n": size, "n_more": size // 4, "tokens": T} for size, T in pairs]
    return Experiment("arda.independence", RUN, seed_by_seed(cells, seeds))


def analyse(rows: Sequence[Row]) -> Analysis:
    """Exponents of medians over seeds, in N and in T."""
    table, notes = Table(rows), Notes()
    by_size = table.by("n")
    along = {
        "n": table.where(tokens=TOKENS),
        "tokens": max(by_size.values(), key=lambda part: len(part.by("tokens"))),
    }
    trends = {(x, measure): _trend(part, x, measure) for x, part in along.items() for measure in MEASURES}
    panels = []
    for x, part in along.items():
        series = [notes.note(trends[x, measure])[0] for measure in MEASURES if trends[x, measure].points]
        name, letter = AXES[x]
        setting = f"lowest training loss as a part of that at the start, exponent in {letter}"
        notes.note(Trend(setting, part, x, _part, centre="median", paired=True))
        panels.append(Panel(name, "error", series, f"against {letter}", "xy"))
    bounds_hold(notes, table)
    told = [
        f"{AXES[x][1]} from {min(trend.points):,g} to {max(trend.points):,g} with exponent {trend.slope.value:z.2f}"
        for (x, measure), trend in trends.items()
        if measure == "training" and len(trend.points) > 1
    ]
    headline = (
        f"the lowest training loss changes with {' and with '.join(told)}." if told else "one cell only: no trend."
    )
    caption = (
        "The three errors of figure 1 at one width, with the paper's teacher, against the sample size and against the "
        "sequence length. Lines: medians over seeds, with fitted slopes; bands: their 95 % intervals."
    )
    return notes.analysis(headline, independence=Plot(panels, caption, columns=2, shared=True))


def _part(row: Row) -> float:
    return float(row.values["training"] / row.values["training_at_start"])


def _trend(table: Table, x: str, measure: str) -> Trend:
    """The claim is about the loss. That a lemma's bound has no T allows errors below it to grow with T."""
    name, claimed = AXES[x][1], measure == "training"
    if x == "n" and measure != "linearisation_largest":
        said = Theory("√log N", lambda part: math.sqrt(math.log(part.config["n"])), relation="<=", claimed=claimed)
    else:
        said = Theory("no growth", exponent=0.0, relation="<=", claimed=claimed)
    return Trend(
        f"{MEASURES[measure]}, exponent in {name}",
        table,
        x,
        measure,
        printed=said,
        centre="median",
        paired=True,
        label=MEASURES[measure],
    )


STUDIES = (study("arda.independence", experiment, analyse),)
