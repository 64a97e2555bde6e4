"""Nonnegative numbers kept as natural logarithms: the sensitivities of deep networks overflow floats."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certiformer.core.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class Magnitude:
    """exp(ln). Sums, products, quotients and comparisons as for floats, with 0 * inf = 0."""

    ln: float

    def __add__(self, other: Magnitude) -> Magnitude:
        return Magnitude(float(np.logaddexp(self.ln, other.ln)))

    def __mul__(self, other: Magnitude) -> Magnitude:
        # An infinite magnitude here is a finite number without a known bound, so zero times it is zero.
        if -math.inf in (self.ln, other.ln):
            return ZERO
        return Magnitude(self.ln + other.ln)

    def __truediv__(self, other: Magnitude) -> Magnitude:
        return self * Magnitude(-other.ln)

    def root(self) -> Magnitude:
        """The square root."""
        return Magnitude(0.5 * self.ln)

    @property
    def value(self) -> float:
        """The number itself; inf when it does not fit a float."""
        return math.exp(self.ln) if self.ln < 709.0 else math.inf

    @property
    def finite(self) -> bool:
        return self.ln < math.inf


ZERO = Magnitude(-math.inf)
ONE = Magnitude(0.0)
UNBOUNDED = Magnitude(math.inf)


def size(value: float, name: str = "size") -> Magnitude:
    """The magnitude of a float at least 0."""
    if math.isnan(value) or value < 0.0:
        raise InputError(name, value, "a number at least 0")
    return Magnitude(math.log(value)) if value > 0.0 else ZERO


def total(*parts: Magnitude) -> Magnitude:
    """The sum; 0 for no parts."""
    result = ZERO
    for part in parts:
        result = result + part
    return result


def euclidean(*parts: Magnitude) -> Magnitude:
    """The square root of the sum of squares."""
    return total(*(part * part for part in parts)).root()
