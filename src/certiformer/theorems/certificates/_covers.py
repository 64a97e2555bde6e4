"""What the covers in coordinates share: their inputs and the step from nats to a risk."""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.calculus.tails import binomial_upper
from certiformer.core import Variants, assumed, count, real, reals, side_number, upper_bound
from certiformer.core.check import Check
from certiformer.core.errors import InputError

COUNTED = (
    count("n", "examples, all of them", aliases=("m", "N"), example=10_000),
    real("delta", "failure probability", high=1.0, example=0.05),
    real(
        "paid", "price of grids of margins, radii and architectures, in nats", low_open=False, default=0.0, example=3.0
    ),
)
OTHER = real("other", "nats of further coordinates, not of this form", low_open=False, default=0.0, example=0.0)
SUM_FORM = (
    reals(
        "L", "slopes: |f_z - f_z'| <= sum_j L_j |z_j - z_j'| on every input", low_open=False, example=(1.0, 2.0, 0.5)
    ),
    reals("R", "radii: |z_j| <= R_j", low_open=False, example=(1.003, 0.503, 4.003)),
    real("gamma", "margin, fixed beforehand or on a grid paid for", example=0.1),
    count("errors", "examples with margin at most gamma", low=0, aliases=("k",), example=20),
    OTHER,
)
FIXED = (
    assumed(
        "radii, margins, architecture and coordinates are on grids fixed before the data; their price is in `paid`"
    ),
    assumed("the n examples are independent; z may have been trained on them in any way"),
)
DOMAIN = assumed(
    "the slopes hold on every input of the domain, not only on the sample (several classes: of the margin)"
)


def certified(errors: int, n: int, delta: float, nats: float, paid: float, checks: Sequence[Check]) -> Variants:
    """U(errors, n, delta exp(-nats - paid))."""
    if errors > n:
        raise InputError("errors", errors, f"at most n = {n}")
    value = binomial_upper(errors, n, math.log(delta) - nats - paid)
    terms = {"observed": errors / n, "cover (nats)": nats, "paid for grids (nats)": paid}
    return {
        "value": upper_bound(value, clip=1.0, checks=(*FIXED, *checks), terms=terms),
        "nats": side_number(nats, "the logarithm of the cover, or of one over the mass"),
    }
