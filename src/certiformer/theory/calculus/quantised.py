r"""Prior masses of quantised coordinates: what it costs, in nats, to name a point of the grid Delta Z^k.

With scale s, the discretised Gaussian gives an integer j the mass exp(-(Delta j)^2 / 2s^2) / Z, where
Z = sum_i exp(-(Delta i)^2 / 2s^2). Density times cell width is *not* a probability: for Delta = 2s it sums to 1.0144
per coordinate, to 4.2 over a hundred of them. So Z is summed, and rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np
from certiformer.theory.core.rounding import up

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_LARGEST_SUM = 2_000_000  # mutants: same-for-every-value


def log_normaliser(ratio: float) -> float:
    r"""An upper bound on ln sum_i exp(-(ratio i)^2 / 2), ratio = Delta/s, i over the integers.

    Terms up to 12 standard deviations are added; the rest is less than 2 int_{12/ratio}^inf exp(-(ratio x)^2/2) dx,
    because the terms decrease.
    """
    if not 0.0 < ratio < math.inf:
        raise InputError("step/scale", ratio, "a positive number")
    reach = math.ceil(12.0 / ratio) + 1  # mutants: same-for-every-value
    # mutants: same-for-every-value, too-small-to-count
    tail = math.sqrt(2.0 * math.pi) / ratio * math.erfc((reach - 1) * ratio / math.sqrt(2.0))
    if reach > _LARGEST_SUM:
        # A sum of a function that rises and falls is at most its integral plus its largest value.
        return up(math.log(math.sqrt(2.0 * math.pi) / ratio + 1.0))
    index = np.arange(1.0, reach)
    return up(math.log1p(2.0 * float(np.sum(np.exp(-0.5 * (ratio * index) ** 2))) + tail))


def gaussian_nats(points: Integers, step: float, scale: float) -> float:
    """-ln P of the integer coordinates `points` (grid `step`) under the discretised Gaussian of scale `scale`."""
    ratio = step / scale
    energy = 0.5 * ratio**2 * float(np.sum(np.asarray(points, dtype=np.float64) ** 2))
    return up(energy + len(points) * log_normaliser(ratio))


def best_scale(points: Integers, step: float, scales: Sequence[float]) -> tuple[float, float]:
    """(nats, scale) for the cheapest scale of a grid fixed beforehand; the choice costs ln(len(scales)), included."""
    nats, scale = min((gaussian_nats(points, step, scale), scale) for scale in scales)
    return nats + math.log(len(scales)), scale


def dimension_nats(k: int) -> float:
    """-ln pi(k) for pi(k) = 1/(k(k+1)), which sums to one over k = 1, 2, ..."""
    return math.log(k) + math.log(k + 1)
