"""Numbers as people read them."""

from __future__ import annotations

import math

from certiformer.theory.core.rounding import outward


def short(value: float) -> str:
    """Five significant digits, no padding, scientific only where it helps."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.5g}"


def percent_up(value: float) -> str:
    """A rate that is guaranteed, as a percentage rounded up: what is printed is still a bound."""
    return f"{math.ceil(value * 10_000 - 1e-9) / 100:.2f} %"


def percent_down(value: float) -> str:
    """A lower limit as a percentage rounded down."""
    return f"{math.floor(value * 10_000 + 1e-9) / 100:.2f} %"


def percent(value: float) -> str:
    """A threshold that was declared, as a percentage: nothing of it is rounded away."""
    return f"{100.0 * value:.12g} %"


def rounded_up(value: float, digits: int = 4) -> float:
    """The value rounded up at its `digits`-th significant digit: a guarantee stays one on paper."""
    return outward(value, digits)


def rounded_down(value: float) -> float:
    """The same for a lower limit."""
    return outward(value, 4, up=False)


QUANTITIES = {
    "risk_01": "error rate on new examples",
    "gap": "gap between test and training loss",
    "excess_risk": "excess risk",
    "training_loss": "training loss",
    "rademacher": "Rademacher complexity",
}
"""What the papers' statements limit, in words; a certificate has its own."""
