"""Numbers as people read them."""

from __future__ import annotations

import math

from certiformer.theory.core import Bound


def short(value: float) -> str:
    """Five significant digits, no padding, scientific only where it helps."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.5g}"


def of_bound(bound: Bound) -> str:
    """The value of a bound; beyond the range of floats, its decimal logarithm."""
    if bound.overflowed and bound.log10 is not None:
        return f"10^{bound.log10:.1f}"
    return short(bound.value)


def percent_up(value: float) -> str:
    """A rate that is guaranteed, as a percentage rounded up: what is printed is still a bound."""
    return f"{math.ceil(value * 10_000 - 1e-9) / 100:.2f} %"


def percent_down(value: float) -> str:
    """A lower limit as a percentage rounded down."""
    return f"{math.floor(value * 10_000 + 1e-9) / 100:.2f} %"


def rounded_up(value: float, digits: int = 4) -> float:
    """The value rounded up at its `digits`-th significant digit: a guarantee stays one on paper."""
    if value == 0 or not math.isfinite(value):
        return value
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    return math.ceil(value / unit - 1e-9) * unit


QUANTITIES = {
    "risk_01": "error rate on new examples",
    "gap": "gap between test and training loss",
    "excess_risk": "excess risk",
    "training_loss": "training loss",
    "rademacher": "Rademacher complexity",
}
"""What the papers' statements limit, in words; a certificate has its own."""


def confidence_text(delta: float) -> str:
    """1 - delta in percent, rounded down; as 1 - delta itself where percents would need many nines."""
    if delta < 1e-6:
        exponent = math.floor(math.log10(delta))
        digits = math.ceil(delta / 10.0 ** (exponent - 2) * (1.0 - 1e-12))
        return f"1 - {digits * 10.0 ** (exponent - 2):.3g}"
    return f"{math.floor(1e6 * (1.0 - delta) + 1e-9) / 1e4:g} %"
