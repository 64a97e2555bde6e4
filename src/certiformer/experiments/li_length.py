"""Sequence length: does the excess risk grow with the number of tokens, and do the bounds?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import certiformer
from certiformer.calculus.truncation import SubGaussian, gaussian_tokens
from certiformer.experiments import _li_tails_runs as runs
from certiformer.experiments._li_tails_fits import exponent
from certiformer.experiments.statistics import Interval, Prediction, mean_interval, power_law, trend, verdict
from certiformer.experiments.study import Analysis, Finding, Plot, Scale, Study
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome, Row
from certiformer.sweep.run import Config

NAME = "li.length"
SIGMA = 0.1


def run(config: Config) -> Outcome:
    """Excess risk of local ERM on sequences of T Gaussian tokens; the norms ||X||_2 and b(X) of test sequences."""
    with jax.enable_x64(True):
        source = runs.problem(config)
        inputs, _, labels = runs.training_sample(source, config)
        start = runs.merge(source.teacher)
        heads, done = runs.minimise(
            start, jnp.asarray(inputs), jnp.asarray(labels), 0, 1.0, math.inf, iterations=config["iterations"]
        )
        points, weights = runs.test_sample(runs.test_generator(config), config, config["test"])
        truth = runs.target(start, jnp.asarray(points))
        excess = np.asarray(runs.squared_distance(heads, jnp.asarray(points), truth, jnp.asarray(weights)))
        teacher = source.teacher
        norms = {
            "Bw": float(jnp.linalg.norm(teacher.w)),
            "Bc": float(jnp.linalg.norm(teacher.W_c[0, 0], 2)),
            "Bv": float(jnp.linalg.norm(teacher.W_v[0, 0], 2)),
            "BQK": float(jnp.linalg.norm(teacher.W_QK[0, 0], 2)),
        }
    flat = inputs.reshape(-1, config["tokens"], config["d"])
    longest = np.max(np.linalg.norm(flat, axis=-1), axis=-1)
    return Outcome(
        {
            "spectral": float(np.mean(np.linalg.norm(flat, 2, axis=(1, 2)))),
            "longest": float(np.mean(longest)),
            "longest_squared": float(np.mean(longest**2)),
            "target": float(np.std(np.asarray(truth))),
            "converged": float(np.mean(done)),
            "norms": norms,
        },
        {"excess": excess},
    )


def experiment(scale: Scale) -> Experiment:
    lengths, seeds, n, draws, test = {
        "smoke": ((8, 32), 2, 64, 4, 512),
        "quick": ((8, 16, 32, 64, 128, 256, 512), 5, 256, 10, 2048),
        "paper": ((8, 16, 32, 64, 128, 256, 512, 1024, 2048), 40, 1024, 5, 4096),
    }[scale]
    shape = {
        "tail": "gaussian",
        "beta": 3.0,
        "noise": "gaussian",
        "nu": 2.2,
        "sigma": SIGMA,
        "d": 2,
        "k": 2,
        "teacher": 0,
        "iterations": 100,
        "n": n,
        "draws": draws,
        "test": test,
    }
    configs = [{**shape, "tokens": T, "seed": s} for T in lengths for s in range(seeds)]
    return Experiment(NAME, run=f"{__name__}:run", configs=configs)


def cost(config: Config) -> float:
    """Measured on one core: 2.5 microseconds per token, example and draw over all steps; then the test points."""
    tokens = config["draws"] * config["tokens"]
    return float(tokens * (2.5e-6 * config["n"] + 2e-8 * config["test"]) + 0.2)


# --- the bounds ---------------------------------------------------------------------------------------------------


def thresholds(T: int, d: int, n: int) -> tuple[float, float]:
    """(B_X, B_x): bounds on ||X||_2 and on b(X) that T tokens N(0, I/d) exceed with probability at most 1/n.

    The first is Lemma 6.1 with variance max(T/d, 1), the second the union over tokens.
    """
    return SubGaussian(T + d, max(T / d, 1.0)).threshold(n), gaussian_tokens(T, d, 1.0 / d).threshold(n)


def bounds(T: int, config: Config, norms: dict[str, float]) -> tuple[float, float]:
    """Theorem B.4 at these thresholds, printed and sound (S2, best radius), for the teacher's norms."""
    d, k, n = config["d"], config["k"], config["n"]
    B_X, B_x = thresholds(T, d, n)
    reach = norms["Bw"] * norms["Bc"] * norms["Bv"] * B_x
    value = certiformer.bound(
        "li.thmB.4",
        d=d,
        k=k,
        **norms,
        L_sigma=1.0,
        # The Lipschitz constant of the squared loss against the target, as Assumption 4.3 allows.
        kappa=4.0 * reach,
        B=reach,
        Bx=B_x,
        BX=B_X,
        sigma=config["sigma"],
        n=n,
        radius=1.0 / n,
        rw=1,
        rc=min(d, k),
        rv=min(d, k),
        rqk=d,
        squared_loss=True,
        well_specified=True,
    )
    return value.printed["value"].value, value.sound["S2_opt"].value


# --- analysis -----------------------------------------------------------------------------------------------------


def analyse(rows: Sequence[Row]) -> Analysis:
    excess: dict[float, list[float]] = {}
    for row in rows:
        excess.setdefault(float(row.config["tokens"]), []).extend(map(float, row.arrays["excess"]))
    excess = dict(sorted(excess.items()))
    if not rows:
        return Analysis(())
    config, norms, lengths = rows[0].config, rows[0].values["norms"], list(excess)
    findings = [*_norms(rows), *_growth(config, norms, lengths), _risk(excess)]
    fits: dict[str, Any] = {
        "converged": float(np.mean([row.values["converged"] for row in rows])),
        **{finding.setting: {"value": finding.ours, "ci": finding.ci} for finding in findings if _finite(finding)},
    }
    first, last = (mean_interval(excess[T]) for T in (lengths[0], lengths[-1]))
    unit = config["sigma"] ** 2 / config["n"]
    P = runs.degrees_of_freedom(config["d"], config["k"])
    remark = (
        f"From T = {lengths[0]:.0f} to {lengths[-1]:.0f} the mean excess risk goes from {first.value / unit:.2f} to "
        f"{last.value / unit:.2f} in units of σ²/n (the head has {P} free parameters); the printed bound grows by a "
        f"factor {_ratio(config, norms, lengths, 0):.2f}, the sound one by {_ratio(config, norms, lengths, 1):.2f}."
    )
    return Analysis(tuple(findings), fits, _plots(rows, excess, config, norms), (remark, *_local(rows)))


def _finite(finding: Finding) -> bool:
    numbers = [finding.ours, *(finding.ci or ())]
    return all(isinstance(x, float) and math.isfinite(x) for x in numbers)


def _ratio(config: Config, norms: dict[str, float], lengths: list[float], side: int) -> float:
    return bounds(int(lengths[-1]), config, norms)[side] / bounds(int(lengths[0]), config, norms)[side]


def by_length(rows: Sequence[Row], name: str) -> dict[float, list[float]]:
    found: dict[float, list[float]] = {}
    for row in rows:
        found.setdefault(float(row.config["tokens"]), []).append(row.values[name])
    return dict(sorted(found.items()))


def _norms(rows: Sequence[Row]) -> list[Finding]:
    d = rows[0].config["d"]
    spectral = power_law(by_length(rows, "spectral"))
    half = Prediction(0.5, tolerance=0.03)
    squares = by_length(rows, "longest_squared")
    longest = trend(
        [math.log(T) for T, values in squares.items() for _ in values], [v for vs in squares.values() for v in vs]
    )
    # The squared norm of a token is chi-squared with d degrees of freedom over d: its tail is exp(-d t/2).
    logarithmic = Prediction(2.0 / d, tolerance=0.05 * 2.0 / d)
    return [
        Finding(
            "exponent of E‖X‖₂ in T",
            "enters the bound as B_X",
            spectral.value,
            spectral.ends,
            verdict(spectral, None, half),
            str(half),
        ),
        Finding(
            "slope of E b(X)² in log T",
            None,
            longest.value,
            longest.ends,
            verdict(longest, None, logarithmic),
            str(logarithmic),
        ),
    ]


def _local(rows: Sequence[Row]) -> tuple[str, ...]:
    """The exponent 1/2 is that of long sequences; how far the longest ones are from it."""
    norms = by_length(rows, "spectral")
    if len(norms) < 4:
        return ()
    last = dict(list(norms.items())[-2:])
    slope = power_law(last)
    sentence = (
        "‖X‖₂ is of the order of √T + √d, so that its exponent is below 1/2 on short sequences: over all lengths it "
        f"is {power_law(norms).value:.3f}, between T = {min(last):.0f} and {max(last):.0f} it is {slope.value:.3f}."
    )
    return (sentence,)


def _growth(config: Config, norms: dict[str, float], lengths: list[float]) -> list[Finding]:
    """The bounds' own exponents in T: numbers of the theory, without chance."""
    found = []
    for side, name in enumerate(("printed", "sound")):
        power = exponent(lambda T, side=side: bounds(int(T), config, norms)[side], lengths)  # type: ignore[misc]
        said = "inconclusive" if math.isnan(power) else "grows with T" if power > 0.25 else "grows slowly"
        found.append(Finding(f"exponent in T of the {name} bound (Theorem B.4)", "0 (no T)", power, None, said))
    return found


def _risk(excess: dict[float, list[float]]) -> Finding:
    slope: Interval = power_law(excess)
    flat = Prediction(0.0, "<=")
    return Finding(
        "exponent in T of the mean excess risk",
        str(flat),
        slope.value,
        slope.ends,
        verdict(slope, flat),
        str(flat),
    )


def _plots(
    rows: Sequence[Row], excess: dict[float, list[float]], config: Config, norms: dict[str, float]
) -> dict[str, Plot]:
    figure, axes = plots.panels(2, height=3.0)
    lengths = list(excess)
    for index, (name, label) in enumerate((("spectral", "E ‖X‖₂"), ("longest", "E b(X), longest token"))):
        means = [mean_interval(values) for values in by_length(rows, name).values()]
        plots.band(
            axes[0],
            lengths,
            [m.value for m in means],
            [m.low for m in means],
            [m.high for m in means],
            label=label,
            index=index,
        )
    d, n = config["d"], config["n"]
    both = [thresholds(int(T), d, n) for T in lengths]
    plots.theory(axes[0], lengths, [b[0] for b in both], label="B_X: ‖X‖₂ but for 1/n", printed=True)
    plots.theory(axes[0], lengths, [b[1] for b in both], label="B_x: b(X) but for 1/n")
    plots.label(axes[0], "tokens T", "norm (units of a token)", title="what the bounds read", log="xy")
    # Room for the legend above the curves, and ticks that can be read.
    axes[0].set_ylim(top=axes[0].get_ylim()[1] * 5)
    axes[0].set_yticks([1, 10, 100], ["1", "10", "100"])
    axes[0].set_yticks([], minor=True)
    means = [mean_interval(values) for values in excess.values()]
    low = [max(m.low, 1e-3 * m.value) for m in means]
    plots.band(axes[1], lengths, [m.value for m in means], low, [m.high for m in means], label="excess risk", index=2)
    values = [bounds(int(T), config, norms) for T in lengths]
    plots.theory(axes[1], lengths, [v[0] for v in values], label="printed bound", printed=True)
    plots.theory(axes[1], lengths, [v[1] for v in values], label="sound bound S2")
    plots.label(axes[1], "tokens T", "E (f̂ − f°)²", title=f"excess risk and bounds, n = {n}", log="xy")
    for axis in axes:
        axis.set_xscale("log", base=2)
    caption = (
        "Left: the spectral norm of T Gaussian tokens grows like √T, the longest token like √log T; lines are the "
        "thresholds that are exceeded with probability at most 1/n. Right: measured excess risk (95 % interval) and "
        "Theorem B.4, printed (through B_X) and sound (through the longest token)."
    )
    return {"li-length": Plot(figure, caption)}


STUDIES = (
    Study(
        id=NAME,
        paper="li",
        title="Sequence length: spectral norm, longest token and excess risk",
        claim=(
            "The bounds are free of the sequence length T, which enters through no term but the bound B_X on the "
            "spectral norm of the input."
        ),
        experiment=experiment,
        analyse=analyse,
        cost=cost,
        readings=(
            "Tokens are independent N(0, I/d), for which the spectral norm itself grows like √T.",
            (
                "Bounds take the teacher's own norms and the thresholds that Gaussian sequences exceed with "
                "probability at most 1/n: Lemma 6.1 for ‖X‖₂, a union over tokens for the longest one. What lies "
                "beyond is left out of both."
            ),
            "As in the study of tails: one head, d = k = 2, local minimisation from the teacher.",
        ),
    ),
)
