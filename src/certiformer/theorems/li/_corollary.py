"""What Corollaries 4.8 and 4.13 share: a given covering number, the network's own bounds."""

from __future__ import annotations

from typing import Any

from certiformer.calculus import excess_risk
from certiformer.core import Bound, Variants, assumed, printed_value, side_number
from certiformer.theorems.li._variants import (
    bernstein_condition,
    distance_to_target,
    honest,
    noise,
    reference,
    risk,
    slow_quantity,
)

COVER = "logN is that of a proper cover of the whole domain at the given radius, fixed before the data"
DEFECTS = (
    (
        "Inherits Theorem 4.4: the noise is lost, kappa may ignore it, no Bernstein condition; "
        "counterexamples 1 to 4 apply."
    ),
    "log E N is for covers of the sample; the proved forms need a cover fixed before the data.",
    "The 1 + is superfluous.",
)


def printed_variants(
    *, n: int, logN: float, kappa: float, M: float, radius: float, approx: float, **_: Any
) -> Variants:
    """(2M/n)(1 + log N) + 8 kappa delta + inf."""
    value = 2.0 * M / n * (1.0 + logN) + 8.0 * kappa * radius + approx
    return {"M": side_number(M), "value": printed_value(value)}


def sound_variants(
    *,
    output_bound: float,
    kappa: float,
    B: float,
    sigma: float,
    n: int,
    radius: float,
    logN: float,
    approx: float,
    V: float | None,
    honest_kappa: bool,
    bernstein: bool,
    squared_loss: bool,
    well_specified: bool,
) -> Variants:
    """S2, S4 and, given V, S1 at the given covering number."""
    cover, fixed = excess_risk.given_cover(logN), assumed(COVER)
    distance = distance_to_target(B, output_bound, well_specified)
    in_class = reference(well_specified, approx)
    squared = excess_risk.squared(cover, radius, n, b_h=distance**2, sigma=sigma, approximation=approx)
    slow = excess_risk.slow(cover, radius, n, loss_range=2.0 * kappa * output_bound, kappa=kappa, approximation=approx)
    variants: dict[str, Bound] = {
        "S2": risk(squared, distance**2, fixed, noise(squared_loss), in_class),
        "S4": risk(slow, kappa * distance, fixed, honest(honest_kappa), bounds=slow_quantity(well_specified, approx)),
    }
    if V is not None:
        first = excess_risk.bernstein(cover, radius, n, V=V, M=kappa * distance, kappa=kappa, approximation=approx)
        hypotheses = (fixed, honest(honest_kappa), bernstein_condition(bernstein), in_class)
        variants["S1"] = risk(first, kappa * distance, *hypotheses)
    return variants
