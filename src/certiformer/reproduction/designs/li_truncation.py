"""Where should heavy-tailed inputs be cut off? The risk of fhat o T_M against the threshold M."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

import certiformer
from certiformer.reproduction.designs._li_tails_fits import PROBLEM
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Vector, bootstrap, power_law
from certiformer.reproduction.study import Analysis, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Config, Experiment, Outcome, Row
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import SLOPE_MARGIN, number, sign

NAME = "li.truncation"
TAILS = {"student": 3.0, "pareto": 2.5}
TITLES = {"student": "Student t₃", "pareto": "Pareto 2.5"}
# Biases are compared with their power laws beyond this threshold, where few inputs are cut.
FAR = 8.0
# The least threshold that costs no more than this part of the risk without truncation.
TOLERATED = 0.1


def run(config: Config) -> Outcome:
    """For every threshold: local ERM on truncated inputs, its risk on truncated inputs, and the bias of the target.

    Samples and test points are the same for all thresholds. The last column is the predictor without truncation.
    """
    import jax
    import jax.numpy as jnp

    from certiformer.reproduction.designs import _li_tails_runs as runs

    with jax.enable_x64(True):
        source = runs.problem(config)
        start = runs.merge(source.teacher)
        inputs, _, labels = runs.training_sample(source, config)
        points, weights = runs.test_sample(runs.test_generator(config), config, config["test"])
        truth = runs.target(start, jnp.asarray(points))
        excess, converged = [], []
        for M in [*config["thresholds"], math.inf]:
            cut = jnp.asarray(runs.truncate(inputs, M))
            heads, done = runs.minimise(
                start, cut, jnp.asarray(labels), 0, 1.0, math.inf, iterations=config["iterations"]
            )
            seen = jnp.asarray(runs.truncate(points, M))
            excess.append(np.asarray(runs.squared_distance(heads, seen, truth, jnp.asarray(weights))))
            converged.append(np.asarray(done))
        exact = np.asarray(truth)
        errors = [
            exact - np.asarray(runs.target(start, jnp.asarray(runs.truncate(points, M)))) for M in config["thresholds"]
        ]
    return Outcome(
        {"converged": float(np.mean(converged))},
        {
            "excess": np.stack(excess, axis=-1),
            "bias": np.array([np.mean(weights * np.abs(e)) for e in errors]),
            "bias_squared": np.array([np.mean(weights * e**2) for e in errors]),
        },
    )


def remark(n: int, beta: float) -> tuple[float, float]:
    """Remark 6.12's threshold, printed and sound."""
    value = certiformer.bound("li.rem6.12", n=n, beta=beta)
    return value.printed["M"].value, value.sound["M"].value


def experiment(scale: Scale) -> Experiment:
    sizes, grid, seeds, draws, test = {
        "smoke": ((64,), (2, 8, 32), 1, 8, 1024),
        "quick": ((128, 256, 512, 1024, 2048), (2, 8, 32, 128, 512, 2048, 8192, 32768, 131072, 524288), 5, 16, 8192),
        "paper": ((128, 512, 2048, 8192), tuple(2**i for i in range(1, 22)), 10, 50, 32768),
    }[scale]
    shape = {**PROBLEM, "tokens": 4, "test": test, "draws": draws}
    # thresholds: the grid first; then the two of the remark at this n
    cells = [
        {"tail": tail, "beta": beta, "thresholds": [*map(float, grid), *remark(n, beta)], "n": n, **shape}
        for n in sizes
        for tail, beta in TAILS.items()
    ]
    return Experiment(NAME, f"{__name__}:run", seed_by_seed(cells, seeds))


# --- analysis -----------------------------------------------------------------------------------------------------


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    panels, told, bias_series = [], [], []
    for tail, part in table.by("tail").items():
        bias_series += _bias(notes, tail, part)
        told += _places(notes, tail, part)
        _enough(notes, tail, part)
        _rates(notes, tail, part)
        panels.append(Panel("threshold M", "E (f̂(X_M) − f°(X))²", _curves(part), f"{TITLES[tail]} inputs", "xy"))
    panels.append(Panel("threshold M", "E |f°(X) − f°(X_M)|", bias_series, "bias of truncation", "xy"))
    caption = (
        "Mean risk of the predictor trained and used on inputs cut at M (95 % interval), beside the risk at the "
        "thresholds of Remark 6.12, printed and sound. Right: the bias of truncation and the two power laws, through "
        f"the first point beyond M = {FAR:g}."
    )
    headline = f"no threshold does better than none in {told.count(False)} of {len(told)} cells"
    return notes.analysis(
        f"{headline}; truncation helps in {told.count(True)}.", truncation=Plot(panels, caption, height=3.0)
    )


def _grid(row: Row) -> list[float]:
    """The thresholds tried, but for the two of the remark, which come last."""
    return list(row.config["thresholds"][:-2])


def _bias(notes: Notes, tail: str, table: Table) -> list[Series]:
    """E|f0(X) - f0(X_M)| and its square against M: the printed bias is M^(2-beta) where M^(1-beta) is enough."""
    beta = TAILS[tail]
    drawn: list[Series] = []
    for name, what, printed, sound in (
        ("bias", "E|f°(X) − f°(X_M)|", 2.0 - beta, 1.0 - beta),
        ("bias_squared", "E(f°(X) − f°(X_M))²", None, 2.0 - beta),
    ):
        values: dict[float, list[float]] = {}
        for row in table:
            for M, value in zip(_grid(row), row.arrays[name], strict=False):
                if value > 0.0:
                    values.setdefault(M, []).append(float(value))
        far = {M: found for M, found in sorted(values.items()) if M >= FAR}
        slope = power_law(far)
        for who, claimed in (("paper", printed), ("sound", sound)):
            if claimed is not None and len(far) > 1:
                verdict = number(slope, claimed, SLOPE_MARGIN)
                setting = f"{TITLES[tail]}: exponent of {what} in M, {'printed' if who == 'paper' else 'sound'}"
                notes.found(setting, slope, verdict, **{who: claimed})
        if name == "bias" and values:
            drawn.append(Series.means(f"{TITLES[tail]}: slope {slope.value:.2f}", dict(sorted(values.items()))))
            first = min(far, default=min(values))
            start = float(np.mean(values[first]))
            for power, who in ((printed, "printed M^(2−β)"), (sound, "sound M^(1−β)")):
                line = {M: start * (M / first) ** (power or 0.0) for M in far}
                drawn.append(Series.theory(f"{who}, β = {beta:g}", line, printed=who.startswith("printed")))
    return drawn


def _ordered(table: Table) -> tuple[list[float], Vector]:
    """The thresholds in order and the risks of all draws at them; without truncation last."""
    raw = table.config["thresholds"]
    risk = np.concatenate([row.arrays["excess"] for row in table])
    order = np.argsort(raw)
    return [raw[i] for i in order], risk[:, [*order, risk.shape[1] - 1]]


def enough(thresholds: list[float], means: Vector) -> float:
    """The M at which the risk falls to (1 + TOLERATED) times that without truncation, between points in logarithms."""
    level = (1.0 + TOLERATED) * means[-1]
    above = np.flatnonzero(means[:-1] > level)
    if not len(above):
        return thresholds[0]
    last = int(above[-1])
    if last + 1 >= len(thresholds):
        return math.inf
    x, y = np.log(thresholds[last : last + 2]), np.log(means[last : last + 2])
    return float(np.exp(x[0] + (x[1] - x[0]) * (y[0] - math.log(level)) / (y[0] - y[1])))


def _places(notes: Notes, tail: str, table: Table) -> list[bool | None]:
    """Is there a U-shape: does any threshold do better than none?"""
    said: list[bool | None] = []
    for n, part in table.by("n").items():
        thresholds, risk = _ordered(part)
        best = int(np.argmin(risk[:, :-1].mean(axis=0)))
        gain = bootstrap([risk[:, best], risk[:, -1]], lambda c: np.asarray(c[..., 0] / c[..., 1]), paired=True)
        printed = remark(n, TAILS[tail])[0]
        verdict = sign(gain, 1.0)
        setting = (
            f"{TITLES[tail]}, n = {n}: least risk over M (at M = {thresholds[best]:.3g}) / risk without truncation"
        )
        notes.found(setting, gain, verdict, paper=f"< 1, minimum at M = {printed:.3g}")
        clear = verdict.word == "agrees"
        said.append(clear if clear or gain.low >= 1.0 - TOLERATED else None)
    return said


def _enough(notes: Notes, tail: str, table: Table) -> None:
    """How the threshold that is large enough grows with n; one value for each seed."""
    found: dict[float, list[float]] = {}
    for row in table:
        grid, risk = _ordered(Table([row]))
        found.setdefault(float(row.config["n"]), []).append(enough(grid, risk.mean(axis=0)))
    finite = {n: values for n, values in sorted(found.items()) if all(map(math.isfinite, values))}
    if len(finite) < 2:
        return
    growth, claimed = power_law(finite, centre="median"), 1.0 / (TAILS[tail] - 2.0)
    setting = f"{TITLES[tail]}: exponent in n of the threshold that costs {TOLERATED:.0%} of the risk"
    notes.found(setting, growth, number(growth, claimed, SLOPE_MARGIN), paper=claimed)


def _rates(notes: Notes, tail: str, table: Table) -> None:
    """Exponents in n of the risk at the printed threshold, at the sound one, and without truncation."""

    def value(part: Table, side: str, name: str) -> float:
        found = certiformer.bound("li.rem6.12", n=part.config["n"], beta=TAILS[tail])
        return float(getattr(found, side)[name].value)

    printed = Theory("printed rate", lambda part: value(part, "printed", "rate"), relation="<=")
    # at the sound M the squared bias M^(2-beta) rules, and it is attained: the rate of S8 is exact there
    exact = Theory("rate of S8, exact here", lambda part: value(part, "sound", "rate_squared"))
    allowed = Theory("rate of S8", lambda part: value(part, "sound", "rate_squared"), relation="<=")
    for column, name, theory, side in (
        (-3, "at the printed M = n^(1/(β−2))", printed, "printed"),
        (-2, "at the sound M = n^(1/β)", exact, "sound"),
        (-1, "without truncation", allowed, "sound"),
    ):
        sides: dict[str, Theory] = {side: theory}
        y = functools.partial(_risk_at, column)
        trend = Trend(f"{TITLES[tail]}, exponent of the mean risk {name}", table, "n", y, **sides)  # type: ignore[arg-type]
        notes.note(trend)


def _risk_at(column: int, row: Row) -> Vector:
    return np.asarray(row.arrays["excess"], float)[:, column]


def _curves(table: Table) -> list[Series]:
    series = []
    sizes = table.by("n")
    for n in sorted(sizes)[:: max(1, len(sizes) // 2)]:
        part = sizes[n]
        grid, risk = _grid(part.rows[0]), np.concatenate([row.arrays["excess"] for row in part])
        series.append(Series.means(f"n = {n}", {M: risk[:, j] for j, M in enumerate(grid)}))
        means, (printed, sound) = risk.mean(axis=0), part.config["thresholds"][-2:]
        names = ("", "", "") if len(series) > 1 else ("risk at the printed M", "risk at the sound M", "no truncation")
        series.append(Series.theory(names[0], {printed: means[-3]}, printed=True))
        series.append(Series.theory(names[1], {sound: means[-2]}))
        series.append(Series.theory(names[2], dict.fromkeys((grid[0], grid[-1]), means[-1])))
    return series


STUDIES = (study(NAME, experiment, analyse),)
