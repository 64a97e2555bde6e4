"""What a few seeds can say: intervals, slopes and trends with honest widths, and the verdicts that follow."""

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
    """An estimate and its confidence interval; infinite ends where the data cannot say."""

    value: float
    low: float
    high: float

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high

    def as_json(self) -> dict[str, Any]:
        return {
            "value": self.value if math.isfinite(self.value) else None,
            "ci": [end if math.isfinite(end) else None for end in self.ends],
        }


@dataclass(frozen=True)
class Prediction:
    """What a theory says a number is (relation "="), is at most ("<=", an upper bound) or is at least (">=").

    An exponent that is only asymptotic, or holds up to logarithms, is granted a `tolerance`.
    """

    value: float
    relation: Literal["=", "<=", ">="] = "="
    tolerance: float = 0.0

    @property
    def allowed(self) -> tuple[float, float]:
        low = -math.inf if self.relation == "<=" else self.value - self.tolerance
        high = math.inf if self.relation == ">=" else self.value + self.tolerance
        return low, high

    def __str__(self) -> str:
        sign = {"=": "", "<=": "≤ ", ">=": "≥ "}[self.relation]
        return f"{sign}{self.value:.3g}" + (f" ± {self.tolerance:.2g}" if self.tolerance else "")


def mean_interval(values: Sequence[float] | Vector, level: float = LEVEL) -> Interval:
    """Student's interval for the mean: mean ± t sd / sqrt(n)."""
    return _student(values, level, lambda n: 1.0 / n)


def prediction_interval(values: Sequence[float] | Vector, level: float = LEVEL) -> Interval:
    """Where one more run would fall: mean ± t sd sqrt(1 + 1/n). A paper's single run is compared with this one."""
    return _student(values, level, lambda n: 1.0 + 1.0 / n)


def median_interval(values: Sequence[float] | Vector, level: float = LEVEL) -> Interval:
    """Distribution-free interval for the median, between order statistics; infinite for fewer than six values."""
    ordered = np.sort(np.asarray(values, float))
    n = len(ordered)
    middle = float(np.median(ordered)) if n else math.nan
    # P(at most k - 1 of n fair coins show heads) <= (1 - level) / 2 for the largest such k
    k = 0
    while k < n and float(special.bdtr(k, n, 0.5)) <= (1.0 - level) / 2:
        k += 1
    if k == 0:
        return Interval(middle, -math.inf, math.inf)
    return Interval(middle, float(ordered[k - 1]), float(ordered[n - k]))


def bootstrap(
    groups: Sequence[Sequence[float] | Vector],
    statistic: Callable[[Vector], Vector],
    *,
    centre: Centre = "mean",
    paired: bool = False,
    level: float = LEVEL,
    seed: int = 0,
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
        return Interval(value, -math.inf, math.inf)
    generator = np.random.default_rng(seed)
    common = generator.integers(0, fewest, (RESAMPLES, fewest)) if paired else None
    centres = []
    for array in arrays:
        picks = generator.integers(0, len(array), (RESAMPLES, len(array))) if common is None else common
        centres.append(middle(array[picks], axis=1))
    drawn = statistic(np.stack(centres, axis=-1))
    quantile = float(special.stdtrit(fewest - 1, 0.5 + level / 2)) * math.sqrt(fewest / (fewest - 1))
    tail = float(special.ndtr(-quantile))
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Interval(value, float(low), float(high))


def power_law(
    points: Mapping[float, Sequence[float] | Vector],
    *,
    centre: Centre = "mean",
    paired: bool = False,
    seed: int = 0,
) -> Interval:
    """The exponent b of y = a x^b, least squares on logarithms of the centres, with a bootstrap interval over seeds.

    `points` maps x to what the seeds gave there; everything must be positive.
    """
    kept = {x: np.asarray(y, float) for x, y in sorted(points.items()) if len(y)}
    if len(kept) < 2:
        return Interval(math.nan, -math.inf, math.inf)
    x = np.log(np.array(list(kept)))
    weights = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))

    def exponent(centres: Vector) -> Vector:
        return np.asarray(np.log(centres) @ weights)

    return bootstrap(list(kept.values()), exponent, centre=centre, paired=paired, seed=seed)


def ratio(over: Sequence[float] | Vector, under: Sequence[float] | Vector, *, paired: bool = False) -> Interval:
    """mean(over) / mean(under), with a bootstrap interval."""
    return bootstrap([over, under], lambda c: np.asarray(c[..., 0] / c[..., 1]), paired=paired)


def trend(x: Sequence[float] | Vector, y: Sequence[float] | Vector, level: float = LEVEL) -> Interval:
    """The slope of y on x by least squares, with an interval that does not assume equal noise everywhere (HC3)."""
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
    half = float(special.stdtrit(n - 2, 0.5 + level / 2)) * math.sqrt(variance)
    return Interval(slope, slope - half, slope + half)


def verdict(found: Interval, printed: Prediction | None, sound: Prediction | None = None) -> str:
    """What an interval says about one or two predictions.

    With two: which of them it supports; "inconclusive" when it is compatible with both. With one: "agrees", "does not
    agree", or "inconclusive" when the interval is unbounded. A prediction is compatible when the interval meets what
    it allows.
    """
    if math.isnan(found.value) or (math.isinf(found.low) and math.isinf(found.high)):
        return "inconclusive"
    theories = {"printed": printed, "sound": sound}
    said = {name: _meets(found, theory) for name, theory in theories.items() if theory is not None}
    if not said:
        return "measured"
    if len(said) == 1:
        return "agrees" if all(said.values()) else "does not agree"
    if said["printed"] and said["sound"]:
        return "agrees" if printed == sound else "inconclusive"
    if not any(said.values()):
        return "agrees with neither"
    return "supports the sound theory" if said["sound"] else "supports the printed theory"


def below(found: Interval, bound: float) -> str:
    """What an interval says about an upper bound: it holds, it fails, or nothing. An infinite one is no certificate."""
    if not math.isfinite(bound):
        return "no certificate"
    if found.high <= bound:
        return "sound bound holds"
    return "sound bound fails" if found.low > bound else "inconclusive"


def _meets(found: Interval, theory: Prediction) -> bool:
    low, high = theory.allowed
    return found.low <= high and low <= found.high


def _student(values: Sequence[float] | Vector, level: float, factor: Callable[[int], float]) -> Interval:
    array = np.asarray(values, float)
    n = len(array)
    mean = float(array.mean()) if n else math.nan
    if n < 2:
        return Interval(mean, -math.inf, math.inf)
    half = float(special.stdtrit(n - 1, 0.5 + level / 2)) * float(array.std(ddof=1)) * math.sqrt(factor(n))
    return Interval(mean, mean - half, mean + half)
