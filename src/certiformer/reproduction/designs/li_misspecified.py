"""Two problems of one parameter in which no rate of 1/n is possible: a class that is not convex, and a flat noise.

Both are Transformers of one token, one dimension and one head. Their empirical risk minimisers are functions of a few
counts or of one order statistic, so that samples of any size are simulated exactly, in law, at no cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

import certiformer
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, mean_interval
from certiformer.reproduction.study import Analysis, Scale, seed_by_seed, study
from certiformer.reproduction.sweep import Config, Experiment, Outcome, Row
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import rate_allowed

NAME = "li.misspecified"
Vector = npt.NDArray[np.float64]
# A gap h between the two arms, or the noise's standard deviation: constant ("control"), or moving with n.
GAPS = (0.25, 0.5, 1.0)
FIXED_GAP = 0.25
REACH = 1.0  # |f| <= REACH in both classes


def run(config: Config) -> Outcome:
    """The mean, over `draws` independent samples of size n, of the exact excess risk of ERM and the star estimator."""
    rng = np.random.default_rng([config["seed"], config["n"], int(1000 * config["constant"])])
    if config["problem"] == "cross":
        excess = cross(rng, config["n"], gap(config), config["draws"])
    else:
        excess = {"erm": absolute(rng, config["n"], deviation(config), config["draws"])}
    return Outcome({name: float(np.mean(values)) for name, values in excess.items()})


def gap(config: Config) -> float:
    """h = c/sqrt(n), or c itself in the control."""
    return float(config["constant"] / math.sqrt(config["n"]) if config["moving"] else config["constant"])


def deviation(config: Config) -> float:
    """s = c sqrt(n), or c itself in the control."""
    return float(config["constant"] * math.sqrt(config["n"]) if config["moving"] else config["constant"])


def cross(rng: np.random.Generator, n: int, h: float, draws: int) -> dict[str, Vector]:
    r"""Squared loss; x = +-1 with equal chances, Y in {0, 1} with P(Y = 1 | x) = 1/2 + x h.

    With ReLU the network w relu(v x) is (s, 0) or (0, s) at x = (1, -1): a cross, |s| <= 1, not convex. ERM takes the
    arm with the larger n_x mean_x^2 and its mean there. The star estimator minimises the empirical risk once more,
    over the segments from ERM to the class. Risks are E (f - eta)^2 less that of the best of the class, (1/2 + h, 0).
    """
    eta = np.array([0.5 + h, 0.5 - h])
    right = rng.binomial(n, 0.5, draws)
    counts = np.stack([right, n - right], axis=-1).astype(float)
    # An arm without examples cannot win; its mean is of no consequence.
    means = rng.binomial(counts.astype(np.int64), eta) / np.maximum(counts, 1.0)
    arm = np.argmax(counts * means**2, axis=-1)
    rows, other = np.arange(draws), 1 - arm
    chosen, rest = means[rows, arm], means[rows, other]
    erm = np.zeros((draws, 2))
    erm[rows, arm] = chosen
    # ((1 - m) chosen, m s): a quadratic in m; beyond m REACH = rest the second error is zero and the first one grows.
    weight, weight_other = counts[rows, arm] * chosen**2, counts[rows, other]
    mix = weight_other * REACH * rest / np.maximum(weight + weight_other * REACH**2, np.finfo(float).tiny)
    star = np.zeros((draws, 2))
    star[rows, arm], star[rows, other] = (1.0 - mix) * chosen, mix * REACH
    best = 0.5 * eta[1] ** 2
    return {
        "erm": 0.5 * np.sum((erm - eta) ** 2, axis=-1) - best,
        "star": 0.5 * np.sum((star - eta) ** 2, axis=-1) - best,
    }


def absolute(rng: np.random.Generator, n: int, s: float, draws: int) -> Vector:
    """Absolute loss, a constant input, Y ~ N(0, s^2), f in [-1, 1], n odd: ERM is the median, clipped.

    The median of n uniform variables has a beta law. The excess risk E|Y - t| - E|Y| is in closed form.
    """
    middle = (n + 1) / 2
    t = np.clip(s * special.ndtri(rng.beta(middle, middle, draws)), -REACH, REACH)
    z = t / s
    return np.asarray(s * math.sqrt(2.0 / math.pi) * np.expm1(-(z**2) / 2.0) + t * special.erf(z / math.sqrt(2.0)))


def experiment(scale: Scale) -> Experiment:
    exponents, seeds, draws = {
        "smoke": ((2, 4), 2, 200),
        "quick": ((2, 3, 4, 5, 6, 7, 8, 9, 10), 10, 4000),
        "paper": ((2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 40, 100_000),
    }[scale]
    problems: list[Config] = [{"problem": "cross", "moving": True, "constant": c} for c in GAPS]
    problems.append({"problem": "cross", "moving": False, "constant": FIXED_GAP})
    problems += [{"problem": "absolute", "moving": moving, "constant": 1.0} for moving in (True, False)]
    # odd sample sizes have one median
    cells = [{**problem, "n": 10**e + 1, "draws": draws} for problem in problems for e in exponents]
    return Experiment(NAME, f"{__name__}:run", seed_by_seed(cells, seeds))


# --- the bounds ---------------------------------------------------------------------------------------------------


def bounds(problem: str, n: int) -> tuple[float, float]:
    """Corollary 4.5 and its repair S4, at radius 1/n, with a Lipschitz constant that holds for every label."""
    radius = 1.0 / n
    # Centres of a cover of [-1, 1], once for each arm of the cross.
    arms = 2 if problem == "cross" else 1
    kappa = 2.0 * (REACH + 1.0) if problem == "cross" else 1.0
    value = certiformer.bound(
        "li.cor4.5",
        n=n,
        logN=math.log(arms * math.ceil(REACH / radius)),
        kappa=kappa,
        M_SH=2.0 * kappa * (REACH + REACH),
        # No Bernstein condition holds here: S1 is not used. V has to be given and plays no part in what is.
        V=kappa**2,
        M=4.0 if problem == "cross" else 2.0,
        radius=radius,
        honest_kappa=True,
        well_specified=problem == "absolute",
    )
    return value.printed["value"].value, value.sound["S4"].value


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    panels, told = [], []
    for problem, title in (("cross", "squared loss, non-convex class"), ("absolute", "absolute loss, flat noise")):
        mine = table.where(problem=problem)
        series: list[Series] = []
        for name, part in mine.by(_title).items():
            moving = part.config["moving"]
            # with a moving gap or noise the excess times sqrt(n) has a limit; with fixed ones, n times it has
            trend = Trend(
                f"{name}, exponent of ERM's mean excess risk",
                part,
                "n",
                "erm",
                printed=Theory("printed rate log n / n", _printed_rate, relation="<="),
                sound=Theory("limit law", exponent=-0.5 if moving else -1.0),
                label=name.split(", ", 1)[1] + ("" if moving else " (control)"),
            )
            series += notes.note(trend)[:1]
            if moving:
                told += _violations(notes, name, part)
        curves = [{n: bounds(problem, int(n))[side] for n in mine.by("n")} for side in (0, 1)]
        series += [Series.theory("printed bound", curves[0], printed=True), Series.theory("sound bound S4", curves[1])]
        panels.append(Panel("n (examples)", "excess risk of ERM", series, title, "xy"))
    caption = (
        "Mean excess risk of exact ERM with 95 % interval. Left: the cross of two arms whose levels differ by 2h; "
        "right: the median of n labels of standard deviation √n. A bound proportional to log n / n is crossed where "
        "the excess decays like n^(−1/2); with a fixed gap or fixed noise (control) the decay is 1/n."
    )
    printed, sound = (sum(pair[side] for pair in told) for side in (0, 1))
    return notes.analysis(
        f"the printed Corollary 4.5 is violated in {printed} of {len(told)} problems that move with n, its sound "
        f"repair in {sound}.",
        misspecified=Plot(panels, caption, height=3.1),
    )


def _printed_rate(part: Table) -> float:
    return float(math.log(part.config["n"]) / part.config["n"])


def _title(config: Config) -> str:
    constant = config["constant"]
    if config["problem"] == "cross":
        return f"ReLU cross, h = {constant:g}/√n" if config["moving"] else f"ReLU cross, h = {constant:g} fixed"
    return "absolute loss, Y ~ N(0, n)" if config["moving"] else "absolute loss, Y ~ N(0, 1)"


def _violations(notes: Notes, name: str, table: Table) -> list[tuple[bool, bool]]:
    """At the largest n: the excess over the printed bound, and over the sound one, neither of which may exceed 1."""
    sizes = table.by("n")
    n = max(sizes)
    said = []
    for side, who in enumerate(("paper", "sound")):
        found = _over(sizes[n], side)
        verdict = rate_allowed(found, 1.0)
        bound = "printed bound" if side == 0 else "sound bound S4"
        notes.found(f"{name}, n = {n:.3g}: mean excess of ERM over the {bound}", found, verdict, **{who: "≤ 1"})
        said.append(verdict.word == "violated")
    broken = [m for m in sorted(sizes) if _over(sizes[m], 0).low > 1.0]
    if broken:
        notes.remarks.append(f"{name}: the printed bound is below the mean excess from n = {broken[0]:.3g} on.")
    if table.config["problem"] == "cross":
        star = mean_interval(sizes[n].column("star"))
        setting = f"{name}, n = {n:.3g}: mean excess of the star estimator over the best of the class"
        notes.found(setting, star, rate_allowed(star, 0.0), sound="≤ 0 up to O(log n / n)")
    return [(said[0], said[1])]


def _over(table: Table, side: int) -> Interval:
    return mean_interval(table.column("erm")) / bounds(table.config["problem"], table.config["n"])[side]


STUDIES = (study(NAME, experiment, analyse),)
