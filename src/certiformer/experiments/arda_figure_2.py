"""Arda et al., figure 2: a recurrent network and a Transformer on a series whose memory reaches L steps back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special

from certiformer.core import find
from certiformer.experiments._arda_lag_runs import ALPHA, COEFFICIENT, NETWORKS, experiment
from certiformer.experiments.panel import Panel, Plot, Series
from certiformer.experiments.statistics import Interval, mean_interval
from certiformer.experiments.study import Analysis, Study
from certiformer.experiments.table import Table
from certiformer.experiments.trend import Notes, Theory, Trend
from certiformer.experiments.verdicts import MEASURED, sign
from certiformer.sweep import Row

NAMES = {"indrnn": "IndRNN", "transformer": "Transformer"}
MEASURES = {
    "gradient_short": "largest gradient norm in the first 500 steps",
    "gradient": "largest gradient norm over training",
    "jacobian": "largest Jacobian norm over training",
    "validation": "lowest validation loss",
}


def analyse(rows: Sequence[Row]) -> Analysis:
    """Growth with the lag, network by network, and the two networks against each other at each lag."""
    both, notes = Table(rows), Notes()
    # the upper panel is made of short runs, the rest of long ones
    lengths = list(both.by("steps"))
    short, table = both.where(steps=lengths[0]), both.where(steps=lengths[-1])
    tables = {m: short if m == "gradient_short" else table for m in MEASURES}
    trends = {(m, network): _growth(tables[m], m, network) for m in MEASURES for network in NETWORKS}
    for trend in trends.values():
        notes.note(trend)
    for measure, name in MEASURES.items():
        _ratios(notes, tables[measure], measure)
        if measure != "validation":
            spread = _spread(tables[measure], measure)
            setting = f"{name}: spread of its logarithm between seeds, IndRNN / Transformer"
            notes.found(setting, spread, sign(spread, 1.0, below=False), paper="> 1")
    for network in NETWORKS:
        overlap = _geometric(table.where(network=network), "validation_fresh", "validation")
        setting = f"lowest validation loss, {NAMES[network]}: on a series of its own / on the released split"
        notes.found(setting, overlap)
    _remarks(notes, table)
    panels = [
        Panel(
            "lag L (steps)",
            "loss (labels of variance 1)" if m == "validation" else "norm",
            _series(trends, tables[m], m),
            name,
            "x" if m == "validation" else "xy",
        )
        for m, name in MEASURES.items()
    ]
    recurrent, attention = (trends["gradient_short", network].slope for network in NETWORKS)
    jacobian = trends["jacobian", "transformer"].slope
    caption = (
        "Norms of the gradients of the memory's weights (recurrent or attention weights) and lowest validation loss, "
        "against the lag. Lines: means over seeds; bands: 95 % intervals."
    )
    return notes.analysis(
        f"the {MEASURES['gradient_short']} grows with the lag with exponent {recurrent} for the IndRNN and "
        f"{attention} for the "
        f"Transformer, whose Jacobian grows with exponent {jacobian} where the paper says stable.",
        figure_2=Plot(panels, caption, columns=2),
    )


def _growth(table: Table, measure: str, network: str) -> Trend:
    """The exponent b of L^b in the arithmetic mean, as plotted; a seed is one draw for all lags."""
    claim = Theory("grows", exponent=0.0, relation=">") if network == "indrnn" else Theory("stable", exponent=0.0)
    name = f"{MEASURES[measure]}, {NAMES[network]}, exponent in the lag L"
    return Trend(name, table.where(network=network), "lag", measure, claim, paired=True, label=NAMES[network])


def recurrent_bound(lag: int) -> float:
    """Sound bound on |dh_T/du| at the start: T = lag + 1 inputs and |u| = 1.5; that part asks nothing of the inputs."""
    small: dict[str, Any] = dict.fromkeys(("rho_c", "rho_u", "rho_w", "nu_c", "nu_u", "nu_w"), 1e-09)
    run = {"activation": "tanh", "m": 64, "T": lag + 1, "alpha": ALPHA, "n": 1, "delta": 0.5, "eta": 0.05, "tau": 1}
    return find("arda.prop2").evaluate({**run, **small}).sound["Lu"].value


def _ratios(notes: Notes, table: Table, measure: str) -> None:
    """IndRNN / Transformer at each lag: geometric mean over seeds; both saw the same series."""
    for lag, part in table.by("lag").items():
        pair = {n: {r.config["seed"]: r.values[measure] for r in part.where(network=n)} for n in NETWORKS}
        shared = sorted(set.intersection(*(set(by) for by in pair.values())))
        logs = [math.log(pair[NETWORKS[0]][s] / pair[NETWORKS[1]][s]) for s in shared]
        if logs:
            found = _exp(mean_interval(logs))
            # of the validation loss the paper says that it degrades, not where the curves cross
            claimed = {} if measure == "validation" else {"paper": "> 1"}
            verdict = sign(found, 1.0, below=False) if claimed else MEASURED
            notes.found(f"{MEASURES[measure]}, IndRNN / Transformer at L = {lag}", found, verdict, **claimed)


def _geometric(table: Table, over: str, under: str) -> Interval:
    """The geometric mean over lags, seed by seed."""
    by_seed = table.by("seed")
    logs = [part.column(lambda row: math.log(row.values[over] / row.values[under])).mean() for part in by_seed.values()]
    return _exp(mean_interval(logs))


def _exp(found: Interval) -> Interval:
    ends = [math.inf if end > 700.0 else math.exp(end) for end in (found.value, found.low, found.high)]
    return Interval(ends[0], ends[1], ends[2], found.seeds)


def _spread(table: Table, measure: str) -> Interval:
    """Standard deviation of the logarithm between seeds, IndRNN over Transformer, with Fisher's interval."""
    variances, freedoms = [], []
    for network in NETWORKS:
        groups = [np.log(part.column(measure)) for part in table.where(network=network).by("lag").values()]
        freedom = sum(len(logs) - 1 for logs in groups)
        around = sum(float(np.sum((logs - logs.mean()) ** 2)) for logs in groups)
        variances.append(around / freedom if freedom else 0.0)
        freedoms.append(freedom)
    if min(variances) == 0.0:
        return Interval(math.nan, -math.inf, math.inf)
    quotient = variances[0] / variances[1]
    below, above = (float(special.fdtri(freedoms[0], freedoms[1], p)) for p in (0.975, 0.025))
    return Interval(math.sqrt(quotient), math.sqrt(quotient / below), math.sqrt(quotient / above))


def _series(trends: Mapping[tuple[str, str], Trend], table: Table, measure: str) -> list[Series]:
    series = [one for network in NETWORKS for one in trends[measure, network].series()[:1]]
    lags = list(table.by("lag"))
    if measure == "jacobian":
        # the bound leaves the panel: only where it is within three decades of what is seen
        top = 1e3 * max(max(one.y) for one in series)
        bound = {lag: value for lag in lags if (value := recurrent_bound(lag)) < top}
        series.append(Series.theory("sound bound at the start, IndRNN", bound))
    if measure == "validation":
        series.append(Series.theory("noise: nobody does better", dict.fromkeys(lags, 1.0 - COEFFICIENT**2)))
    return series


def _remarks(notes: Notes, table: Table) -> None:
    recurrent = table.where(network="indrnn").by("lag")
    if recurrent:
        lag = max(recurrent)
        largest = float(np.max(recurrent[lag].column("jacobian_at_start")))
        notes.remarks.append(
            f"At the start the recurrent Jacobian is far from its worst case: at L = {lag} at most {largest:.3g}, "
            f"where the recursion allows {recurrent_bound(lag):.3g}."
        )
    falling = {
        NAMES[network]: part.column("still_falling") for network, part in table.by("network").items() if len(part)
    }
    counts = ", ".join(f"{int(sum(each))} of {len(each)} for the {name}" for name, each in falling.items())
    diverged = sum(row.values["diverged"] >= 0 for row in table)
    notes.remarks.append(
        f"Runs whose validation loss was lowest at the very end, so that more steps would lower it further: {counts}. "
        f"{diverged} runs diverged."
    )


STUDIES = (
    Study(
        "arda.fig2",
        "arda",
        "Gradient norms and validation loss against the lag: IndRNN and Transformer on AR(L)",
        "As the lag grows, the recurrent network shows larger and more variable gradient norms and its validation loss "
        "gets worse; the Transformer's norms stay stable and its validation loss roughly constant.",
        experiment,
        analyse,
        cell=("lag",),
        readings=(
            (
                "The text calls the norm a Jacobian; the released program logs the gradient of the training loss. We "
                "show both: the loss gradient with respect to the recurrent or attention weights, largest over the "
                "first "
                "500 steps (the released short runs) and over all, and the root mean square over training windows of "
                "||df/dweights||, largest over the steps "
                "looked at."
            ),
            (
                "Windows have L + 1 tokens of 17 channels (the value, 8 sines, 8 cosines), are not scaled into the "
                "unit ball, and labels are standardised, as released. The theory's constants for unit tokens do not "
                "apply."
            ),
            (
                "The released split is at random among overlapping windows, so that validation shares points with "
                "training. We train on it and validate on both: those windows, and windows of a second series."
            ),
            (
                "Validation loss and Jacobian are looked at every few steps, not at every one. At the quick scale "
                "training is shorter and on fewer windows, and lags reach 48 instead of 96."
            ),
            "The IndRNN runs in double precision, since single precision blurs its gradients at long lags.",
            (
                "Curves are arithmetic means over seeds, as in the released plot; ratios, whose tails are heavy, are "
                "geometric means. Stable means an exponent of 0 within the margin."
            ),
        ),
    ),
)
