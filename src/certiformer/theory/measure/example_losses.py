"""Losses per example, in plain numpy: ramp, cross-entropy, cross-entropy after smoothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

Array = npt.NDArray[np.float64]


def ramp(gaps: Array, margin: float) -> Array:
    """1 below 0, 0 above `margin`, linear between: at least the 0-1 loss, and 1/margin-Lipschitz."""
    return np.asarray(np.clip(1.0 - gaps / margin, 0.0, 1.0))


SMALLEST, ALLOWANCE = -60, 0.1


def ramp_margin(gaps: Array) -> tuple[int, float]:
    """The largest power of two at which the ramp loss exceeds the error by at most a tenth; its exponent first."""
    error, top = float(np.mean(gaps <= 0.0)), float(np.max(np.abs(gaps)))
    place = math.ceil(math.log2(top)) if 0.0 < top < math.inf else 0
    while place > SMALLEST and np.mean(ramp(gaps, 2.0**place)) > error + ALLOWANCE:
        place -= 1
    return place, 2.0**place


def cross_entropy(outputs: Array, labels: npt.NDArray[Any]) -> Array:
    """log(1 + exp(-y f)) for scalars, log sum_j exp f_j - f_y for logits, one value per example."""
    if outputs.ndim == 1:
        return np.asarray(np.logaddexp(0.0, -labels * outputs))
    rows = np.arange(len(outputs))
    return np.asarray(logsumexp(outputs, axis=1) - outputs[rows, labels.astype(int)])


def smoothed_cross_entropy(probabilities: Array, smoothing: float, classes: int) -> Array:
    """-ln((1-a) p + a/K) for the probability p of the true class: between -ln(1-a+a/K) and ln(K/a)."""
    return np.asarray(-np.log((1.0 - smoothing) * probabilities + smoothing / classes))
