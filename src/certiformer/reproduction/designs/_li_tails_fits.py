"""What the study of tails needs besides: the exponent of a quantile, and the classical variance of M-estimators."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from certiformer.reproduction.statistics import LEVEL, RESAMPLES, Interval

Vector = npt.NDArray[np.float64]


SIGMA, NU = 0.1, 2.2
PROBLEM = {"noise": "gaussian", "nu": NU, "sigma": SIGMA, "d": 2, "k": 2, "teacher": 0, "iterations": 100}
"""The head and the noise of its labels in the studies of tails, truncation and length."""


def quantile_power_law(points: Mapping[float, Vector], quantile: float) -> Interval:
    """As `statistics.power_law`, for a quantile over the draws; plain percentile bootstrap."""
    kept = {x: np.asarray(y, float) for x, y in sorted(points.items()) if len(y)}
    if len(kept) < 2:
        return Interval(math.nan, -math.inf, math.inf)
    x = np.log(np.array(list(kept)))
    weights = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))
    value = float(np.log([np.quantile(y, quantile) for y in kept.values()]) @ weights)
    if min(map(len, kept.values())) < 2:
        return Interval(value, -math.inf, math.inf)
    generator = np.random.default_rng(0)
    drawn = [
        np.quantile(y[generator.integers(0, len(y), (RESAMPLES, len(y)))], quantile, axis=1) for y in kept.values()
    ]
    low, high = np.quantile(np.log(np.stack(drawn, axis=-1)) @ weights, [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


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


def degrees_of_freedom(d: int, k: int) -> int:
    """Parameters of the head less the k scales that can be moved between u and W_v."""
    return k + d * k + d * d - k


def log_student(z: Vector, nu: float) -> Vector:
    """The logarithm of Student's density."""
    constant = float(gammaln((nu + 1.0) / 2.0) - gammaln(nu / 2.0)) - 0.5 * math.log(nu * math.pi)
    return np.asarray(constant - (nu + 1.0) / 2.0 * np.log1p(z**2 / nu))
