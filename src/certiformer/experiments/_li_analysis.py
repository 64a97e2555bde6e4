"""What the analyses of Li et al.'s experiments share: grouping by abscissa, comparing with a bound, cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

from certiformer.experiments._li_runs import Teacher
from certiformer.experiments.statistics import Interval, Prediction, mean_interval, power_law, verdict
from certiformer.experiments.study import Finding
from certiformer.report.plots import band, theory
from certiformer.sweep import Row
from certiformer.sweep.run import Config

Abscissa = str | Callable[[Config], float]
OUR_DESIGN = (
    "The paper has no experiment: the design is ours. Sizes, noise levels and norms were chosen after pilot runs, so "
    "that a difference between the theories could show at all, and so were the tolerances granted to exponents (0.1 in "
    "n) and levels (0.15). A bound predicts no exponent: by the printed one we mean that of the printed bound, taken "
    "at its word, and where the bound itself is broken stands in a row of its own. In the column of the sound theory "
    "stands what sound bounds allow and classical asymptotics, σ²P/n with P free directions, or the exact example "
    "predicts."
)


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of a theory's curve on logarithmic axes, by the same least squares as for the measured points."""
    if len(x) < 2:
        return math.nan
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def groups(rows: Iterable[Row], of: Abscissa, value: Callable[[Row], float]) -> dict[float, list[float]]:
    """What the seeds gave at each abscissa, in order; `value` of each row."""
    found: dict[float, list[float]] = {}
    for row in rows:
        found.setdefault(_abscissa(row.config, of), []).append(value(row))
    return dict(sorted(found.items()))


def _abscissa(config: Config, of: Abscissa) -> float:
    return float(config[of] if isinstance(of, str) else of(config))


def scaled(estimate: str = "local") -> Callable[[Row], float]:
    """n E (f - f0)^2 / sigma^2: the number of free directions, where the classical asymptotics hold."""
    return lambda row: row.values[estimate] * row.config["n"] / row.config["sigma"] ** 2


def excess(estimate: str = "local") -> Callable[[Row], float]:
    """E (f - f0)^2."""
    return lambda row: float(row.values[estimate])


def intervals(points: Mapping[float, Sequence[float]]) -> dict[float, Interval]:
    """Student's interval of the mean at each abscissa."""
    return {x: mean_interval(values) for x, values in points.items()}


def representative(rows: Iterable[Row], of: Abscissa) -> dict[float, Config]:
    """One config for each abscissa, in order: the theory does not depend on the seed."""
    return dict(sorted({_abscissa(row.config, of): row.config for row in rows}.items()))


def growth(
    rows: Sequence[Row],
    of: Abscissa,
    setting: str,
    printed: Callable[[Config], float],
    axes: Axes,
    *,
    resolved: bool = True,
) -> tuple[list[Finding], dict[str, Any]]:
    """How n excess / sigma^2 grows along an abscissa, beside the free directions and the printed bound's own growth.

    The printed bound promises that the excess grows no faster than itself; classical asymptotics say that it is the
    number of free directions, or at most that where the sample does not have all of them `resolved`. On the axes the
    printed bound is scaled to the first point.
    """
    points = groups(rows, of, scaled())
    if not points:
        return [], {}
    x = list(points)
    free = [float(np.mean(values)) for values in groups(rows, of, lambda row: row.values["directions"]).values()]
    curve = [printed(c) * c["n"] / c["sigma"] ** 2 for c in representative(rows, of).values()]
    first = float(np.mean(points[x[0]]))
    measured(axes, points, "local", 0)
    theory(axes, x, free, label="free directions P")
    theory(axes, x, [first * value / curve[0] for value in curve], label="printed, scaled", printed=True)
    slope, printed_slope, free_slope = power_law(points), exponent(x, curve), exponent(x, free)
    level = mean_interval([scaled()(row) / row.values["directions"] for row in rows])
    classical = Prediction(free_slope, "=" if resolved else "<=", 0.15)
    allowed = Prediction(printed_slope, "<=", 0.1)
    said = verdict(slope, allowed, classical)
    if math.isfinite(slope.low) and not resolved and slope.high <= min(allowed.allowed[1], classical.allowed[1]):
        said = "less than both allow"
    one = Prediction(1.0, "=" if resolved else "<=", 0.15)
    fits: dict[str, Any] = {
        setting: {**slope.as_json(), "printed": printed_slope, "free directions": free_slope},
        f"{setting}: n·excess/σ²": {f"{at:g}": found.as_json() for at, found in intervals(points).items()},
        f"{setting}: free directions": {f"{at:g}": value for at, value in zip(x, free, strict=True)},
    }
    said_by = (f"≤ {round(printed_slope, 2) + 0.0:.2f}", str(classical)) if len(x) > 1 else (None, None)
    findings = [
        Finding(setting, said_by[0], slope.value, slope.ends, said, said_by[1]),
        Finding(
            f"{setting.split(',')[0]}: n·excess/(σ²P), all points",
            None,
            level.value,
            level.ends,
            verdict(level, None, one),
            str(one),
        ),
    ]
    searched = [row for row in rows if "random" in row.values]
    if searched:
        fitting = [row for row in searched if row.values["random_fits"]]
        fits[f"{setting}: random starts"] = {
            "fit as well as the teacher": len(fitting) / len(searched),
            "n·excess/σ²": {
                f"{at:g}": found.as_json() for at, found in intervals(groups(searched, of, scaled("random"))).items()
            },
            "n·excess/σ² of those that fit": {
                f"{at:g}": found.as_json() for at, found in intervals(groups(fitting, of, scaled("random"))).items()
            },
        }
    return findings, fits


def rate(rows: Sequence[Row], setting: str, axes: Axes) -> tuple[list[Finding], dict[str, Any]]:
    """The slope in n of the local estimate's excess, beside sigma^2 P / n."""
    points = groups(rows, "n", excess())
    if not points:
        return [], {}
    classical = groups(rows, "n", lambda row: row.values["directions"] * row.config["sigma"] ** 2 / row.config["n"])
    measured(axes, points, "local", 0)
    theory(axes, list(points), [float(np.mean(values)) for values in classical.values()], label="σ² P/n")
    slope, fast = power_law(points), Prediction(-1.0, tolerance=0.1)
    finding = Finding(setting, -1.0, slope.value, slope.ends, verdict(slope, fast, fast), -1.0)
    return [finding], {setting: slope.as_json()}


def calibration(rows: Sequence[Row], bound: Callable[[Config], float]) -> Finding:
    """The smallest ratio of the sound bound to the mean excess over all cells (everything but the seed)."""
    cells: dict[str, list[Row]] = {}
    for row in rows:
        cells.setdefault(repr(sorted((k, v) for k, v in row.config.items() if k != "seed")), []).append(row)
    ratios, worst = [], 0.0
    for cell in cells.values():
        value, found = bound(cell[0].config), mean_interval([excess()(row) for row in cell])
        ratios.append(value / found.value)
        worst = max(worst, found.high / value)
    held = "holds" if worst <= 1.0 else ("inconclusive" if math.isinf(worst) else "does not hold")
    return Finding("sound bound S2 over excess, smallest of all cells", None, min(ratios), None, held, "≥ 1")


def broken(rows: Sequence[Row], of: Abscissa, bound: Callable[[Config], float]) -> dict[float, Interval]:
    """Excess over the bound, with its interval, at each abscissa."""
    points = groups(rows, of, excess())
    # one interval for each abscissa, and the worst of them is looked at: together they hold with 95 %
    found = {x: mean_interval(values, 1.0 - 0.05 / len(points)) for x, values in points.items()}
    ratios = {}
    for x, config in representative(rows, of).items():
        value, kept = bound(config), found[x]
        ratios[x] = Interval(kept.value / value, kept.low / value, kept.high / value)
    return ratios


def broken_from(ratios: Mapping[float, Interval]) -> float | None:
    """The least abscissa from which on the bound is broken at all that were tried."""
    start = None
    for x, found in sorted(ratios.items(), reverse=True):
        if found.low <= 1.0:
            break
        start = x
    return start


def most_broken(ratios: Mapping[float, Interval], setting: str) -> Finding:
    """The abscissa at which the printed bound fares worst; `setting` has a place for it."""
    x, found = max(ratios.items(), key=lambda item: item[1].value)
    said = verdict(found, Prediction(1.0, "<="))
    violated = {"does not agree": "printed bound violated", "agrees": "printed bound holds here"}.get(said, said)
    return Finding(setting.format(f"{x:g}"), "≤ 1", found.value, found.ends, violated)


def measured(axes: Axes, points: Mapping[float, Sequence[float]], name: str, index: int) -> None:
    """Means over seeds with their intervals, kept positive for logarithmic axes."""
    found = intervals(points)
    positive = [max(interval.low, interval.value / 10.0) for interval in found.values()]
    band(
        axes,
        list(found),
        [interval.value for interval in found.values()],
        positive,
        [interval.high for interval in found.values()],
        label=name,
        index=index,
    )


def plain_abscissas(axes: Axes, x: Iterable[float]) -> None:
    """Numbers instead of powers of ten at the abscissas."""
    places = list(x)
    if places:
        axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.xaxis.set_minor_locator(NullLocator())


def plain_ticks(axes: Axes, x: Iterable[float]) -> None:
    """The same, and 1, 2 and 5 times powers of ten as numbers on the other axis, which spans a decade or two."""
    plain_abscissas(axes, x)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.yaxis.set_minor_locator(NullLocator())


def seconds(config: Config) -> float:
    """Seconds of one run on one core. An example's gradient and its part of J^T J were timed for 21 to 168 weights."""
    teacher = Teacher.of(config)
    weights, layers = teacher.parameters, teacher.layers
    example = 1.3e-6 * (0.05 * teacher.d + 0.012 * weights + 8e-5 * weights**2 + 0.6 * layers)
    steps = 0.8 * config["steps"] * (1 + config["restarts"]) + 1
    return float(0.02 + example * (config["n"] * steps + 4 * config["test"]))
