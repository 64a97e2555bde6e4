"""Unstated settings as inference: which reading of a paper explains its printed numbers, and which numbers none does.

The paper prints numbers of one run in each cell. For a reading r with seeds in cell c let x be the logarithm of such a
number, m its mean, s one standard deviation for the reading, pooled over its cells with nu degrees of freedom. If x is
normal with a mean for each cell and a common variance, one more run obeys (x - m)/(s sqrt(1 + 1/n)) ~ t_nu, so with
z = s sqrt(1 + 1/n)

    log p = log( 0.95 t_nu((x - m)/z)/z + 0.05/log(1000) ),     S_r = sum over cells and numbers.

The uniform part, over three decades, keeps one number from deciding everything. A reading survives if no other scores
more than log 20 above it on the numbers that both have, with the seeds that both have.

Where a number also varies within a seed, as a loss does with the images it is taken over, x is that of a seed plus a
deviation e, and t_nu is averaged over the e that were seen: `within`. `reached` is the share of runs that give a number
at all; the others count as larger than any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import special

from certiformer.reproduction.statistics import Vector

T = TypeVar("T")
OUTLIERS, DECADES = 0.05, math.log(1000.0)
SURVIVES = math.log(20.0)


@dataclass(frozen=True)
class Spread:
    """The standard deviation of logarithms between seeds, pooled over cells, and its degrees of freedom."""

    deviation: float
    freedom: int


def pooled(groups: Sequence[Sequence[float] | Vector]) -> Spread:
    """sqrt( sum of squares around the means of the groups / sum of (n - 1) ), of logarithms."""
    logs = [np.log(np.asarray(group, float)) for group in groups]
    freedom = sum(len(group) - 1 for group in logs)
    if freedom < 1:
        return Spread(math.inf, 0)
    around = sum(float(np.sum((group - group.mean()) ** 2)) for group in logs)
    return Spread(math.sqrt(around / freedom), freedom)


def log_density(
    values: Sequence[float] | Vector,
    truth: float,
    spread: Spread,
    within: Sequence[float] | Vector = (0.0,),
    reached: float = 1.0,
) -> float:
    """log p of the paper's number, given what the seeds of a cell gave."""
    logs = np.log(np.asarray(values, float))
    if not len(logs) or spread.freedom < 1 or spread.deviation == 0.0:
        return math.log(OUTLIERS / DECADES)
    width = spread.deviation * math.sqrt(1.0 + 1.0 / len(logs))
    t = (math.log(truth) - float(logs.mean()) - np.asarray(within, float)) / width
    density = reached * float(np.mean(_student(t, spread.freedom))) / width
    return math.log((1.0 - OUTLIERS) * density + OUTLIERS / DECADES)


def tails(
    values: Sequence[float] | Vector,
    truth: float,
    spread: Spread,
    within: Sequence[float] | Vector = (0.0,),
    reached: float = 1.0,
) -> tuple[float, float]:
    """How often one more run would give less than the paper's number, and how often more; 1 and 1 if nobody knows."""
    logs = np.log(np.asarray(values, float))
    if not len(logs) or spread.freedom < 1:
        return (1.0, 1.0) if reached else (0.0, 1.0)
    away = math.log(truth) - float(logs.mean()) - np.asarray(within, float)
    if spread.deviation == 0.0:
        same = np.isclose(away, 0.0, rtol=0.0, atol=1e-9 * max(1.0, abs(math.log(truth))))
        below, above = float(np.mean(same | (away > 0.0))), float(np.mean(same | (away < 0.0)))
    else:
        t = away / (spread.deviation * math.sqrt(1.0 + 1.0 / len(logs)))
        below, above = (float(np.mean(special.stdtr(spread.freedom, side * t))) for side in (1.0, -1.0))
    return reached * below, reached * above + (1.0 - reached)


def p_value(values: Sequence[float] | Vector, truth: float, spread: Spread) -> float:
    """Two-sided: how often one more run would lie at least as far away as the paper's number."""
    return two_sided(*tails(values, truth, spread))


def two_sided(below: float, above: float) -> float:
    """The p-value of both tails."""
    return min(1.0, 2.0 * min(below, above))


def survivors(readings: Mapping[str, T], lead: Callable[[T, T], float]) -> dict[str, float]:
    """For each reading its `lead` over the one that beats it most: its score less that of the other, on what both have.

    A reading leads itself by 0. At least -log 20 survives.
    """
    return {name: min(lead(own, other) for other in readings.values()) for name, own in readings.items()}


def _student(t: Vector, freedom: int) -> Vector:
    """The density of Student's t."""
    log_constant = special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    density: Vector = np.exp(log_constant - (freedom + 1) / 2 * np.log1p(t * t / freedom))
    return density
