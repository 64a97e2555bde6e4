"""Leave-one-out distances of a real gradient-descent run."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import numpy.typing as npt

from certiformer.measure.measured import Measured
from certiformer.training.leave_one_out import LeaveOneOut


@dataclass(frozen=True)
class Stability:
    """||theta_K - theta_K^{-i}|| for every i, their mean (Deora's average model stability) and maximum.

    Exact for this run on this sample. A generalization bound needs the expectation over samples, of which this is one
    draw: as such it is an estimate.
    """

    distances: npt.NDArray[np.float64]
    mean: Measured
    largest: Measured


def stability(result: LeaveOneOut) -> Stability:
    """Distances between the run on all samples and each run without one."""
    total = np.zeros(0)
    for full, left in zip(jax.tree.leaves(result.full), jax.tree.leaves(result.left_out), strict=True):
        gap = np.asarray(left, np.float64) - np.asarray(full, np.float64)[None]
        part = np.sum(gap.reshape(len(gap), -1) ** 2, axis=1)
        total = part if total.size == 0 else total + part
    distances = np.sqrt(total)
    return Stability(
        distances,
        Measured(float(np.mean(distances)), "exact", "mean leave-one-out distance of this run"),
        Measured(float(np.max(distances)), "exact", "largest leave-one-out distance of this run"),
    )
