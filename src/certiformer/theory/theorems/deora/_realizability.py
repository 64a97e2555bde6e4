"""From a good initialization (Definition 1) to a target of small loss (Assumption 2)."""

from __future__ import annotations

import math
from collections.abc import Callable

from certiformer.theory.core.rounding import MARGIN
from certiformer.theory.theorems.deora._attention import Attention

_BISECTIONS = 200  # mutants: search-effort
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0  # mutants: search-effort


def spread(ninf: float | None, even: bool | None, H: float) -> float:
    """max_h ||theta_*,h||: as given, else sqrt(2/H) for an even direction, else sqrt 2."""
    if ninf is not None:
        return ninf
    return math.sqrt(2.0 / H) if even else math.sqrt(2.0)


def logit_for(loss: float) -> float:
    """The output with log(1 + exp(-z)) = loss: z = -log(expm1(loss)), written so that nothing overflows."""
    return -loss - math.log(-math.expm1(-loss))


def initial_loss(BPhi: float) -> float:
    """log(1 + e^BPhi): the loss where every output is at most BPhi on the wrong side."""
    return BPhi + math.log1p(math.exp(-BPhi))


def least_multiple(model: Attention, gamma: float, BPhi: float, B2: float, ninf: float, loss: float) -> float | None:
    r"""The least lambda >= 0 with -BPhi + lambda gamma - lambda^2 beta3(B2 + lambda ninf)/sqrt(H) >= -log(expm1(loss)).

    Taylor at theta_0 along lambda theta_*, ||theta_*||^2 = 2: the left side bounds every output at theta_0 + lambda
    theta_* from below, so its loss is at most `loss`. It is concave in lambda. None if no lambda is enough.
    """
    wanted = logit_for(loss)

    def excess(multiple: float) -> float:
        gain = multiple * gamma
        cost = BPhi + multiple * multiple * float(model.model_hessian(B2 + multiple * ninf)) / math.sqrt(model.H)
        return gain - cost - wanted - MARGIN * (gain + cost + abs(wanted))

    if -BPhi >= wanted:
        return 0.0
    high = _enough(excess, (BPhi + abs(wanted)) / gamma)
    if high is None:
        return None
    low = 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if excess(middle) >= 0.0:
            high = middle
        else:
            low = middle
    return high


def _enough(excess: Callable[[float], float], start: float) -> float | None:
    """A point where a concave function with a negative value at zero is not negative, if there is one."""
    high = start
    while excess(high) < 0.0:  # mutants: search-effort
        if not excess(2.0 * high) > excess(high):  # mutants: search-effort
            break  # the maximum lies behind us
        high *= 2.0  # mutants: search-effort
    else:
        return high
    left, right = 0.0, 2.0 * high  # mutants: search-effort
    for _ in range(_BISECTIONS):
        width = _GOLDEN * (right - left)
        first, second = right - width, left + width
        if excess(first) >= 0.0:  # mutants: search-effort
            return first
        if excess(first) < excess(second):  # mutants: search-effort
            left = first
        else:
            right = second
    return None
