r"""The mean of a bounded loss: sup{m : the capital against m stays below 1/delta}, by target betting.

.. math:: P\big(E[w\,\ell]/E[w] > \text{upper}\big) \le \delta

for independent units with losses in [low, high] and weights w in (0, 1] (all 1 for the plain mean). And an error rate
from a count: the exact binomial limits, upper = max{p : P(Bin(n, p) <= k) >= delta}.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import counted, losses_in, probability
from certiformer.evaluation.order import hash_order, refuse_sorted
from certiformer.theory.calculus.tail_check import exact_lower, exact_upper
from certiformer.theory.calculus.target_betting import fixed_orders, target_upper
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import down, up

Array = npt.NDArray[np.float64]
Order = Literal["average", "hash", "given"]

MOST_AVERAGED = 20_000
"""Beyond this many units one order is used: averaging would take minutes and gains little."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`lower` <= mean <= `upper`: each with probability at least 1 - delta, or both together if `two_sided`."""

    lower: float
    upper: float
    mean: float
    n: int
    delta: float
    two_sided: bool
    method: str
    """Which limits: "average of 16 orders", "one order: hash", "one order: as given" or "exact binomial"."""


def mean_limits(
    losses: npt.ArrayLike,
    delta: float,
    low: float = 0.0,
    high: float = 1.0,
    *,
    weights: npt.ArrayLike | None = None,
    order: Order = "average",
    two_sided: bool = False,
    ids: Sequence[str] | None = None,
    in_order: bool = False,
) -> Limits:
    """Confidence limits for the mean loss of independent units, each loss in the declared [low, high].

    `weights` w in (0, 1] ask for the ratio E[w loss]/E[w] instead: with w = rows of a group / most rows a group can
    have, and the group's mean loss, that is the mean over rows. `order` says how the units are walked through:
    "average" of 16 fixed permutations (up to 20,000 units; the numbers of two analysts then hardly differ), "hash" of
    the `ids` (of row numbers without them), or as "given". Whatever is chosen is chosen before looking at the limits.
    Sorted losses without ids are refused, unless `in_order` says that their order was made without looking at them.

    >>> mean_limits([0.0, 0.5, 0.25] * 40, 0.05).upper < 0.33
    True
    """
    probability("delta", delta)
    w, y, orders, method = walked(losses_in("losses", losses, low, high), weights, ids, order, in_order)
    level = delta / 2.0 if two_sided else delta
    upper = target_upper(w, y, level, orders)
    lower = 1.0 - target_upper(w, w - y, level, orders)
    width = high - low
    return Limits(
        lower=max(low, down(low + width * lower)),
        upper=min(high, up(low + width * upper)),
        mean=low + width * float(np.sum(y) / np.sum(w)),
        n=len(w),
        delta=delta,
        two_sided=two_sided,
        method=method,
    )


def walked(
    x: Array, weights: npt.ArrayLike | None, ids: Sequence[str] | None, order: Order, in_order: bool = False
) -> tuple[Array, Array, npt.NDArray[np.int64] | None, str]:
    """Weights and weighted losses in the order of the walk, the orders that are averaged, and how that is called."""
    w = weights_of(weights, len(x))
    if order not in ("average", "hash", "given"):
        raise InputError("order", order, 'one of "average", "hash", "given"')
    if ids is None and not in_order:
        refuse_sorted("losses", x)
    if ids is not None and len(ids) != len(x):
        raise InputError("ids", f"{len(ids)} ids", f"one for each of {len(x)} losses")
    averaged = order == "average" and len(x) <= MOST_AVERAGED
    if order != "given" and (ids is not None or not averaged):
        base = hash_order(ids if ids is not None else [str(row) for row in range(len(x))])
        x, w = x[base], w[base]
    method = "average of 16 orders" if averaged else f"one order: {'as given' if order == 'given' else 'hash'}"
    return w, w * x, fixed_orders(len(x)) if averaged else None, method


def weights_of(weights: npt.ArrayLike | None, n: int) -> Array:
    """Weights in (0, 1], one for each loss; all 1 where none are given."""
    if weights is None:
        return np.ones(n)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        raise InputError("weights", f"shape {w.shape}", f"one for each of {n} losses")
    if not np.all((w > 0.0) & (w <= 1.0)):
        first = int(np.flatnonzero(~((w > 0.0) & (w <= 1.0)))[0])
        raise InputError(
            "weights", float(w[first]), "numbers in (0, 1]", "Divide by the largest weight that can occur, declared"
        )
    return w


def rate_limits(errors: int, n: int, delta: float, *, two_sided: bool = False) -> Limits:
    """Exact (Clopper-Pearson) limits for the rate behind `errors` among `n` independent examples.

    >>> round(rate_limits(28, 5000, 0.05).upper, 5)
    0.00767
    """
    probability("delta", delta)
    errors, n = counted(errors, n)
    share = delta / 2.0 if two_sided else delta
    return Limits(
        lower=exact_lower("rate_limits", errors, n, share),
        upper=exact_upper("rate_limits", errors, n, share),
        mean=errors / n,
        n=n,
        delta=delta,
        two_sided=two_sided,
        method="exact binomial",
    )
