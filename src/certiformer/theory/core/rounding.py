"""Directed rounding: a float that stands for a bound errs on the safe side.

The formulas here are products, sums, logarithms and minima of at most a few hundred float64
operations, each with a relative error near 1.1e-16. A relative margin of 1e-12 therefore covers
them ten times over, and is still invisible at nine digits. A value computed as exp(x) inherits the
absolute error of x, so its margin grows with |x|.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

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


def outward(value: float, digits: int, *, up: bool = True) -> float:
    """A limit at so many significant digits: an upper one is rounded up, a lower one down.

    A number that lies within the margins above of one with so few digits is that one: 0.25 is shown as 0.25.
    """
    return _rounded(value, lambda rounding: Context(digits, rounding).create_decimal(repr(float(value))), up)


def decimals(value: float, places: int, *, up: bool = True) -> float:
    """The same at so many decimals."""
    if math.isinf(value):
        return value
    unit, exact = Decimal(1).scaleb(-places), Decimal(repr(float(value)))
    return _rounded(value, lambda rounding: exact.quantize(unit, rounding, Context(prec=400)), up)


def _rounded(value: float, at: Callable[[str], Decimal], up: bool) -> float:
    nearest = float(at(ROUND_HALF_EVEN))
    if abs(nearest - value) <= 2.0 * MARGIN * abs(value):
        return nearest
    return float(at(ROUND_CEILING if up else ROUND_FLOOR))


def power_of_ten(log10: float, *, up: bool = True) -> str:
    """A limit by its decimal logarithm, rounded outward: 10^12.3."""
    return f"10^{decimals(log10, 1, up=up):.1f}"


def _exact(value: float) -> bool:
    return value == 0.0 or math.isinf(value)


def _margin(log: float | None) -> float:
    return MARGIN * max(1.0, 0.0 if log is None else abs(log))
