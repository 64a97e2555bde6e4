"""How fast and how high: the excess risk of one head against n and the noise, and where printed bounds break."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from certiformer.experiments import _li_exact, _li_runs
from certiformer.experiments._li_analysis import (
    OUR_DESIGN,
    broken,
    broken_from,
    excess,
    exponent,
    groups,
    intervals,
    measured,
    most_broken,
    representative,
    scaled,
    seconds,
)
from certiformer.experiments._li_theory import exact_inputs, inputs_of, printed_bound, sound_bound
from certiformer.experiments.statistics import Prediction, mean_interval, power_law, verdict
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report.plots import band, label, panels, theory
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

HEAD = {
    "kind": "head",
    "d": 4,
    "k": 4,
    "heads": 1,
    "layers": 0,
    "rank": 0,
    "tokens": 3,
    "activation": "leaky_relu",
    "readout": 1.0,
    "value": 1.0,
    "output": 1.0,
    "attention": 8.0,
    "inside": 0.8,
    "steps": 30,
    "tolerance": 1e-7,
}
QUIET, LOUD = 0.1, 10.0  # noise of the two curves against n; outputs are at most 1
HEAD_THEOREM, BALL_THEOREM = "li.thmB.4", "li.thmB.1"
GRIDS: dict[Scale, dict[str, Any]] = {
    "smoke": {
        "seeds": 2,
        "test": 512,
        "n": (256, 512),
        "loud": (512, 1024),
        "noise": (0.1, 1.0),
        "noise_n": 1024,
        "ball": (3, 6),
    },
    "quick": {
        "seeds": 10,
        "test": 4096,
        "n": (256, 512, 1024, 2048, 4096, 8192, 16384),
        "loud": (2048, 4096, 8192, 16384, 32768),
        "noise": (0.03, 0.1, 0.3, 1.0, 3.0),
        "noise_n": 32768,
        "ball": range(3, 13),
    },
    "paper": {
        "seeds": 40,
        "test": 16384,
        "n": tuple(256 * 2**i for i in range(10)),
        "loud": tuple(2048 * 2**i for i in range(8)),
        "noise": (0.03, 0.1, 0.3, 1.0, 3.0, 30.0),
        "noise_n": 131072,
        "ball": range(3, 15),
    },
}


def run(config: Config) -> Outcome:
    """A head fitted to its teacher's labels, or the exact linear example."""
    return _li_exact.run(config) if config["kind"] == "ball" else _li_runs.run(config)


def experiment(scale: Scale) -> Experiment:
    """Quiet labels against n from both starts; loud labels against n; noise at one n; the l1 ball with growing d."""
    grid = GRIDS[scale]
    head = {**HEAD, "test": grid["test"]}
    cells = [{**head, "n": n, "sigma": QUIET, "restarts": 2} for n in grid["n"]]
    cells += [{**head, "n": n, "sigma": LOUD, "restarts": 0} for n in grid["loud"]]
    cells += [{**head, "n": grid["noise_n"], "sigma": sigma, "restarts": 0} for sigma in grid["noise"]]
    if grid["noise_n"] not in grid["loud"]:
        cells.append({**head, "n": grid["noise_n"], "sigma": LOUD, "restarts": 0})
    for power in grid["ball"]:
        n = 10**power
        cells.append({"kind": "ball", "norm": "one", "n": n, "d": round(0.8 * n ** (1 / 3))})
    seeds = range(grid["seeds"])
    return Experiment(
        "li.rates",
        run=f"{__name__}:run",
        configs=[{**cell, "seed": seed} for cell in cells for seed in seeds],
    )


def cost(config: Config) -> float:
    """Seconds of one run."""
    # an exact example: 0.15 µs for each coordinate and each of up to 200 bisections, rarely needed
    return 0.002 + 5e-7 * config["d"] if config["kind"] == "ball" else seconds(config)


def analyse(rows: Sequence[Row]) -> Analysis:
    """Slopes and levels, the noise, the exact example, and how far the sound bound is from what happens."""
    heads = [row for row in rows if row.config["kind"] == "head"]
    quiet = [row for row in heads if row.config["sigma"] == QUIET and row.config["restarts"]]
    loud = [row for row in heads if row.config["sigma"] == LOUD]
    alone = [row for row in heads if not row.config["restarts"]]
    noise_n = max(
        (n for n, many in groups(alone, "n", lambda r: r.config["sigma"]).items() if len(set(many)) > 1), default=0
    )
    noisy = [row for row in alone if row.config["n"] == noise_n]
    ball = [row for row in rows if row.config["kind"] == "ball"]

    findings: list[Finding] = []
    fits: dict[str, Any] = {}
    remarks: list[str] = []
    figure, axes = panels(2, 2, height=3.0)
    _rate(quiet, loud, findings, fits, remarks, axes[0])
    _noise(noisy, findings, fits, remarks, axes[1])
    _ball(ball, findings, fits, remarks, axes[2])
    _calibration(quiet, loud, ball, findings, fits, remarks, axes[3])
    caption = (
        "Excess risk of least squares with one head, mean and 95 % interval over seeds. Top left: against n, for quiet "
        "and for loud labels. Top right: against the noise at one n; the printed bound does not know the noise. Bottom "
        "left: the exact linear example inside the l1 ball with d = 0.8 n^(1/3). Bottom right: the sound bound divided "
        "by what happened."
    )
    return Analysis(tuple(findings), fits, {"rates": Plot(figure, caption)}, tuple(remarks))


def _rate(
    quiet: Sequence[Row],
    loud: Sequence[Row],
    findings: list[Finding],
    fits: dict[str, Any],
    remarks: list[str],
    axes: Any,
) -> None:
    fast = Prediction(-1.0, tolerance=0.1)
    fitting = [row for row in quiet if row.values["random_fits"]]
    for index, (name, rows, estimate) in enumerate(
        [("local", quiet, "local"), ("random starts that fit", fitting, "random"), ("local", loud, "local")]
    ):
        if not rows:
            continue
        sigma = rows[0].config["sigma"]
        points = groups(rows, "n", excess(estimate))
        measured(axes, points, f"σ = {sigma:g}, {name}", index)
        if rows is loud:
            continue
        slope = power_law(points)
        fits[f"slope, σ = {sigma:g}, {name}"] = slope.as_json()
        setting = f"slope in n, σ = {sigma:g}, {name}"
        findings.append(Finding(setting, -1.0, slope.value, slope.ends, verdict(slope, fast, fast), -1.0))
    if quiet:
        largest = max(row.config["n"] for row in quiet)
        last = [row for row in quiet if row.config["n"] == largest]
        directions = sum(row.values["directions"] for row in last) / len(last)
        expected = Prediction(directions, tolerance=0.15 * directions)
        fitted = [row for row in last if row.values["random_fits"]]
        for name, estimate, chosen in (("local", "local", last), ("random starts that fit", "random", fitted)):
            if chosen:
                level = mean_interval([scaled(estimate)(row) for row in chosen])
                setting = f"n·excess/σ² at n = {largest}, {name} (free directions)"
                fits[setting] = level.as_json()
                said = verdict(level, None, expected)
                findings.append(Finding(setting, None, level.value, level.ends, said, directions))
        reached = sum(row.values["random_fits"] for row in quiet) / len(quiet)
        price = [sum(row.values[estimate] for row in quiet) for estimate in ("random", "local")]
        remarks.append(
            f"From random starts {reached:.0%} of the runs fit their labels at least as well as the teacher does. What "
            "the rest, in local minima, adds is optimisation error: with it the mean excess over all runs is "
            f"{price[0] / price[1]:.2g} times that of the estimate started at the teacher."
        )
        n = sorted(groups(quiet, "n", excess()))
        theory(axes, n, [QUIET**2 * directions / m for m in n], label="σ² P/n, P free directions")
    curve = representative(loud or quiet, "n")
    if curve:
        theory(
            axes,
            list(curve),
            [printed_bound(HEAD_THEOREM, inputs_of(c)) for c in curve.values()],
            label="printed, Theorem B.4",
            printed=True,
        )
    if loud:
        ratios = broken(loud, "n", lambda c: printed_bound(HEAD_THEOREM, inputs_of(c)))
        findings.append(most_broken(ratios, f"σ = {LOUD:g}: excess over printed bound (B.4), largest, n = {{}}"))
    label(axes, "sample size n", "excess risk E(f − f₀)²", log="xy", title="rate in n")
    if curve:
        low, _ = axes.get_ylim()
        axes.set_ylim(bottom=low / 30)  # room for the legend
        axes.legend(fontsize=7.5, frameon=False, loc="lower left")


def _noise(rows: Sequence[Row], findings: list[Finding], fits: dict[str, Any], remarks: list[str], axes: Any) -> None:
    points = groups(rows, "sigma", excess())
    if points:
        n = rows[0].config["n"]
        curve = representative(rows, "sigma")
        measured(axes, points, "local", 0)
        sigma = list(curve)
        directions = sum(row.values["directions"] for row in rows) / len(rows)
        resolved = groups(rows, "sigma", lambda row: row.values["resolved"] * row.config["sigma"] ** 2 / n)
        theory(axes, sigma, [s**2 * directions / n for s in sigma], label="σ² P/n")
        axes.plot(
            sigma, [sum(v) / len(v) for v in resolved.values()], ":", color="0.4", lw=1.3, label="σ² P(σ)/n, resolved"
        )
        flat = [printed_bound(HEAD_THEOREM, inputs_of(c)) for c in curve.values()]
        theory(axes, sigma, flat, label="printed (B.4), κ of the risk", printed=True)
        honest = [printed_bound(HEAD_THEOREM, inputs_of(c, honest=True)) for c in curve.values()]
        axes.plot(sigma, honest, "--", color="#E69F00", lw=1.0, label="printed, κ of the loss")
        small = {s: values for s, values in points.items() if s <= 1.0}
        slope = power_law(small)
        fits["exponent in σ, σ <= 1"] = slope.as_json()
        findings.append(
            Finding(
                f"exponent in σ (σ ≤ 1), n = {n}",
                "0 (no σ in the bound)",
                slope.value,
                slope.ends,
                verdict(slope, Prediction(0.0, "<=", 0.1), Prediction(2.0, tolerance=0.25)),
                2.0,
            )
        )
        ratios = broken(rows, "sigma", lambda c: printed_bound(HEAD_THEOREM, inputs_of(c)))
        findings.append(most_broken(ratios, f"n = {n}: excess over printed bound (B.4), largest, σ = {{}}"))
        loudest = max(points)
        kept = intervals(points)[loudest]
        remarks.append(
            f"At n = {n} and σ = {loudest:g} the excess is {kept.value:.3g}, "
            f"{kept.value / (loudest**2 * directions / n):.2g} of σ²P/n: the class is bounded, and directions that the "
            "data cannot resolve cost no more than its size."
        )
    label(axes, "label noise σ", "excess risk", log="xy", title="noise")


def _ball(rows: Sequence[Row], findings: list[Finding], fits: dict[str, Any], remarks: list[str], axes: Any) -> None:
    points = groups(rows, "n", excess())
    if points:
        curve = representative(rows, "n")
        n = list(curve)
        measured(axes, points, "exact least squares", 0)
        printed = [printed_bound(BALL_THEOREM, exact_inputs(c)) for c in curve.values()]
        sound = [
            min(sound_bound(BALL_THEOREM, exact_inputs(c), v) for v in ("S2_opt", "S4chain")) for c in curve.values()
        ]
        theory(axes, n, printed, label="printed, Theorem B.1", printed=True)
        theory(axes, n, sound, label="sound (S2, S4chain)")
        slope = power_law(points)
        fits["l1 ball, slope"] = {**slope.as_json(), "printed": exponent(n, printed), "sound": exponent(n, sound)}
        findings.append(
            Finding(
                "l1 ball, d = 0.8 n^(1/3): slope in n",
                exponent(n, printed),
                slope.value,
                slope.ends,
                verdict(slope, Prediction(exponent(n, printed), "<=", 0.02), Prediction(-2 / 3, tolerance=0.02)),
                -2 / 3,
            )
        )
        ratios = broken(rows, "n", lambda c: printed_bound(BALL_THEOREM, exact_inputs(c)))
        findings.append(most_broken(ratios, "l1 ball: excess over printed bound (B.1), largest, n = {}"))
        start = broken_from(ratios)
        if start is not None:
            remarks.append(
                f"In the l1 ball the printed bound is below the excess risk from n = {start:.0e} on "
                f"(of the n tried; d = {curve[start]['d']} there)."
            )
    label(axes, "sample size n", "excess risk", log="xy", title="ℓ₁ ball, d = 0.8 n^(1/3)")


def _calibration(
    quiet: Sequence[Row],
    loud: Sequence[Row],
    ball: Sequence[Row],
    findings: list[Finding],
    fits: dict[str, Any],
    remarks: list[str],
    axes: Any,
) -> None:
    cases: list[tuple[str, Sequence[Row], Callable[[Config], float]]] = [
        (f"σ = {QUIET:g}", quiet, lambda c: sound_bound(HEAD_THEOREM, inputs_of(c))),
        (f"σ = {LOUD:g}", loud, lambda c: sound_bound(HEAD_THEOREM, inputs_of(c))),
        ("ℓ₁ ball", ball, lambda c: sound_bound(BALL_THEOREM, exact_inputs(c))),
    ]
    for index, (name, rows, bound) in enumerate(cases):
        if not rows:
            continue
        curve = representative(rows, "n")
        found = intervals(groups(rows, "n", excess()))
        ratios = {n: bound(config) / found[n].value for n, config in curve.items()}
        band(axes, list(ratios), list(ratios.values()), label=name, index=index)
        fits[f"sound bound (S2) over excess, {name}"] = {str(n): ratio for n, ratio in ratios.items()}
        worst, low = max(found[n].high / bound(c) for n, c in curve.items()), min(ratios.values())
        held = "holds" if worst <= 1.0 else ("inconclusive" if math.isinf(worst) else "does not hold")
        findings.append(Finding(f"sound bound S2 over excess, {name}: smallest", None, low, None, held, "≥ 1"))
    if quiet or loud or ball:
        axes.axhline(1.0, color="0.5", lw=0.8)
    label(axes, "sample size n", "sound bound / excess", log="xy", title="calibration")


STUDIES = (
    Study(
        id="li.rates",
        paper="li",
        title="Excess risk of one head: rate in n, level, noise, and the printed bounds put to the test",
        claim=(
            "The paper promises an excess risk of order 1/n up to logarithms, with a level set by norms and ranks; the "
            "noise of the labels does not enter, and norm bounds alone give the rate whatever the dimension. It has no "
            "experiment."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        readings=(
            OUR_DESIGN,
            (
                "κ may be the Lipschitz constant of the conditional risk, as Assumption 4.3 reads; the curve for the "
                "loss itself is drawn beside it."
            ),
            (
                "The class has spectral norms at most 1 (readout, value) and 8 (attention); the teacher's singular "
                "values are 0.8 of that. Labels are f0(X) ± σ, three tokens N(0, I/4) cut at norm 1."
            ),
            (
                "The printed bounds hold for every cover radius, so the best of a grid is taken; the constant C_1 of "
                "Assumption 5.7 is 1/2, as in Lemma B.6."
            ),
        ),
    ),
)
