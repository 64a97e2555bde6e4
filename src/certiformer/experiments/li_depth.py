"""Depth: the excess risk against the number of layers, for contracting and for expanding layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from certiformer.experiments import _li_runs
from certiformer.experiments._li_analysis import (
    OUR_DESIGN,
    calibration,
    excess,
    groups,
    growth,
    intervals,
    plain_abscissas,
    plain_ticks,
    rate,
    representative,
    scaled,
    seconds,
)
from certiformer.experiments._li_theory import inputs_of, printed_bound, sound_bound
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report.plots import COLOURS, label, panels
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

ATTENTION = 1.0
NETWORK = {
    "d": 3,
    "k": 3,
    "heads": 1,
    "rank": 0,
    "tokens": 3,
    "activation": "leaky_relu",
    "readout": 1.0,
    "attention": ATTENTION,
    "inside": 0.8,
    "sigma": 0.001,
    "steps": 25,
    "tolerance": 1e-7,
}
RANKS, NORMS = "li.thm5.8", "li.thm5.3"
LAYER_CONSTANTS = (0.5, 1.0, 12.0)  # Lambda = B_c B_v (1 + 2 B_QK): contracting, neutral, expanding
RATE_LAYERS = 2
GRIDS: dict[Scale, dict[str, Any]] = {
    "smoke": {"seeds": 2, "test": 512, "n": 512, "layers": (1, 2), "rate": (256,)},
    "quick": {"seeds": 8, "test": 2048, "n": 4096, "layers": (1, 2, 3, 4, 5), "rate": (512, 1024, 2048, 8192)},
    "paper": {
        "seeds": 40,
        "test": 16384,
        "n": 16384,
        "layers": (1, 2, 3, 4, 5, 6),
        "rate": (512, 1024, 2048, 4096, 8192, 32768),
    },
}


def run(config: Config) -> Outcome:
    """L layers fitted to the labels of L layers."""
    return _li_runs.run(config)


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
    return Experiment(
        "li.depth",
        run=f"{__name__}:run",
        configs=[{**cell, "seed": seed} for cell in cells for seed in range(grid["seeds"])],
    )


def analyse(rows: Sequence[Row]) -> Analysis:
    """Growth with L for every layer constant, the rate at one depth, and what both theories say about depth."""
    searched = [row for row in rows if row.config["restarts"]]
    constants = sorted({row.config["layer_constant"] for row in searched})
    along = [
        row
        for row in rows
        if row.config["layer_constant"] == max(LAYER_CONSTANTS) and row.config["layers"] == RATE_LAYERS
    ]
    figure, axes = panels(2, 2, height=3.0)
    findings: list[Finding] = []
    fits: dict[str, Any] = {}
    remarks: list[str] = []
    for place, constant in zip(axes, LAYER_CONSTANTS, strict=False):
        chosen = [row for row in searched if row.config["layer_constant"] == constant]
        found, numbers = growth(chosen, "layers", f"Λ = {constant:g}, exponent in L", _printed, place, resolved=False)
        resolved = groups(chosen, "layers", lambda row: row.values["resolved"])
        if resolved:
            means = [float(np.mean(values)) for values in resolved.values()]
            place.plot(list(resolved), means, ":", color=COLOURS[3], lw=1.4, label="resolved at this n")
            fits[f"Λ = {constant:g}: directions resolved"] = {
                f"{at:g}": m for at, m in zip(resolved, means, strict=True)
            }
        label(place, "layers L", "n · excess / σ²", log="y", title=f"Λ = {constant:g}")
        plain_ticks(place, resolved)
        findings += found
        fits |= numbers
        remarks += _depth_remarks(constant, chosen, fits)
    found, numbers = rate(along, f"Λ = {max(LAYER_CONSTANTS):g}, L = {RATE_LAYERS}: slope in n", axes[3])
    label(
        axes[3],
        "sample size n",
        "excess risk",
        log="xy",
        title=f"Λ = {max(LAYER_CONSTANTS):g}, L = {RATE_LAYERS}: rate in n",
    )
    plain_abscissas(axes[3], groups(along, "n", excess()))
    findings += found
    fits |= numbers
    if rows:
        findings.append(calibration(rows, _sound))
    for constant in constants:
        chosen = [row for row in searched if row.config["layer_constant"] == constant]
        reached = sum(row.values["random_fits"] for row in chosen) / len(chosen)
        remarks.append(f"Λ = {constant:g}: {reached:.0%} of the random starts reach the teacher's training loss.")
    caption = (
        "Excess risk of L projected layers in units of σ²/n, mean and 95 % interval over seeds, started at the "
        "teacher, for three layer constants Λ = B_c B_v (1 + 2 B_QK). Dash-dotted: the directions in which the class "
        "can move at all. Dotted: those that a sample of this size resolves, Σ λ/(λ + σ²/n) over the eigenvalues λ of "
        "the information matrix. Dashed: the printed bound of Theorem 5.8, scaled to the first point. Bottom right: "
        "the rate in n."
    )
    return Analysis(tuple(findings), fits, {"depth": Plot(figure, caption)}, tuple(remarks))


def _printed(config: Config) -> float:
    return printed_bound(RANKS, inputs_of(config))


def _sound(config: Config) -> float:
    return sound_bound(RANKS, inputs_of(config))


def _entrywise(config: Config) -> dict[str, Any]:
    """The inputs of Theorem 5.3 for a class that contains ours: ||W||_11 <= sqrt(d k min(d, k)) ||W||_2."""
    given = inputs_of(config)
    d, k = config["d"], config["k"]
    factor, square = math.sqrt(d * k * min(d, k)), d * math.sqrt(d)
    wider = {"Bc": factor * given["Bc"], "Bv": factor * given["Bv"], "BQK": square * given["BQK"]}
    return {name: value for name, value in (given | wider).items() if name not in ("rw", "rc", "rv", "rqk")}


def _depth_remarks(constant: float, rows: Sequence[Row], fits: dict[str, Any]) -> list[str]:
    """From one layer to the deepest: what happened, and how much either bound grew."""
    curve = representative(rows, "layers")
    if len(curve) < 2:
        return []
    first, last = min(curve), max(curve)
    found = intervals(groups(rows, "layers", scaled()))

    def grown(bound: Any) -> float:
        return float(bound(curve[last]) / bound(curve[first]))

    ratios = {
        "excess": found[last].value / found[first].value,
        "printed, Theorem 5.8": grown(_printed),
        "printed, Theorem 5.3": grown(lambda c: printed_bound(NORMS, _entrywise(c))),
        "sound, S2 of Theorem 5.8": grown(_sound),
    }
    fits[f"Λ = {constant:g}: growth from L = {first:g} to {last:g}"] = ratios
    remark = (
        f"Λ = {constant:g}, from L = {first:g} to {last:g}: the excess grows by a factor {ratios['excess']:.2g}, the "
        f"printed bounds by {ratios['printed, Theorem 5.8']:.2g} (5.8) and {ratios['printed, Theorem 5.3']:.2g} (5.3), "
        f"the sound one by {ratios['sound, S2 of Theorem 5.8']:.2g} (S2)."
    )
    return [remark]


STUDIES = (
    Study(
        id="li.depth",
        paper="li",
        title="Depth: layers that contract hide their parameters, layers that expand show them",
        claim=(
            "With projections between layers the bounds for L layers contain the layer constant to the power L only "
            "inside a logarithm, and a sum of ranks over the layers. The paper has no experiment."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=seconds,
        readings=(
            OUR_DESIGN,
            (
                "Blocks are those of equation (5), with the projection on the unit ball; the layer constant is "
                "Λ = B_c B_v (1 + 2 B_QK) with B_QK = 1 and B_c = B_v, the teacher at 0.8 of every norm."
            ),
            (
                "Classical asymptotics, σ²P/n, need n so large that every direction is resolved. Behind contracting "
                "layers that may be far away: the share resolved at this n is shown, with weights of order one."
            ),
            "Theorem 5.3 asks for entrywise norms; those of the smallest ball that contains the class are used.",
        ),
    ),
)
