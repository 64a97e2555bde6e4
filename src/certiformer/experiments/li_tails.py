"""Heavy-tailed inputs and heavy-tailed labels: how fast does a Transformer learn, and which loss should it use?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import certiformer
from certiformer.core import Evaluation
from certiformer.experiments import _li_tails_runs as runs
from certiformer.experiments._li_tails_fits import asymptotic_variance, exponent, pooled, quantile_power_law
from certiformer.experiments.statistics import (
    Interval,
    Prediction,
    bootstrap,
    mean_interval,
    median_interval,
    power_law,
    verdict,
)
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

NAME = "li.tails"
TAILS = {"gaussian": 3.0, "student": 3.0, "pareto": 2.5}
TITLES = {"gaussian": "Gaussian", "student": "Student t₃", "pareto": "Pareto 2.5"}
NOISES = {"gaussian": "Gaussian", "student": "t₂.₂"}
LOSSES = {"squared": "squared", "catoni": "Catoni", "huber": "Huber"}
SIGMA, NU = 0.1, 2.2
# In units of the noise's scale: s = 1/sigma^2 for Catoni, Huber's usual corner for 95 % efficiency.
SCALES = {"squared": 1.0, "catoni": 1.0, "huber": 1.345}
CLIP = 0.5
# Exponents are those of large n, "roughly" in the paper's own word.
TOLERANCE = 0.05
CENTRES = ("mean", "median", "99 % quantile")


def run(config: Config) -> Outcome:
    """Independent samples of size n, a local ERM for each, and E (fhat - f0)^2 for each of those."""
    with jax.enable_x64(True):
        source = runs.problem(config)
        start = runs.merge(source.teacher)
        clip = math.inf if config["clip"] is None else float(config["clip"])
        inputs, target, labels = runs.training_sample(source, config)
        # With a clip it is the target that is clipped, noise is added to that.
        labels = np.clip(target, -clip, clip) + (labels - target)
        heads, done = runs.minimise(
            start,
            jnp.asarray(inputs),
            jnp.asarray(labels),
            runs.LOSSES.index(config["loss"]),
            config["scale"],
            clip,
            iterations=config["iterations"],
        )
        points, weights = runs.test_sample(runs.test_generator(config), config, config["test"])
        truth = jnp.clip(runs.target(start, jnp.asarray(points)), -clip, clip)
        excess = np.asarray(runs.squared_distance(heads, jnp.asarray(points), truth, jnp.asarray(weights), clip))
    return Outcome(
        {"mean": float(excess.mean()), "median": float(np.median(excess)), "converged": float(np.mean(done))},
        {"excess": excess},
    )


def cell(tail: str, *, clip: float | None = None, noise: str = "gaussian", loss: str = "squared") -> Config:
    """One curve of the study."""
    return {
        "tail": tail,
        "beta": TAILS[tail],
        "clip": clip,
        "noise": noise,
        "nu": NU,
        "sigma": SIGMA,
        "loss": loss,
        "scale": SCALES[loss] * SIGMA,
    }


def cells(scale: Scale) -> list[Config]:
    """Tails of the inputs, with and without a clip; noises and losses, on Gaussian inputs (on all at paper scale)."""
    if scale == "smoke":
        return [cell("gaussian"), cell("pareto"), cell("gaussian", noise="student", loss="catoni")]
    found = [cell(tail, clip=clip) for tail in TAILS for clip in (None, CLIP)]
    for tail in TAILS if scale == "paper" else ("gaussian",):
        found += [cell(tail, noise=noise, loss=loss) for noise in NOISES for loss in LOSSES]
    return [one for i, one in enumerate(found) if one not in found[:i]]


def experiment(scale: Scale) -> Experiment:
    sizes, seeds, draws, test = {
        "smoke": ((64, 128), 1, 8, 1024),
        "quick": ((128, 256, 512, 1024, 2048, 4096), 5, 24, 8192),
        "paper": ((128, 256, 512, 1024, 2048, 4096, 8192, 16384), 20, 50, 32768),
    }[scale]
    shape = {"d": 2, "k": 2, "tokens": 4, "teacher": 0, "iterations": 100, "test": test, "draws": draws}
    return Experiment(
        NAME,
        run=f"{__name__}:run",
        configs=[{**one, **shape, "n": n, "seed": s} for n in sizes for one in cells(scale) for s in range(seeds)],
    )


def cost(config: Config) -> float:
    """Measured on one core: 11 microseconds per example and draw over all steps, and the test points."""
    return float(config["draws"] * (11e-6 * config["n"] + 1e-7 * config["test"]) + 0.05)


def _name(config: Config) -> tuple[str, bool, str, str]:
    return config["tail"], config["clip"] is not None, config["noise"], config["loss"]


def analyse(rows: Sequence[Row]) -> Analysis:
    groups: dict[Any, dict[float, Any]] = {}
    for (name, n), draws in pooled(rows, lambda c: (_name(c), float(c["n"])), "excess").items():
        groups.setdefault(name, {})[n] = draws
    findings: list[Finding] = []
    fits: dict[str, Any] = {"converged": float(np.mean([row.values["converged"] for row in rows])) if rows else None}
    remarks: list[str] = []
    for (tail, clipped, noise, loss), points in groups.items():
        if (noise, loss) == ("gaussian", "squared"):
            findings += _rates(tail, clipped, points, fits)
    for tail in ("student", "pareto"):
        findings += _slow_down(tail, groups, fits, remarks)
    findings += _losses(groups, fits, remarks)
    return Analysis(tuple(findings), fits, _plots(groups), tuple(remarks))


def predictions(tail: str, clipped: bool, sizes: Sequence[float]) -> tuple[Prediction | None, Prediction | None]:
    """Exponents of Remarks 6.7 and 6.12 over these sample sizes, printed and sound."""
    if len(sizes) < 2:
        return None, None
    repaired = "rate_clipped" if clipped else "rate_squared"
    if tail == "gaussian":

        def rate(n: float) -> Evaluation:
            return certiformer.bound("li.rem6.7", n=int(n), a=1.0, v=1.0)
    else:

        def rate(n: float) -> Evaluation:
            return certiformer.bound("li.rem6.12", n=int(n), beta=TAILS[tail])

    printed = exponent(lambda n: rate(n).printed["rate"].value, sizes)
    sound = Prediction(exponent(lambda n: rate(n).sound[repaired].value, sizes), "<=")
    # Remark 6.12 calls its rate the difficulty of learning from such data: it is read as the rate, not as a bound.
    return Prediction(printed, "<=", TOLERANCE) if tail == "gaussian" else Prediction(printed, "=", TOLERANCE), sound


def _rates(tail: str, clipped: bool, points: dict[float, Any], fits: dict[str, Any]) -> list[Finding]:
    printed, sound = predictions(tail, clipped, sorted(points))
    label = f"{TITLES[tail]} inputs, {'clipped' if clipped else 'unbounded'} target"
    found = []
    for centre in CENTRES:
        slope = (
            quantile_power_law(points, 0.99)
            if centre == "99 % quantile"
            else power_law(points, centre="mean" if centre == "mean" else "median")
        )
        fits[f"{tail}, {'clipped' if clipped else 'unbounded'}, {centre}"] = slope.as_json()
        found.append(
            Finding(
                f"{label}: exponent of the {centre}",
                None if printed is None else str(printed),
                slope.value,
                slope.ends,
                # On Gaussian inputs the two theories differ by logarithms only.
                verdict(slope, printed, None if tail == "gaussian" else sound),
                None if sound is None else str(sound),
            )
        )
    return found


def _slow_down(tail: str, groups: dict[Any, Any], fits: dict[str, Any], remarks: list[str]) -> list[Finding]:
    """By how much the exponent of the heavy-tailed inputs exceeds that of the Gaussian ones."""
    found = []
    for clipped in (False, True):
        heavy = groups.get((tail, clipped, "gaussian", "squared"), {})
        light = groups.get(("gaussian", clipped, "gaussian", "squared"), {})
        sizes = sorted(set(heavy) & set(light))
        if len(sizes) < 2:
            continue
        x = np.log(sizes)
        weights = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))
        both = np.concatenate([weights, -weights])
        slower = bootstrap(
            [heavy[n] for n in sizes] + [light[n] for n in sizes],
            lambda centres, both=both: np.asarray(np.log(centres) @ both),  # type: ignore[misc]
            centre="median",
        )
        printed, base = predictions(tail, clipped, sizes)[0], predictions("gaussian", clipped, sizes)[0]
        if printed is None or base is None:
            continue
        claimed = Prediction(printed.value - base.value, tolerance=2 * TOLERANCE)
        # Classical asymptotics: not slower; and faster where rare large inputs carry unbounded information.
        unhurt = Prediction(0.0, "<=", tolerance=2 * TOLERANCE)
        target = "clipped" if clipped else "unbounded"
        fits[f"{tail}, {target}, slower than Gaussian"] = slower.as_json()
        found.append(
            Finding(
                f"{TITLES[tail]} inputs, {target} target: exponent above the Gaussian's",
                str(claimed),
                slower.value,
                slower.ends,
                verdict(slower, claimed, unhurt),
                str(unhurt),
            )
        )
        level = bootstrap([heavy[sizes[-1]], light[sizes[-1]]], lambda c: np.asarray(c[..., 0] / c[..., 1]))
        fits[f"{tail}, {target}, over Gaussian at n = {sizes[-1]:.0f}"] = level.as_json()
        remarks.append(
            f"{TITLES[tail]} inputs, {target} target: the median decays with an exponent "
            f"{slower.value:+.2f} {_ci(slower)} from the Gaussian one, against {claimed.value:+.2f} by Remark 6.12; at "
            f"n = {sizes[-1]:.0f} the mean is {level.value:.2g} {_ci(level)} times the Gaussian one."
        )
    return found


def _losses(groups: dict[Any, Any], fits: dict[str, Any], remarks: list[str]) -> list[Finding]:
    """n E(fhat - f0)^2 / (sigma^2 P) at the largest n, against the asymptotic variance of M-estimators."""
    found, level = [], {}
    P = runs.degrees_of_freedom(2, 2)
    for (tail, clipped, noise, loss), points in groups.items():
        if clipped:
            continue
        n = max(points)
        scaled = n * np.asarray(points[n]) / (SIGMA**2 * P)
        mean, high = mean_interval(scaled), float(np.quantile(scaled, 0.99) / np.median(scaled))
        level[tail, noise, loss] = (scaled, n)
        variance = asymptotic_variance(loss, SCALES[loss] * SIGMA, noise, SIGMA, NU) / SIGMA**2
        if tail != "gaussian":
            continue
        # Least squares under t_nu, nu < 4: the excess has a mean and no variance, so that no interval can be trusted.
        erratic = noise == "student" and loss == "squared"
        said = verdict(mean, None, Prediction(variance, tolerance=0.15 * variance))
        fits[f"level, {noise} noise, {loss} loss"] = {**mean.as_json(), "classical": variance, "q99/median": high}
        found.append(
            Finding(
                f"{NOISES[noise]} noise, {LOSSES[loss]} loss, n = {n:.0f}: excess in units of σ²P/n",
                None,
                mean.value,
                None if erratic else mean.ends,
                "inconclusive: no variance" if erratic else said,
                variance,
            )
        )
    for loss in ("catoni", "huber"):
        plain, robust = level.get(("gaussian", "student", "squared")), level.get(("gaussian", "student", loss))
        if plain is not None and robust is not None and plain[1] == robust[1]:
            gain = bootstrap([robust[0], plain[0]], lambda c: np.asarray(c[..., 0] / c[..., 1]), centre="median")
            remarks.append(
                f"Under t₂.₂ noise at n = {plain[1]:.0f} the {LOSSES[loss]} loss has {gain.value:.2g} {_ci(gain)} "
                f"times the median excess of the squared loss; 99 % quantiles {np.quantile(robust[0], 0.99):.3g} "
                f"against {np.quantile(plain[0], 0.99):.3g} (units of σ²P/n)."
            )
    return found


def _ci(interval: Interval) -> str:
    return f"[{interval.low:.2g}, {interval.high:.2g}]"


def _plots(groups: dict[Any, Any]) -> dict[str, Plot]:
    figure, axes = plots.panels(3, 2, height=2.7)
    for axis, tail in zip(axes[:3], TAILS, strict=True):
        points = groups.get((tail, False, "gaussian", "squared"), {})
        _curves(axis, points)
        _guides(axis, tail, False, points, "printed rate", "sound rate")
        printed, sound = predictions(tail, False, sorted(points))
        title = f"{TITLES[tail]} inputs"
        if printed is not None and sound is not None:
            title += f"\nprinted {printed.value:.2f}, sound {sound.value:.2f}"
        plots.label(axis, "n (examples)", "E (f̂ − f°)²", title=title, log="xy", legend=False)
    handles = next((axis.get_legend_handles_labels() for axis in axes[:3] if axis.lines), None)
    if handles is not None:
        figure.legend(*handles, loc="outside upper center", ncols=5, fontsize=7.5, frameon=False)
    for index, tail in enumerate(TAILS):
        points = groups.get((tail, True, "gaussian", "squared"), {})
        _mean(axes[3], points, TITLES[tail], index)
    anchor = groups.get(("pareto", True, "gaussian", "squared"), {})
    _guides(axes[3], "pareto", True, anchor, "printed, Pareto", "sound")
    plots.label(axes[3], "n (examples)", "E (f̂ − f°)²", title="clipped target and predictor", log="xy")
    # Room for the legend below the curves.
    axes[3].set_ylim(bottom=axes[3].get_ylim()[0] / 10)
    P = runs.degrees_of_freedom(2, 2)
    for axis, noise in zip(axes[4:], NOISES, strict=True):
        for index, loss in enumerate(LOSSES):
            points = groups.get(("gaussian", False, noise, loss), {})
            _mean(axis, points, LOSSES[loss], index)
            if len(points) > 1:
                variance = asymptotic_variance(loss, SCALES[loss] * SIGMA, noise, SIGMA, NU)
                sizes = sorted(points)
                axis.plot(sizes, [variance * P / n for n in sizes], color=plots.COLOURS[index], ls=":", lw=1.2)
        plots.label(axis, "n (examples)", "E (f̂ − f°)²", title=f"{NOISES[noise]} noise, Gaussian inputs", log="xy")
    sizes = sorted({n for points in groups.values() for n in points})
    for axis in axes:
        axis.set_xticks(sizes[::2], [f"{n:.0f}" for n in sizes[::2]])
        axis.set_xticks([], minor=True)
    caption = (
        "Squared distance to the target against the number of examples. Top: inputs with three tails, an unbounded "
        "target; mean with 95 % interval, median and 99 % quantile over draws. Bottom left: target and predictor "
        "clipped. Bottom middle and right: three losses under Gaussian and heavy-tailed label noise; dotted, the "
        "classical variance of M-estimators times P/n. Dashed and dash-dotted: printed and sound rates of Remarks 6.7 "
        "and 6.12, through the first mean."
    )
    return {"li-tails": Plot(figure, caption)}


def _curves(axis: Any, points: dict[float, Any]) -> None:
    sizes = sorted(points)
    if not sizes:
        return
    _mean(axis, points, "mean", 0)
    medians = [median_interval(points[n]) for n in sizes]
    plots.band(
        axis, sizes, [m.value for m in medians], *zip(*[m.ends for m in medians], strict=True), label="median", index=1
    )
    plots.band(axis, sizes, [float(np.quantile(points[n], 0.99)) for n in sizes], label="99 % quantile", index=2)


def _mean(axis: Any, points: dict[float, Any], label: str, index: int) -> None:
    sizes = sorted(points)
    if not sizes:
        return
    means = [mean_interval(points[n]) for n in sizes]
    low = [max(m.low, 1e-3 * m.value) for m in means]  # a logarithmic axis has no place for what is below zero
    plots.band(axis, sizes, [m.value for m in means], low, [m.high for m in means], label=label, index=index)


def _guides(
    axis: Any, tail: str, clipped: bool, points: dict[float, Any], printed_label: str, sound_label: str
) -> None:
    sizes = sorted(points)
    printed, sound = predictions(tail, clipped, sizes)
    if printed is None or sound is None:
        return
    start = float(np.mean(points[sizes[0]]))
    for theory, label in ((printed, printed_label), (sound, sound_label)):
        curve = [start * (n / sizes[0]) ** theory.value for n in sizes]
        plots.theory(axis, sizes, curve, label=label, printed=theory is printed)


STUDIES = (
    Study(
        id=NAME,
        paper="li",
        title="Heavy-tailed inputs and labels: rates of squared, clipped and robust least squares",
        claim=(
            "For inputs with tail index β the rate slows down to n^(−(β−2)/(β−1)), which reflects how hard such data "
            "are (Remark 6.12); sub-Gaussian inputs keep √log n / n (Remark 6.7); a robust loss is called for."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        readings=(
            (
                "The paper reports no experiment; this design tests Remarks 6.7 and 6.12 on a single head (T = 4 "
                "tokens, d = k = 2, leaky ReLU), teacher and student alike, squared loss."
            ),
            "Minima are local: descent starts at the teacher, so that optimisation plays no part.",
            (
                "Remark 6.12 is read as the rate at which such data are learned. As a mere upper bound it is "
                "compatible with every faster decay, and so is the sound exponent −(β−2)/β; neither is claimed to be "
                "attained."
            ),
            "Clipped: target and predictor are confined to [−0.5, 0.5], the predictor inside the training objective.",
            (
                "Robust losses use scales fixed in units of the noise: Catoni's ψ(sr²)/s with s = 1/σ², Huber's "
                "corner at 1.345 σ."
            ),
            (
                "Under t₂.₂ noise the excess of least squares has a mean but no variance: its average over draws is "
                "shown without an interval and without a verdict."
            ),
        ),
    ),
)
