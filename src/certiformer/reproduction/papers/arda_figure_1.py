"""Arda et al., figure 1: linearisation error, approximation error and training loss against the width m."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import certiformer
from certiformer.reproduction.panel import Panel, Plot
from certiformer.reproduction.papers._arda_width_grid import DIMENSION, PARTS, RADIUS, experiment, step_size
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.study import Analysis, Finding, study
from certiformer.reproduction.sweep import Row
from certiformer.reproduction.trend import Notes, Theory, Trend, fitted_exponent
from certiformer.reproduction.verdicts import bound_always, bound_frequency

MEASURES = {
    "linearisation": "linearisation error, mean over inputs",
    "linearisation_largest": "linearisation error, largest over inputs",
    "approximation": "approximation error, largest over inputs",
    "approximation_released": "approximation error with the teacher's own features, as released",
    "training": "lowest training loss",
}
LEMMA = {"linearisation": "arda.lem3", "approximation": "arda.lem5", "training": "arda.thm1"}
TITLES = {"paper": "the paper's teacher", "released_diagonal": "the released teacher"}
LABELS = {"paper": "paper's", "released_diagonal": "released"}
PAPER_EXPONENT = -0.5


def analyse(rows: Sequence[Row]) -> Analysis:
    """Exponents of medians in m, as the released plots fit them, beside the paper's -1/2 and those of the bounds."""
    table, notes = Table(rows), Notes()
    by_teacher = table.by("teacher")
    # the released teacher made the figure
    teachers = [name for name in ("released_diagonal", "paper") if name in by_teacher]
    trends = {
        (measure, teacher): _trend(by_teacher[teacher], measure, teacher)
        for measure in MEASURES
        for teacher in teachers
        if _shown(measure, teacher, teachers)
    }
    for trend in trends.values():
        notes.note(trend)
    bounds_hold(notes, table)
    _durations(notes, by_teacher)
    _remarks(notes, table)
    shown = {
        "linearisation error at radius 3": ("|f - f_lin|", ("linearisation", "linearisation_largest")),
        "approximation error, by teacher": ("largest |f_lin - y|", ("approximation", "approximation_released")),
        "training loss, by teacher": ("lowest mean of (f - y)²", ("training",)),
    }
    panels = []
    for title, (y, measures) in shown.items():
        chosen = [trend for (measure, _), trend in trends.items() if measure in measures]
        series = [one for trend in chosen for one in trend.series()[:1]]
        if chosen:
            series += chosen[0].series()[1:2]
        panels.append(Panel("width m (heads)", y, series, title, "xy"))
    caption = (
        "Three errors against the width, for the teacher of the released program and for the paper's; own features: "
        "those of the released teacher, which the student does not have. "
        "Lines: medians over seeds, with the slope fitted to them; bands: 95 % "
        "intervals of the medians; dashed: the paper's slope through the first point."
    )
    told = [
        f"{measure} {trend.slope.value:z.2f} ({notes.word(trend.name)})"
        for (measure, teacher), trend in trends.items()
        if measure in LEMMA and teacher == teachers[0] and len(trend.points) > 1
    ]
    widths = list(table.by("width"))
    seeds = len(table.where(teacher=teachers[0]).seeds)
    return notes.analysis(
        f"with {TITLES[teachers[0]]}, exponents in the width, m = {widths[0]} to {widths[-1]} ({seeds} "
        f"seed{'s' if seeds > 1 else ''}), beside the paper's -1/2: {'; '.join(told) or 'one width only'}.",
        figure_1=Plot(panels, caption, height=2.9),
    )


def _trend(table: Table, measure: str, teacher: str) -> Trend:
    result = measure.split("_")[0]
    widths = list(table.by("width"))
    where = "" if result == "linearisation" else f", {TITLES[teacher]}"
    sound = None
    if len(widths) > 1 and measure != "approximation_released":
        after = " after unlimited steps" if result == "training" else ""
        sound = Theory(f"slope of the sound bound{after}", exponent=sound_exponent(result, widths), claimed=False)
    short = {"linearisation": "mean", "linearisation_largest": "largest", "approximation_released": "own features"}
    return Trend(
        f"{MEASURES[measure]}{where}, exponent in m",
        table,
        "width",
        measure,
        printed=Theory("the paper's -1/2", exponent=PAPER_EXPONENT),
        sound=sound,
        centre="median",
        paired=True,
        label=short.get(measure, LABELS[teacher]),
    )


def sound_exponent(name: str, widths: Sequence[int]) -> float:
    """The slope of the registered bound between these widths; for the loss after unlimited steps."""
    values = []
    for m in widths:
        bounds = _bounds(LEMMA[name], m)
        if name == "training":
            bounds = _bounds(LEMMA[name], m, eta=bounds.sound["eta_suggested"].value)
        values.append(bounds.sound["value"].value)
    return fitted_exponent(widths, values)


def _bounds(id: str, m: int, **inputs: Any) -> Any:
    """A registered result at the setting of the experiment; unlimited steps unless told otherwise."""
    rho = {f"rho_{block}": RADIUS for block in "cuw"}
    nu = {f"nu_{block}": RADIUS for block in "cuw"}
    common: dict[str, Any] = {"activation": "tanh", "m": m, "d": DIMENSION}
    per_result = {
        "arda.lem3": {**rho, "delta_R": 0.05},
        "arda.lem5": {**nu, "n": 5000, "delta": 0.05},
        "arda.thm1": {**rho, **nu, "delta_R": 0.05, "n": 4000, "delta": 0.05, "eta": 1e-3, "tau": 10**15},
    }
    return certiformer.bound(id, **(common | per_result[id] | inputs))


def _shown(measure: str, teacher: str, teachers: Sequence[str]) -> bool:
    """Linearisation does not depend on the teacher; the paper's teacher has the student's features."""
    if measure.startswith("linearisation"):
        return teacher == teachers[0]
    return measure != "approximation_released" or teacher == "released_diagonal"


def bounds_hold(notes: Notes, table: Table) -> None:
    """Measured error over its sound bound, run by run: Lemma 3 at the initial norms, Lemma 5 with probability 0.95."""
    surely, likely = [], []
    for row in table:
        m, norms = row.config["width"], [float(norm) for norm in row.arrays["u_norms"]]
        surely.append(row.values["linearisation_largest"] / _bounds("arda.lem3", m, u_norms=norms).sound["init"].value)
        if row.config["teacher"] == "paper":
            inputs = row.config["n"] + row.config["n_more"]
            likely.append(row.values["approximation"] / _bounds("arda.lem5", m, n=inputs).sound["value"].value)
    setting = "largest linearisation error over its sound bound (Lemma 3)"
    notes.findings.append(Finding(setting, None, max(surely), None, bound_always(surely), "≤ 1"))
    if likely:
        verdict = bound_frequency(sum(ratio > 1.0 for ratio in likely), len(likely), 0.05)
        setting = "largest approximation error over its sound bound (Lemma 5)"
        notes.findings.append(Finding(setting, None, max(likely), None, verdict, "≤ 1"))


def _durations(notes: Notes, by_teacher: Mapping[str, Table]) -> None:
    """The exponent of the training loss when training ends after 1/16, 1/8, ... of the steps."""
    for teacher, table in by_teacher.items():
        for k, part in enumerate(PARTS):
            if k in (0, len(PARTS) - 1):
                after = functools.partial(_training_after, k)
                name = f"training loss after 1/{part} of the steps, {TITLES[teacher]}, exponent in m"
                notes.note(Trend(name, table, "width", after, centre="median", paired=True))


def _training_after(k: int, row: Row) -> float:
    return float(row.arrays["training_after"][k])


def _remarks(notes: Notes, table: Table) -> None:
    held = sum(row.values["travelled"] >= 1.0 - 1e-4 for row in table)
    steps, m = max(row.config["steps"] for row in table), max(row.config["width"] for row in table)
    curvature = step_size(steps) * _bounds("arda.thm1", m).sound["G2"].value
    notes.remarks.append(
        f"The projection held a block in {held} of {len(table)} runs; the longest way was "
        f"{np.max(table.column('travelled')):.2g} of the radius. The step times the sound bound on the squared "
        f"gradient is {curvature:.2g} at m = {m}"
        + ("; Theorem 1 needs it below 1, so that it certifies nothing here." if curvature >= 1.0 else ".")
    )


STUDIES = (study("arda.fig1", experiment, analyse, cell=("teacher", "width")),)
