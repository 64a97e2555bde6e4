"""Losses per example, in plain numpy: ramp, cross-entropy, cross-entropy after smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

Array = npt.NDArray[np.float64]


def ramp(gaps: Array, margin: float) -> Array:
    """1 below 0, 0 above `margin`, linear between: at least the 0-1 loss, and 1/margin-Lipschitz."""
    return np.asarray(np.clip(1.0 - gaps / margin, 0.0, 1.0))


def cross_entropy(outputs: Array, labels: npt.NDArray[Any]) -> Array:
    """log(1 + exp(-y f)) for scalars, log sum_j exp f_j - f_y for logits, one value per example."""
    if outputs.ndim == 1:
        return np.asarray(np.logaddexp(0.0, -labels * outputs))
    rows = np.arange(len(outputs))
    return np.asarray(logsumexp(outputs, axis=1) - outputs[rows, labels.astype(int)])


def smoothed_cross_entropy(probabilities: Array, smoothing: float, classes: int) -> Array:
    """-ln((1-a) p + a/K) for the probability p of the true class: between -ln(1-a+a/K) and ln(K/a)."""
    return np.asarray(-np.log((1.0 - smoothing) * probabilities + smoothing / classes))
