"""Ranks or parameters: the excess risk of low-rank heads against the dimension d and against the rank r."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from certiformer.experiments import _li_exact, _li_runs
from certiformer.experiments._li_analysis import (
    OUR_DESIGN,
    broken,
    broken_from,
    calibration,
    excess,
    exponent,
    groups,
    growth,
    measured,
    most_broken,
    plain_abscissas,
    plain_ticks,
    rate,
    representative,
    seconds,
)
from certiformer.experiments._li_theory import exact_inputs, inputs_of, printed_bound, sound_bound
from certiformer.experiments.statistics import Prediction, power_law, verdict
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report.plots import label, panels, theory
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

HEAD = {
    "kind": "head",
    "heads": 1,
    "layers": 0,
    "tokens": 3,
    "activation": "leaky_relu",
    "readout": 1.0,
    "value": 1.0,
    "output": 1.0,
    "attention": 16.0,
    "inside": 0.8,
    "sigma": 0.02,
    "steps": 30,
    "tolerance": 1e-7,
}
THEOREM = "li.thmB.4"
GRIDS: dict[Scale, dict[str, Any]] = {
    "smoke": {
        "seeds": 2,
        "test": 512,
        "n": 512,
        "d": (3, 4),
        "r": (1, 0),
        "r_d": 4,
        "rate": (256,),
        "rate_d": 4,
        "exact_n": 10**5,
        "exact_d": (4, 64),
    },
    "quick": {
        "seeds": 10,
        "test": 4096,
        "n": 4096,
        "d": (4, 6, 8, 12, 16),
        "r": (1, 2, 3, 4, 0),
        "r_d": 8,
        "rate": (512, 1024, 2048, 8192),
        "rate_d": 8,
        "exact_n": 10**7,
        "exact_d": (4, 16, 64, 256, 1024),
    },
    "paper": {
        "seeds": 40,
        "test": 16384,
        "n": 16384,
        "d": (4, 6, 8, 12, 16, 24, 32),
        "r": (1, 2, 3, 4, 6, 8, 0),
        "r_d": 12,
        "rate": (512, 1024, 2048, 4096, 8192, 32768),
        "rate_d": 8,
        "exact_n": 10**8,
        "exact_d": (4, 16, 64, 256, 1024, 4096),
    },
}


def run(config: Config) -> Outcome:
    """A low-rank head fitted to its teacher's labels, or the exact linear example."""
    return _li_exact.run(config) if config["kind"] == "ball" else _li_runs.run(config)


def experiment(scale: Scale) -> Experiment:
    """Rank one against d; rank against r at one d (0 stands for full); rank one against n; the l2 ball against d."""
    grid = GRIDS[scale]
    head = {**HEAD, "test": grid["test"]}
    cells = [{**head, "n": grid["n"], "d": d, "k": 4, "rank": 1, "restarts": 1} for d in grid["d"]]
    wide = {**head, "n": grid["n"], "d": grid["r_d"], "k": grid["r_d"], "restarts": 1}
    cells += [{**wide, "rank": r} for r in grid["r"] if wide["k"] != 4 or r != 1]
    cells += [{**head, "n": n, "d": grid["rate_d"], "k": 4, "rank": 1, "restarts": 0} for n in grid["rate"]]
    cells += [{"kind": "ball", "norm": "two", "n": grid["exact_n"], "d": d} for d in grid["exact_d"]]
    return Experiment(
        "li.rank",
        run=f"{__name__}:run",
        configs=[{**cell, "seed": seed} for cell in cells for seed in range(grid["seeds"])],
    )


def cost(config: Config) -> float:
    """Seconds of one run."""
    return 0.002 + 5e-7 * config["d"] if config["kind"] == "ball" else seconds(config)


def analyse(rows: Sequence[Row]) -> Analysis:
    """The growth with d and with r, against what ranks and what parameters predict."""
    heads = [row for row in rows if row.config["kind"] == "head"]
    ball = [row for row in rows if row.config["kind"] == "ball"]
    searched = [row for row in heads if row.config["restarts"]]
    thin = [row for row in searched if row.config["k"] == 4 and row.config["rank"] == 1]
    wide = max((row.config["d"] for row in searched if row.config["rank"] != 1), default=0)
    square = [row for row in searched if row.config["d"] == row.config["k"] == wide]
    rate_d = max((row.config["d"] for row in heads if not row.config["restarts"]), default=0)
    along = [row for row in heads if row.config["k"] == 4 and row.config["d"] == rate_d and row.config["rank"] == 1]

    figure, axes = panels(2, 2, height=3.0)
    parts = [
        growth(thin, "d", "rank one, exponent in d", _printed, axes[0]),
        growth(square, _rank, f"d = k = {wide}, exponent in r", _printed, axes[1]),
        _exact(ball, axes[2]),
        rate(along, f"rank one, d = {rate_d}: slope in n", axes[3]),
    ]
    label(axes[0], "token dimension d", "n · excess / σ²", log="xy", title="rank one: dimension")
    label(axes[1], "rank r", "n · excess / σ²", log="xy", title=f"rank, d = k = {wide}")
    label(axes[2], "dimension d", "excess risk", log="xy", title="exact example of rank one")
    label(axes[3], "sample size n", "excess risk", log="xy", title=f"rank one, d = {rate_d}: rate in n")
    plain_ticks(axes[0], groups(thin, "d", excess()))
    plain_ticks(axes[1], groups(square, _rank, excess()))
    plain_abscissas(axes[3], groups(along, "n", excess()))
    findings = [finding for found, _ in parts for finding in found]
    fits = {name: value for _, found in parts for name, value in found.items()}
    remarks = []
    if heads:
        findings.append(calibration(heads, lambda c: sound_bound(THEOREM, inputs_of(c))))
    if searched:
        reached = sum(row.values["random_fits"] for row in searched) / len(searched)
        remarks.append(
            f"From a random start {reached:.0%} of the fits reach the teacher's training loss. The levels in the table "
            "are those of the estimate started at the teacher; those from random starts are among the fits."
        )
    if ball:
        start = broken_from(broken(ball, "d", _printed_exact))
        if start is not None:
            remarks.append(
                f"Inside the rank-one class at n = {ball[0].config['n']:.0e} the printed bound is below the excess "
                f"risk from d = {start:g} on (of those tried): no bound in ranks and norms alone can hold."
            )
    caption = (
        "Excess risk of low-rank classes, mean and 95 % interval over seeds. Top: in units of σ²/n against the "
        "dimension at rank one, and against the rank; dash-dotted the directions in which the class can move, dashed "
        "the printed bound, scaled to the first point. Bottom left: regression inside the rank-one class, solved "
        "exactly, with the bounds themselves. Bottom right: the rate at rank one."
    )
    return Analysis(tuple(findings), fits, {"rank": Plot(figure, caption)}, tuple(remarks))


def _rank(config: Config) -> float:
    return float(config["rank"] or min(config["d"], config["k"]))


def _printed(config: Config) -> float:
    return printed_bound(THEOREM, inputs_of(config))


def _printed_exact(config: Config) -> float:
    return printed_bound(THEOREM, exact_inputs(config))


def _exact(rows: Sequence[Row], axes: Axes) -> tuple[list[Finding], dict[str, Any]]:
    points = groups(rows, "d", excess())
    if not points:
        return [], {}
    curve = representative(rows, "d")
    d, n = list(curve), rows[0].config["n"]
    printed = [_printed_exact(config) for config in curve.values()]
    sound = [sound_bound(THEOREM, exact_inputs(config)) for config in curve.values()]
    measured(axes, points, "exact least squares", 0)
    theory(axes, d, printed, label="printed, Theorem B.4", printed=True)
    theory(axes, d, sound, label="sound (S2)")
    slope = power_law(points)
    said = verdict(slope, Prediction(exponent(d, printed), "<=", 0.05), Prediction(1.0, tolerance=0.05))
    growing = Finding(f"exact example, n = {n:.0e}, exponent in d", 0.0, slope.value, slope.ends, said, 1.0)
    ratios = broken(rows, "d", _printed_exact)
    worst = most_broken(ratios, "exact example: excess over printed bound (B.4), largest, d = {}")
    return [growing, worst], {"exact example, exponent in d": {**slope.as_json(), "sound": exponent(d, sound)}}


STUDIES = (
    Study(
        id="li.rank",
        paper="li",
        title="Low-rank heads: does the excess risk follow the rank, or the number of parameters?",
        claim=(
            "The rank-based bounds contain ranks and norms but no dimension: for a rank-one head the excess risk "
            "should not grow with d, and for rank r it should grow like r. The paper has no experiment."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        readings=(
            OUR_DESIGN,
            (
                "Every matrix is a product of two factors of r columns and spectral norm at most the root of the "
                "radius, which is exactly the class of rank r and that norm; norms stay the same for every d and r."
            ),
            (
                "The free directions P are the rank of the information matrix at the teacher, counted on the test "
                "sample; classical asymptotics give an excess of σ²P/n."
            ),
            "C_1 of Assumption 5.7 is 1/2, as in Lemma B.6; an upper bound's growth is read as a growth allowed.",
        ),
    ),
)
