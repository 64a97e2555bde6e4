"""Heads: the excess risk against their number, with norms for each head or a budget shared by all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from certiformer.experiments import _li_runs
from certiformer.experiments._li_analysis import (
    OUR_DESIGN,
    calibration,
    excess,
    exponent,
    groups,
    growth,
    plain_abscissas,
    plain_ticks,
    rate,
    representative,
    seconds,
)
from certiformer.experiments._li_theory import inputs_of, printed_bound, sound_bound, theorem_of
from certiformer.experiments.study import Analysis, Plot, Scale, Study
from certiformer.report.plots import label, panels
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

HEAD = {
    "d": 3,
    "k": 3,
    "layers": 0,
    "rank": 0,
    "tokens": 3,
    "activation": "leaky_relu",
    "value": 1.0,
    "output": 1.0,
    "attention": 8.0,
    "inside": 0.8,
    "sigma": 0.02,
    "steps": 30,
    "tolerance": 1e-7,
}
RATE_HEADS = 4
GRIDS: dict[Scale, dict[str, Any]] = {
    "smoke": {"seeds": 2, "test": 512, "n": 512, "heads": (1, 2), "rate": (256,)},
    "quick": {"seeds": 8, "test": 4096, "n": 8192, "heads": (1, 2, 3, 4, 6, 8), "rate": (512, 1024, 2048, 4096)},
    "paper": {
        "seeds": 40,
        "test": 16384,
        "n": 32768,
        "heads": (1, 2, 3, 4, 6, 8, 12, 16),
        "rate": (1024, 2048, 4096, 8192, 16384),
    },
}


def run(config: Config) -> Outcome:
    """H heads fitted to the labels of H heads."""
    return _li_runs.run(config)


def experiment(scale: Scale) -> Experiment:
    """Readouts of norm 1 for every head, or 1/H, against H; and against n at one H with the shared budget."""
    grid = GRIDS[scale]
    head = {**HEAD, "test": grid["test"]}
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
    return Experiment(
        "li.heads",
        run=f"{__name__}:run",
        configs=[{**cell, "seed": seed} for cell in cells for seed in range(grid["seeds"])],
    )


def analyse(rows: Sequence[Row]) -> Analysis:
    """Growth with H under both budgets, the rate in n, and the sound bound's growth."""
    searched = [row for row in rows if row.config["restarts"]]
    shared = [row for row in searched if row.config["budget"] == "shared"]
    each = [row for row in searched if row.config["budget"] == "each"]
    alone = max((row.config["heads"] for row in rows if not row.config["restarts"]), default=0)
    along = [row for row in rows if row.config["heads"] == alone and row.config["budget"] == "shared"]
    figure, axes = panels(3, 1, height=3.0)
    parts = [
        growth(shared, "heads", "norms 1/H, exponent in H", _printed, axes[0]),
        growth(each, "heads", "norms 1 each, exponent in H", _printed, axes[1]),
        rate(along, f"H = {alone}: slope in n", axes[2]),
    ]
    label(axes[0], "heads H", "n · excess / σ²", log="xy", title="norms 1/H: budget shared")
    label(axes[1], "heads H", "n · excess / σ²", log="xy", title="norms 1 for each head")
    label(axes[2], "sample size n", "excess risk", log="xy", title=f"H = {alone}: rate in n")
    for place, chosen in ((axes[0], shared), (axes[1], each)):
        plain_ticks(place, groups(chosen, "heads", excess()))
    plain_abscissas(axes[2], groups(along, "n", excess()))
    if each:
        axes[1].set_ylim(top=5.0 * axes[1].get_ylim()[1])  # room for the legend
        axes[1].legend(fontsize=7.5, frameon=False, loc="upper left")
    axes[2].tick_params(axis="x", labelrotation=45)
    axes[2].yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes[2].yaxis.set_major_formatter(FormatStrFormatter("%.0e"))
    axes[2].yaxis.set_minor_locator(NullLocator())
    findings = [finding for found, _ in parts for finding in found]
    fits = {name: value for _, found in parts for name, value in found.items()}
    remarks = []
    if rows:
        findings.append(calibration(rows, _sound))
    for name, chosen in (("norms 1/H", shared), ("norms 1 each", each)):
        curve = representative(chosen, "heads")
        if len(curve) > 1:
            bounds = exponent(list(curve), [_sound(config) for config in curve.values()])
            fits[f"{name}: exponent in H of the sound bound"] = bounds
            remarks.append(f"With {name} the sound bound (S2) grows like H^{bounds:.2f}.")
    if searched:
        reached = {
            heads: [row.values["random_fits"] for row in searched if row.config["heads"] == heads]
            for heads in sorted({row.config["heads"] for row in searched})
        }
        shares = ", ".join(f"{sum(found) / len(found):.0%} at H = {heads}" for heads, found in reached.items())
        remarks.append(f"From a random start the teacher's training loss is reached by {shares}.")
    caption = (
        "Excess risk of H heads in units of σ²/n, mean and 95 % interval over seeds, started at the teacher. "
        "Dash-dotted: the directions in which the class can move. Dashed: the printed bound, scaled to the first "
        "point. Left: the norm of the readout is shared by the heads, so the class has the same range for every H."
    )
    return Analysis(tuple(findings), fits, {"heads": Plot(figure, caption)}, tuple(remarks))


def _printed(config: Config) -> float:
    return printed_bound(theorem_of(config), inputs_of(config))


def _sound(config: Config) -> float:
    return sound_bound(theorem_of(config), inputs_of(config))


STUDIES = (
    Study(
        id="li.heads",
        paper="li",
        title="Heads: the excess risk counts every one of them",
        claim=(
            "In the rank-based bound for H heads each rank is counted once, whatever H; H enters through the range of "
            "the class only. With a shared budget of norms the excess risk should hardly depend on H. The paper has no "
            "experiment."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=seconds,
        readings=(
            OUR_DESIGN,
            (
                "Heads are summed before one readout, as in equation (3), without 1/sqrt(H). The readout and the "
                "output matrix of a head act as one vector, whose norm is bounded by 1, or by 1/H."
            ),
            "The printed bound is evaluated with full ranks; an upper bound's growth is read as a growth allowed.",
        ),
    ),
)
