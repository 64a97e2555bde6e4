"""Sequence length: does the excess risk grow with the number of tokens, and do the bounds?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

import certiformer
from certiformer.reproduction.designs._li_tails_fits import PROBLEM, degrees_of_freedom
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import mean_interval, trend
from certiformer.reproduction.study import Analysis, Finding, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Config, Experiment, Outcome, Row
from certiformer.reproduction.trend import Notes, Theory, Trend, fitted_exponent
from certiformer.reproduction.verdicts import SLOPE_MARGIN, Claim
from certiformer.theory.calculus.truncation import SubGaussian, gaussian_tokens

NAME = "li.length"


def run(config: Config) -> Outcome:
    """Excess risk of local ERM on sequences of T Gaussian tokens; the norms ||X||_2 and b(X) of test sequences."""
    import jax
    import jax.numpy as jnp

    from certiformer.reproduction.designs import _li_tails_runs as runs

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
        "paper": ((8, 16, 32, 64, 128, 256, 512, 1024, 2048), 20, 1024, 5, 4096),
    }[scale]
    cells = [
        {**PROBLEM, "tail": "gaussian", "beta": 3.0, "n": n, "draws": draws, "test": test, "tokens": T} for T in lengths
    ]
    return Experiment(NAME, f"{__name__}:run", seed_by_seed(cells, seeds))


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
    table, notes = Table(rows), Notes()
    d, n = table.config["d"], table.config["n"]

    def bound(side: int) -> Callable[[Table], float]:
        return lambda part: bounds(part.config["tokens"], part.config, part.rows[0].values["norms"])[side]

    def limit(side: int) -> Callable[[Table], float]:
        return lambda part: thresholds(part.config["tokens"], d, n)[side]

    risk = Trend(
        "excess risk, exponent in T",
        table,
        "tokens",
        lambda row: row.arrays["excess"],
        printed=Theory("no T in the printed bound", exponent=0.0, relation="<="),
        label="excess risk",
    )
    notes.note(risk)
    # the norm is of order sqrt(T) + sqrt(d): its own exponent over these lengths, not the asymptotic 1/2
    spectral = Trend(
        "E‖X‖₂, exponent in T", table, "tokens", "spectral",
        sound=Theory("√T + √d", lambda part: math.sqrt(part.config["tokens"]) + math.sqrt(d)), label="E ‖X‖₂",
    )  # fmt: skip
    notes.note(spectral)
    squares = table.points("tokens", "longest_squared")
    longest = trend([math.log(T) for T, v in squares.items() for _ in v], np.concatenate(list(squares.values())))
    # the squared norm of a token is chi-squared with d degrees of freedom over d: its tail is exp(-d t/2)
    claim = Claim(2.0 / d)
    setting = "E b(X)², slope in log T"
    notes.found(setting, longest, claim.judge(longest, SLOPE_MARGIN * claim.value), sound=str(claim))
    grown = []
    for side, who in enumerate(("printed", "sound")):
        curve = table.curve("tokens", bound(side))
        grown.append(curve[max(curve)] / curve[min(curve)])
        power = fitted_exponent(list(curve), list(curve.values()))
        claimed = "0 (no T)" if who == "printed" else None
        notes.findings.append(Finding(f"exponent in T of the {who} bound (Theorem B.4)", claimed, power))
    lengths = sorted(squares)
    first, last = (mean_interval(risk.points[T]) for T in (lengths[0], lengths[-1]))
    unit = table.config["sigma"] ** 2 / n
    notes.remarks.append(
        f"From T = {lengths[0]:.0f} to {lengths[-1]:.0f} the mean excess risk goes from {first.value / unit:.2f} to "
        f"{last.value / unit:.2f} in units of σ²/n (the head has {degrees_of_freedom(d, table.config['k'])} free "
        f"parameters); the printed bound grows by a factor {grown[0]:.2f}, the sound one by {grown[1]:.2f}."
    )
    norms = [
        *spectral.series()[:1],
        Series.means("E b(X), longest token", table.points("tokens", "longest")),
        Series.theory("B_X, exceeded with probability 1/n", table.curve("tokens", limit(0)), printed=True),
        Series.theory("B_x, exceeded with probability 1/n", table.curve("tokens", limit(1))),
    ]
    risks = [
        *risk.series()[:1],
        Series.theory("printed bound", table.curve("tokens", bound(0)), printed=True),
        Series.theory("sound bound S2", table.curve("tokens", bound(1))),
    ]
    caption = (
        "Left: the spectral norm of T Gaussian tokens grows like √T, the longest token like √log T; lines are the "
        "thresholds that are exceeded with probability at most 1/n. Right: measured excess risk (95 % interval) and "
        "Theorem B.4, printed (through B_X) and sound (through the longest token)."
    )
    panels = [
        Panel("tokens T", "norm (units of a token)", norms, "what the bounds read", "xy"),
        Panel("tokens T", "E (f̂ − f°)²", risks, f"excess risk and bounds, n = {n}", "xy"),
    ]
    return notes.analysis(
        f"the excess risk changes with the length T with exponent {risk.slope}; the printed bound grows "
        f"{grown[0]:.2g}-fold from T = {lengths[0]:.0f} to {lengths[-1]:.0f}, through the norm of the input.",
        length=Plot(panels, caption, height=3.0),
    )


STUDIES = (study(NAME, experiment, analyse),)
