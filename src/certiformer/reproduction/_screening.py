"""The lowest of many values when each is dear: look at every K-th, then go through the promising windows whole.

A window's *screened* value is the lowest of those looked at. Windows are gone through in the order of screened values;
q is the largest excess of a screened value over the window's lowest seen so far. After at least `least` windows it ends
when the next screened value exceeds the best by more than `factor` times q.

What is found is the value of a real place, hence an upper end of the lowest value; it is the lowest if no window left
out has an excess above `factor` q, which cannot be proved without looking, only be measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Screened:
    """lowest: the best value found; windows: how many were gone through; excess: q; by_rule: whether the rule ended it.

    `below`: the lowest value over all places is at most so much lower, if no window left out has an excess above it.
    """

    lowest: float
    windows: int
    excess: float
    by_rule: bool
    below: float


def lowest(
    screened: Sequence[float], through: Callable[[int], float], *, factor: float = 2.0, least: int = 20, most: int = 100
) -> Screened:
    """`through(k)` goes through window k and returns its lowest value; at most `most` windows are gone through."""
    best, excess, gone = math.inf, 0.0, 0
    order = np.argsort(np.asarray(screened), kind="stable")
    for window in order:
        enough = gone >= least and screened[window] > best + factor * excess
        if enough or gone >= most:
            below = 0.0 if enough else max(0.0, best + factor * excess - screened[window])
            return Screened(best, gone, excess, enough, below)
        value = through(int(window))
        gone += 1
        best, excess = min(best, value), max(excess, screened[window] - value)
    return Screened(best, gone, excess, True, 0.0)
