"""What the studies of tails, truncation and sequence length do with their runs: groups, exponents, classical theory."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from certiformer.experiments._li_tails_runs import Config, Vector, log_student
from certiformer.experiments.statistics import LEVEL, RESAMPLES, Interval
from certiformer.sweep import Row

Group = TypeVar("Group", bound=Hashable)


def pooled(rows: Sequence[Row], by: Callable[[Config], Group], array: str) -> dict[Group, Vector]:
    """The draws of all seeds together, in groups: `by(config)` names the group, `array` what the runs measured."""
    groups: dict[Group, list[Vector]] = {}
    for row in rows:
        groups.setdefault(by(row.config), []).append(np.asarray(row.arrays[array], float))
    return {name: np.concatenate(parts) for name, parts in groups.items()}


def quantile_power_law(points: Mapping[float, Vector], quantile: float, seed: int = 0) -> Interval:
    """As `statistics.power_law`, for a quantile over the draws; plain percentile bootstrap."""
    kept = {x: np.asarray(y, float) for x, y in sorted(points.items()) if len(y)}
    if len(kept) < 2:
        return Interval(math.nan, -math.inf, math.inf)
    x = np.log(np.array(list(kept)))
    weights = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))
    value = float(np.log([np.quantile(y, quantile) for y in kept.values()]) @ weights)
    if min(map(len, kept.values())) < 2:
        return Interval(value, -math.inf, math.inf)
    generator = np.random.default_rng(seed)
    drawn = [
        np.quantile(y[generator.integers(0, len(y), (RESAMPLES, len(y)))], quantile, axis=1) for y in kept.values()
    ]
    low, high = np.quantile(np.log(np.stack(drawn, axis=-1)) @ weights, [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def exponent(curve: Callable[[float], float], points: Sequence[float]) -> float:
    """The power law that fits a theory's curve over these points; with a single one there is none."""
    if len(points) < 2:
        return math.nan
    return float(np.polyfit(np.log(points), np.log([curve(x) for x in points]), 1)[0])


def asymptotic_variance(loss: str, scale: float, noise: str, sigma: float, nu: float) -> float:
    """E l'^2 / (E l'')^2 under the noise: what replaces sigma^2 in the classical sigma^2 P/n (M-estimation)."""
    if loss == "squared":
        return sigma**2 if noise == "gaussian" else sigma**2 * nu / (nu - 2.0)
    # The substitution z = tan(angle) makes the line finite; the integrands are smooth but for Huber's corner.
    angles = (np.arange(200_000) + 0.5) / 200_000 * math.pi - math.pi / 2.0
    z = np.tan(angles)
    if noise == "gaussian":
        density = np.exp(-(z**2) / 2.0) / math.sqrt(2.0 * math.pi)
    else:
        density = np.exp(log_student(z, nu))
    measure = density * (1.0 + z**2) * math.pi / 200_000
    r = sigma * z
    if loss == "catoni":
        x = (r / scale) ** 2
        slope = 2.0 * r * (1.0 + x) / (1.0 + x + x**2 / 2.0)
        bottom = 1.0 + x + x**2 / 2.0
        curvature = 2.0 * ((1.0 + 3.0 * x) * bottom - 2.0 * x * (1.0 + x) ** 2) / bottom**2
    else:
        slope = np.asarray(2.0 * np.clip(r, -scale, scale), float)
        curvature = np.asarray(2.0 * (np.abs(r) < scale), float)
    return float(np.sum(slope**2 * measure) / np.sum(curvature * measure) ** 2)
