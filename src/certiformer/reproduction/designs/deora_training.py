"""Deora et al., Corollary 2: training and test loss of gradient descent against steps, for few and many heads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from certiformer.reproduction.designs import _deora_theory as theory
from certiformer.reproduction.designs._deora_analysis import STARTS, at, mixture, named, octaves, power
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, mean_interval, power_law, ratio
from certiformer.reproduction.study import Analysis, Finding, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Config, Experiment, Row
from certiformer.reproduction.trend import Notes, fitted_exponent
from certiformer.reproduction.verdicts import MEASURED, Verdict, rate_allowed

NAME = "deora.training"
MIXTURE = mixture(2.0, tokens=8, zeta=0.25, d=12)
ETA = 1 / 64  # below 1/beta2 at the zero start and after the first phase: both can be certified at this step size
ENOUGH = 2**40  # heads for which the sound corollary covers every step count


def experiment(scale: Scale) -> Experiment:
    """Both starts with few and with many heads."""
    heads, n, last, seeds, tests = {
        "smoke": ((2, ENOUGH), 50, 50, 2, 50),
        "quick": ((1, 16, 256, ENOUGH), 100, 1600, 5, 2000),
        "paper": ((1, 16, 256, ENOUGH), 200, 12800, 10, 5000),
    }[scale]
    common = {**MIXTURE, "n": n, "n1": 2000, "n_test": tests, "eta": ETA, "checkpoints": octaves(25, last)}
    configs = seed_by_seed([{**common, "start": start, "heads": H} for start in STARTS for H in heads], seeds)
    runs = f"{__package__}._deora_runs:run_training"
    return Experiment(NAME, runs, configs, f"{runs}_batch", _shape, batch_size=5, version=2)


def _shape(config: Config) -> object:
    return {name: value for name, value in config.items() if name != "seed"}


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    starts = table.by("start")
    bounds = {start: _bounds(part) for start, part in starts.items()}
    slopes = [_rate(notes, cell, part) for cell, part in table.by(named).items()]
    for start, part in starts.items():
        _levels(notes, bounds[start])
        _few_or_many(notes, start, part)
        _asked(notes, start, part, bounds[start])
    low, high = min(s.value for s in slopes), max(s.value for s in slopes)
    held = [f.verdict.word == "holds" for f in notes.findings if "exponent of the training loss" in f.setting]
    return notes.analysis(
        f"the training loss falls with the steps K with exponents {low:.2f} to {high:.2f}, at least as fast as the "
        f"printed order in {sum(held)} of {len(held)} settings of start and heads.",
        losses=_loss_plot(table, bounds),
    )


def _rate(notes: Notes, cell: str, table: Table) -> Interval:
    """Exponents in K over the last three octaves; the printed order is log(K)^2 / K, with its exponent there."""
    steps = table.config["checkpoints"]
    late = {k: i + 1 for i, k in enumerate(steps) if 8 * k >= steps[-1]}
    allowed = fitted_exponent(list(late), [math.log(k) ** 2 / k for k in late])
    slopes = []
    for name, loss in (("train", "training loss"), ("test", "test loss")):
        slope = power_law({k: table.column(at(name, i)) for k, i in late.items()}, paired=True)
        setting = f"exponent of the {loss} in K, {min(late)}–{max(late)}, {cell}: order log(K)²/K"
        notes.found(setting, slope, rate_allowed(slope, allowed), paper=f"≤ {allowed:.3g}")
        slopes.append(slope)
    return slopes[0]


def _few_or_many(notes: Notes, start: str, table: Table) -> None:
    """The last training loss with the most heads over that with the fewest, on the same samples."""
    by_heads = table.by("heads")
    if len(by_heads) < 2:
        return
    few, many = min(by_heads), max(by_heads)
    quotient = ratio(*(by_heads[heads].column(at("train")) for heads in (many, few)), paired=True)
    notes.found(f"last training loss, H = {power(many)} / H = {power(few)}, {start} start", quotient)
    mass = [float(np.mean(by_heads[heads].column(at("relevant_mass")))) for heads in (few, many)]
    notes.remarks.append(
        f"{start} start: the share of attention on relevant tokens, {table.config['zeta']:.2f} when it is uniform, "
        f"ends at {mass[0]:.2f} with {power(few)} heads and at {mass[1]:.2f} with {power(many)}."
    )


def _bounds(table: Table) -> dict[str, Any]:
    """Corollary 2 along K at the largest number of heads that was run, at the worst start of its seeds."""
    most = table.by("heads")[max(table.by("heads"))]
    config, steps = most.config, most.config["checkpoints"][::-2][::-1]
    worst = [float(np.max(most.column(at(name, 0)))) for name in ("output", "largest_head")]
    good = theory.start_of(config, float(np.max(most.column("first_phase_error"))), *worst)
    printed, sound = zip(*(theory.corollary_2(config, good, K, config["n"]) for K in steps), strict=True)
    return {"table": most, "steps": steps, "start": good, "sound": sound, "printed": printed}


def _levels(notes: Notes, bound: dict[str, Any]) -> None:
    """Last training loss and gap against Corollary 2, printed and sound, where the heads are enough for it."""
    most, K = bound["table"], bound["steps"][-1]
    for what, variant, name in (("training loss", "train", "train"), ("gap", "gap", "gap")):
        found = mean_interval(most.column(at(name)))
        setting = f"{what} at K = {K}, n = {most.config['n']}, {named(most.config)}: Corollary 2"
        printed, sound = bound["printed"][-1][variant].value, bound["sound"][-1][f"{variant}_opt"].value
        notes.sides(setting, found, _if_finite, paper=printed, sound=sound)


def _if_finite(found: Interval, value: float) -> Verdict:
    return rate_allowed(found, value) if math.isfinite(value) else MEASURED


def _asked(notes: Notes, start: str, table: Table, bound: dict[str, Any]) -> None:
    """Heads that the theory asks for, and the fewest that trained as well as it promises."""
    steps = bound["steps"]
    for index in sorted({0, len(steps) // 2, len(steps) - 1}):
        K, sound = steps[index], bound["sound"][index]
        explicit = theory.theorem("deora.thm1", bound["table"].config, bound["start"], K)
        place = table.config["checkpoints"].index(K) + 1
        enough = [
            heads
            for heads, part in table.by("heads").items()
            if np.mean(part.column(at("train", place))) <= sound["train_opt"].value
        ]
        setting = f"heads asked for at K = {K}, and the fewest run that met the sound loss bound, {start} start"
        asked = None if explicit is None else explicit.printed["H_needed"].value
        notes.findings.append(Finding(setting, asked, min(enough, default=None), sound=sound["H_needed"].value))


def _loss_plot(table: Table, bounds: dict[str, dict[str, Any]]) -> Plot:
    panels = []
    for name, loss in (("train", "training loss"), ("test", "test loss")):
        for start, part in table.by("start").items():
            series = []
            for H, of in part.by("heads").items():
                means = {k: mean_interval(of.column(at(name, i + 1))) for i, k in enumerate(of.config["checkpoints"])}
                series.append(Series.measured(f"H = {power(H)}", means, points=False))
            for side, key, printed in (("sound", "train_opt", False), ("printed", "train", True)):
                curve = {
                    K: each[key].value for K, each in zip(bounds[start]["steps"], bounds[start][side], strict=True)
                }
                if name == "train":
                    series.append(Series.theory(f"Corollary 2, {side}", curve, printed=printed))
            panels.append(Panel("steps K", loss, series, f"{start} start", "xy"))
    return Plot(
        panels,
        "Mean loss over seeds with 95 % intervals. Both curves of Corollary 2 are for the largest H and the same "
        "margin; the printed one takes B_2, B_Phi >= 1 as it demands.",
        columns=len(bounds),
        shared=True,
    )


STUDIES = (study(NAME, experiment, analyse),)
