"""How fast and how high: the excess risk of one head against n and the noise, and where printed bounds break."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certiformer.reproduction.designs import _li_analysis
from certiformer.reproduction.designs._li_analysis import (
    HEAD,
    LEVEL_MARGIN,
    at,
    broken,
    calibration,
    over,
    rate,
)
from certiformer.reproduction.designs._li_theory import inputs_of, printed, printed_bound, sound, theorem_of
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import mean_interval
from certiformer.reproduction.study import Analysis, Finding, Scale, study
from certiformer.reproduction.sweep import Config, Experiment, Row
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import Claim

QUIET, LOUD = 0.1, 10.0  # noise of the two curves against n; outputs are at most 1
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
        "seeds": 20,
        "test": 16384,
        "n": tuple(256 * 2**i for i in range(10)),
        "loud": tuple(2048 * 2**i for i in range(8)),
        "noise": (0.03, 0.1, 0.3, 1.0, 3.0, 30.0),
        "noise_n": 131072,
        "ball": range(3, 15),
    },
}


def experiment(scale: Scale) -> Experiment:
    """Quiet labels against n from both starts; loud labels against n; noise at one n; the l1 ball with growing d."""
    grid = GRIDS[scale]
    head = {**HEAD, "kind": "head", "d": 4, "k": 4, "attention": 8.0, "test": grid["test"]}
    cells = [{**head, "n": n, "sigma": QUIET, "restarts": 2} for n in grid["n"]]
    cells += [{**head, "n": n, "sigma": LOUD, "restarts": 0} for n in grid["loud"]]
    cells += [{**head, "n": grid["noise_n"], "sigma": sigma, "restarts": 0} for sigma in grid["noise"]]
    if grid["noise_n"] not in grid["loud"]:
        cells.append({**head, "n": grid["noise_n"], "sigma": LOUD, "restarts": 0})
    for power in grid["ball"]:
        n = 10**power
        cells.append({"kind": "ball", "norm": "one", "n": n, "d": round(0.8 * n ** (1 / 3))})
    return _li_analysis.experiment("li.rates", cells, grid["seeds"])


def analyse(rows: Sequence[Row]) -> Analysis:
    """Slopes and levels, the noise, the exact example, and how far the sound bound is from what happens."""
    table, notes = Table(rows), Notes()
    heads, ball = table.where(kind="head"), table.where(kind="ball")
    quiet = heads.where(lambda row: row.config["restarts"] > 0, sigma=QUIET)
    loud = heads.where(sigma=LOUD)
    alone = heads.where(restarts=0)
    noise_n = max((n for n, part in alone.by("n").items() if len(part.by("sigma")) > 1), default=0)
    told = _ball(notes, ball)
    panels = [_rate(notes, quiet, loud), _noise(notes, alone.where(n=noise_n)), _ball_panel(ball)]
    panels.append(_calibration(notes, quiet, loud, ball))
    caption = (
        "Excess risk of least squares with one head, mean and 95 % interval over seeds. Top left: against n, for quiet "
        "and for loud labels. Top right: against the noise at one n; the printed bound does not know the noise. Bottom "
        "left: the exact linear example inside the l1 ball with d = 0.8 n^(1/3). Bottom right: the sound bound divided "
        "by what happened."
    )
    return notes.analysis(told, rates=Plot(panels, caption, columns=2, height=3.0))


def _rate(notes: Notes, quiet: Table, loud: Table) -> Panel:
    series = rate(notes, quiet, f"slope in n, σ = {QUIET:g}, started at the teacher")
    fitting = quiet.where(lambda row: row.values["random_fits"])
    if len(fitting):
        setting = f"slope in n, σ = {QUIET:g}, random starts that fit"
        sound = Theory("1/n", exponent=-1.0)
        series += notes.note(Trend(setting, fitting, "n", "random", sound=sound, label="random starts that fit"))[:1]
    if len(quiet):
        last = quiet.by("n")[max(quiet.by("n"))]
        for name, estimate, chosen in (
            ("started at the teacher", "local", last),
            ("random starts that fit", "random", last.where(lambda row: row.values["random_fits"])),
        ):
            if len(chosen):
                unit = chosen.config["sigma"] ** 2 / chosen.config["n"]
                level = mean_interval(chosen.column(estimate) / unit / chosen.column("directions"))
                setting = f"n·excess/(σ²P) at n = {chosen.config['n']}, {name}"
                notes.found(setting, level, Claim(1.0).judge(level, LEVEL_MARGIN), sound=1.0)
        reached = float(np.mean(quiet.column("random_fits")))
        price = float(np.sum(quiet.column("random")) / np.sum(quiet.column("local")))
        notes.remarks.append(
            f"From random starts {reached:.0%} of the runs fit their labels at least as well as the teacher does. What "
            "the rest, in local minima, adds is optimisation error: with it the mean excess over all runs is "
            f"{price:.2g} times that of the estimate started at the teacher."
        )
    series += Trend("", loud, "n", "local", label=f"σ = {LOUD:g}").series()
    series.append(
        Series.theory("printed, Theorem B.4", (loud if len(loud) else quiet).curve("n", at(printed)), printed=True)
    )
    broken(notes, loud, "n", printed, f"σ = {LOUD:g}: excess over printed bound (B.4), largest, n = {{}}")
    return Panel("sample size n", "excess risk E(f − f₀)²", series, "rate in n", "xy")


def _noise(notes: Notes, table: Table) -> Panel:
    if not len(table):
        return Panel("label noise σ", "excess risk")
    n = table.config["n"]
    small = table.where(lambda row: row.config["sigma"] <= 1.0)
    notes.note(
        Trend(
            f"exponent in σ (σ ≤ 1), n = {n}",
            small,
            "sigma",
            "local",
            printed=Theory("the bound has no σ", exponent=0.0, relation="<="),
            sound=Theory("σ² P/n", exponent=2.0),
        )
    )
    broken(notes, table, "sigma", printed, f"n = {n}: excess over printed bound (B.4), largest, σ = {{}}")

    def classical(part: Table) -> float:
        return float(np.mean(part.column("directions")) * part.config["sigma"] ** 2 / n)

    def resolved(part: Table) -> float:
        return float(np.mean(part.column("resolved")) * part.config["sigma"] ** 2 / n)

    loudest = table.by("sigma")[max(table.by("sigma"))]
    kept = mean_interval(loudest.column("local"))
    notes.remarks.append(
        f"At n = {n} and σ = {loudest.config['sigma']:g} the excess is {kept}, {kept.value / classical(loudest):.2g} "
        "of σ²P/n: the class is bounded, and directions that the data cannot resolve cost no more than its size."
    )
    series = [
        Series.means("started at the teacher", table.points("sigma", "local")),
        Series.theory("σ² P/n", table.curve("sigma", classical)),
        Series.theory("σ² P(σ)/n, resolved", table.curve("sigma", resolved)),
        Series.theory("printed (B.4), κ of the risk", table.curve("sigma", at(printed)), printed=True),
        Series.theory(
            "printed, κ of the loss",
            table.curve("sigma", at(lambda c: printed_bound(theorem_of(c), inputs_of(c, honest=True)))),
            printed=True,
        ),
    ]
    return Panel("label noise σ", "excess risk", series, "noise", "xy")


def _ball_trend(ball: Table) -> Trend:
    def best(config: Config) -> float:
        return min(sound(config, variant) for variant in ("S2_opt", "S4chain"))

    return Trend(
        "l1 ball, d = 0.8 n^(1/3), slope in n",
        ball,
        "n",
        "local",
        printed=Theory("printed, Theorem B.1", at(printed), claimed=False),
        sound=Theory("sound (S2, S4chain)", at(best), claimed=False),
        label="exact least squares",
    )


def _ball_panel(ball: Table) -> Panel:
    return Panel("sample size n", "excess risk", _ball_trend(ball).series(), "ℓ₁ ball, d = 0.8 n^(1/3)", "xy")


def _ball(notes: Notes, ball: Table) -> str:
    trend = _ball_trend(ball)
    notes.note(trend)
    if len(ball):
        claim = Claim(-2 / 3)
        setting = f"{trend.name}: what the example predicts"
        notes.findings.append(Finding.of(setting, trend.slope, claim.judge(trend.slope, 0.05), sound=str(claim)))
    start = broken(notes, ball, "n", printed, "l1 ball: excess over printed bound (B.1), largest, n = {}")
    if len(trend.points) < 2 or trend.printed is None:
        return "too few runs in the l1 ball of growing dimension."
    told = (
        f"in the l1 ball of growing dimension the excess risk has exponent {trend.slope} in n, "
        f"the printed Theorem B.1 {trend.said(trend.printed):.2f}"
    )
    return told + ("." if start is None else f": it is violated from n = {start:.0e} on.")


def _calibration(notes: Notes, quiet: Table, loud: Table, ball: Table) -> Panel:
    series = []
    for name, table in ((f"σ = {QUIET:g}", quiet), (f"σ = {LOUD:g}", loud), ("ℓ₁ ball", ball)):
        if len(table):
            calibration(notes, table, sound, name)
            ratios = {n: 1.0 / over(part, sound).value for n, part in table.by("n").items()}
            series.append(Series(name, list(ratios), list(ratios.values())))
            notes.fits[f"sound bound (S2) over excess, {name}"] = {str(n): ratio for n, ratio in ratios.items()}
    title = "how far the sound bound is away"
    return Panel("sample size n", "sound bound / excess", series, title, "xy", {"the excess itself": 1.0})


STUDIES = (study("li.rates", experiment, analyse),)
