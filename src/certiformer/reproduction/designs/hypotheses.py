"""By how much the hypotheses of each paper's theorem hold, or fail, at networks that were trained.

A margin is what is there over what the theorem asks for: a hypothesis holds at 1 or more. All but Mwigo's are read off
the runs of other experiments; for Mwigo's the features at the initial weights of Table 1's networks are computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

import certiformer
from certiformer.reproduction.designs import _deora_theory as theory
from certiformer.reproduction.designs import deora_training, li_rates
from certiformer.reproduction.designs._deora_analysis import at, power
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers import _arda_width_grid, _trauger_grid
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, Vector, mean_interval
from certiformer.reproduction.study import Analysis, Finding, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Config, Experiment, Outcome, Row
from certiformer.reproduction.trend import Notes
from certiformer.theory.calculus.activations import activation
from certiformer.theory.theorems.arda._descent import Radii, squared_gradient
from certiformer.theory.theorems.arda._heads import averaged

HOLDS = {"holds from here up": 1.0}


@dataclass(frozen=True)
class Margins:
    """Margins by hypothesis and x; the smallest x at which all of them hold, as a number or in words."""

    axis: str
    letter: str
    conditions: Mapping[str, Mapping[float, Interval]]
    smallest: Mapping[str, float | str]
    log: str = "xy"

    def analysis(self, notes: Notes, headline: str, caption: str, *more: Panel) -> Analysis:
        """A row for each hypothesis at the ends, the smallest x, and the figure."""
        for name, points in self.conditions.items():
            for x in dict.fromkeys((min(points), max(points))):
                notes.found(f"{name}: margin at {self.letter} = {_spoken(x)}", points[x])
        for what, least in self.smallest.items():
            notes.findings.append(Finding(f"smallest {self.letter} at which {what}", None, least))
        series = [Series.measured(name, points) for name, points in self.conditions.items()]
        panels = [Panel(self.axis, "margin (there / asked for)", series, "", self.log, HOLDS), *more] if series else []
        return notes.analysis(headline, margins=Plot(panels, caption, columns=1 + len(more)))


def _spoken(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value < 1e6 else f"{value:.2g}"


def _exact(value: float) -> Interval:
    """A number that is computed, not estimated."""
    return Interval(value, -math.inf, math.inf)


def _geometric(values: Vector) -> Interval:
    """The geometric mean over seeds, with the interval of the logarithms."""
    found = mean_interval(np.log(values))
    low, high = (math.exp(end) if abs(end) < 700.0 else end for end in found.ends)
    return Interval(math.exp(found.value), low, high, found.seeds)


def _from_here_on(held: Mapping[float, bool]) -> float | str:
    """The smallest x that was run from which on all hold."""
    found = [x for x in held if all(held[y] for y in held if y >= x)]
    return float(min(found)) if found else f"none up to {_spoken(max(held))}"


# Arda, Theorem 1


def analyse_arda(rows: Sequence[Row]) -> Analysis:
    """The step, the projection and the target's norm, at the networks of figure 1."""
    table, notes, radius = Table(rows), Notes(), _arda_width_grid.RADIUS

    def step(row: Row) -> float:
        m = row.config["width"]
        norms = [float(norm) + radius / math.sqrt(m) for norm in row.arrays["u_norms"]]
        G2 = squared_gradient(m, averaged(activation("tanh"), norms), Radii(radius, radius, radius))
        return 1.0 / (_arda_width_grid.step_size(row.config["steps"]) * G2)

    parts = table.by("width")
    conditions = {
        "the step is short, η G₂ < 1": {m: _geometric(part.column(step)) for m, part in parts.items()},
        "no head reaches the projection": {m: _geometric(1.0 / part.column("travelled")) for m, part in parts.items()},
        "the target lies inside, ν ≤ ρ": {m: _exact(1.0) for m in parts},
    }
    held = {m: min(part.column(step)) > 1.0 >= max(part.column("travelled")) for m, part in parts.items()}
    least = _from_here_on(held)
    headline = (
        f"at the networks of figure 1 all hypotheses of Theorem 1 hold at widths from {_spoken(least)} on."
        if isinstance(least, float)
        else f"the hypotheses of Theorem 1 hold together at no width that was run: {least}."
    )
    caption = (
        "Margins of what Theorem 1 asks for at the networks of figure 1, geometric means and 95 % intervals: the step "
        "against the bound on the squared gradient at the realised initial norms, the radius of the projection against "
        "the longest way of a head, and the radius against the norm of the target."
    )
    return Margins("width m (heads)", "m", conditions, {"all hold": least}).analysis(notes, headline, caption)


# Deora, Corollary 2


def analyse_deora(rows: Sequence[Row]) -> Analysis:
    """Heads and step size at the last step count, for both starts."""
    table, notes = Table(rows), Notes()
    conditions: dict[str, dict[float, Interval]] = {}
    smallest: dict[str, float | str] = {}
    headline = ""
    for start, whole in table.by("start").items():
        parts = whole.by("heads")
        most = parts[max(parts)]
        config, K = most.config, most.config["checkpoints"][-1]
        worst = [float(np.max(most.column(at(name, 0)))) for name in ("output", "largest_head")]
        good = theory.start_of(config, float(np.max(most.column("first_phase_error"))), *worst)
        asked = {"sound": theory.corollary_2(config, good, K, config["n"])[1]["H_needed"].value, "printed": math.inf}
        explicit = theory.theorem("deora.thm1", config, good, K)
        if explicit is not None:
            asked["printed"] = explicit.printed["H_needed"].value
            longest = explicit.printed["eta_max"].value / config["eta"]
            notes.found(f"step, printed, {start} start: margin at H = {power(max(parts))}", _exact(longest))
        for side, heads in asked.items():
            if heads < math.inf:
                conditions[f"{side}, {start} start"] = {H: _exact(H / heads) for H in parts}
            enough = heads if heads < math.inf else "no number is known"
            smallest[f"the {side} condition on heads holds, {start} start"] = enough
        headline = (
            f"from the {start} start, {K:,} steps, the mended Corollary 2 asks for {_spoken(asked['sound'])} heads, "
            f"the printed one for {_spoken(asked['printed'])}."
        )
    caption = (
        "The heads there are over those that Corollary 2 asks for at the last step count, printed (with the constants "
        "of section 6.1) and sound, at the worst start of all seeds."
    )
    return Margins("heads H", "H", conditions, smallest).analysis(notes, headline, caption)


# Li, the theorems on empirical risk minimisers


def analyse_li(rows: Sequence[Row]) -> Analysis:
    """Is what training finds an empirical risk minimiser, as every theorem of the paper asks?"""
    notes = Notes()
    parts = Table(rows).where(lambda row: "random_loss" in row.values).by("n")
    conditions: dict[str, dict[float, Interval]] = {}
    smallest: dict[str, float | str] = {}
    for name, label in (("random", "fits from random starts"), ("local", "fits started at the teacher")):
        losses = {n: (part.column("teacher_loss"), part.column(f"{name}_loss")) for n, part in parts.items()}
        conditions |= {label: {n: _geometric(teacher / fit) for n, (teacher, fit) in losses.items()}} if parts else {}
        if parts:
            fitted = {n: bool(np.all(part.column(f"{name}_fits"))) for n, part in parts.items()}
            smallest[f"all {label} do as well as the teacher"] = _from_here_on(fitted)
    if not parts:
        return notes.analysis("no run from random starts: no margin to read.")
    from_random = next(iter(smallest.values()))
    share = {n: float(np.mean(part.column("random_fits"))) for n, part in parts.items()}
    for n, found in share.items():
        notes.findings.append(Finding(f"share of fits from random starts that do as well as the teacher, n = {n:,}",
                                      None, found))  # fmt: skip
    headline = (
        f"from random starts {min(share.values()):.0%} to {max(share.values()):.0%} of the fits do as well as the "
        f"teacher; smallest n at which all do: {_spoken(from_random)}."
    )
    caption = (
        "The teacher's training loss over that of the fitted network, geometric means and 95 % intervals: the theorems "
        "are about minimisers of the training loss, which never have more of it than the teacher."
    )
    return Margins("sample size n", "n", conditions, smallest, "x").analysis(notes, headline, caption)


# Mwigo, Lemma 4


def run_mwigo(config: Config) -> Outcome:
    """The N-th singular value of the initial features, the residual, and the norms that Lemma 4 asks for."""
    import jax

    from certiformer.lab.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
    from certiformer.lab.tasks.mnist import mnist

    key_task, key_model = jax.random.split(jax.random.key(config["seed"]))
    seen = mnist(key_task, n=config["n"], pixels="unit", tokens="padded").train
    model = ShallowEncoder.init(key_model, ShallowEncoderConfig(seen.inputs.shape[-1], config["d_m"]))
    x, y = np.asarray(seen.inputs, np.float64), np.asarray(seen.labels, np.float64)
    Q, K, V, readout = (np.asarray(getattr(model, name), np.float64) for name in ("W_Q", "W_K", "W_V", "w_O"))
    scores = x @ (Q.T @ K / math.sqrt(config["d_m"])) @ x.transpose(0, 2, 1)
    attended = softmax(scores, axis=-1) @ x
    features = np.stack([np.mean(np.maximum(image @ V.T, 0.0), axis=0) for image in attended])
    values = {
        "alpha": float(np.linalg.svd(features, compute_uv=False)[-1]) if config["d_m"] >= config["n"] else 0.0,
        "residual0": float(np.linalg.norm(features @ readout - y)),
        "RX": float(np.max(np.linalg.norm(x, axis=(1, 2)))) / math.sqrt(x.shape[1]),
        "B": float(np.max(np.linalg.norm(x, axis=2))),
        "wOF": float(np.linalg.norm(readout)),
        "ds": x.shape[1],
        "d": x.shape[2],
    }
    for name, matrix in (("Q", Q), ("K", K), ("V", V)):
        values[f"W{name}F"] = float(np.linalg.norm(matrix))
        values[f"W{name}2"] = float(np.linalg.norm(matrix, 2))
    return Outcome(values)


def mwigo_experiment(scale: Scale) -> Experiment:
    """Table 1's networks at their start, with N images and at widths up to beyond it."""
    widths, sizes, seeds = {
        "smoke": ((16, 32), (8,), 2),
        "quick": ((64, 256, 1024), (16, 64), 5),
        "paper": ((64, 256, 1024, 4096, 16384), (16, 400), 5),
    }[scale]
    cells = [{"d_m": d_m, "n": n} for n in sizes for d_m in widths if d_m >= n]
    return Experiment("mwigo.hypotheses", f"{__name__}:run_mwigo", seed_by_seed(cells, seeds))


RADII = tuple(10.0**power for power in (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0))
"""Radii around the initial weights that are tried: the lemma leaves them open."""


def lemma_4_margins(row: Row) -> dict[str, float]:
    """The printed and the sound pair of conditions, each with the radii that suit it best: the worse of the two."""
    values, n = row.values, row.config["n"]
    known = ("alpha", "residual0", "RX", "B", "ds", "d", "wOF", "WQF", "WKF", "WVF", "WQ2", "WK2", "WV2")
    given = {name: values[name] for name in known} | {"n": n, "dm": row.config["d_m"]}
    alpha, residual, B = values["alpha"], values["residual0"], values["B"]
    best = {"printed": 0.0, "sound": 0.0}
    for inner, outer in itertools.product(RADII, RADII):
        found = certiformer.bound("mwigo.lem4", **given, RQ=inner, RK=inner, RV=inner, RO=outer)
        eta_O = values["wOF"] + outer
        rho, M, z = (found.printed[name].value for name in ("rho", "M", "z"))
        M_flow, z_flow = (found.sound[name].value for name in ("M_flow", "z_flow"))
        printed = min(
            alpha**2 / (8.0 * rho * M * residual),
            alpha**3 * eta_O / (32.0 * rho**2 * z * residual),
        )
        sound = min(
            alpha**2 / (4.0 * math.sqrt(n) * B * M_flow * residual),
            alpha**3 * eta_O / (8.0 * n * B**2 * z_flow * residual),
        )
        best = {"printed": max(best["printed"], printed), "sound": max(best["sound"], sound)}
    return best


def analyse_mwigo(rows: Sequence[Row]) -> Analysis:
    """Conditions of Lemma 4 on the N-th singular value at the start, and d_m over N."""
    table, notes = Table(rows), Notes()
    found = {row.key: lemma_4_margins(row) for row in table}
    conditions: dict[str, dict[float, Interval]] = {}
    smallest: dict[str, float | str] = {}
    told = []
    for n, part in table.by("n").items():
        for side in ("printed", "sound"):
            points = {
                d_m: _geometric(np.array([found[row.key][side] for row in of])) for d_m, of in part.by("d_m").items()
            }
            conditions[f"{side}, N = {n}"] = points
            smallest[f"the {side} conditions on α hold, N = {n}"] = _width(points)
        told.append(f"{points[max(points)].value:.1g} with N = {n}")
    headline = (
        f"at width {max(table.by('d_m')):,} the margin of Lemma 4's conditions, mended, is {' and '.join(told)}; 1 is "
        "needed."
    )
    caption = (
        "The worse of the two conditions of Lemma 4 on the N-th singular value α of the initial features, printed and "
        "in the sound version for gradient flow, each with the radii that suit it best; geometric means and 95 % "
        "intervals. Below width N there is no such singular value."
    )
    return Margins("width d_m", "d_m", conditions, smallest).analysis(notes, headline, caption)


def _width(points: Mapping[float, Interval]) -> str | float:
    """The smallest width that was computed and holds; else that none did, with the power law of the last two beyond."""
    holding = [x for x in points if all(points[k].low >= 1.0 for k in points if k >= x)]
    if holding:
        return min(holding)
    words = f"none up to {max(points):,.0f}"
    if len(points) < 2:
        return words
    before, last = sorted(points)[-2:]
    slope = math.log(points[last].value / points[before].value) / math.log(last / before)
    if slope <= 0.0:
        return f"{words}, and the margin does not grow there"
    decades = math.log10(last) - math.log10(points[last].value) / slope
    return f"{words}; by the growth there, about 10^{decades:.0f}"


# Trauger, Theorem 4.1


def analyse_trauger(rows: Sequence[Row]) -> Analysis:
    """The range in which the printed formula rises with the norms, at the networks of section 6; and the n for it."""
    table, notes = Table(rows), Notes()

    def asked(row: Row) -> tuple[float, float]:
        """2 Bx sqrt(C) of the worse head, and sqrt(ln 2d)."""
        dimension, norms, Bx = row.config["d"] + 1, row.values["norms"], row.values["token_sizes"]["Bx"]
        root = math.sqrt(math.log(2 * dimension + 1))
        return max(2.0 * Bx * score * root for score in norms["scores"]), math.sqrt(math.log(2 * dimension))

    def margin(row: Row) -> float:
        ratio, taken = asked(row)
        return (math.sqrt(row.config["samples"]) - taken) / ratio

    def needed(row: Row) -> float:
        return sum(asked(row)) ** 2

    parts = table.by("tokens")
    name = "2 Bx √C ≤ √n - √ln 2d"
    conditions = {name: {T: _geometric(part.column(margin)) for T, part in parts.items()}}
    n = table.config["samples"]
    samples = {T: _geometric(part.column(needed)) for T, part in parts.items()}
    for T in dict.fromkeys((min(samples), max(samples))):
        notes.found(f"sample size n at which it would hold, T = {T}", samples[T])
    most = max(found.value for found in samples.values())
    held = {T: bool(np.all(part.column(margin) >= 1.0)) for T, part in parts.items()}
    smallest = {f"it holds with n = {n}": _from_here_on(held)}
    headline = (
        f"the printed Theorem 4.1 is in its range at {sum(held.values())} of {len(held)} lengths; it would be at all "
        f"from n = {most:.1e} on, the runs have n = {n}."
    )
    panel = Panel("tokens T", "sample size n", [Series.measured("n needed", samples)], "", "y", {"n of the runs": n})
    caption = (
        "Left: the margin of the only hypothesis of Theorem 4.1 that weights and sample decide, at the trained "
        "networks, geometric means and 95 % intervals; beyond that range the printed formula falls with the norms and "
        "turns negative. Right: the sample size from which on it would hold at these norms."
    )
    return Margins("tokens T", "T", conditions, smallest, "y").analysis(notes, headline, caption, panel)


STUDIES = (
    study("mwigo.hypotheses", mwigo_experiment, analyse_mwigo),
    study("trauger.hypotheses", _trauger_grid.released, analyse_trauger),
    study("deora.hypotheses", deora_training.experiment, analyse_deora),
    study("arda.hypotheses", _arda_width_grid.experiment, analyse_arda),
    study("li.hypotheses", li_rates.experiment, analyse_li),
)
