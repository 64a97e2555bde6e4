"""Mwigo and Dasgupta, Table 1: the lowest test loss for three widths and three sample sizes, and what it hangs on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy import special

import certiformer
from certiformer.reproduction.interpretations import SURVIVES, Spread, log_density, p_value, pooled, survivors
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._mwigo_grid import (
    BASE,
    CHOSEN_ON,
    PAPER_TABLE_1,
    batch_that_grows,
    experiment,
    reading,
    spoken,
)
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, Vector, prediction_interval
from certiformer.reproduction.study import Analysis, Finding, study
from certiformer.reproduction.sweep import Config, Row
from certiformer.reproduction.trend import Notes, Theory, Trend, told
from certiformer.reproduction.verdicts import Verdict, bound_frequency, one_run

TOKENS = {"padded": 16, "flat": 13, "cropped": 9, "flat_cropped": 12}
PIXELS_PER_TOKEN = 64
DELTA = LEVEL = 0.05
LENGTHS = (100, 150, 200, 250, 300, 350, 400, 500, 600)  # epochs that the paper may have run
PAPER_RUNS = 1  # in a cell
ADEQUATE = 15  # of 18 numbers inside the 95 % interval: fewer have a chance of 1.1 % under the model
BEST_SHOWN = 5
GROWS = "a batch that grows with N"
UNSEEN = ((1024, 10_000), (4096, 10_000))
"""The cells whose numbers that hypothesis predicts."""
Cell = tuple[int, int]


def analyse(rows: Sequence[Row]) -> Analysis:
    table, notes = Table(rows), Notes()
    base = table.where(lambda row: reading(row.config) == BASE)
    spreads = _spreads(base)
    said = [said for cell, part in base.by(cell_of).items() for said in _of_cell(notes, cell, part, spreads)]
    slopes: dict[int, Interval] = {}
    for d_m, row in base.by("d_m").items():
        theirs = {n: loss for (width, n), (loss, _) in PAPER_TABLE_1.items() if width == d_m}
        ends = list(row.by("n"))
        name = f"d_m = {d_m:,}, exponent of N in the lowest test loss, N = {ends[0]:,} to {ends[-1]:,}"
        falls = Trend(name, row, "n", "lowest", Theory("falls", exponent=0.0, relation="<"), paired=True)
        notes.note(falls)
        slopes[d_m] = falls.slope
        notes.fits[f"d_m = {d_m}: the paper's exponent"] = float(
            np.polyfit(np.log(list(theirs)), np.log(list(theirs.values())), 1)[0]
        )
    behind = _readings(notes, table)
    _theorem_5(notes, base)
    _remarks(notes, table, base)
    plots = {"lowest_test_loss": _figure_cells(base, slopes)}
    if len(behind) > 1:
        plots["readings"] = _figure_readings(table, behind)
    return notes.analysis(_headline(notes, base, said, _other_ways(table, spreads)), **plots)


def _headline(notes: Notes, base: Table, said: Sequence[tuple[str, Verdict]], other: Mapping[str, list[str]]) -> str:
    """How many printed numbers our reading explains; which it does not, and what does, is a remark."""
    p = _p_values(base, _spreads(base))
    sharp = sum(verdict.word == "compatible" for _, verdict in said)
    outside = [name for name, value in p.items() if value <= LEVEL]
    if not p:
        return f"no cell of Table 1 was run to the paper's epoch under {_named(BASE)}."
    never = [name for name in outside if not other.get(name)]
    some = [f"{name} ({' or '.join(other[name])})" for name in outside if name not in never]
    text = f"Under our reading {sharp} of {len(p)} lie in an interval sharp enough to say compatible"
    if never:
        text += (
            f"; outside, and no other reading that was run there does better with the same seeds: {', '.join(never)}"
        )
    if some:
        text += f"; outside under ours, but not under another one with the same seeds: {', '.join(some)}"
    notes.remarks.insert(
        0,
        f"{text}. All intervals are given that the paper's test set was all 2,115 images: they have no variation of "
        "the test images (mwigo.test_set has).",
    )
    return (
        f"{len(p) - len(outside)} of {len(p)} printed numbers lie where one more run of ours would fall "
        f"({seeds_told(base)}, all test images); {len(some)} of the other {len(outside)} do under another setting."
    )


def _other_ways(table: Table, spreads: Mapping[str, Spread]) -> dict[str, list[str]]:
    """For each printed number the readings one more run of which may give it, where ours with their seeds may not."""
    found: dict[str, list[str]] = {}
    base = table.where(lambda row: reading(row.config) == BASE)
    for part in table.where(lambda row: reading(row.config) != BASE).by(lambda c: repr(reading(c))).values():
        ours = _p_values(_with_seeds_of(part, base), spreads)
        for name, p in _p_values(_with_seeds_of(base, part), spreads).items():
            if p > LEVEL >= ours.get(name, 1.0):
                found.setdefault(name, []).append(spoken(reading(part.config)))
    return found


def seeds_told(table: Table) -> str:
    """How many there are in the cells of Table 1."""
    counts = sorted({len(part) for cell, part in table.by(cell_of).items() if cell in PAPER_TABLE_1})
    return (
        f"{counts[0]} seed{'s' if counts[0] > 1 else ''}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    )


def cell_of(config: Config) -> Cell:
    return config["d_m"], config["n"]


def _name(cell: Cell) -> str:
    return f"d_m = {cell[0]:,}, N = {cell[1]:,}"


def _named(chosen: Config) -> str:
    return "batches of 32 and pixels in [0, 1]" if chosen == BASE else spoken(chosen)


def one_more_run(values: Vector, spread: Spread | None = None) -> Interval:
    """Geometric mean, and where one more run would fall: a prediction interval of logarithms.

    With a `spread`, by the standard deviation pooled over cells instead of that of these few runs.
    """
    logs = prediction_interval(np.log(values))
    if spread is not None and _known(spread)[1] is not None:
        reach = float(special.stdtrit(spread.freedom, 0.975)) * spread.deviation * math.sqrt(1.0 + 1.0 / len(values))
        logs = Interval(logs.value, logs.value - reach, logs.value + reach, logs.seeds)
    ends = [float(np.exp(end)) for end in (logs.value, logs.low, logs.high)]
    return Interval(ends[0], ends[1], ends[2], logs.seeds)


def _known(spread: Spread) -> tuple[float, int] | tuple[None, None]:
    """A pooled spread that is useful."""
    return (spread.deviation, spread.freedom) if spread.freedom > 0 and spread.deviation > 0 else (None, None)


def _best_until(row: Row, length: float) -> tuple[float, int, bool]:
    """The lowest test loss up to an epoch, its epoch, and whether that is the last one, so that more may be less."""
    epochs, losses = row.arrays["epoch"], row.arrays["test"]
    last = int(np.searchsorted(epochs, length, side="right"))
    best = int(np.argmin(losses[:last]))
    return float(losses[best]), max(1, int(epochs[best])), best == last - 1


def _at(row: Row, epoch: float) -> float:
    return float(np.interp(epoch, row.arrays["epoch"], row.arrays["test"]))


def _of_cell(notes: Notes, cell: Cell, table: Table, spreads: Mapping[str, Spread]) -> list[tuple[str, Verdict]]:
    """Both printed numbers of a cell, and the loss at the paper's epoch, against where one more run would fall."""
    by_loss, by_epoch = spreads["loss"], spreads["epoch"]
    lowest = one_more_run(table.column("lowest"), by_loss)
    length = min(row.config["epochs"] for row in table)
    if cell not in PAPER_TABLE_1:
        notes.found(f"{_name(cell)}: lowest test loss", lowest)
        return []
    loss, epoch = PAPER_TABLE_1[cell]
    if length < epoch:
        notes.found(f"{_name(cell)}: lowest test loss by epoch {length}, before the paper's {epoch}", lowest)
        return []
    verdict = one_run(table.column("lowest"), loss, *_known(by_loss))
    said = [(number_name("loss", cell), verdict)]
    notes.found(f"{_name(cell)}: lowest test loss", lowest, verdict, paper=loss)
    then = table.column(lambda row: _at(row, epoch))
    notes.found(
        f"{_name(cell)}: test loss at the paper's epoch {epoch}", one_more_run(then), one_run(then, loss), paper=loss
    )
    ended = table.where(lambda row: not row.values["falling"])
    if len(ended):
        when = np.maximum(ended.column("epoch"), 1.0)
        verdict = one_run(when, epoch, *_known(by_epoch))
        censored = len(table) - len(ended)
        setting = f"{_name(cell)}: epoch of the lowest test loss"
        setting += f" ({censored} of {len(table)} runs still improve at the end and do not count)" if censored else ""
        notes.found(setting, one_more_run(when, by_epoch), verdict, paper=epoch)
        said.append((number_name("epoch", cell), verdict))
    return said


def _numbers(table: Table, length: float) -> dict[str, tuple[Vector, float]]:
    """What one reading gave for each printed number, if the paper ran so long: (values of the seeds, the number)."""
    found = {}
    for cell, part in table.by(cell_of).items():
        if cell in PAPER_TABLE_1:
            best = [_best_until(row, length) for row in part]
            loss, epoch = PAPER_TABLE_1[cell]
            found[number_name("loss", cell)] = (np.array([b[0] for b in best]), loss)
            uncensored = np.array([float(b[1]) for b in best if not b[2]])
            if len(uncensored):
                found[number_name("epoch", cell)] = (uncensored, float(epoch))
    return found


def score(table: Table, spreads: Mapping[str, Spread]) -> dict[str, float]:
    """log p of each printed number under one reading, p averaged over the run lengths that the epochs allow.

    Runs of one width were probably as long as each other: at least to the latest epoch that Table 1 names for it.
    """
    densities: dict[str, list[float]] = {}
    for part in table.by("d_m").values():
        for length in lengths(part):
            for name, (values, truth) in _numbers(part, length).items():
                density = math.exp(log_density(values, truth, spreads[_kind(name)]))
                densities.setdefault(name, []).append(density)
    return {name: math.log(sum(each) / len(each)) for name, each in densities.items()}


def lengths(table: Table) -> list[int]:
    """How long the paper's runs of one width may have been, as far as ours go; the longest last."""
    latest = max((epoch for (width, _), (_, epoch) in PAPER_TABLE_1.items() if width == table.config["d_m"]), default=0)
    most: int = min(row.config["epochs"] for row in table)
    return [length for length in LENGTHS if latest <= length <= most] or [most]


def number_name(kind: str, cell: Cell) -> str:
    """A printed number, as a reader says it."""
    return f"the {kind} at ({cell[0]:,}, {cell[1]:,})"


def _kind(name: str) -> str:
    """Which of the two printed numbers of a cell."""
    return "epoch" if name.startswith("the epoch") else "loss"


TO_CHOOSE = {number_name(kind, cell) for kind in ("loss", "epoch") for cell in CHOSEN_ON}


def _spreads(table: Table) -> dict[str, Spread]:
    numbers = _numbers(table, math.inf)
    return {
        kind: pooled([v for name, (v, _) in numbers.items() if _kind(name) == kind and len(v) > 1] or [[1.0]])
        for kind in ("loss", "epoch")
    }


def _readings(notes: Notes, table: Table) -> dict[str, float]:
    """Every reading by its score: on the cells used to choose among them, and, for those that went on, on the others.

    A reading that is excluded on the first does not go on to the others. The batch that grows with N is one of ours on
    the first, and is scored on the cells that it had not seen when it was made. The scores on the first are returned.
    """
    table = table.where(lambda row: cell_of(row.config) in PAPER_TABLE_1)
    parts = {spoken(reading(part.config)): part for part in table.by(lambda c: repr(reading(c))).values()}
    growing = table.where(lambda row: reading(row.config) == {**BASE, "batch": batch_that_grows(row.config["n"])})
    ours = spoken(BASE)
    if ours not in parts:
        return {}
    spreads = _spreads(parts[ours])
    raced = _scored(notes, parts, spreads, "the cells used to choose", lambda number: number in TO_CHOOSE)
    parts = {name: part for name, part in parts.items() if raced.get(name, -math.inf) >= -SURVIVES}
    if len(unseen := growing.where(lambda row: cell_of(row.config) in UNSEEN)):
        parts[GROWS] = unseen
    _scored(notes, parts, spreads, "the other cells", lambda number: number not in TO_CHOOSE)
    _predicted(notes, growing, spreads)
    _adequate(notes, parts, spreads)
    return raced


def _scored(
    notes: Notes, parts: Mapping[str, Table], spreads: Mapping[str, Spread], where: str, there: Callable[[str], bool]
) -> dict[str, float]:
    """The readings by their score on the numbers that are `there`: more than log 20 behind another excludes one."""

    def scores(table: Table) -> dict[str, float]:
        return {number: p for number, p in score(table, spreads).items() if there(number)}

    def lead(one: Table, other: Table) -> float:
        mine, theirs = scores(_with_seeds_of(other, one)), scores(_with_seeds_of(one, other))
        return math.fsum(mine[number] - theirs[number] for number in mine.keys() & theirs.keys())

    whole = {name: found for name, part in parts.items() if (found := scores(part))}
    behind = survivors({name: parts[name] for name in whole}, lead)
    for name, less in sorted(behind.items(), key=lambda item: -item[1]):
        verdict = Verdict("compatible")
        if less < -SURVIVES:
            verdict = Verdict("incompatible", "more than log 20 behind another")
        who = _named(BASE) if name == spoken(BASE) else name
        setting = f"reading: {who}: score on {where} ({len(whole[name])} numbers) less that of the best beside it"
        notes.findings.append(Finding(setting, None, less, None, verdict))
    notes.fits[f"scores on {where}"] = {name: math.fsum(each.values()) for name, each in whole.items()}
    return behind


def _with_seeds_of(other: Table, table: Table) -> Table:
    """The runs of a table whose cell and seed the other has: a seed is the same images and start for every reading."""
    there = {(cell_of(row.config), row.config["seed"]) for row in other}
    return table.where(lambda row: (cell_of(row.config), row.config["seed"]) in there)


def _adequate(notes: Notes, parts: Mapping[str, Table], spreads: Mapping[str, Spread]) -> None:
    """How many printed numbers a reading explains, and how many where it was not chosen; ours also as a whole."""
    for name, part in parts.items():
        p = _p_values(part, spreads)
        apart = {number: value for number, value in p.items() if number not in TO_CHOOSE}
        if not p or not (apart or name == spoken(BASE)):
            continue
        inside, inside_apart = (sum(value > LEVEL for value in each.values()) for each in (p, apart))
        who = f"Our reading, {_named(BASE)}," if name == spoken(BASE) else f"The reading “{name}”"
        said = (
            f"{who} explains {inside} of {len(p)} printed numbers at 5 % ({seeds_told(part)} in a cell: the fewer, the "
            f"wider is what it allows), {inside_apart} of {len(apart)} in the cells that had no part in choosing it"
        )
        if name == spoken(BASE):
            notes.fits["adequacy of our reading"] = {"p": p, "inside": inside, "of": len(p), "adequate": adequate(p)}
            said += f"; given that all 2,115 images were the test set, as a whole it is {adequacy(p)}"
        notes.remarks.append(f"{said}.")


def adequate(p: Mapping[str, float]) -> bool:
    """Whether a reading may have given all printed numbers, by the p-value of each."""
    inside = sum(value > LEVEL for value in p.values())
    return min(p.values()) * len(p) > LEVEL and inside >= ADEQUATE / 18 * len(p)


def adequacy(p: Mapping[str, float]) -> str:
    """The same in words."""
    worst = min(p, key=p.__getitem__)
    return "adequate" if adequate(p) else f"not adequate: least p {p[worst]:.2g}, for {worst}"


def _predicted(notes: Notes, growing: Table, spreads: Mapping[str, Spread]) -> None:
    """The batch that grows with N at the cells that it had not seen: outside the 99 % interval it fails."""
    for cell in UNSEEN:
        part = growing.where(d_m=cell[0], n=cell[1])
        if not len(part):
            continue
        for number, (values, truth) in _numbers(part, math.inf).items():
            spread = spreads[_kind(number)]
            kind = "its epoch" if _kind(number) == "epoch" else "lowest test loss"
            verdict = one_run(values, truth, *_known(spread))
            setting = f"{GROWS}, as predicted for {_name(cell)}: {kind}"
            notes.found(setting, one_more_run(values, spread), verdict, paper=truth)


def _p_values(table: Table, spreads: Mapping[str, Spread]) -> dict[str, float]:
    """How often one more run of a reading would lie as far away, for each printed number whose epoch was reached."""
    reached = table.where(
        lambda row: PAPER_TABLE_1.get(cell_of(row.config), (0.0, math.inf))[1] <= row.config["epochs"]
    )
    return {
        name: p_value(values, truth, spreads[_kind(name)])
        for name, (values, truth) in _numbers(reached, math.inf).items()
    }


def _theorem_5(notes: Notes, base: Table) -> None:
    """Theorem 5 at the networks that were found: the best sound variant and the printed formula against the test loss.

    Radii are those that each run moved, as if they had been fixed beforehand. The printed formula needs alpha, which is
    0 where d_m < N; elsewhere it was not measured.
    """
    over: dict[str, list[float]] = {"paper": [], "sound": []}
    for row in base:
        low, high = 0.0, 1.0  # of the pixels, as BASE has them
        side = math.sqrt(PIXELS_PER_TOKEN)
        found = certiformer.bound(
            "mwigo.thm5",
            n=row.config["n"],
            ds=TOKENS[row.config["tokens"]],
            d=PIXELS_PER_TOKEN,
            dm=row.config["d_m"],
            RX=side * max(abs(low), abs(high)),
            rho=side * (high - low) / 2.0,
            # a larger ball is still a ball around the initial weights: one that was never left has no radius
            **{name: max(radius, 1e-6) for name, radius in row.values["moved"].items()},
            **row.values["start"],
            # enters the printed side only
            alpha=1e-300,
            delta=DELTA,
            LS=row.values["train"],
            ymax=1.0,
        )
        if found.best is not None:
            over["sound"].append(row.values["lowest"] / found.sound[found.best].value)
        if row.config["d_m"] < row.config["n"]:
            printed = found.printed["value"].value
            over["paper"].append(row.values["lowest"] / printed if printed > 0 else math.inf)
    for side_name, ratios in over.items():
        if ratios:
            verdict = bound_frequency(sum(ratio > 1.0 for ratio in ratios), len(ratios), DELTA)
            who = "printed, constants read as 1" if side_name == "paper" else "sound"
            negative = sum(math.isinf(ratio) for ratio in ratios)
            setting = f"test loss over Theorem 5 ({who}), largest"
            setting += f" ({negative} of {len(ratios)} printed bounds are negative)" if negative else ""
            largest = "negative bound" if negative else max(ratios)
            notes.findings.append(Finding(setting, None, largest, None, verdict).told(**{side_name: "≤ 1"}))


def _remarks(notes: Notes, table: Table, base: Table) -> None:
    falling = int(np.sum(table.column("falling")))
    notes.remarks.append(
        f"{falling} of {len(table)} runs had their lowest test loss at the last epoch: there, a longer run would "
        "report a lower loss and a later epoch."
    )
    for d_m, row in base.by("d_m").items():
        peak = max(float(r.arrays["test"].max() / r.arrays["test"][0]) for r in row)
        if peak > 1.5:
            notes.remarks.append(
                f"d_m = {d_m:,}: the step of 0.1 is too long for the first updates; among recorded epochs the test "
                f"loss rises up to {peak:.3g} times its initial value before it falls."
            )
    diverged = sum(row.values["diverged"] is not None for row in table)
    if diverged:
        notes.remarks.append(f"{diverged} of {len(table)} runs diverged; their lowest loss is from before.")


def _figure_cells(base: Table, slopes: Mapping[int, Interval]) -> Plot:
    panels = []
    spreads = _spreads(base)
    for what, column, index in (("lowest test loss (nats)", "lowest", 0), ("epoch of that loss", "epoch", 1)):
        for d_m, row in base.by("d_m").items():
            spread = spreads["epoch" if index else "loss"]
            points = {n: np.maximum(values, 1.0 if index else 0.0) for n, values in row.points("n", column).items()}
            theirs = {n: pair[index] for (width, n), pair in PAPER_TABLE_1.items() if width == d_m}
            dots = [(n, value) for n, values in points.items() for value in values]
            series = [
                Series.measured(
                    "ours, with 95 % for one more run", {n: one_more_run(v, spread) for n, v in points.items()}
                ),
                Series("single runs", [n for n, _ in dots], [v for _, v in dots], kind="runs"),
                Series("paper, one run", list(theirs), list(theirs.values()), kind="paper"),
            ]
            title = f"$d_m$ = {d_m:,}"
            if not index and len(points) > 1:
                title += f"\nslope {told(slopes[d_m])}"
            panels.append(Panel("training images N", what, series, title, "xy"))
    return Plot(
        panels,
        "Lowest test loss of a run and its epoch against the number of training images: geometric mean over seeds, "
        "where one more run would fall, single runs (dots), and the paper's single runs (crosses).",
        columns=max(1, len(base.by("d_m"))),
        shared=True,
    )


def _figure_readings(table: Table, behind: Mapping[str, float]) -> Plot:
    """The readings that fit best, in the plane of the two numbers, in the cells on which all of them were run."""
    best = sorted(behind, key=lambda name: -behind[name])[:BEST_SHOWN]
    panels = []
    for cell in CHOSEN_ON:
        series = []
        for part in table.where(d_m=cell[0], n=cell[1]).by(lambda c: repr(reading(c))).values():
            name = spoken(reading(part.config))
            if name in best:
                label = _named(BASE) if reading(part.config) == BASE else name
                series.append(Series(label, part.column("epoch").tolist(), part.column("lowest").tolist(), line=False))
        loss, epoch = PAPER_TABLE_1[cell]
        series.append(Series("paper", [epoch], [loss], kind="paper"))
        title = f"$d_m$ = {cell[0]:,}, N = {cell[1]:,}"
        panels.append(Panel("epoch of the lowest test loss", "lowest test loss (nats)", series, title, "xy"))
    return Plot(
        panels, "Single runs under the readings that fit best, and the paper's run, in the cells used to choose."
    )


def _base(config: Config) -> bool:
    return reading(config) == BASE


STUDIES = (study("mwigo.table1", experiment, analyse, cell=("d_m", "n"), counts=_base, enough=PAPER_RUNS),)
