r"""T10. What it costs to read the radii of a class off the trained weights.

A theorem for a fixed class becomes one for all radii at once by a union over a grid b kappa^j, j an integer, with
weights 1/((pi^2/3 - 1)(1+|j|)^2), which sum to one over the integers. Each radius used, spectral, Frobenius, l1,
per head, adds its own cost to ln(1/delta); b, kappa and the list of radii are fixed before the data are seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from certiformer.theory.core.errors import InputError

NORMALISER = math.pi**2 / 3.0 - 1.0
DEFAULT_RATIO = 1.1


def cost(indices: Iterable[int]) -> float:
    """sum_i [ln(pi^2/3 - 1) + 2 ln(1 + |j_i|)], the nats to add to ln(1/delta)."""
    return math.fsum(math.log(NORMALISER) + 2.0 * math.log1p(abs(j)) for j in indices)


def index(norm: float, *, base: float = 1.0, ratio: float = DEFAULT_RATIO, floor: int = -1000) -> int:
    """The grid index of a measured norm, rounded up; `floor`, fixed in advance, serves norms that are zero."""
    if not (base > 0 and ratio > 1):
        raise InputError("base, ratio", (base, ratio), "a positive base and a ratio above 1")
    if math.isnan(norm) or norm < 0 or math.isinf(norm):
        raise InputError("norm", norm, "a finite number at least 0")
    if norm == 0:
        return floor
    j = math.ceil(math.log(norm / base) / math.log(ratio)) - 1  # mutants: the-same-root
    while radius(j, base=base, ratio=ratio) < norm:  # the logarithm may have rounded either way
        j += 1
    return max(j, floor)


def radius(j: int, *, base: float = 1.0, ratio: float = DEFAULT_RATIO) -> float:
    """The radius of stratum j: b kappa^j."""
    return base * ratio**j
