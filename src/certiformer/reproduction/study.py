"""What a reproduction is made of: a grid of runs, the paper's own numbers, an analysis and its figures."""

from __future__ import annotations

import dataclasses
import functools
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from certiformer.reproduction.panel import Plot
from certiformer.reproduction.statistics import Interval
from certiformer.reproduction.sweep import Config, Experiment, Row, canonical
from certiformer.reproduction.sweep.exports import strict
from certiformer.reproduction.verdicts import MEASURED, WORDS, Verdict, holm
from certiformer.theory.core.errors import CertiformerError

Scale = Literal["smoke", "quick", "paper"]
"""One of the three sizes at which a study runs."""
SCALES: tuple[Scale, ...] = ("smoke", "quick", "paper")
"""A start of everything, minutes, and the paper's grid."""
PAPERS = ("mwigo", "trauger", "deora", "arda", "li")
"""In the order in which studies are listed."""
ENOUGH = 0.8  # of the cells: below it the headline begins with how many there are


@dataclass(frozen=True)
class Finding:
    """One line of the comparison.

    setting   what was varied, as a reader says it: "d_m = 64, N = 400";
    paper     the paper's own number, or what its printed theory says; None where it says nothing;
    ours      what we found;
    ci        its confidence interval (95 % unless the setting says otherwise), None where there is none;
    verdict   what follows, by the rules of `verdicts`;
    sound     what the repaired theory says, where that is what is compared with.
    """

    setting: str
    paper: float | str | None
    ours: float | str | None
    ci: tuple[float, float] | None = None
    verdict: Verdict = MEASURED
    sound: float | str | None = None

    @classmethod
    def of(cls, setting: str, found: Interval, verdict: Verdict = MEASURED, **said: float | str | None) -> Finding:
        """An estimate with its interval, and what `paper` or `sound` say."""
        value = None if math.isnan(found.value) else found.value
        return cls(setting, said.get("paper"), value, found.ends, verdict, said.get("sound"))

    def told(self, **changes: Any) -> Finding:
        """The same finding with other words or another verdict."""
        return dataclasses.replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """The row of the table as JSON."""
        row = {name: strict(getattr(self, name)) for name in ("setting", "paper", "ours", "ci", "sound")}
        said = self.verdict
        return {**row, "verdict": said.word, "detail": said.detail, "margin": strict(said.margin)}


@dataclass(frozen=True)
class Analysis:
    """What the runs amount to.

    findings  the table;
    headline  our finding in one sentence, with our number and its interval, computed from the runs;
    fits      numbers behind it, by name: slopes with their intervals, p-values, exponents (plain JSON);
    plots     figures by the stem of their file name;
    remarks   sentences for the reader: what the numbers in the table say, computed, never typed in.
    """

    findings: tuple[Finding, ...]
    headline: str = ""
    fits: Mapping[str, Any] = field(default_factory=dict)
    plots: Mapping[str, Plot] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # comparisons of one experiment pay for their number
        said = holm([finding.verdict for finding in self.findings])
        told = tuple(f.told(verdict=v) for f, v in zip(self.findings, said, strict=True))
        object.__setattr__(self, "findings", told)
        # of a part of the grid there may be nothing to draw
        object.__setattr__(self, "plots", {stem: plot for stem, plot in self.plots.items() if plot.panels})

    @property
    def tally(self) -> dict[str, int]:
        """How often each word is said."""
        words = [finding.verdict.word for finding in self.findings]
        return {word: words.count(word) for word in WORDS if word in words}


@dataclass(frozen=True)
class Covered:
    """How many cells of the paper's figure or table were run with as many seeds as it has; how many were begun."""

    cells: int
    of: int
    begun: int = 0

    def opening(self, scale: Scale) -> str:
        """How a headline begins."""
        if scale != "paper":
            return f"Self-test, none of the {self.of} cells of the full grid: "
        if not self.cells:
            return f"With some of the seeds in {self.begun} of {self.of} cells, and all of them in none: "
        return "" if self.cells >= ENOUGH * self.of else f"In {self.cells} of {self.of} cells: "


@dataclass(frozen=True)
class Study:
    """One experiment of a paper.

    id          "arda.fig1";
    paper       its paper's key;
    title       what is shown, in a line;
    claim       what the paper says about it, in its words or restated in a sentence or two;
    experiment  the grid of runs at a scale, with the version of the runs; studies that share runs share it;
    analyse     from the finished runs to table and figures; copes with some of them missing;
    readings    what the paper leaves open, and how we read it;
    cell        the entries of a configuration that name a cell of the paper's figure or table; all but the seed, if
                none are given;
    counts      which runs of the full grid the cells are made of: those of the paper's setting; all, if not given;
    enough      how many of its runs make a cell the paper's: as many as the paper has there; all, if 0.
    """

    id: str
    paper: str
    title: str
    claim: str
    experiment: Callable[[Scale], Experiment]
    analyse: Callable[[Sequence[Row]], Analysis]
    readings: tuple[str, ...] = ()
    cell: tuple[str, ...] = ()
    counts: Callable[[Config], bool] | None = None
    enough: int = 0

    def __post_init__(self) -> None:
        if self.paper not in PAPERS or self.id.split(".")[0] != self.paper:
            raise CertiformerError(f"{self.id!r} must begin with its paper, one of {', '.join(PAPERS)}")

    @property
    def version(self) -> int:
        """The version of its runs, which an author raises when they give other numbers than before."""
        return self.experiment("smoke").version

    def covered(self, rows: Iterable[Row]) -> Covered:
        """The cells of the full grid of which so many runs are finished as the paper has."""
        done = {canonical(row.config) for row in rows if row.state == "done"}
        cells: dict[str, list[bool]] = {}
        for config in self.experiment("paper").configs:
            if self.counts is None or self.counts(config):
                name = canonical({k: v for k, v in config.items() if (k in self.cell if self.cell else k != "seed")})
                cells.setdefault(name, []).append(canonical(config) in done)
        whole = [sum(each) >= (self.enough or len(each)) for each in cells.values()]
        return Covered(sum(whole), len(cells), sum(map(any, cells.values())))


def study(
    id: str,
    experiment: Callable[[Scale], Experiment],
    analyse: Callable[[Sequence[Row]], Analysis],
    *,
    cell: tuple[str, ...] = (),
    counts: Callable[[Config], bool] | None = None,
    enough: int = 0,
) -> Study:
    """The study `id`, with the title, the claim and the readings of `studies.toml`."""
    words = _words()
    own = words[id]
    readings = tuple(_sentences(own["readings"], words["shared"]))
    return Study(id, id.split(".")[0], own["title"], own["claim"], experiment, analyse, readings, cell, counts, enough)


@functools.cache
def _words() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("studies.toml").read_text(encoding="utf-8"))


def _sentences(readings: Iterable[str], shared: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for reading in readings:
        yield from _sentences(shared[reading[1:]], shared) if reading.startswith("@") else (reading,)


def seed_by_seed(cells: Sequence[Config], seeds: int) -> list[Config]:
    """Every cell with every seed, in the order in which an interruption leaves whole seeds over all cells."""
    return [{**cell, "seed": seed} for seed in range(seeds) for cell in cells]
