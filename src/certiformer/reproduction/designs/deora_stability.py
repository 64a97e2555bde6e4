"""Deora et al., Theorem 2: leave-one-out distances and gap of gradient descent against the sample size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from certiformer.reproduction.designs import _deora_theory as theory
from certiformer.reproduction.designs._deora_analysis import at, mixture, named, octaves
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import mean_interval, power_law
from certiformer.reproduction.study import Analysis, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Experiment, Row
from certiformer.reproduction.trend import Notes, Theory, Trend, fitted_exponent
from certiformer.reproduction.verdicts import rate_allowed

NAME = "deora.stability"
MIXTURE = mixture(1.0, tokens=4, zeta=0.5, d=8)
ETA = 0.375  # below 1/beta2 at the zero start and after the first phase: both can be certified at this step size
FEW, ENOUGH = 4, 2**24  # fewer heads than any theorem asks for, and enough for the sound Theorem 2
PAPER_EXPONENT = -1.0  # the paper: stability and gap of order 1/n


def experiment(scale: Scale) -> Experiment:
    """Starts with few heads and with enough, against the sample size."""
    sizes, last, seeds = {
        "smoke": ((8, 12), 16, 2),
        "quick": ((8, 16, 32, 64, 128), 128, 5),
        "paper": ((8, 16, 32, 64, 128, 256), 1024, 10),
    }[scale]
    kinds = [("zero", FEW), ("zero", ENOUGH), ("one-step", ENOUGH)][: 2 if scale == "smoke" else 3]
    common = {**MIXTURE, "n1": 2000, "n_test": 1, "eta": ETA, "checkpoints": octaves(8, last, 1)}
    cells = [{**common, "start": start, "heads": heads, "n": n} for start, heads in kinds for n in sizes]
    return Experiment(NAME, f"{__package__}._deora_runs:run_stability", seed_by_seed(cells, seeds), version=2)


WHAT = {
    "stability": "mean leave-one-out distance",
    "left_out_gap": "gap by leave-one-out",
}


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    kinds = table.by(named)
    trends = {}
    for what, title in WHAT.items():
        for kind, part in kinds.items():
            sizes = list(part.by("n"))
            name = f"exponent in n, {sizes[0]}–{sizes[-1]}, of the {title}, {kind}"
            order = Theory("order 1/n", exponent=PAPER_EXPONENT, relation="<=")
            trends[what, kind] = Trend(name, part, "n", at(what), order, paired=True, label=kind)
            notes.note(trends[what, kind])
    bounds = {kind: _bounds(part) for kind, part in kinds.items()}
    for kind, part in kinds.items():
        _levels(notes, kind, part, bounds[kind])
        _steps_exponent(notes, kind, part)
    panels = []
    for what, variant in (("stability", "stability"), ("left_out_gap", "gap")):
        series = [one for kind in kinds for one in trends[what, kind].series()[:1]]
        for of in [of for of in bounds.values() if any(math.isfinite(e.sound["gap"].value) for e in of.values())][:1]:
            printed = {n: each.printed["value" if variant == "gap" else variant].value for n, each in of.items()}
            series.append(Series.theory("Theorem 2, sound", {n: each.sound[variant].value for n, each in of.items()}))
            series.append(Series.theory("Theorem 2, printed", printed, printed=True))
        panels.append(Panel("sample size n", WHAT[what], series, log="xy"))
    first = next(iter(trends.values())).slope if trends else mean_interval([])
    said = [f.verdict.word == "violated" for f in notes.findings if "Theorem 2, sound" in f.setting]
    return notes.analysis(
        f"removing one of n samples moves gradient descent by a distance with exponent {first} in n; the sound "
        f"Theorem 2 is violated in {sum(said)} of {len(said)} comparisons.",
        stability=Plot(
            panels,
            "Distance between the runs with and without a sample, and the gap, with 95 % intervals over seeds; "
            "Theorem 2 for the first kind of run that it certifies.",
            height=3.2,
        ),
    )


def _largest(table: Table) -> Table:
    return table.by("n")[max(table.by("n"))]


def _steps_exponent(notes: Notes, kind: str, table: Table) -> None:
    """How the distance grows with K at the largest n: the theorem's target lies at a distance of order log K."""
    last = _largest(table)
    steps = last.config["checkpoints"]
    late = {k: i for i, k in enumerate(steps) if 8 * k >= steps[-1]}
    slope = power_law({k: last.column(at("stability", i)) for k, i in late.items()}, paired=True)
    allowed = fitted_exponent(list(late), [math.log(k) ** 2 for k in late])
    if not math.isnan(allowed):
        setting = f"exponent in K, {min(late)}–{max(late)}, of the {WHAT['stability']}, {kind}: order log(K)²"
        notes.found(setting, slope, rate_allowed(slope, allowed), paper=f"≤ {allowed:.3g}")


def _start(table: Table) -> theory.Start:
    """The start that covers every run of a kind: largest first-phase error, output and head."""
    worst = {name: float(np.max(table.column(name))) for name in ("first_phase_error", "BPhi", "B2")}
    return theory.start_of(table.config, worst["first_phase_error"], worst["BPhi"], worst["B2"])


def _bounds(table: Table) -> dict[int, Any]:
    """Theorem 2 after all steps, at every sample size; nothing with too few heads."""
    start, K = _start(table), table.config["checkpoints"][-1]
    claims = {"independent": True, "almost_sure": True}
    found = {n: theory.theorem("deora.thm2", table.config, start, K, n=n, **claims) for n in table.by("n")}
    return {n: each for n, each in found.items() if each is not None}


def _levels(notes: Notes, kind: str, table: Table, bounds: dict[int, Any]) -> None:
    """Distance and gap at the largest n over Theorem 2, printed and sound, by the same reading."""
    last = _largest(table)
    bound = bounds.get(last.config["n"])
    for name, variant in (("stability", "stability"), ("left_out_gap", "gap")):
        found = mean_interval(last.column(at(name)))
        setting = f"{WHAT[name]}, n = {last.config['n']}, K = {last.config['checkpoints'][-1]}, {kind}"
        if bound is None or not math.isfinite(bound.sound[variant].value):
            notes.found(f"{setting} (Theorem 2 asks for more heads)", found)
            continue
        printed = bound.printed["value" if variant == "gap" else variant].value
        notes.sides(f"{setting}: Theorem 2", found, rate_allowed, paper=printed, sound=bound.sound[variant].value)
        asked = bound.printed["H_needed"].value
        notes.remarks.append(f"{kind}: the printed Theorem 2 asks for {asked:.2g} heads.")


STUDIES = (study(NAME, experiment, analyse),)
