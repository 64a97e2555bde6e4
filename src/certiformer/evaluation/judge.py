r"""Few human labels and many of a judge: the rate at which humans say wrong, with no assumption about the judge.

m of N items, drawn at random and blind to the judge, have a human label Z in {0, 1}; all have the judge's J in [0, 1].
Every labelled item gets r = floor((N-m)/m) unlabelled ones of its own. With l_t in [0, 1] from the blocks before t,

    Y_t = Z_t - l_t (J_t - mean J of its block),        E[Y_t | past] = E Z,    Y_t in [-l_t, 1 + l_t],

so that the capital of `target_betting`, with stakes capped at K/(1 + l_t - m') and (T - K)/(m' + l_t), is valid for Y.
l_t is the regression of Z on J so far, shrunk: it starts at 0 (humans alone) and goes to the best control variate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import binary, losses_in, probability
from certiformer.evaluation.mean import Limits
from certiformer.evaluation.rates import rate_limits
from certiformer.theory.calculus.target_betting import PRIOR_WEIGHT, TARGET_SEVERAL_ORDERS, fixed_orders
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import scipy
from certiformer.theory.core.rounding import down, up

Array = npt.NDArray[np.float64]
LEAST_ERRORS = 15.0
LEAST_VARIANCE = 0.35


@dataclass(frozen=True, slots=True)
class Judged:
    """Limits for the rate at which humans say wrong, from humans and judge or from humans alone: the rule decides."""

    limits: Limits
    humans_alone: Limits
    labelled: int
    unlabelled: int
    block: int
    uses_judge: bool


def judged_limits(
    human: npt.ArrayLike,
    judge_labelled: npt.ArrayLike,
    judge_unlabelled: npt.ArrayLike,
    delta: float,
    *,
    expect: float,
    correlation: float,
    two_sided: bool = False,
) -> Judged:
    """Limits from m human labels and a judge's verdicts on all items.

    `expect` (the error rate) and `correlation` (of judge and human) are declared before the judge is run on these
    items, from a pilot or a guess: the judge is used iff m expect >= 15 and correlation^2 r/(r+1) >= 0.35; otherwise
    humans alone, for the limit cannot then be made smaller. A wrong declaration costs width, never validity.
    """
    probability("delta", delta)
    z = binary("human labels", human).astype(np.float64)
    j, rest = losses_in("judge", judge_labelled, 0.0, 1.0), losses_in("judge (unlabelled)", judge_unlabelled, 0.0, 1.0)
    m = len(z)
    if len(j) != m:
        raise InputError("judge", f"{len(j)} verdicts", f"one for each of {m} labelled items")
    r = len(rest) // m
    if r < 1:
        raise InputError("unlabelled items", len(rest), f"at least as many as the {m} labelled ones")
    if not 0.0 <= expect <= 1.0 or not -1.0 <= correlation <= 1.0:
        raise InputError("expect, correlation", (expect, correlation), "a rate in [0, 1] and a correlation in [-1, 1]")
    alone = rate_limits(int(np.sum(z)), m, delta, two_sided=two_sided)
    used = m * expect >= LEAST_ERRORS and correlation**2 * r / (r + 1.0) >= LEAST_VARIANCE
    limits = alone
    if used:
        # Rows stand in an order made before scoring: the t-th labelled item gets the t-th block.
        means = np.mean(rest[: m * r].reshape(m, r), axis=1)
        lower, upper = block_limits(z, j, means, r, delta / 2.0 if two_sided else delta)
        limits = Limits(lower, upper, float(np.mean(z)), m, delta, two_sided, "paired blocks, average of 16 orders")
    return Judged(limits, alone, m, len(rest), r, used)


def block_limits(human: Array, judge: Array, block_means: Array, block: int, delta: float) -> tuple[float, float]:
    """Lower and upper limit, each at level 1 - delta, from labelled items with the mean verdict of their blocks."""
    orders = fixed_orders(len(human))
    upper = _upper(human, judge, block_means, block, delta, orders, complement=False)
    lower = 1.0 - _upper(human, judge, block_means, block, delta, orders, complement=True)
    return max(0.0, down(lower)), min(1.0, up(upper))


def _upper(
    z: Array, j: Array, means: Array, r: int, delta: float, orders: npt.NDArray[np.int64], *, complement: bool
) -> float:
    zs, js, bs = z[orders].T, j[orders].T, means[orders].T
    slopes = _slopes(zs, js, r)
    y = zs - slopes * (js - bs)
    if complement:
        y = 1.0 - y
    n = len(z)
    seen = np.arange(n, dtype=np.float64)[:, None]
    centre = (0.5 + np.cumsum(y, axis=0)) / (seen + 2.0)
    squares = np.cumsum((y - centre) ** 2, axis=0)
    before = np.concatenate([np.zeros_like(squares[:1]), squares[:-1]])
    factor = 1.0 / np.sqrt(2.0 * math.pi * (PRIOR_WEIGHT / 4.0 + before) / (PRIOR_WEIGHT + seen) * (n - seen))
    start = delta / TARGET_SEVERAL_ORDERS * (1.0 - 2.0**-48)
    bar = (1.0 + 2.0**-48) / TARGET_SEVERAL_ORDERS

    def rejected(m: float) -> bool:
        k = np.full(len(orders), start)
        for row, slope, scale in zip(y, slopes, factor, strict=True):
            stake = scale * np.exp(-0.5 * scipy.special.ndtri(k) ** 2)
            stake = np.minimum(np.minimum(stake, k / (1.0 + slope - m)), (1.0 - k) / (m + slope))
            step = stake * (m - row)
            # Rounding is directed as in target_betting: the computed capital never exceeds the exact one.
            k = k * (1.0 - 2.0**-51) + (step - 2.0**-40 * np.abs(step) - 2.0**-50 * stake * (m + 2.0))
            k = np.where(k < 1e-280, 0.0, np.minimum(k, 1.0))
        return float(np.mean(k)) >= bar

    low, high = 0.0, float(np.nextafter(1.0, 0.0))
    if not rejected(high):
        return 1.0
    while high - low > 1e-11 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if rejected(middle) else (middle, high)
    return high


def _slopes(z: Array, j: Array, r: int) -> Array:
    """l_t = clip(C/(V+1), 0, 1) r/(r+1) from the items before t: C and V are sums of products of deviations."""
    seen = np.maximum(np.arange(len(z), dtype=np.float64)[:, None], 1.0)

    def past(values: Array) -> Array:
        return np.concatenate([np.zeros_like(values[:1]), np.cumsum(values, axis=0)[:-1]])

    shared = past(z * j) - past(z) * past(j) / seen
    spread = past(j * j) - past(j) ** 2 / seen
    return np.asarray(np.clip(shared / (spread + 1.0), 0.0, 1.0) * (r / (r + 1.0)), dtype=np.float64)
