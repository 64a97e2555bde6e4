"""What a few seeds can say: intervals, slopes and trends with honest widths."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special

LEVEL = 0.95
RESAMPLES = 4000
FEWEST = 4
Vector = npt.NDArray[np.float64]
Centre = Literal["mean", "median"]


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % confidence interval from so many seeds; infinite ends where the data cannot say."""

    value: float
    low: float
    high: float
    seeds: int = 0
    low_90: float | None = None
    high_90: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """Lower and upper end."""
        return self.low, self.high

    @property
    def inner(self) -> tuple[float, float]:
        """The 90 % interval; where it was not computed, the other one shrunk as Student's t says."""
        if self.low_90 is not None and self.high_90 is not None:
            return self.low_90, self.high_90
        freedom = max(1, self.seeds - 1)
        shrunk = float(special.stdtrit(freedom, 0.95) / special.stdtrit(freedom, 0.975))
        return self.value + shrunk * (self.low - self.value), self.value + shrunk * (self.high - self.value)

    @property
    def deviation(self) -> float:
        """The standard deviation over seeds that would give this interval to a mean."""
        if self.seeds < 2 or not (math.isfinite(self.low) and math.isfinite(self.high)):
            return math.inf
        return (self.high - self.low) / 2.0 * math.sqrt(self.seeds) / float(special.stdtrit(self.seeds - 1, 0.975))

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "(no estimate)"
        ends = "no interval" if math.isinf(self.low) and math.isinf(self.high) else f"{self.low:.3g}, {self.high:.3g}"
        return f"{self.value:.3g} [{ends}]"

    def __truediv__(self, unit: float) -> Interval:
        """The same in another, positive unit."""
        return Interval(self.value / unit, self.low / unit, self.high / unit, self.seeds)

    def __neg__(self) -> Interval:
        inner = (None, None) if self.low_90 is None or self.high_90 is None else (-self.high_90, -self.low_90)
        return Interval(-self.value, -self.high, -self.low, self.seeds, *inner)

    def as_json(self) -> dict[str, Any]:
        """Value and ends; null where they are not finite."""
        return {
            "value": self.value if math.isfinite(self.value) else None,
            "ci": [end if math.isfinite(end) else None for end in self.ends],
        }


def mean_interval(values: Sequence[float] | Vector, level: float = LEVEL) -> Interval:
    """Student's interval for the mean: mean ± t sd / sqrt(n)."""
    return _student(values, level, lambda n: 1.0 / n)


def prediction_interval(values: Sequence[float] | Vector) -> Interval:
    """Where one more run would fall: mean ± t sd sqrt(1 + 1/n). A paper's single run is compared with this one."""
    return _student(values, LEVEL, lambda n: 1.0 + 1.0 / n)


def median_interval(values: Sequence[float] | Vector) -> Interval:
    """Distribution-free interval for the median, between order statistics; infinite for fewer than six values."""
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    middle = float(np.median(ordered)) if n else math.nan
    # P(at most k - 1 of n fair coins show heads) <= (1 - LEVEL) / 2 for the largest such k
    k = 0
    while k < n and float(special.bdtr(k, n, 0.5)) <= (1.0 - LEVEL) / 2:
        k += 1
    if k == 0:
        return Interval(middle, -math.inf, math.inf, n)
    return Interval(middle, float(ordered[k - 1]), float(ordered[n - k]), n)


def bootstrap(
    groups: Sequence[Sequence[float] | Vector],
    statistic: Callable[[Vector], Vector],
    *,
    centre: Centre = "mean",
    paired: bool = False,
) -> Interval:
    """Expanded percentile bootstrap of `statistic(centres)`, seeds resampled within each group.

    `statistic` takes an array whose last axis holds one centre (mean or median) per group. With `paired`, seed i is
    the same draw in every group and all groups are resampled together. Tails are widened as Student's t demands for
    so few seeds, sqrt(n / (n - 1)) t instead of the normal quantile: the plain percentile interval is too short.
    Fewer than four seeds have too few resamples for such tails, and say nothing.
    """
    arrays = [np.asarray(group, float) for group in groups]
    middle = np.mean if centre == "mean" else np.median
    value = float(statistic(np.array([middle(a) for a in arrays])))
    fewest = min(map(len, arrays))
    if fewest < FEWEST:
        return Interval(value, -math.inf, math.inf, fewest)
    generator = np.random.default_rng(0)
    common = generator.integers(0, fewest, (RESAMPLES, fewest)) if paired else None
    centres = []
    for array in arrays:
        picks = generator.integers(0, len(array), (RESAMPLES, len(array))) if common is None else common
        centres.append(middle(array[picks], axis=1))
    drawn = statistic(np.stack(centres, axis=-1))
    ends = []
    for coverage in (LEVEL, 0.9):
        quantile = float(special.stdtrit(fewest - 1, 0.5 + coverage / 2)) * math.sqrt(fewest / (fewest - 1))
        tail = float(special.ndtr(-quantile))
        ends += [float(end) for end in np.quantile(drawn, [tail, 1.0 - tail])]
    return Interval(value, ends[0], ends[1], fewest, ends[2], ends[3])


def power_law(
    points: Mapping[float, Sequence[float] | Vector], *, centre: Centre = "mean", paired: bool = False
) -> Interval:
    """The exponent b of y = a x^b, least squares on logarithms of the centres, with a bootstrap interval over seeds.

    `points` maps x to what the seeds gave there. Some of it may be negative, like a gap, as long as the centres are
    not: a resampled one that is not positive counts as a tiny one, which widens the interval as a smaller one would.
    """
    kept = {x: np.asarray(y, float) for x, y in sorted(points.items()) if len(y)}
    middles = [float(np.mean(y) if centre == "mean" else np.median(y)) for y in kept.values()]
    if len(kept) < 2 or min(middles) <= 0.0:
        return Interval(math.nan, -math.inf, math.inf)
    tiny = 1e-6 * min(middles)
    x = np.log(np.array(list(kept)))
    weights = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))

    def exponent(centres: Vector) -> Vector:
        return np.asarray(np.log(np.maximum(centres, tiny)) @ weights)

    return bootstrap(list(kept.values()), exponent, centre=centre, paired=paired)


def ratio(over: Sequence[float] | Vector, under: Sequence[float] | Vector, *, paired: bool = False) -> Interval:
    """mean(over) / mean(under), with a bootstrap interval."""
    return bootstrap([over, under], lambda c: np.asarray(c[..., 0] / c[..., 1]), paired=paired)


def trend(x: Sequence[float] | Vector, y: Sequence[float] | Vector, seeds: int = 0) -> Interval:
    """The slope of y on x by least squares, with an interval that does not assume equal noise everywhere (HC3).

    `seeds`: how many there are at each x, so that one can say how many more it would take.
    """
    across, up = np.asarray(x, float), np.asarray(y, float)
    n = len(across)
    centred = across - across.mean() if n else across
    spread = float(np.sum(centred**2))
    if n < 3 or spread == 0.0:
        return Interval(math.nan, -math.inf, math.inf)
    slope = float(centred @ up) / spread
    residuals = up - up.mean() - slope * centred
    leverage = 1.0 / n + centred**2 / spread
    if float(np.max(leverage)) > 1.0 - 1e-9:
        # One point alone decides the slope and leaves no residual to tell its noise by.
        return Interval(slope, -math.inf, math.inf)
    variance = float(np.sum((centred * residuals / (1.0 - leverage)) ** 2)) / spread**2
    half, inner = (float(special.stdtrit(n - 2, 0.5 + each / 2)) * math.sqrt(variance) for each in (LEVEL, 0.9))
    return Interval(slope, slope - half, slope + half, seeds or n, slope - inner, slope + inner)


def _student(values: Sequence[float] | Vector, level: float, factor: Callable[[int], float]) -> Interval:
    array = np.asarray(values, float)
    n = len(array)
    mean = float(array.mean()) if n else math.nan
    if n < 2:
        return Interval(mean, -math.inf, math.inf, n)
    half = float(special.stdtrit(n - 1, 0.5 + level / 2)) * float(array.std(ddof=1)) * math.sqrt(factor(n))
    return Interval(mean, mean - half, mean + half, n)
