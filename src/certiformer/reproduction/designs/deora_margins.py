"""Deora et al., Propositions 2 and 3: the NTK margin after the first phase, against formula (7) and the optimum."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from certiformer.reproduction.designs import _deora_theory as theory
from certiformer.reproduction.designs._deora_analysis import STARTS, mixture
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, mean_interval
from certiformer.reproduction.study import Analysis, Finding, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Experiment, Row
from certiformer.reproduction.trend import Notes
from certiformer.reproduction.verdicts import MEASURED, Verdict, bound_always, sign

NAME = "deora.margins"


def experiment(scale: Scale) -> Experiment:
    """Along the signal S, with two irrelevant patterns in twelve dimensions and noise that grows with the signal."""
    signals, n, n1, seeds = {
        "smoke": ((1.0, 2.0, 4.0), 20, 200, 2),
        "quick": ((0.5, 1.0, 2.0, 4.0), 100, 2000, 5),
        "paper": ((0.5, 1.0, 1.5, 2.0, 3.0, 4.0), 100, 2000, 10),
    }[scale]
    shape = {"heads": 4, "n": n, "n1": n1, "n_test": 1}
    cells = [{**shape, **mixture(S, tokens=8, zeta=0.25, d=12), "start": start} for S in signals for start in STARTS]
    return Experiment(NAME, f"{__package__}._deora_runs:run_margins", seed_by_seed(cells, seeds), version=2)


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    for start, part in table.by("start").items():
        _covered(notes, start, part)
    first = table.where(start="one-step")
    ratios = _formula_seven(notes, first)
    fails = [S for S, setting in _order(notes, first).items() if notes.word(setting) == "differs"]
    _remark(notes, table)
    headline = "no run after the first phase."
    if ratios:
        S = max(ratios, key=lambda signal: (len(first.where(S=signal)), -abs(signal - 2.0)))
        headline = (
            f"after the first phase the NTK margin is {ratios[S]} times formula (7) at S = {S:g}; the stated order "
            f"γ_attn ≥ γ_* fails at {len(fails)} of {len(ratios)} signals."
        )
    plot = Plot(
        [Panel("signal S", "NTK margin", _series(table), log="xy")],
        "NTK margin at norm √2, mean over seeds with 95 % intervals: the largest, by quadratic program, and that of "
        "the first gradient step; formulas of Proposition 2 with an exact first phase, where they are positive. "
        "γ_attn is a margin of the model, at another norm.",
        height=3.4,
    )
    return notes.analysis(headline, margins=plot)


def _lower_bound(row: Row) -> float:
    """The sound margin for this very start."""
    return theory.start_of(row.config, row.values["first_phase_error"], row.values["BPhi"], row.values["B2"]).gamma


def _covered(notes: Notes, start: str, table: Table) -> None:
    """Is the margin of the program positive, and at least the sound lower bound, in every run?"""
    positive = sum(row.values["margin"] > 0.0 for row in table)
    said = Verdict("not violated" if positive == len(table) else "violated", f"{positive} of {len(table)} positive")
    claimed = "all positive" if start == "one-step" else None
    notes.findings.append(
        Finding(f"runs with positive NTK margin (P3), {start} start", claimed, f"{positive} of {len(table)}", None,
                said if claimed else MEASURED)
    )  # fmt: skip
    ratios = [bound / row.values["margin"] for row in table if (bound := _lower_bound(row)) > 0.0]
    if ratios:
        setting = f"sound lower bound over the program's margin, largest, {start} start"
        notes.findings.append(Finding(setting, None, max(ratios), None, bound_always(ratios), "≤ 1"))


def _formula_seven(notes: Notes, table: Table) -> dict[float, Interval]:
    """The largest margin over formula (7) with an exact first phase, and the first step's margin over the largest."""
    found = {}
    for S, part in table.by("S").items():
        printed = _formula(part, "printed", "gamma")
        if printed > 0.0:
            found[S] = mean_interval(part.column("margin") / printed)
            notes.found(f"NTK margin after the first phase / formula (7), S = {S:g}", found[S])
        share = mean_interval(part.column(lambda row: row.values["first_step"] / row.values["margin"]))
        notes.found(f"margin of the first gradient step / the largest, after the first phase, S = {S:g}", share)
    return found


def _order(notes: Notes, table: Table) -> dict[float, str]:
    """gamma_attn >= gamma_*, with the program's margin for the latter, along the signal."""
    settings = {}
    for S, part in table.by("S").items():
        attention = theory.ordering(part.config).printed["gamma_attn"].value
        star = mean_interval(part.column("margin"))
        settings[S] = f"NTK margin after the first phase, S = {S:g}: at most γ_attn"
        notes.found(settings[S], star, sign(star, attention), paper=f"< {attention:.3g}")
    return settings


def _formula(table: Table, side: str, name: str) -> float:
    return float(getattr(theory.proposition_2(table.config, 0.0), side)[name].value)


def _remark(notes: Notes, table: Table) -> None:
    gaps = [1.0 - row.values["margin"] / row.values["margin_at_most"] for row in table if row.values["margin"] > 0.0]
    if gaps:
        notes.remarks.append(
            "The program's margin is certified from below by an explicit direction and from above by a convex "
            f"combination of samples; the two ends differ by at most {max(gaps):.1g} of the value in {len(gaps)} runs."
        )
    first = table.where(start="one-step")
    if len(first):
        as_it_was, exact = (
            sum(theory.proposition_2(row.config, P(row)).printed["gamma"].value > 0 for row in first)
            for P in (lambda row: row.values["first_phase_error"], lambda row: 0.0)
        )
        notes.remarks.append(
            f"With the error the first phase really had, the printed γ_* is positive in {as_it_was} of {len(first)} "
            f"runs; with none it is in {exact}."
        )


def _series(table: Table) -> list[Series]:
    series = []
    for start, part in table.by("start").items():
        for name, label in (("margin", "largest margin"), ("first_step", "first step's margin")):
            points = part.points("S", name)
            series.append(
                Series.means(f"{label}, {start} start", {x: y for x, y in points.items() if np.mean(y) > 0.0})
            )
    for label, side, which in (
        ("γ_*, printed (7)", "printed", "gamma"),
        ("γ_*, sound bound", "sound", "gamma_opt"),
        ("zero start, sound bound", "sound", "gamma_zero"),
    ):
        curve = table.curve("S", functools.partial(_formula, side=side, name=which))
        positive = {x: y for x, y in curve.items() if y > 0.0}
        series.append(Series.theory(label, positive, printed=side == "printed"))
    attention = table.curve("S", lambda part: theory.ordering(part.config).printed["gamma_attn"].value)
    return [*series, Series("γ_attn", list(attention), list(attention.values()), kind="paper")]


STUDIES = (study(NAME, experiment, analyse),)
