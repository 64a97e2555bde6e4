"""Mwigo and Dasgupta, Table 1, had its test set been a part of the 2,115 test images."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certiformer.reproduction.interpretations import SURVIVES, Spread, log_density, pooled, tails, two_sided
from certiformer.reproduction.panel import Panel, Plot, Series
from certiformer.reproduction.papers._mwigo_grid import PAPER_TABLE_1, SIZES, by_image, part_loss
from certiformer.reproduction.papers.mwigo_table_1 import (
    LEVEL,
    PAPER_RUNS,
    adequacy,
    cell_of,
    lengths,
    number_name,
    one_more_run,
    seeds_told,
)
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.statistics import Interval, Vector
from certiformer.reproduction.study import Analysis, Finding, study
from certiformer.reproduction.sweep import Row
from certiformer.reproduction.trend import Notes
from certiformer.reproduction.verdicts import SHARPEST, Verdict

ALL = "all"
DRAWS = 1000  # test sets of a size
KEPT = 500  # of the deviations within seeds, equally spaced in rank
KINDS = ("loss", "epoch")
BEYOND = 1e9  # every loss and epoch
Size = int | str


class Seen(NamedTuple):
    """A printed number as our runs give it: by seed, the deviations between test sets, and the share that has one."""

    values: Vector
    within: Vector
    reached: float


class Reading(NamedTuple):
    """What test sets of one size give: each number by the length of the runs, the longest last; spreads by kind."""

    seen: Mapping[str, Sequence[Seen]]
    spreads: Mapping[str, Spread]

    def score(self, number: str) -> float:
        """log p of the printed number, p averaged over the lengths."""
        each = [math.exp(log_density(s.values, TRUTH[number], self._spread(number), *s[1:])) for s in self.seen[number]]
        return math.log(sum(each) / len(each))

    def tails(self, number: str, at: float) -> tuple[float, float]:
        """How often one more run to the end gives less than this, and how often more."""
        last = self.seen[number][-1]
        return tails(last.values, at, self._spread(number), *last[1:])

    def _spread(self, number: str) -> Spread:
        return self.spreads[next(kind for kind in KINDS if number.startswith(f"the {kind}"))]


TRUTH = {
    number_name(kind, cell): float(printed)
    for cell, pair in PAPER_TABLE_1.items()
    for kind, printed in zip(KINDS, pair, strict=True)
}


def analyse(rows: Sequence[Row]) -> Analysis:
    notes = Notes()
    whole = Table(rows)
    table = whole.where(lambda row: PAPER_TABLE_1.get(cell_of(row.config), (0, math.inf))[1] <= row.config["epochs"])
    _left_out(notes, whole)
    if not len(table):
        for cell, part in whole.by(cell_of).items():
            notes.found(f"d_m = {cell[0]:,}, N = {cell[1]:,}: lowest test loss", one_more_run(part.column("lowest")))
        return notes.analysis("no cell of Table 1 was run to the paper's epoch.", hard_images=_hard_images(whole))
    readings = {size: reading_of(table, size) for size in (ALL, *SIZES)}
    scores = {size: math.fsum(map(each.score, each.seen)) for size, each in readings.items()}
    parts = [readings[size] for size in SIZES]
    numbers = list(readings[ALL].seen)
    lead = _scored(notes, scores, len(numbers))
    p = {size: _p_values([each], numbers) for size, each in readings.items()} | {"m": _p_values(parts, numbers)}
    notes.fits["p"] = {str(size): each for size, each in p.items()}
    for number in numbers:
        found = _predicted(parts, number)
        setting = f"{number}, with m of the test images"
        notes.found(setting, found, _verdict(found, p["m"][number]), paper=TRUTH[number])
    _told(notes, p, numbers)
    inside = {size: sum(value > LEVEL for value in each.values()) for size, each in p.items()}
    out = "neither" if abs(lead) <= SURVIVES else "all images" if lead > 0 else "the part"
    headline = (
        f"a smaller test set, tried after seeing the misfits, explains {inside['m']} of {len(numbers)} printed "
        f"numbers, all images {inside[ALL]} ({seeds_told(table)}); the score, {lead:+.1f}, excludes {out}."
    )
    plots = {kind: _figure(readings, table, kind) for kind in KINDS}
    return notes.analysis(headline, hard_images=_hard_images(table), **plots)


@functools.lru_cache(maxsize=16)
def _test_sets(images: int, m: int) -> npt.NDArray[np.bool_]:
    """Random parts of m of the images, a row for each; the same for every run."""
    if m >= images:
        return np.ones((1, images), bool)
    parts = np.tile(np.arange(images) < m, (DRAWS, 1))
    return np.random.default_rng([images, m]).permuted(parts, axis=1)


def reading_of(table: Table, size: Size) -> Reading:
    """Every printed number of the cells in the table, with test sets of this size."""
    seen: dict[str, list[Seen]] = {}
    for part in table.by("d_m").values():
        for cell, runs in part.by(cell_of).items():
            curves = [_curves(row, size) for row in runs]
            for length in lengths(part):
                found = [_lowest(row.arrays["epoch"], curve, length) for row, curve in zip(runs, curves, strict=True)]
                for kind in KINDS:
                    seen.setdefault(number_name(kind, cell), []).append(_seen([each[kind] for each in found]))
    spreads = {
        kind: pooled([s[-1].values for name, s in seen.items() if name.startswith(f"the {kind}") and len(s[-1].values)])
        for kind in KINDS
    }
    return Reading(seen, spreads)


def _curves(row: Row, size: Size) -> npt.NDArray[np.float64]:
    """The loss by epoch on every test set."""
    images, n = row.values["images"], row.config["n"]
    m = min(images, images if size == ALL else n // 4 if size == "N/4" else int(size))
    if m == images:
        return row.arrays["test"][None, :].astype(float)
    return part_loss(row.arrays, _test_sets(images, m)[:, row.arrays["hard"]], m, images)


def _lowest(
    epochs: npt.NDArray[np.int64], curves: npt.NDArray[np.float64], length: float
) -> dict[str, npt.NDArray[np.float64]]:
    """Logarithms of the lowest loss of every curve and of its epoch; nan for one that is the last, so has no epoch."""
    last = int(np.searchsorted(epochs, length, side="right"))
    best = np.argmin(curves[:, :last], axis=1)
    when = np.log(np.maximum(epochs[best], 1.0))
    loss = np.log(curves[np.arange(len(curves)), best])
    return {"loss": loss, "epoch": np.where(best == last - 1, np.nan, when)}


def _seen(seeds: Sequence[npt.NDArray[np.float64]]) -> Seen:
    known = [each[np.isfinite(each)] for each in seeds]
    reached = sum(map(len, known)) / sum(map(len, seeds))
    known = [each for each in known if len(each)]
    within = np.concatenate([each - each.mean() for each in known]) if known else np.zeros(1)
    if len(within) > KEPT:
        within = np.quantile(within, (np.arange(KEPT) + 0.5) / KEPT)
    return Seen(np.exp([each.mean() for each in known]), within, reached)


def _scored(notes: Notes, scores: Mapping[Size, float], count: int) -> float:
    """A row for each size, measured; for all images and for a part of unknown size by log 20. The lead of the part."""
    part = float(np.logaddexp.reduce([scores[size] for size in SIZES]) - math.log(len(SIZES)))
    lead = part - scores[ALL]
    behind = {"all 2,115 images": min(0.0, -lead), "m of the images, each size as likely": min(0.0, lead)}
    for name, less in behind.items():
        out = less < -SURVIVES
        verdict = Verdict("incompatible", "more than log 20 behind the other") if out else Verdict("compatible")
        setting = f"reading: {name}: score on {count} numbers less that of the better of the two"
        notes.findings.append(Finding(setting, None, less, None, verdict))
    for size in SIZES:
        setting = f"m = {_spoken(size)}: score less that of all 2,115 images"
        notes.findings.append(Finding(setting, None, scores[size] - scores[ALL]))
    notes.fits["scores"] = {**{str(size): value for size, value in scores.items()}, "m": part}
    return lead


def _spoken(size: Size) -> str:
    return size if isinstance(size, str) else f"{size:,}"


def _p_values(readings: Sequence[Reading], numbers: Sequence[str]) -> dict[str, float]:
    """Two-sided, of each printed number, under readings of which each is as likely."""
    return {number: two_sided(*_mean_tails(readings, number, TRUTH[number])) for number in numbers}


def _mean_tails(readings: Sequence[Reading], number: str, at: float) -> tuple[float, float]:
    both = np.mean([reading.tails(number, at) for reading in readings], axis=0)
    return float(both[0]), float(both[1])


def _predicted(readings: Sequence[Reading], number: str) -> Interval:
    """Median and 95 % interval for one more run; an end beyond the run's own is infinite."""
    ends = [_quantile(readings, number, level) for level in (0.5, 0.025, 0.975)]
    return Interval(ends[0], ends[1], ends[2])


def _quantile(readings: Sequence[Reading], number: str, level: float) -> float:
    """By halving, on logarithms; infinite where so many runs have no such number, or nothing is known."""
    low, high = -math.log(BEYOND), math.log(BEYOND)
    below, above = _mean_tails(readings, number, math.exp(high))
    if below < level or below + above > 1.5:
        return math.inf
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if _mean_tails(readings, number, math.exp(middle))[0] >= level else (middle, high)
    return math.exp(high)


def _verdict(found: Interval, p: float) -> Verdict:
    """By the rule for one run of the paper: inside 95 % of a sharp prediction, or outside 99 %."""
    if p < 0.01:
        return Verdict("incompatible")
    if p <= LEVEL:
        return Verdict("cannot tell", "between the 95 % and the 99 % interval")
    wide = not math.log(found.high / found.low) <= 2.0 * SHARPEST
    return Verdict("cannot tell", "the interval is too wide") if wide else Verdict("compatible")


def _told(notes: Notes, p: Mapping[Size, Mapping[str, float]], numbers: Sequence[str]) -> None:
    """What a part of the test images explains that all do not, and what it does not explain either."""
    outside = [number for number in numbers if p[ALL][number] <= LEVEL]
    still = [number for number in numbers if p["m"][number] <= LEVEL]
    for name, chosen in (
        ("Outside with all images, inside with m of them", [number for number in outside if number not in still]),
        ("Outside with both", [number for number in outside if number in still]),
        ("Inside with all images, outside with m of them", [number for number in still if number not in outside]),
    ):
        told = [
            f"{number} (p {p[ALL][number]:.2g} with all; "
            + ", ".join(f"{p[size][number]:.2g} with {_spoken(size)}" for size in SIZES)
            + ")"
            for number in chosen
        ]
        notes.remarks.append(f"{name}: {'; '.join(told) or 'none'}.")
    explained = {size: sum(p[size][number] > LEVEL for number in numbers) for size in (ALL, *SIZES)}
    notes.remarks.append(
        f"Of {len(numbers)} printed numbers, explained at 5 %: {explained[ALL]} with all images, "
        + ", ".join(f"{explained[size]} with {_spoken(size)}" for size in SIZES)
        + ". Wider predictions explain more by themselves; the score makes them pay for it."
    )
    notes.remarks.append(f"As a whole: with all images {adequacy(p[ALL])}; with m of them {adequacy(p['m'])}.")


def _left_out(notes: Notes, table: Table) -> None:
    """Which runs there are, and the error of keeping a few images one by one."""
    cells = {f"({cell[0]:,}, {cell[1]:,})": part for cell, part in table.by(cell_of).items()}
    have = [f"{cell} seed {', '.join(map(str, sorted(part.seeds)))}" for cell, part in cells.items()]
    notes.remarks.append(f"Runs at (d_m, N): {'; '.join(have)}.")
    errors = [row.values["error"] for row in table]
    told = [
        f"with {int(m):,} images typically by {np.median([_noise(row, int(m)) for row in table]):.1%}, in the worst of "
        f"{sum(e[m]['of'] for e in errors)} test sets by {max(e[m]['loss'] for e in errors):.0%}, and "
        f"{sum(e[m]['epochs'] for e in errors)} epochs are off by a tenth"
        for m in sorted(errors[0], key=int)
    ]
    kept = len(table.rows[0].arrays["hard"])
    notes.remarks.append(f"Keeping {kept} images one by one changes the lowest loss {'; '.join(told)}.")


def _noise(row: Row, m: int) -> float:
    """The standard deviation of what the images that are not kept add to the loss on m images, over the lowest loss."""
    at, images = int(np.argmin(row.arrays["test"])), row.values["images"]
    rest = max(1, images - len(row.arrays["hard"]))
    mean, square = (float(row.arrays[name][at]) / rest for name in ("rest_sum", "rest_squares"))
    lowest: float = row.values["lowest"]
    return math.sqrt(max(0.0, square - mean**2) * rest / images * (1.0 - m / images) / m) / lowest


def _hard_images(table: Table) -> Plot:
    """How few images the loss sits in, at its lowest."""
    panels = []
    for d_m, part in table.by("d_m").items():
        series = []
        for n, runs in part.by("n").items():
            shares = []
            for row in runs:
                at = int(np.argmin(row.arrays["test"]))
                losses = np.sort(row.arrays["losses"][at].astype(float))[::-1]
                shares.append(np.cumsum(losses) / (losses.sum() + row.arrays["rest_sum"][at]))
            images = [k for k in (1, 3, 10, 30, 100, 300) if k <= len(shares[0])]
            mean = np.mean(shares, axis=0)
            series.append(Series(f"N = {n:,}", images, [float(mean[k - 1]) for k in images]))
        panels.append(Panel("hardest test images", "share of the lowest test loss", series, f"$d_m$ = {d_m:,}", "x"))
    caption = "The share of the lowest test loss that sits in the hardest test images, mean over seeds."
    return Plot(panels, caption, shared=True)


def _figure(readings: Mapping[Size, Reading], table: Table, kind: str) -> Plot:
    """A printed number and where one more run would fall, by the size of the test set."""
    panels = []
    for cell in table.by(cell_of):
        number = number_name(kind, cell)
        images = {size: size for size in SIZES if isinstance(size, int)} | {ALL: 2115}
        ends = {m: _predicted([readings[size]], number) for size, m in images.items()}
        last = BEYOND if kind == "loss" else table.where(lambda row, c=cell: cell_of(row.config) == c).config["epochs"]  # type: ignore[misc]
        found = {m: Interval(min(each.value, last), each.low, min(each.high, last)) for m, each in ends.items()}
        series = [
            Series.measured("ours: median, and 95 % for one more run", found),
            Series("paper", list(found), [TRUTH[number]] * len(found), kind="printed"),
        ]
        what = "lowest test loss (nats)" if kind == "loss" else "epoch of that loss"
        panels.append(Panel("test images", what, series, f"$d_m$ = {cell[0]:,}, N = {cell[1]:,}", "xy"))
    return Plot(
        panels,
        f"{'Lowest test loss' if kind == 'loss' else 'Epoch of the lowest test loss'} by the number of test images, "
        "with training and test images drawn anew, and the paper's number (dashed)."
        + ("" if kind == "loss" else " A band that reaches the last epoch of our runs ends there."),
        columns=min(3, len(panels)),
        shared=True,
    )


STUDIES = (study("mwigo.test_set", by_image, analyse, cell=("d_m", "n"), enough=PAPER_RUNS),)
