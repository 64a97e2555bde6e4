"""Trauger and Tewari, figures 1 to 3: does what a network does on sparse majority depend on the length of its input?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._trauger_grid import PAPER_RUNS, TEXT_LENGTHS, TEXT_LOSS, experiment, gap
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, Vector, mean_interval, trend
from certiformer.reproduction.study import Analysis, study
from certiformer.reproduction.sweep import Config, Row
from certiformer.reproduction.trend import Notes
from certiformer.reproduction.verdicts import Verdict, no_more_than, number, sign, small_effect

TOKENS_PER_UNIT = 100.0
LEARNED = 0.55
"""Validation accuracy that guessing does not reach: ten standard errors of 10,000 fair coins above 1/2."""
SHOWN = 5
"""The most lengths whose training is drawn."""
LONG = 100
"""From here on the paper's accuracy is said to have levelled off."""


@dataclass(frozen=True)
class Measure:
    """A number of each run: its name, where it comes from, a change per 100 tokens worth speaking of, its curve during
    training with a name, what the paper picks among runs, and a level to compare with."""

    name: str
    of: Callable[[Row], float]
    size: float
    curve: str
    during: str
    pick: str
    level: tuple[str, float]
    unit: str = ""


# 5 % of the 1-norm of the starting weights, which is 1530 and does not depend on T
NORM = Measure(
    "total 1-norm of the weights kept", lambda r: float(r.values["l1"]), 75.0, "l1", "total 1-norm", "largest",
    ("", 0.0),
)  # fmt: skip
GAP = Measure(
    "gap at the weights kept", lambda r: gap(r.values), 0.05, "gap", "gap", "worst", ("no gap", 0.0), " (nats)"
)  # fmt: skip
ACCURACY = Measure(
    "validation accuracy", lambda r: float(r.values["validation_accuracy"]), 0.05, "validation_accuracy",
    "validation accuracy", "best", ("guessing", 0.5),
)  # fmt: skip


def learned(table: Table) -> Table:
    """The runs that do better than guessing: the others say nothing about trained networks."""
    return table.where(lambda row: row.values["validation_accuracy"] > LEARNED)


def slope(table: Table, of: Callable[[Row], float]) -> Interval:
    """The trend over runs, per 100 tokens."""
    x = [row.config["tokens"] / TOKENS_PER_UNIT for row in table]
    return trend(x, table.column(of), seeds=max((len(part) for part in table.by("tokens").values()), default=0))


def picked(table: Table, of: Callable[[Row], float]) -> Interval:
    """The trend of what the paper plots, the largest value of the runs at each length, per 100 tokens."""
    points = table.points("tokens", of)
    found = trend([T / TOKENS_PER_UNIT for T in points], [float(values.max()) for values in points.values()])
    return dataclasses.replace(found, seeds=0)  # more seeds would change what is picked, not how sure it is


def analyse_norm(rows: Sequence[Row]) -> Analysis:
    """Figure 1."""
    start = float(np.mean([row.values["l1_start"] for row in rows]))
    return _analyse(rows, dataclasses.replace(NORM, level=("start", start)), no_more_than, "no increase")


def analyse_gap(rows: Sequence[Row]) -> Analysis:
    """Figure 2."""
    return _analyse(rows, GAP, no_more_than, "no increase")


def analyse_accuracy(rows: Sequence[Row]) -> Analysis:
    """Figure 3."""

    def no_decrease(found: Interval, margin: float) -> Verdict:
        said = no_more_than(-found, margin)
        return small_effect(found.value, margin, said.p) if said.word == "small effect" else said

    return _analyse(rows, ACCURACY, no_decrease, "no decrease")


def _analyse(rows: Sequence[Row], main: Measure, judge: Callable[[Interval, float], Verdict], claim: str) -> Analysis:
    everything, notes = Table(rows), Notes()
    table, text = everything.where(lambda row: _released(row.config)), everything.where(loss=TEXT_LOSS)
    able = learned(table)
    # what the paper shows comes first: the largest of its five runs at each length; of the accuracy where it levels off
    late = able.where(lambda row: row.config["tokens"] >= LONG) if main is ACCURACY else able
    theirs, found = picked(late, main.of), slope(able, main.of)
    where = f", T ≥ {LONG}" if main is ACCURACY else ""
    first = f"{main.name}, {main.pick} of the runs at each T{where}: slope per 100 tokens"
    shown = number(theirs, 0.0, main.size) if main is ACCURACY else judge(theirs, main.size)
    said = "levels off" if main is ACCURACY else claim
    notes.found(first, theirs, shown, paper=said)
    setting = f"{main.name}, mean of the runs that learned: slope per 100 tokens"
    notes.found(setting, found, judge(found, main.size), paper=claim)
    if main is ACCURACY:
        tail = slope(late, main.of)
        name = f"{main.name}, mean of the runs that learned, T ≥ {LONG}: slope per 100 tokens"
        notes.found(name, tail, number(tail, 0.0, main.size), paper="levels off")
        for T, part in table.by("tokens").items():
            reached = mean_interval(part.column(main.of))
            above = f"T = {T}: {main.name} above guessing"
            notes.found(above, reached, sign(reached, LEARNED, below=False), paper="learns")
    else:
        for T, part in able.by("tokens").items():
            values = part.column(main.of)
            name = f"T = {T}: {main.name}, mean of {len(part)} runs that learned ({main.pick} {values.max():.4g})"
            notes.found(name, mean_interval(values))
    _with_text_loss(notes, text, table, main, judge, claim)
    shares = {T: (len(learned(part)), len(part)) for T, part in table.by("tokens").items()}
    notes.fits["learned"] = {str(T): count for T, (count, _) in shares.items()}
    notes.remarks.append(
        f"Validation accuracy above {LEARNED:g} within {max(r.config['epochs'] for r in rows):,} epochs: "
        + ", ".join(f"{count} of {of} runs at T = {T}" for T, (count, of) in shares.items())
        + f". {sum(row.values['fitted'] for row in table)} of {len(table)} runs fitted their sample and ended early."
    )
    if not len(table):
        headline = "no run with the loss of the released program, which the figure shows."
    elif not len(able):
        headline = f"none of {len(table)} runs has learned: they say nothing about trained networks."
    elif len(able.by("tokens")) < 2:
        headline = f"{len(able)} of {len(table)} runs learned, all of one length: no trend can be seen."
    else:
        headline = (
            f"{main.name}: the {main.pick} at each length changes by {theirs.value:+.3g} per 100 tokens"
            f"{where} (the paper: {said}; {notes.word(first)}), the mean by {found.value:+.3g} "
            f"({notes.word(setting)})"
            f"{'' if len(able) == len(table) else f'; {len(able)} of {len(table)} runs that learned'}."
        )
    caption = (
        f"Left: {main.name} against the number of tokens T, runs that learned: mean with 95 % interval, and the "
        f"{main.pick} of these runs, as the paper shows it for its own"
        + ("; the mean with the loss of the paper's text beside it" if len(text) else "")
        + f". Right: {main.during} during training, mean of the runs that learned, some of the lengths. A run that has "
        "fitted its sample stands still; a curve ends where all its runs have."
    )
    panels = _panels(able, learned(text), main)
    return notes.analysis(headline, figure=Plot(panels, caption, shared=main is not GAP))


def _with_text_loss(
    notes: Notes, text: Table, table: Table, main: Measure, judge: Callable[[Interval, float], Verdict], claim: str
) -> None:
    """The same numbers and the same rule for the runs with the loss of the paper's text; the program's beside them."""
    if not len(text):
        return
    able, beside = learned(text), learned(table).by("tokens")
    for T, part in able.by("tokens").items():
        name = f"T = {T}, the text's loss: {main.name}, mean of {_runs(part)} that learned"
        told = f" ({main.pick} {part.column(main.of).max():.4g}"
        told += f"; the program's loss: mean {beside[T].column(main.of).mean():.4g})" if T in beside else ")"
        notes.found(name + told, mean_interval(part.column(main.of)))
    if len(able.by("tokens")) > 1:
        found = slope(able, main.of)
        name = f"the text's loss: {main.name}, mean of the runs that learned: slope per 100 tokens"
        notes.found(name, found, judge(found, main.size), paper=claim)
    notes.remarks.append(
        f"The loss of the paper's text, the cross-entropy of both logits together: {_runs(text)} of the "
        f"{len(TEXT_LENGTHS) * PAPER_RUNS} of the full scale; {len(able)} of them learned. All else, data and "
        "starting weights too, is as in the run with the same seed and length. A gap in one loss is no gap in the "
        "other: cross-entropy grows with the difference of the logits, the program's loss with each of them."
    )


def _runs(table: Table) -> str:
    return f"{len(table)} run{'' if len(table) == 1 else 's'}"


def _panels(table: Table, text: Table, main: Measure) -> list[Panel]:
    points, other = table.points("tokens", main.of), text.points("tokens", main.of)
    left = [
        Series.means("mean", points),
        Series(f"{main.pick} of all", list(points), [float(v.max()) for v in points.values()]),
        *([Series("mean, text's loss", list(other), [float(v.mean()) for v in other.values()])] if other else []),
    ]
    lengths = list(points)
    chosen = np.unique(np.linspace(0, max(0, len(lengths) - 1), min(SHOWN, len(lengths))).round().astype(int))
    right = [_training(table.where(tokens=lengths[i]), main) for i in chosen]
    name, level = main.level
    marks = {name: level} if name else {}
    return [
        Panel("tokens T", f"{main.name}{main.unit}", left, marks=marks),
        Panel("epoch", f"{main.during}{main.unit}", right, marks=marks),
    ]


def _training(table: Table, main: Measure) -> Series:
    """The mean curve of a length. A run that has fitted its sample stands still."""
    epochs = max((row.arrays["epoch"] for row in table), key=lambda e: int(e[-1]))
    each = [np.interp(epochs, row.arrays["epoch"], _curve(row, main.curve)) for row in table]
    return Series(f"T = {table.config['tokens']}", epochs.tolist(), np.mean(each, axis=0).tolist(), points=False)


def _curve(row: Row, name: str) -> Vector:
    if name == "gap":
        return np.asarray(row.arrays["validation_loss"] - row.arrays["loss"], float)
    return np.asarray(row.arrays[name], float)


def _released(config: Config) -> bool:
    return "loss" not in config


STUDIES = tuple(
    study(f"trauger.fig{number}", experiment, analyse, cell=("tokens",), counts=_released)
    for number, analyse in enumerate((analyse_norm, analyse_gap, analyse_accuracy), 1)
)
