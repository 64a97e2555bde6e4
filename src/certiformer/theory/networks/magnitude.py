"""Upper bounds on nonnegative numbers, kept as natural logarithms: sensitivities of deep networks overflow floats.

Every operation rounds up, so whatever is built of upper bounds is one, at any depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.core.errors import InputError

_UNIT = 2.0**-53


@dataclass(frozen=True, slots=True, order=True)
class Magnitude:
    """exp(ln). Sums, products, quotients and comparisons as for floats, with 0 * inf = 0, rounded up.

    A quotient of magnitudes is at least the quotient of the two numbers that stand here; if the divisor is itself only
    a bound, that is the caller's concern.
    """

    ln: float

    def __add__(self, other: Magnitude) -> Magnitude:
        large, small = max(self.ln, other.ln), min(self.ln, other.ln)
        if small == -math.inf or large == math.inf:
            return Magnitude(large)
        # Relative to the operands: the sum of two numbers near 1/2 has a logarithm near 0 with their absolute error.
        error = 4.0 * _UNIT * max(1.0, abs(large), abs(small))
        return Magnitude(large + math.log1p(math.exp(small - large)) + error)

    def __mul__(self, other: Magnitude) -> Magnitude:
        # An infinite magnitude here is a finite number without a known bound, so zero times it is zero.
        if -math.inf in (self.ln, other.ln):
            return ZERO
        return Magnitude(_up(self.ln, other.ln))

    def __truediv__(self, other: Magnitude) -> Magnitude:
        return self * Magnitude(-other.ln)

    def root(self) -> Magnitude:
        """The square root."""
        return Magnitude(0.5 * self.ln)

    @property
    def value(self) -> float:
        """The number itself, rounded up; inf when it does not fit a float."""
        if self.ln == -math.inf:
            return 0.0
        value = math.exp(self.ln) if self.ln < 709.0 else math.inf
        return value if self.ln == 0.0 else math.nextafter(math.nextafter(value, math.inf), math.inf)

    @property
    def finite(self) -> bool:
        """Whether it is a number at all; it may still be too large for a float."""
        return self.ln < math.inf


ZERO = Magnitude(-math.inf)
ONE = Magnitude(0.0)
UNBOUNDED = Magnitude(math.inf)


def _up(x: float, y: float) -> float:
    """x + y, exact if either is 0, and otherwise the next float above what is computed."""
    return x + y if 0.0 in (x, y) else math.nextafter(x + y, math.inf)


def size(value: float, name: str = "size") -> Magnitude:
    """The magnitude of a float at least 0."""
    if math.isnan(value) or value < 0.0:
        raise InputError(name, value, "a number at least 0")
    if value in (0.0, 1.0) or math.isinf(value):
        return {0.0: ZERO, 1.0: ONE}.get(value, UNBOUNDED)
    return Magnitude(math.nextafter(math.nextafter(math.log(value), math.inf), math.inf))


def total(*parts: Magnitude) -> Magnitude:
    """The sum; 0 for no parts."""
    result = ZERO
    for part in parts:
        result = result + part
    return result


def euclidean(*parts: Magnitude) -> Magnitude:
    """The square root of the sum of squares."""
    return total(*(part * part for part in parts)).root()
