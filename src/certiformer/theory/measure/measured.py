"""A number read off a model or data, together with how it was obtained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

How = Literal["exact", "certified", "estimate"]


@dataclass(frozen=True)
class Measured:
    """value, and what it is worth.

    exact: the quantity itself, up to rounding. certified: a bound proved by the computation, rounding included;
    `side` says which one. estimate: neither; `error` is a standard error or a residual where there is one.
    """

    value: float
    how: How
    by: str
    side: Literal["upper", "lower"] | None = None
    error: float | None = None

    def __post_init__(self) -> None:
        if math.isnan(self.value):
            raise ValueError(f"a measured value must not be nan ({self.by})")
        if (self.how == "certified") != (self.side is not None):
            raise ValueError("a certified value is an upper or a lower bound; others have no side")

    def __float__(self) -> float:
        return self.value
