"""Arda et al., figure 2: a recurrent network and a Transformer on a series whose memory reaches L steps back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._arda_lag_grid import (
    ALPHA,
    COEFFICIENT,
    LONG,
    NETWORKS,
    RELEASED,
    SHORT,
    experiment,
    precision,
)
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, mean_interval
from certiformer.reproduction.study import Analysis, study
from certiformer.reproduction.sweep import Config, Row, canonical
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import MEASURED, SLOPE_MARGIN, sign
from certiformer.theory.core import find

CONTRAST = 0.25  # "stable" beside what grows: so much of the other's exponent; set when the runs were known
NAMES = {"indrnn": "IndRNN", "transformer": "Transformer"}


@dataclass(frozen=True)
class Measure:
    """A number of each run: the value it comes from, its name with the steps that it looks at, and the runs it is of.

    The first steps make the figure's upper panel, all of them the rest. Of the validation loss the paper speaks after
    long training only.
    """

    value: str
    name: str
    table: Table
    claimed: bool = True

    @property
    def loss(self) -> bool:
        return self.value == "validation"


def measures(runs: Table) -> tuple[Measure, ...]:
    steps = max(runs.by("steps"))
    runs, over = runs.where(steps=steps), f"in {steps:,} steps"
    found = [Measure("gradient_short", f"largest gradient norm in the first {min(SHORT, steps)} steps", runs)]
    if steps > SHORT:
        found.append(Measure("gradient", f"largest gradient norm {over}", runs))
    found.append(Measure("jacobian", f"largest Jacobian norm {over}", runs))
    return (*found, Measure("validation", f"lowest validation loss {over}", runs, claimed=steps >= LONG))


def analyse(rows: Sequence[Row]) -> Analysis:
    """Growth with the lag, network by network, and the two networks against each other at each lag."""
    notes = Notes()
    shown = measures(Table([row for row in rows if precision(row.config) == RELEASED] or rows))
    trends = {(m.value, network): _growth(m, network) for m in shown for network in NETWORKS}
    for trend in trends.values():
        notes.note(trend)
    for measure in shown:
        _ratios(notes, measure)
        if not measure.loss:
            spread = _spread(measure.table, measure.value)
            setting = f"{measure.name}: spread of its logarithm between seeds, IndRNN / Transformer"
            notes.found(setting, spread, sign(spread, 1.0, below=False), paper="> 1")
    table = shown[-1].table
    for network in NETWORKS:
        overlap = _geometric(table.where(network=network), "validation_fresh", "validation")
        setting = f"lowest validation loss, {NAMES[network]}: on a series of its own / on the released split"
        notes.found(setting, overlap)
    _precision(notes, shown, Table(rows))
    _remarks(notes, table)
    panels = [
        Panel(
            "lag L (steps)",
            "loss (labels of variance 1)" if m.loss else "norm",
            _series(trends, m),
            m.name,
            "x" if m.loss else "xy",
        )
        for m in shown
    ]
    caption = (
        "Norms of the gradients of the memory's weights (recurrent or attention weights) and lowest validation loss, "
        "against the lag. Lines: means over seeds; bands: 95 % intervals. The paper shows the first and the last panel."
    )
    return notes.analysis(_headline(notes, shown, trends), figure_2=Plot(panels, caption, columns=2))


def _headline(notes: Notes, shown: Sequence[Measure], trends: Mapping[tuple[str, str], Trend]) -> str:
    """The contrast that the paper makes, as factors between the shortest and the longest lag."""
    jacobian, loss = shown[-2], shown[-1]
    lags = list(jacobian.table.by("lag"))
    if len(lags) < 2:
        return "one lag only: nothing can be said about growth."
    told = []
    for trend, network in ((trends[jacobian.value, name], name) for name in reversed(NETWORKS)):
        if len(trend.points) < 2:
            continue
        means = [float(np.mean(values)) for values in trend.points.values()]
        claim = "" if trend.printed is None else f"; {trend.printed.name}: {notes.word(trend.name)}"
        told.append(f"{means[-1] / means[0]:.2g}-fold ({NAMES[network]}{claim})")
    falling = loss.table.where(network="transformer").column("still_falling")
    return (
        f"L = {lags[0]} to {lags[-1]}: Jacobian norms grow {' and '.join(told)}; "
        f"{int(sum(falling))} of {len(falling)} Transformer runs still improve at the last step."
    )


def _growth(measure: Measure, network: str) -> Trend:
    """The exponent b of L^b in the arithmetic mean, as plotted; a seed is one draw for all lags.

    The paper sets the Transformer beside the IndRNN: "stable" is an exponent within CONTRAST of that one's.
    """
    name = f"{measure.name}, {NAMES[network]}, exponent in the lag L"
    grows, stable = Theory("grows", exponent=0.0, relation=">"), Theory("stable", exponent=0.0)
    said = (grows if network == "indrnn" else stable) if measure.claimed else None
    trend = Trend(
        name, measure.table.where(network=network), "lag", measure.value, said, paired=True, label=NAMES[network]
    )
    if network == "indrnn":
        return trend
    beside = _growth(measure, "indrnn").slope.value
    return replace(trend, margin=max(SLOPE_MARGIN, CONTRAST * beside) if beside > 0.0 else SLOPE_MARGIN)


def recurrent_bound(lag: int) -> float:
    """Sound bound on |dh_T/du| at the start: T = lag + 1 inputs and |u| = 1.5; that part asks nothing of the inputs."""
    small: dict[str, Any] = dict.fromkeys(("rho_c", "rho_u", "rho_w", "nu_c", "nu_u", "nu_w"), 1e-09)
    run = {"activation": "tanh", "m": 64, "T": lag + 1, "alpha": ALPHA, "n": 1, "delta": 0.5, "eta": 0.05, "tau": 1}
    return find("arda.prop2").evaluate({**run, **small}).sound["Lu"].value


def _ratios(notes: Notes, measure: Measure) -> None:
    """IndRNN / Transformer at each lag."""
    for lag, part in measure.table.by("lag").items():
        found = _ratio(part, measure.value)
        if found is not None:
            # of the validation loss the paper says that it degrades, not where the curves cross
            claimed = {} if measure.loss else {"paper": "> 1"}
            verdict = sign(found, 0.0, below=False) if claimed else MEASURED
            notes.found(f"{measure.name}, IndRNN / Transformer at L = {lag}", _exp(found), verdict, **claimed)


def _ratio(part: Table, value: str) -> Interval | None:
    """The mean of log(IndRNN / Transformer) over the seeds that both have; they saw the same series."""
    pair = {n: {r.config["seed"]: r.values[value] for r in part.where(network=n)} for n in NETWORKS}
    shared = sorted(set.intersection(*(set(by) for by in pair.values())))
    logs = [math.log(pair[NETWORKS[0]][s] / pair[NETWORKS[1]][s]) for s in shared]
    return mean_interval(logs) if logs else None


def _geometric(table: Table, over: str, under: str) -> Interval:
    """The geometric mean over lags, seed by seed."""
    by_seed = table.by("seed")
    logs = [part.column(lambda row: math.log(row.values[over] / row.values[under])).mean() for part in by_seed.values()]
    return _exp(mean_interval(logs))


def _precision(notes: Notes, shown: Sequence[Measure], every: Table) -> None:
    """What double precision changes, in the runs of the IndRNN that have both: on average, and at most."""
    most = []
    for measure in shown:
        kept: dict[str, dict[str, Row]] = {"float32": {}, "float64": {}}
        for row in every.where(network="indrnn"):
            same = canonical({name: value for name, value in row.config.items() if name != "precision"})
            kept[precision(row.config)][same] = row
        logs: dict[int, list[float]] = {}
        for same in kept["float32"].keys() & kept["float64"].keys():
            double, single = kept["float64"][same], kept["float32"][same]
            ratio = double.values[measure.value] / single.values[measure.value]
            logs.setdefault(single.config["seed"], []).append(math.log(ratio))
        if logs:
            # a seed is one draw for all lags
            found = _exp(mean_interval([sum(of) / len(of) for of in logs.values()]))
            notes.found(f"{measure.name}, IndRNN: in double / in single precision", found)
            most.append(f"{math.exp(max(abs(log) for of in logs.values() for log in of)):.3g} ({measure.name})")
    if most:
        notes.remarks.append(
            f"The same run of the IndRNN in double instead of single precision differs by factors of up to "
            f"{', '.join(most)}: a maximum that varies like that belongs to the ensemble of runs, not to a seed."
        )


def _exp(found: Interval) -> Interval:
    ends = [math.inf if end > 700.0 else math.exp(end) for end in (found.value, found.low, found.high)]
    return Interval(ends[0], ends[1], ends[2], found.seeds)


def _spread(table: Table, measure: str) -> Interval:
    """Standard deviation of the logarithm between seeds, IndRNN over Transformer, with Fisher's interval."""
    variances, freedoms, seeds = [], [], []
    for network in NETWORKS:
        groups = [np.log(part.column(measure)) for part in table.where(network=network).by("lag").values()]
        freedom = sum(len(logs) - 1 for logs in groups)
        around = sum(float(np.sum((logs - logs.mean()) ** 2)) for logs in groups)
        variances.append(around / freedom if freedom else 0.0)
        freedoms.append(freedom)
        seeds += [len(logs) for logs in groups]
    if min(variances) == 0.0:
        return Interval(math.nan, -math.inf, math.inf)
    quotient = variances[0] / variances[1]
    below, above = (float(special.fdtri(freedoms[0], freedoms[1], p)) for p in (0.975, 0.025))
    ends = math.sqrt(quotient / below), math.sqrt(quotient / above)
    return Interval(math.sqrt(quotient), *ends, seeds=min(seeds))


def _series(trends: Mapping[tuple[str, str], Trend], measure: Measure) -> list[Series]:
    series = [one for network in NETWORKS for one in trends[measure.value, network].series()[:1]]
    lags = list(measure.table.by("lag"))
    if measure.value == "jacobian":
        # the bound leaves the panel: only where it is within three decades of what is seen
        top = 1e3 * max(max(one.y) for one in series)
        bound = {lag: value for lag in lags if (value := recurrent_bound(lag)) < top}
        more = "" if len(bound) == len(lags) else " (leaves the panel)"
        series.append(Series.theory(f"sound bound at the start{more}", bound))
    if measure.loss:
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


def state(config: Config) -> int:
    """Numbers that must be kept to read one more token and predict: the hidden units, or the window of L + 1 tokens."""
    channels = 1 + 2 * int(config["pairs"])
    return int(config["width"]) if config["network"] == "indrnn" else (int(config["lag"]) + 1) * channels


def analyse_memory(rows: Sequence[Row]) -> Analysis:
    """Numbers kept and the lowest validation loss, against the lag."""
    table, notes = Table([row for row in rows if precision(row.config) == RELEASED] or rows), Notes()
    kept, losses = [], []
    for network in NETWORKS:
        by_lag = table.where(network=network).by("lag")
        if by_lag:
            kept.append(Series(NAMES[network], list(by_lag), [float(state(part.config)) for part in by_lag.values()]))
            found = {lag: mean_interval(part.column("validation")) for lag, part in by_lag.items()}
            losses.append(Series.measured(NAMES[network], found))
            for lag, loss in found.items():
                words = f"{NAMES[network]} at L = {lag}: lowest validation loss with {state(by_lag[lag].config):,}"
                notes.found(f"{words} numbers kept", loss)
    headline = "one network only: nothing to compare."
    lags = table.by("lag")
    for lag, part in lags.items():
        logs = _ratio(part, "validation")
        if logs is None:
            continue
        recurrent, attention = (state(part.where(network=network).config) for network in NETWORKS)
        setting = (
            f"lowest validation loss, IndRNN / Transformer with {attention / recurrent:.3g} times its memory, L = {lag}"
        )
        # for short lags the paper says that the recurrent network does well
        if lag < max(lags):
            notes.found(setting, _exp(logs))
            continue
        notes.found(setting, _exp(logs), sign(logs, 0.0, below=False), paper="> 1")
        headline = (
            f"at L = {lag} the Transformer's lowest validation loss is {math.exp(-logs.value):.2f} of the IndRNN's, "
            f"for {attention / recurrent:.3g} times its memory."
        )
    if len(units := table.where(network="indrnn")):
        channels = 1 + 2 * int(units.config["pairs"])
        notes.remarks.append(
            f"The IndRNN keeps {state(units.config)} hidden units, the Transformer L + 1 tokens of {channels} "
            "channels. All but one of the channels are fixed functions of the position: whoever computes them anew "
            f"keeps L + 1 numbers, which is fewer than the IndRNN's up to L = {state(units.config) - 2}."
        )
    panels = [
        Panel("lag L (steps)", "numbers kept", kept, "memory", "xy"),
        Panel("lag L (steps)", "lowest validation loss", losses, "performance", "x"),
    ]
    caption = (
        "What each network must keep to predict the next value: the IndRNN its hidden units, the Transformer the "
        "tokens of its window; and the lowest validation loss, mean and 95 % interval over seeds."
    )
    return notes.analysis(headline, memory=Plot(panels, caption, columns=2))


def _released(config: Config) -> bool:
    return precision(config) == RELEASED


STUDIES = (
    study("arda.fig2", experiment, analyse, cell=("lag",), counts=_released),
    study("arda.memory", experiment, analyse_memory, cell=("lag",), counts=_released),
)
