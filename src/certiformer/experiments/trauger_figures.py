"""Trauger and Tewari, figures 1 to 3: does what a network does on sparse majority depend on the length of its input?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from certiformer.experiments import statistics
from certiformer.experiments._trauger_runs import cost, experiment, gap, probe
from certiformer.experiments.statistics import Interval
from certiformer.experiments.study import Analysis, Finding, Plot, Study
from certiformer.report import plots
from certiformer.sweep import Row
from certiformer.sweep.run import Config

TOKENS_PER_UNIT = 100.0
LEARNED = 0.55
"""Validation accuracy that guessing does not reach: ten standard errors of 10,000 fair coins above 1/2."""
SHOWN = 5
"""The most lengths whose training is drawn."""
LONG = 100
"""From here on the paper's accuracy is said to have levelled off."""

Points = Mapping[int, Sequence[float]]


@dataclass(frozen=True)
class Measure:
    """A number of each run.

    name    as a sentence has it;
    of      from the run's values;
    size    a change per 100 tokens worth speaking of;
    paper   what the paper does not see as T grows: an "increase", or a "decrease".
    """

    name: str
    of: Callable[[Config], float]
    size: float
    paper: str = "increase"
    unit: str = ""


# 5 % of the 1-norm of the starting weights, which is 1530 and does not depend on T
NORM = 75.0
KEPT_NORM = Measure("total 1-norm of the weights kept", lambda v: float(v["l1"]), NORM)
LAST_NORM = Measure("total 1-norm of the last weights", lambda v: float(v["l1_last"]), NORM)
KEPT_GAP = Measure("gap at the weights kept", gap, 0.05, unit=" nats")
LARGEST_GAP = Measure("largest gap over all epochs", lambda v: float(v["largest_gap"]), 0.05, unit=" nats")
ACCURACY = Measure("validation accuracy", lambda v: float(v["validation_accuracy"]), 0.05, "decrease")


def by_length(rows: Sequence[Row], of: Callable[[Config], float]) -> dict[int, list[float]]:
    """The runs' numbers, length by length."""
    found: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda r: (r.config["tokens"], r.config["seed"])):
        found.setdefault(row.config["tokens"], []).append(of(row.values))
    return found


def slope(points: Points) -> Interval:
    """The trend over all runs, per 100 tokens."""
    x = [T / TOKENS_PER_UNIT for T, values in points.items() for _ in values]
    y = [value for values in points.values() for value in values]
    return statistics.trend(x, y)


def change(found: Interval, size: float, direction: str = "increase") -> str:
    """Whether an increase (or decrease) of more than `size` per 100 tokens is found, excluded, or neither."""
    if math.isnan(found.value) or math.isinf(found.low) or math.isinf(found.high):
        return "inconclusive"
    low, high = found.ends if direction == "increase" else (-found.high, -found.low)
    if low > size:
        return f"{direction} of more than {size:g} found"
    if high < 0:
        return "decreases" if direction == "increase" else "increases"
    if high < size:
        return f"{direction} of more than {size:g} excluded" + (f"; a smaller {direction} found" if low > 0 else "")
    return f"{direction} found, its size unclear" if low > 0 else "inconclusive"


def learned(rows: Sequence[Row]) -> list[Row]:
    """The runs that do better than guessing."""
    return [row for row in rows if row.values["validation_accuracy"] > LEARNED]


def analyse_norm(rows: Sequence[Row]) -> Analysis:
    """Figure 1."""
    return _analyse(
        rows,
        KEPT_NORM,
        LAST_NORM,
        Drawing("figure_1", "total 1-norm of the weights", "l1", "largest", ("start", _start(rows))),
    )


def analyse_gap(rows: Sequence[Row]) -> Analysis:
    """Figure 2."""
    return _analyse(
        rows,
        KEPT_GAP,
        LARGEST_GAP,
        Drawing("figure_2", "generalization gap (nats)", "gap", "worst", ("no gap", 0.0)),
    )


def analyse_accuracy(rows: Sequence[Row]) -> Analysis:
    """Figure 3."""
    drawing = Drawing("figure_3", "validation accuracy", "validation_accuracy", "best", ("guessing", 0.5))
    found = _analyse(rows, ACCURACY, None, drawing)
    points = by_length(rows, ACCURACY.of)
    tail = slope({T: values for T, values in points.items() if T >= LONG})
    level = "inconclusive"
    if -ACCURACY.size < tail.low and tail.high < ACCURACY.size:
        able = _able([row for row in rows if row.config["tokens"] >= LONG])
        level = "levels off" if all(able.values()) else "flat, but not all T are learned"
    elif tail.low > ACCURACY.size or tail.high < -ACCURACY.size:
        level = "does not level off"
    more = [_slope_finding(f"validation accuracy, T ≥ {LONG}", "levels off", tail, level)]
    if points:
        longest = max(points)
        reached = statistics.mean_interval(points[longest])
        says = "learns" if reached.low > LEARNED else "does not learn" if reached.high < LEARNED else "inconclusive"
        setting = f"T = {longest}: does it learn (mean accuracy above {LEARNED:g})?"
        more.append(Finding(setting, "learns", reached.value, reached.ends, says))
    fits = {**found.fits, "slope_of_long": tail.as_json()}
    return Analysis((*found.findings, *more), fits, found.plots, found.remarks)


@dataclass(frozen=True)
class Drawing:
    """A figure: its file, its axis, the curve beside it, what the paper picks among runs, a line to compare with."""

    stem: str
    axis: str
    curve: str
    pick: str
    reference: tuple[str, float]


def _analyse(rows: Sequence[Row], main: Measure, other: Measure | None, drawing: Drawing) -> Analysis:
    points, able = by_length(rows, main.of), learned(rows)
    only_able = f"{main.name}, runs that beat guessing"
    slopes = {
        f"{main.name}, all runs": slope(points),
        f"{main.name}, {drawing.pick} run at each T (the paper's curve)": slope(
            {T: [max(v)] for T, v in points.items()}
        ),
        only_able: slope(by_length(able, main.of)),
    }
    if other is not None:
        slopes[f"{other.name}, all runs"] = slope(by_length(rows, other.of))
    blank = [T for T, count in _able(rows).items() if count == 0]
    findings = []
    for name, found in slopes.items():
        verdict = change(found, main.size, main.paper)
        if blank and name != only_able and verdict != "inconclusive":
            verdict += f"; but nothing learned at {len(blank)} of {len(points)} T"
        findings.append(_slope_finding(name, f"no {main.paper}", found, verdict))
    for T, values in points.items():
        middle = statistics.mean_interval(values)
        setting = f"T = {T}: {main.name}, mean of {len(values)} runs ({drawing.pick} {max(values):.4g}{main.unit})"
        findings.append(Finding(setting, None, middle.value, middle.ends, "measured"))
    fits: dict[str, Any] = {
        "slope_per_100_tokens": {name: found.as_json() for name, found in slopes.items()},
        "mean": {str(T): statistics.mean_interval(values).as_json() for T, values in points.items()},
        "beat_guessing": {str(T): count for T, count in _able(rows).items()},
        "size_worth_speaking_of": main.size,
    }
    if not rows:
        return Analysis(tuple(findings), fits)
    caption = (
        f"Left: {main.name} against the number of tokens T, mean of {_runs(points)} with 95 % confidence band, and the "
        f"{drawing.pick} run, which is what the paper shows. Right: the same during training, mean of the runs."
    )
    plotted = {drawing.stem: Plot(_draw(rows, points, drawing), caption)}
    return Analysis(tuple(findings), fits, plotted, _remarks(rows, slopes, main))


def _slope_finding(name: str, paper: str, found: Interval, verdict: str) -> Finding:
    value = None if math.isnan(found.value) else found.value
    return Finding(f"{name}: slope per 100 tokens", paper, value, found.ends, verdict)


def _draw(rows: Sequence[Row], points: Points, drawing: Drawing) -> Any:
    figure, (left, right) = plots.panels(2)
    lengths = list(points)
    middles = [statistics.mean_interval(points[T]) for T in lengths]
    plots.band(
        left,
        lengths,
        [m.value for m in middles],
        [m.low for m in middles],
        [m.high for m in middles],
        label="mean of the runs",
    )
    plots.band(left, lengths, [max(points[T]) for T in lengths], label=f"{drawing.pick} run (the paper's)", index=3)
    name, level = drawing.reference
    for axes in (left, right):
        axes.axhline(level, color="0.45", lw=1.0, ls=":", label=name if axes is left else None)
    _draw_training(right, rows, drawing)
    plots.label(left, "tokens T", drawing.axis)
    plots.label(right, "epoch", drawing.axis)
    return figure


def _draw_training(axes: Axes, rows: Sequence[Row], drawing: Drawing) -> None:
    """Mean curves of some lengths. A run that has fitted its sample stands still."""
    lengths = sorted({row.config["tokens"] for row in rows})
    for index, T in enumerate(_spread(lengths)):
        arrays = [row.arrays for row in rows if row.config["tokens"] == T]
        epochs = max((a["epoch"] for a in arrays), key=lambda e: int(e[-1]))
        each = [np.interp(epochs, a["epoch"], _curve(a, drawing.curve)) for a in arrays]
        plots.band(axes, epochs.tolist(), np.mean(each, axis=0).tolist(), label=f"T = {T}", index=index, marker=False)


def _curve(arrays: Mapping[str, Any], name: str) -> Any:
    return arrays["validation_loss"] - arrays["loss"] if name == "gap" else arrays[name]


def _spread(lengths: Sequence[int]) -> list[int]:
    """At most `SHOWN` of them, the shortest and the longest included."""
    chosen = np.unique(np.linspace(0, len(lengths) - 1, min(SHOWN, len(lengths))).round().astype(int))
    return [lengths[i] for i in chosen]


def _remarks(rows: Sequence[Row], slopes: Mapping[str, Interval], main: Measure) -> tuple[str, ...]:
    able, counts = _able(rows), {T: len(v) for T, v in by_length(rows, lambda _: 0.0).items()}
    epochs = max(row.config["epochs"] for row in rows)
    fitted = sum(row.values["fitted"] for row in rows)
    said = [
        f"Validation accuracy above {LEARNED:g} within {epochs:,} epochs: "
        + ", ".join(f"{able[T]} of {n} runs at T = {T}" for T, n in counts.items())
        + f". {fitted} of {len(rows)} runs fitted their sample and ended early."
    ]
    still = [T for T in counts if able[T] == 0]
    if still and len(still) < len(counts):
        said.append(
            f"No run learned at T = {', '.join(map(str, still))}: there the weights kept are close to those at the "
            f"start, whose 1-norm and gap do not depend on T, so the trend over all runs compares networks that have "
            f"learned with networks that have not."
        )
    elif still:
        said.append("No run learned: the numbers are those of the start of training and say little about its end.")
    found = next(iter(slopes.values()))
    if not math.isinf(found.low):
        said.append(
            f"Slope of the {main.name} over all runs: {found.value:.3g}{main.unit} per 100 tokens, 95 % interval "
            f"{found.low:.3g} to {found.high:.3g}; a change of {main.size:g} is what we call worth speaking of."
        )
    return tuple(said)


def _able(rows: Sequence[Row]) -> dict[int, int]:
    return {T: int(sum(v)) for T, v in by_length(rows, lambda v: float(v["validation_accuracy"] > LEARNED)).items()}


def _start(rows: Sequence[Row]) -> float:
    return float(np.mean([row.values["l1_start"] for row in rows])) if rows else math.nan


def _runs(points: Points) -> str:
    sizes = sorted({len(values) for values in points.values()})
    return f"{sizes[0]} runs" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} runs"


READINGS = (
    (
        "Model, data, optimiser and stopping rule are those of the released program where the paper is silent or "
        "differs: biases everywhere, one ReLU after the two heads are summed, a further dense layer, positional "
        "encodings added after normalisation, momentum 0.9, rate 0.01 falling to 0.001, the mean of two sigmoid losses "
        "instead of softmax cross-entropy, and an end at the first epoch with running training accuracy 1."
    ),
    (
        "The best epoch is the one with the lowest loss on the 10,000 validation samples; the gap and the accuracy are "
        "measured on these same samples, as in the program. The gap is validation minus training loss at the weights "
        "of that epoch; its largest size over all epochs, with the running training loss, is reported beside it."
    ),
    (
        "The paper shows the largest 1-norm, the worst gap and the best accuracy of five runs, without numbers or "
        "error bars. A trend is tested on all runs instead; the paper's curve is tested too, one point for each T. "
        "Runs with the same seed start from the same weights at every T; their data are new."
    ),
    (
        "At scale quick training ends after 5,000 epochs instead of 200,000, and only every 25th epoch is validated, "
        "looked at for the stopping rule, and eligible as the best; scale paper validates every epoch."
    ),
)

STUDIES = (
    Study(
        id="trauger.fig1",
        paper="trauger",
        title="Total 1-norm of the trained weights against the length of the input",
        claim=(
            "The sum of the absolute values of all weights shows no increase with the sequence length, which is taken "
            "to support the assumption that norms are bounded."
        ),
        experiment=experiment,
        analyse=analyse_norm,
        cost=cost,
        probe=probe,
        readings=READINGS,
    ),
    Study(
        id="trauger.fig2",
        paper="trauger",
        title="Generalization gap against the length of the input",
        claim=(
            "The worst cross-entropy gap of five runs has no trend in the sequence length, as one expects from a bound "
            "that does not depend on it."
        ),
        experiment=experiment,
        analyse=analyse_gap,
        cost=cost,
        probe=probe,
        readings=READINGS,
    ),
    Study(
        id="trauger.fig3",
        paper="trauger",
        title="Validation accuracy against the length of the input",
        claim="The best accuracy levels off as sequences grow, so the networks learn well at long lengths too.",
        experiment=experiment,
        analyse=analyse_accuracy,
        cost=cost,
        probe=probe,
        readings=READINGS,
    ),
)
