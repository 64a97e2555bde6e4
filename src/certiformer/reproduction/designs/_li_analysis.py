"""What the analyses of Li et al.'s experiments share: growth and rates beside theory, bounds that hold or break."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from certiformer.reproduction.panel import Series
from certiformer.reproduction.runs_table import Key, Table
from certiformer.reproduction.statistics import Interval, mean_interval
from certiformer.reproduction.study import seed_by_seed
from certiformer.reproduction.sweep import Config, Experiment, Row
from certiformer.reproduction.trend import Notes, Theory, Trend
from certiformer.reproduction.verdicts import Claim, Relation, rate_allowed

Bound = Callable[[Config], float]
LEVEL_MARGIN = 0.15  # for levels in units of what classical asymptotics predict
HEAD: Config = {
    "heads": 1,
    "layers": 0,
    "rank": 0,
    "tokens": 3,
    "activation": "leaky_relu",
    "readout": 1.0,
    "value": 1.0,
    "output": 1.0,
    "inside": 0.8,
    "steps": 30,
    "tolerance": 1e-7,
}
"""What the classes of these experiments have in common (see `_li_runs.Teacher`); each says the rest, or another."""


def experiment(name: str, cells: Sequence[Config], seeds: int) -> Experiment:
    """Fits to a teacher's labels, or the exact linear example."""
    return Experiment(name, f"{__package__}._li_runs:run", seed_by_seed(cells, seeds))


def scaled(row: Row) -> float:
    """n E (f - f0)^2 / sigma^2: the number of free directions, where the classical asymptotics hold."""
    return float(row.values["local"] * row.config["n"] / row.config["sigma"] ** 2)


def at(bound: Bound) -> Callable[[Table], float]:
    """A function of the configuration, for runs that share one but for the seed."""
    return lambda table: bound(table.config)


def growth(notes: Notes, table: Table, x: Key, name: str, printed: Bound) -> list[Series]:
    """How n excess / sigma^2 grows along x, beside the free directions and the printed bound's own growth.

    The printed bound promises that the excess grows no faster than itself; classical asymptotics say that it is the
    number of free directions.
    """
    if not len(table):
        return []
    trend = Trend(
        name,
        table,
        x,
        scaled,
        printed=Theory("printed bound, scaled", in_units(printed), relation="<=", scaled=True),
        sound=Theory("free directions P", free_directions),
        label="started at the teacher",
    )
    series = notes.note(trend)
    level(notes, table, name.split(",")[0], "=")
    searched = table.where(lambda row: "random" in row.values)
    if len(searched):
        reached = {f"{k:g}": float(np.mean(part.column("random_fits"))) for k, part in searched.by(x).items()}
        notes.fits[f"{name}: random starts that fit as well as the teacher"] = reached
    return series


def in_units(bound: Bound) -> Callable[[Table], float]:
    """A bound in units of sigma^2/n, as `scaled` has the excess."""
    return lambda table: float(bound(table.config) * table.config["n"] / table.config["sigma"] ** 2)


def free_directions(table: Table) -> float:
    """P: in how many directions the class can move."""
    return float(np.mean(table.column("directions")))


def level(notes: Notes, table: Table, name: str, relation: Relation) -> None:
    """The excess over what classical asymptotics say, over all points."""
    found = mean_interval(table.column(lambda row: scaled(row) / row.values["directions"]))
    claim = Claim(1.0, relation)
    setting = f"{name}: n·excess/(σ²P), all points"
    notes.found(setting, found, claim.judge(found, LEVEL_MARGIN), sound=str(claim))


def rate(notes: Notes, table: Table, name: str) -> list[Series]:
    """The slope in n of the excess, beside sigma^2 P / n."""

    def classical(table: Table) -> float:
        return float(np.mean(table.column("directions")) * table.config["sigma"] ** 2 / table.config["n"])

    theory = Theory("σ² P/n", classical)
    return notes.note(Trend(name, table, "n", "local", sound=theory, label="started at the teacher"))


def calibration(notes: Notes, table: Table, bound: Bound, name: str = "all cells") -> None:
    """The largest mean excess over the sound bound, over all cells (everything but the seed)."""
    parts = table.by(lambda c: repr(sorted((k, v) for k, v in c.items() if k != "seed")))
    worst = max((over(part, bound) for part in parts.values()), key=lambda found: found.high)
    notes.found(f"excess over the sound bound S2, largest, {name}", worst, rate_allowed(worst, 1.0), sound="≤ 1")


def over(table: Table, bound: Bound, level: float = 0.95) -> Interval:
    """Mean excess of one cell over a bound, with its interval."""
    return mean_interval(table.column("local"), level) / bound(table.config)


def broken(notes: Notes, table: Table, x: Key, bound: Bound, setting: str) -> float | None:
    """The x at which the printed bound fares worst, as a finding; and the least x from which on it is always broken.

    One interval for each x, and the worst of them is looked at: together they hold with 95 %.
    """
    parts = table.by(x)
    if not parts:
        return None
    ratios = {k: over(part, bound, 1.0 - 0.05 / len(parts)) for k, part in parts.items()}
    worst = max(ratios, key=lambda k: ratios[k].value)
    notes.found(setting.format(f"{worst:g}"), ratios[worst], rate_allowed(ratios[worst], 1.0), paper="≤ 1")
    start = None
    for k in sorted(ratios, reverse=True):
        if ratios[k].low <= 1.0:
            break
        start = float(k)
    return start
