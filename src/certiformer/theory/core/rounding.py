"""Directed rounding: a float that stands for a bound errs on the safe side.

The formulas here are products, sums, logarithms and minima of at most a few hundred float64
operations, each with a relative error near 1.1e-16. A relative margin of 1e-12 therefore covers
them ten times over, and is still invisible at nine digits. A value computed as exp(x) inherits the
absolute error of x, so its margin grows with |x|.
"""

from __future__ import annotations

import math

MARGIN = 1e-12


def up(value: float, log: float | None = None) -> float:
    """A number at least as large as the true value behind a computed `value`."""
    return value if _exact(value) else value + abs(value) * _margin(log)


def down(value: float, log: float | None = None) -> float:
    """A number at most as large as the true value behind a computed `value`."""
    return value if _exact(value) else value - abs(value) * _margin(log)


def ceil_up(value: float) -> int:
    """Smallest integer that is certainly at least the true value behind a computed `value`.

    A plain ceil may fall one short: when the true value is 4 + 1e-17, the float is 4.
    """
    return math.ceil(up(value))


def _exact(value: float) -> bool:
    return value == 0.0 or math.isinf(value)


def _margin(log: float | None) -> float:
    return MARGIN * max(1.0, 0.0 if log is None else abs(log))
