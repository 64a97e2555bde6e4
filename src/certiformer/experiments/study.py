"""What a reproduction is made of: a grid of runs, the paper's own numbers, an analysis and its figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from matplotlib.figure import Figure

from certiformer.core.errors import CertiformerError
from certiformer.sweep import Experiment, Row
from certiformer.sweep.run import Config

Scale = Literal["smoke", "quick", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "quick", "paper")
PAPERS = ("mwigo", "trauger", "deora", "arda", "li", "certificates")
REFERENCE_CORES = 2


@dataclass(frozen=True)
class Finding:
    """One line of the comparison.

    setting   what was varied, as a reader says it: "d_m = 64, N = 400";
    paper     the paper's own number, or what its printed theory predicts; None where it says nothing;
    ours      what we found;
    ci        its confidence interval (95 % unless the setting says otherwise), None where there is none;
    verdict   what follows, in a few words; see `statistics.verdict`;
    sound     what the repaired theory predicts, where it differs or the paper says nothing.
    """

    setting: str
    paper: float | str | None
    ours: float | str | None
    ci: tuple[float, float] | None
    verdict: str
    sound: float | str | None = None

    def as_json(self) -> dict[str, Any]:
        row = {name: getattr(self, name) for name in ("setting", "paper", "ours", "ci", "verdict", "sound")}
        return {name: strict(value) for name, value in row.items()}


@dataclass(frozen=True)
class Plot:
    """A figure and the sentence or two that stand under it."""

    figure: Figure
    caption: str


@dataclass(frozen=True)
class Analysis:
    """What the runs amount to.

    findings  the table;
    fits      numbers behind it, by name: slopes with their intervals, p-values, exponents (plain JSON);
    plots     figures by the stem of their file name;
    remarks   sentences for the reader: what the numbers in the table say, computed, never typed in.
    """

    findings: tuple[Finding, ...]
    fits: Mapping[str, Any] = field(default_factory=dict)
    plots: Mapping[str, Plot] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Study:
    """One experiment of a paper.

    id          "arda.fig1";
    paper       its paper's key, or "certificates";
    title       what is shown, in a line;
    claim       what the paper says about it, restated in a sentence or two;
    experiment  the grid of runs at a scale; studies that share runs share the experiment's name;
    analyse     from the finished runs to table and figures; copes with some of them missing;
    cost        seconds that one run takes on one core, from measured steps;
    probe       the same, measured here and now by a few real steps; asked before a long sweep starts;
    readings    what the paper leaves open, and how we read it.
    """

    id: str
    paper: str
    title: str
    claim: str
    experiment: Callable[[Scale], Experiment]
    analyse: Callable[[Sequence[Row]], Analysis]
    cost: Callable[[Config], float]
    probe: Callable[[Config], float] | None = None
    readings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.paper not in PAPERS or self.id.split(".")[0] != self.paper:
            raise CertiformerError(f"{self.id!r} must begin with its paper, one of {', '.join(PAPERS)}")

    def seconds(self, scale: Scale) -> float:
        """How long the whole grid takes on two cores, by `cost`."""
        return self.estimate(self.experiment(scale), self.cost, REFERENCE_CORES)

    @staticmethod
    def estimate(experiment: Experiment, cost: Callable[[Config], float], cores: int) -> float:
        """At best the work shared evenly, at worst the longest run: `cost` over the grid, on so many cores."""
        costs = [cost(run.config) for run in experiment.runs]
        return max(math.fsum(costs) / cores, max(costs, default=0.0))

    def probed(self, experiment: Experiment) -> Callable[[Config], float]:
        """`cost` corrected by what a few real steps take here; one measurement for each shape of run."""
        if self.probe is None:
            return self.cost
        shape = experiment.batch_key or _without_seed
        factors: dict[str, float] = {}
        for run in experiment.runs:
            key = repr(shape(run.config))
            if key not in factors:
                factors[key] = self.probe(run.config) / self.cost(run.config)
        return lambda config: factors[repr(shape(config))] * self.cost(config)


def _without_seed(config: Config) -> object:
    return {name: value for name, value in config.items() if name != "seed"}


def strict(value: Any) -> Any:
    """JSON has no infinities: they are the strings "inf" and "-inf"; what is undefined is null."""
    if isinstance(value, Mapping):
        return {str(name): strict(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(entry) for entry in value]
    if hasattr(value, "as_json"):
        return strict(value.as_json())
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value
