"""Heavy-tailed inputs and heavy-tailed labels: how fast does a Transformer learn, and which loss should it use?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import certiformer
from certiformer.reproduction.designs._li_analysis import LEVEL_MARGIN
from certiformer.reproduction.designs._li_tails_fits import (
    NU,
    PROBLEM,
    SIGMA,
    asymptotic_variance,
    degrees_of_freedom,
    quantile_power_law,
)
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Vector, bootstrap, mean_interval, median_interval
from certiformer.reproduction.study import Analysis, Finding, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Config, Experiment, Outcome, Row
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import SLOPE_MARGIN, Claim
from certiformer.theory.core import Evaluation

NAME = "li.tails"
TAILS = {"gaussian": 3.0, "student": 3.0, "pareto": 2.5}
TITLES = {"gaussian": "Gaussian", "student": "Student t₃", "pareto": "Pareto 2.5"}
NOISES = {"gaussian": "Gaussian", "student": "t₂.₂"}
LOSSES = {"squared": "squared", "catoni": "Catoni", "huber": "Huber"}
# In units of the noise's scale: s = 1/sigma^2 for Catoni, Huber's usual corner for 95 % efficiency.
SCALES = {"squared": 1.0, "catoni": 1.0, "huber": 1.345}
CLIP = 0.5


def run(config: Config) -> Outcome:
    """Independent samples of size n, a local ERM for each, and E (fhat - f0)^2 for each of those."""
    import jax
    import jax.numpy as jnp

    from certiformer.reproduction.designs import _li_tails_runs as runs

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
    how = {"clip": clip, "noise": noise, "loss": loss, "scale": SCALES[loss] * SIGMA}
    return {**PROBLEM, "tail": tail, "beta": TAILS[tail], **how}


def cells(scale: Scale) -> list[Config]:
    """Tails of the inputs, with and without a clip; noises and losses, on Gaussian inputs."""
    if scale == "smoke":
        return [cell("gaussian"), cell("pareto"), cell("gaussian", noise="student", loss="catoni")]
    found = [cell(tail, clip=clip) for tail in TAILS for clip in (None, CLIP)]
    found += [cell("gaussian", noise=noise, loss=loss) for noise in NOISES for loss in LOSSES]
    return [one for i, one in enumerate(found) if one not in found[:i]]


def experiment(scale: Scale) -> Experiment:
    sizes, seeds, draws, test = {
        "smoke": ((64, 128), 1, 8, 1024),
        "quick": ((128, 256, 512, 1024, 2048, 4096), 5, 24, 8192),
        "paper": ((128, 256, 512, 1024, 2048, 4096), 10, 50, 32768),
    }[scale]
    shape = {"tokens": 4, "test": test, "draws": draws}
    found = [{**one, **shape, "n": n} for n in sizes for one in cells(scale)]
    return Experiment(NAME, f"{__name__}:run", seed_by_seed(found, seeds))


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    plain = table.where(noise="gaussian", loss="squared")
    panels, slowed = [], list[str]()
    for tail in TAILS:
        part = plain.where(tail=tail)
        for clipped, half in part.by(_clipped).items():
            _rates(notes, tail, clipped, half)
        unbounded = part.where(lambda row: not _clipped(row.config))
        title = f"{TITLES[tail]} inputs"
        panels.append(Panel("n (examples)", "E (f̂ − f°)²", _curves(tail, unbounded), title, "xy"))
        if tail != "gaussian":
            slowed += _slow_down(notes, tail, plain)
    clipped_series = [
        Series.means(TITLES[tail], plain.where(lambda row: _clipped(row.config), tail=tail).points("n", _excess))
        for tail in TAILS
    ]
    panels.append(Panel("n (examples)", "E (f̂ − f°)²", clipped_series, "clipped target and predictor", "xy"))
    gaussian = table.where(lambda row: not _clipped(row.config), tail="gaussian")
    panels += [_loss_panel(gaussian, noise) for noise in NOISES]
    _losses(notes, gaussian)
    notes.fits["converged"] = float(np.mean(table.column("converged")))
    caption = (
        "Squared distance to the target against the number of examples. Top: inputs with three tails, an unbounded "
        "target; mean with 95 % interval, median and 99 % quantile over draws, beside the rates of Remarks 6.7 and "
        "6.12 through the first mean. Bottom left: target and predictor clipped. Bottom middle and right: three losses "
        "under Gaussian and heavy-tailed label noise, beside the classical variance of M-estimators times P/n."
    )
    told = [notes.word(setting) for setting in slowed]
    slower = (
        f"heavy-tailed inputs slow the decay down as Remark 6.12 says in {told.count('agrees')} of {len(told)} cases"
    )
    return notes.analysis(
        f"{slower}; it differs in {told.count('differs')}.", tails=Plot(panels, caption, 3, 2.7, shared=True)
    )


def _clipped(config: Config) -> bool:
    return config["clip"] is not None


def _excess(row: Row) -> Vector:
    return np.asarray(row.arrays["excess"], float)


def remarks_of(tail: str, clipped: bool) -> tuple[Theory, Theory]:
    """Remarks 6.7 and 6.12 as bounds on the rate, printed and sound: the same reading for both."""
    repaired = "rate_clipped" if clipped else "rate_squared"

    def rate(part: Table) -> Evaluation:
        if tail == "gaussian":
            return certiformer.bound("li.rem6.7", n=part.config["n"], a=1.0, v=1.0)
        return certiformer.bound("li.rem6.12", n=part.config["n"], beta=TAILS[tail])

    remark = "6.7" if tail == "gaussian" else "6.12"
    return (
        Theory(f"Remark {remark}", lambda p: rate(p).printed["rate"].value, relation="<=", scaled=True),
        Theory("sound rate", lambda p: rate(p).sound[repaired].value, relation="<=", scaled=True),
    )


def _rates(notes: Notes, tail: str, clipped: bool, table: Table) -> None:
    label = f"{TITLES[tail]} inputs, {'clipped' if clipped else 'unbounded'} target"
    printed, sound = remarks_of(tail, clipped)
    for centre in ("mean", "median"):
        name = f"{label}, exponent of the {centre}"
        notes.note(Trend(name, table, "n", _excess, printed, sound, "mean" if centre == "mean" else "median"))
    high = quantile_power_law(table.points("n", _excess), 0.99)
    notes.found(f"{label}, exponent of the 99 % quantile", high)


def _slow_down(notes: Notes, tail: str, plain: Table) -> list[str]:
    """The difficulty of such data: by how much the exponent of the heavy-tailed inputs exceeds the Gaussian's.

    Remark 6.12 calls its rate the difficulty of learning from such data; here it is read so, against no slow-down.
    """
    settings = []
    for clipped in (False, True):
        both = plain.where(lambda row, c=clipped: _clipped(row.config) == c)  # type: ignore[misc]
        heavy, light = (both.where(tail=name).points("n", _excess) for name in (tail, "gaussian"))
        sizes = sorted(set(heavy) & set(light))
        if len(sizes) < 2:
            continue
        x = np.log(sizes)
        weights = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))
        lever = np.concatenate([weights, -weights])
        slower = bootstrap(
            [heavy[n] for n in sizes] + [light[n] for n in sizes],
            lambda centres, lever=lever: np.asarray(np.log(centres) @ lever),  # type: ignore[misc]
            centre="median",
        )
        claimed = [
            Trend("", both.where(tail=name), "n", _excess).said(remarks_of(name, clipped)[0])
            for name in (tail, "gaussian")
        ]
        claim = Claim(claimed[0] - claimed[1])
        verdict = claim.judge(slower, SLOPE_MARGIN)
        setting = (
            f"{TITLES[tail]} inputs, {'clipped' if clipped else 'unbounded'} target: exponent above the Gaussian's"
        )
        notes.found(setting, slower, verdict, paper=str(claim))
        settings.append(setting)
        level = bootstrap([heavy[sizes[-1]], light[sizes[-1]]], lambda c: np.asarray(c[..., 0] / c[..., 1]))
        notes.remarks.append(f"{setting} {slower}; at n = {sizes[-1]:.0f} the mean is {level} times the Gaussian one.")
    return settings


def _losses(notes: Notes, table: Table) -> None:
    """n E(fhat - f0)^2 / (sigma^2 P) at the largest n, against the asymptotic variance of M-estimators."""
    P = degrees_of_freedom(2, 2)
    for noise, of_noise in table.by("noise").items():
        for loss, of_loss in of_noise.by("loss").items():
            points = of_loss.points("n", _excess)
            n = max(points)
            variance = asymptotic_variance(loss, SCALES[loss] * SIGMA, noise, SIGMA, NU) / SIGMA**2
            mean = mean_interval(n * points[n] / (SIGMA**2 * P * variance))
            setting = f"{NOISES[noise]} noise, {LOSSES[loss]} loss, n = {n:.0f}: excess / its classical value"
            # least squares under t_nu, nu < 4: the excess has a mean and no variance, so no interval can be trusted
            if noise == "student" and loss == "squared":
                notes.findings.append(Finding(setting, None, mean.value, None, sound=1.0))
            else:
                notes.found(setting, mean, Claim(1.0).judge(mean, LEVEL_MARGIN), sound=1.0)
        if noise == "student":
            last = {loss: part.points("n", _excess) for loss, part in of_noise.by("loss").items()}
            for loss in [loss for loss in last if loss != "squared"] if "squared" in last else ():
                n = max(last[loss])
                pair = [last[loss][n], last["squared"][n]]
                gain = bootstrap(pair, lambda c: np.asarray(c[..., 0] / c[..., 1]), centre="median")
                notes.found(f"t₂.₂ noise, n = {n:.0f}: median excess, {LOSSES[loss]} / squared loss", gain)


def _curves(tail: str, table: Table) -> list[Series]:
    points = table.points("n", _excess)
    if not points:
        return []
    printed, sound = remarks_of(tail, False)
    mean, *theories = Trend("", table, "n", _excess, printed, sound, label="mean").series()
    medians = Series.measured("median", {n: median_interval(values) for n, values in points.items()})
    high = Series("99 % quantile", list(points), [float(np.quantile(values, 0.99)) for values in points.values()])
    return [mean, medians, high, *theories]


def _loss_panel(table: Table, noise: str) -> Panel:
    P = degrees_of_freedom(2, 2)
    series = []
    for loss, part in table.where(noise=noise).by("loss").items():
        points = part.points("n", _excess)
        series.append(Series.means(LOSSES[loss], points))
        variance = asymptotic_variance(loss, SCALES[loss] * SIGMA, noise, SIGMA, NU)
        series.append(Series.theory(f"classical, {LOSSES[loss]}", {n: variance * P / n for n in points}))
    return Panel("n (examples)", "E (f̂ − f°)²", series, f"{NOISES[noise]} noise, Gaussian inputs", "xy")


STUDIES = (study(NAME, experiment, analyse),)
