r"""Two models on the same items: the direction by an exact sign test, the size of the difference by betting.

D_i = loss_A - loss_B lies in [-(b-a), b-a]; x = (1 + D/(b-a))/2 is a loss in [0, 1]. For 0-1 losses let n10 items be
wrong for A and right for B, n01 the reverse: given n10 + n01 = m, n10 ~ Bin(m, 1/2) if neither is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import losses_in
from certiformer.evaluation.mean import Limits, Order, mean_limits
from certiformer.theory.calculus.tails import binomial_cdf
from certiformer.theory.core.errors import InputError


@dataclass(frozen=True, slots=True)
class SignTest:
    """p-values of "neither model is better", from the items on which they differ; exact for independent items."""

    n10: int
    n01: int
    two_sided: float
    a_worse: float
    """P(Bin(m, 1/2) >= n10): small if A errs more often."""
    b_worse: float


def sign_test(n10: int, n01: int) -> SignTest:
    """The exact test from n10 items that only A got wrong and n01 that only B got wrong.

    >>> sign_test(5, 0).two_sided
    0.0625
    """
    if n10 < 0 or n01 < 0:
        raise InputError("n10, n01", (n10, n01), "counts of items, at least 0")
    m = n10 + n01
    # P(Bin(m, 1/2) >= n10) = P(Bin(m, 1/2) <= n01)
    a_worse, b_worse = float(binomial_cdf(n01, m, 0.5)), float(binomial_cdf(n10, m, 0.5))
    return SignTest(n10, n01, min(1.0, 2.0 * a_worse, 2.0 * b_worse), a_worse, b_worse)


def paired_limits(
    losses_a: npt.ArrayLike,
    losses_b: npt.ArrayLike,
    delta: float,
    low: float = 0.0,
    high: float = 1.0,
    *,
    weights: npt.ArrayLike | None = None,
    order: Order = "average",
    two_sided: bool = True,
    ids: Sequence[str] | None = None,
) -> Limits:
    """Limits for the mean of loss_A - loss_B over the items from which these were drawn.

    "B is at most eps worse than A" holds if -`lower` <= eps; the limit may be read for any eps. For K models fixed
    before any was scored: delta/(K-1) each against one declared reference, delta/(K(K-1)/2) for all pairs.
    """
    a, b = losses_in("losses of A", losses_a, low, high), losses_in("losses of B", losses_b, low, high)
    if len(a) != len(b):
        raise InputError("losses of B", f"{len(b)} losses", f"one for each of {len(a)} items, as A has")
    found = mean_limits(
        np.clip((1.0 + a - b) / 2.0, 0.0, 1.0), delta, weights=weights, order=order, two_sided=two_sided, ids=ids
    )
    width = high - low
    return replace(
        found,
        lower=width * (2.0 * found.lower - 1.0),
        upper=width * (2.0 * found.upper - 1.0),
        mean=width * (2.0 * found.mean - 1.0),
    )
