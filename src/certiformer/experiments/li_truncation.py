"""Where should heavy-tailed inputs be cut off? The risk of fhat o T_M against the threshold M."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import certiformer
from certiformer.experiments import _li_tails_runs as runs
from certiformer.experiments._li_tails_runs import Vector
from certiformer.experiments.statistics import Interval, Prediction, bootstrap, mean_interval, power_law, verdict
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

NAME = "li.truncation"
TAILS = {"student": 3.0, "pareto": 2.5}
TITLES = {"student": "Student t₃", "pareto": "Pareto 2.5"}
SIGMA = 0.1
# Biases are compared with their power laws beyond this threshold, where few inputs are cut.
FAR = 8.0
# The least threshold that costs no more than this part of the risk without truncation.
TOLERATED = 0.1
BySize = dict[int, tuple[list[float], Vector]]  # thresholds, and risks: draws by thresholds, the last one untruncated
Risks = dict[str, BySize]


def run(config: Config) -> Outcome:
    """For every threshold: local ERM on truncated inputs, its risk on truncated inputs, and the bias of the target.

    Samples and test points are the same for all thresholds. The last column is the predictor without truncation.
    """
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
        "paper": (
            (128, 256, 512, 1024, 2048, 4096, 8192, 16384),
            tuple(2**i for i in range(1, 22)),
            20,
            50,
            32768,
        ),
    }[scale]
    configs = []
    for n in sizes:
        for tail, beta in TAILS.items():
            # The grid first; then the two thresholds of the remark at this n.
            thresholds = [*(float(M) for M in grid), *remark(n, beta)]
            configs += [
                {
                    "tail": tail,
                    "beta": beta,
                    "noise": "gaussian",
                    "nu": 2.2,
                    "sigma": SIGMA,
                    "d": 2,
                    "k": 2,
                    "tokens": 4,
                    "teacher": 0,
                    "iterations": 100,
                    "test": test,
                    "draws": draws,
                    "thresholds": thresholds,
                    "n": n,
                    "seed": s,
                }
                for s in range(seeds)
            ]
    return Experiment(NAME, run=f"{__name__}:run", configs=configs)


def cost(config: Config) -> float:
    """Measured on one core: 11 microseconds per example, draw and threshold, and the test points."""
    fits = config["draws"] * (len(config["thresholds"]) + 1)
    return float(fits * (11e-6 * config["n"] + 1e-7 * config["test"]) + 0.1)


# --- analysis -----------------------------------------------------------------------------------------------------


def analyse(rows: Sequence[Row]) -> Analysis:
    risks: Risks = {}
    for row in rows:
        at = risks.setdefault(row.config["tail"], {})
        thresholds = row.config["thresholds"]
        before = at.get(row.config["n"], (thresholds, np.zeros((0, len(thresholds) + 1))))
        at[row.config["n"]] = (thresholds, np.concatenate([before[1], row.arrays["excess"]]))
    findings: list[Finding] = []
    fits: dict[str, Any] = {"converged": float(np.mean([row.values["converged"] for row in rows])) if rows else None}
    remarks: list[str] = []
    for tail in risks:
        findings += _bias(tail, [row for row in rows if row.config["tail"] == tail], fits)
    for tail, at in risks.items():
        findings += _places(tail, at, fits)
        findings += _enough(tail, [row for row in rows if row.config["tail"] == tail], fits, remarks)
        findings += _rates(tail, at, fits)
    return Analysis(tuple(findings), fits, _plots(rows, risks), tuple(remarks))


def biases(rows: Sequence[Row], name: str) -> dict[float, list[float]]:
    """What the runs say of the bias at each threshold of the grid beyond `FAR`."""
    found: dict[float, list[float]] = {}
    for row in rows:
        for M, value in zip(row.config["thresholds"][:-2], row.arrays[name], strict=False):
            if value > 0.0:
                found.setdefault(M, []).append(float(value))
    return dict(sorted(found.items()))


def _bias(tail: str, rows: Sequence[Row], fits: dict[str, Any]) -> list[Finding]:
    """E|f0(X) - f0(X_M)| and its square against M: the printed bias is M^(2-beta) where M^(1-beta) is enough."""
    beta, found = TAILS[tail], []
    cases = (
        ("bias", "E|f°(X) − f°(X_M)|", 2.0 - beta, 1.0 - beta),
        ("bias_squared", "E(f°(X) − f°(X_M))²", None, 2.0 - beta),
    )
    for name, label, claimed, derived in cases:
        slope = power_law({M: values for M, values in biases(rows, name).items() if M >= FAR})
        fits[f"{tail}, {name}"] = slope.as_json()
        printed = None if claimed is None else Prediction(claimed, tolerance=0.1)
        sound = Prediction(derived, tolerance=0.1)
        found.append(
            Finding(
                f"{TITLES[tail]}: exponent of {label} in M",
                None if printed is None else str(printed),
                slope.value,
                slope.ends,
                verdict(slope, printed, sound),
                str(sound),
            )
        )
    return found


def _curve(thresholds: list[float], risk: Vector) -> tuple[list[float], Vector]:
    """The grid with the remark's thresholds in their places, and the risks in that order; without truncation last."""
    order = np.argsort(thresholds)
    return [thresholds[i] for i in order], risk[:, [*order, risk.shape[1] - 1]]


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


def _places(tail: str, at: BySize, fits: dict[str, Any]) -> list[Finding]:
    """Is there a U-shape: does any threshold do better than none?"""
    found = []
    for n, (raw, risk) in sorted(at.items()):
        thresholds, ordered = _curve(raw, risk)
        best = int(np.argmin(ordered[:, :-1].mean(axis=0)))
        gain = bootstrap([ordered[:, best], ordered[:, -1]], lambda c: np.asarray(c[..., 0] / c[..., 1]), paired=True)
        printed, sound = remark(n, TAILS[tail])
        fits[f"{tail}, n = {n}"] = {
            "best threshold": thresholds[best],
            "its risk over that without truncation": gain.as_json(),
            "printed": printed,
            "sound": sound,
        }
        found.append(
            Finding(
                f"{TITLES[tail]}, n = {n}: least risk over M, as a part of the risk without truncation",
                f"minimum at M = {printed:.3g}",
                gain.value,
                gain.ends,
                _shape(gain, thresholds[best]),
                f"bound's minimum at M = {sound:.3g}",
            )
        )
    return found


def _enough(tail: str, rows: Sequence[Row], fits: dict[str, Any], remarks: list[str]) -> list[Finding]:
    """How the threshold that is large enough grows with n; one value for each seed."""
    thresholds: dict[float, list[float]] = {}
    for row in rows:
        grid, ordered = _curve(row.config["thresholds"], np.asarray(row.arrays["excess"]))
        thresholds.setdefault(float(row.config["n"]), []).append(enough(grid, ordered.mean(axis=0)))
    finite = {n: values for n, values in thresholds.items() if all(map(math.isfinite, values))}
    growth = power_law(finite, centre="median")
    fits[f"{tail}, threshold that is enough"] = growth.as_json()
    if len(finite) < 2:
        return []
    beta = TAILS[tail]
    claimed = Prediction(1.0 / (beta - 2.0), tolerance=0.1)
    first, last = (float(np.median(finite[n])) for n in (min(finite), max(finite)))
    remarks.append(
        f"{TITLES[tail]}: the threshold whose truncation costs {TOLERATED:.0%} of the risk grows like "
        f"n^{growth.value:.2f} (median {first:.3g} at n = {min(finite):.0f}, {last:.3g} at n = {max(finite):.0f}). "
        f"The sound threshold n^{1 / beta:.2f} is where the bound S8 is least, not where the risk is."
    )
    return [
        Finding(
            f"{TITLES[tail]}: exponent in n of the threshold that costs {TOLERATED:.0%} of the risk",
            str(claimed),
            growth.value,
            growth.ends,
            verdict(growth, claimed),
        )
    ]


def _shape(gain: Interval, threshold: float) -> str:
    if math.isinf(gain.low):
        return "inconclusive"
    if gain.high < 1.0:
        return f"truncation at {threshold:.3g} helps"
    return "truncation does not help" if gain.low >= 1.0 - TOLERATED else "no clear minimum"


def _rates(tail: str, at: BySize, fits: dict[str, Any]) -> list[Finding]:
    """Exponents in n of the risk at the printed threshold, at the sound one, and without truncation."""
    beta, found = TAILS[tail], []
    value = [certiformer.bound("li.rem6.12", n=n, beta=beta) for n in sorted(at)]
    if len(value) < 2:
        return []
    span = math.log(value[-1].inputs["n"] / value[0].inputs["n"])
    printed = math.log(value[-1].printed["rate"].value / value[0].printed["rate"].value) / span
    sound = math.log(value[-1].sound["rate_squared"].value / value[0].sound["rate_squared"].value) / span
    cases = (
        (-3, "at the printed M = n^(1/(β−2))", Prediction(printed), None),
        # There the squared bias M^(2-beta) rules, and it is attained: the rate of S8 is exact for this predictor.
        (-2, "at the sound M = n^(1/β)", None, Prediction(sound, tolerance=0.1)),
        (-1, "without truncation", None, Prediction(sound, "<=")),
    )
    for column, label, claimed, derived in cases:
        slope = power_law({float(n): risk[:, column] for n, (_, risk) in at.items()})
        fits[f"{tail}, {label}"] = slope.as_json()
        found.append(
            Finding(
                f"{TITLES[tail]}: exponent of the mean risk {label}",
                None if claimed is None else str(claimed),
                slope.value,
                slope.ends,
                verdict(slope, claimed, derived),
                None if derived is None else str(derived),
            )
        )
    return found


def _plots(rows: Sequence[Row], risks: Risks) -> dict[str, Plot]:
    figure, axes = plots.panels(3, height=3.0)
    for axis, tail in zip(axes[:2], TAILS, strict=True):
        at = risks.get(tail, {})
        for index, n in enumerate(sorted(at)[:: max(1, len(at) // 2)]):
            raw, risk = at[n]
            grid = len(raw) - 2
            means = [mean_interval(risk[:, j]) for j in range(grid)]
            low = [max(m.low, 1e-3 * m.value) for m in means]
            middle, high = [m.value for m in means], [m.high for m in means]
            plots.band(axis, raw[:grid], middle, low, high, label=f"n = {n}", index=index)
            axis.axhline(float(risk[:, -1].mean()), color=plots.COLOURS[index], ls=":", lw=1)
            for column, colour, marker in ((grid, plots.PRINTED_COLOUR, "X"), (grid + 1, "#000000", "*")):
                axis.plot([raw[column]], [risk[:, column].mean()], marker, color=colour, ms=7, zorder=4)
        if at:
            axis.plot([], [], "X", color=plots.PRINTED_COLOUR, ms=6, label="printed M")
            axis.plot([], [], "*", color="#000000", ms=7, label="sound M")
        plots.label(axis, "threshold M", "E (f̂(X_M) − f°(X))²", title=f"{TITLES[tail]} inputs", log="xy")
    for index, (tail, beta) in enumerate(TAILS.items()):
        points = biases([row for row in rows if row.config["tail"] == tail], "bias")
        if not points:
            continue
        at_M = list(points)
        means = [mean_interval(values) for values in points.values()]
        low = [max(m.low, 1e-3 * m.value) for m in means]
        plots.band(
            axes[2], at_M, [m.value for m in means], low, [m.high for m in means], label=TITLES[tail], index=index
        )
        far = [M for M in at_M if M >= FAR] or at_M
        first = far[0]
        anchor = means[at_M.index(first)].value
        for power, is_printed in ((2.0 - beta, True), (1.0 - beta, False)):
            name = ("printed M^(2−β)" if is_printed else "sound M^(1−β)") if index == 0 else "_"
            plots.theory(axes[2], far, [anchor * (M / first) ** power for M in far], label=name, printed=is_printed)
    plots.label(axes[2], "threshold M", "E |f°(X) − f°(X_M)|", title="bias of truncation", log="xy")
    # Room for the legend below the curves.
    axes[2].set_ylim(bottom=axes[2].get_ylim()[0] * 1e-4)
    caption = (
        "Left and middle: mean risk of the predictor trained and used on inputs cut at M (95 % interval); dotted, "
        "the risk without truncation; the marks are the thresholds of Remark 6.12, printed and sound. Right: the bias "
        "of truncation and the two power laws, through the first point beyond M = 8."
    )
    return {"li-truncation": Plot(figure, caption)}


STUDIES = (
    Study(
        id=NAME,
        paper="li",
        title="Truncating heavy-tailed inputs: risk against the threshold",
        claim=(
            "Inputs with tail index β are best truncated at M of order n^(1/(β−2)), where a bias of order M^(2−β) "
            "balances the variance (Remark 6.12)."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        readings=(
            "A sequence whose longest token exceeds M is scaled down as a whole, in training and in use.",
            "The same single head, teacher and local minimisation as in the study of tails; squared loss.",
            (
                "The sound threshold n^(1/β) minimises the bound S8, whose variance term grows like M². It is a claim "
                "about the bound; that the risk itself has its minimum there is nowhere claimed."
            ),
            (
                "The bias and the far part of the risk are integrated by importance sampling, with test inputs of tail "
                "index 1/4 and bounded weights."
            ),
        ),
    ),
)
