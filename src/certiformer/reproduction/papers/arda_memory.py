"""Arda et al., figure 2's networks: what each must keep in memory, beside the validation loss that it reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._arda_lag_grid import NETWORKS, RELEASED, experiment, precision
from certiformer.reproduction.statistics import Interval, mean_interval
from certiformer.reproduction.study import Analysis, Study
from certiformer.reproduction.sweep import Row
from certiformer.reproduction.sweep.run import Config
from certiformer.reproduction.table import Table
from certiformer.reproduction.trend import Notes
from certiformer.reproduction.verdicts import MEASURED, sign

NAMES = {"indrnn": "IndRNN", "transformer": "Transformer"}


def state(config: Config) -> int:
    """Numbers that must be kept to read one more token and predict: the hidden units, or the window of L + 1 tokens."""
    channels = 1 + 2 * int(config["pairs"])
    return int(config["width"]) if config["network"] == "indrnn" else (int(config["lag"]) + 1) * channels


def analyse(rows: Sequence[Row]) -> Analysis:
    """Numbers kept against the lag, and the lowest validation loss against the numbers kept."""
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
    better = _paid(notes, table)
    if len(recurrent := table.where(network="indrnn")):
        units, channels = state(recurrent.config), 1 + 2 * int(recurrent.config["pairs"])
        notes.remarks.append(
            f"The IndRNN keeps {units} hidden units, the Transformer L + 1 tokens of {channels} channels. All but one "
            f"of the channels are fixed functions of the position: whoever computes them anew keeps L + 1 numbers, "
            f"which is fewer than the IndRNN's up to L = {units - 2}."
        )
    panels = [
        Panel("lag L (steps)", "numbers kept", kept, "memory", "xy"),
        Panel("lag L (steps)", "lowest validation loss", losses, "performance", "x"),
    ]
    longest = max(better, default=None)
    headline = "one network only: nothing to compare."
    if longest is not None:
        loss, memory = better[longest]
        headline = (
            f"at L = {longest} the Transformer's validation loss is {1.0 / loss.value:.2f} of the IndRNN's, for "
            f"{memory:.3g} times its memory."
        )
    caption = (
        "What each network must keep to predict the next value: the IndRNN its hidden units, the Transformer the "
        "tokens of its window; and the lowest validation loss, mean and 95 % interval over seeds."
    )
    return notes.analysis(headline, memory=Plot(panels, caption, columns=2))


def _paid(notes: Notes, table: Table) -> dict[int, tuple[Interval, float]]:
    """At each lag the loss of the IndRNN over the Transformer's (geometric mean), and the ratio of memories."""
    found = {}
    lags = table.by("lag")
    for lag, part in lags.items():
        both = {n: {row.config["seed"]: row.values["validation"] for row in part.where(network=n)} for n in NETWORKS}
        shared = sorted(set.intersection(*(set(each) for each in both.values())))
        if not shared:
            continue
        logs = mean_interval([math.log(both["indrnn"][s] / both["transformer"][s]) for s in shared])
        recurrent, attention = (state(part.where(network=n).config) for n in NETWORKS)
        loss = Interval(*(math.inf if e > 700.0 else math.exp(e) for e in (logs.value, *logs.ends)), logs.seeds)
        # for short lags the paper says that the recurrent network does well
        last = lag == max(lags)
        setting = (
            f"validation loss at L = {lag}, IndRNN / Transformer, which keeps {attention / recurrent:.3g} times as much"
        )
        notes.found(
            setting, loss, sign(logs, 0.0, below=False) if last else MEASURED, **({"paper": "> 1"} if last else {})
        )
        found[lag] = (loss, attention / recurrent)
    return found


STUDIES = (
    Study(
        "arda.memory",
        "arda",
        "Memory against validation loss: what the window of a Transformer buys",
        "The Transformer keeps its validation loss as the lag grows, at the cost of a window that grows with the lag; "
        "the recurrent network keeps a state of fixed size and gets worse.",
        experiment,
        analyse,
        cell=("lag",),
        counts=lambda config: precision(config) == RELEASED,
        readings=(
            "The runs are those of figure 2: nothing new is trained.",
            (
                "Counted are the numbers that must be kept to predict the next value of a stream: hidden units, or the "
                "tokens of the window with all their channels. Weights and the memory of training are not counted."
            ),
            "Whether a wider recurrent network with the same memory would do better was not tried.",
        ),
    ),
)
