r"""Answer or abstain: a threshold on the confidence, chosen on the same held-out examples that certify it.

(a) Thresholds fixed beforehand, in an order fixed beforehand: each is tested by P(Bin(n_l, alpha) <= k_l) <= delta, the
first failure stops, the last success is taken. A wrong answer implies that the first threshold with P(error | conf >=
l) > alpha was accepted: probability at most delta, without any monotonicity.

(b) Without such thresholds: j_s = floor(s n/S) examples for s = 1..S, threshold t_s = the (j_s + 1)-th largest
confidence, answered = conf > t_s strictly, tested at delta/S; the largest success is taken. Given t_s, what lies above
it is an independent sample of {conf > t_s}; union over s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import binary, probability
from certiformer.theory.calculus.tail_check import exact_upper
from certiformer.theory.calculus.tails import binomial_cdf
from certiformer.theory.core.errors import InputError

PARTS = 10


@dataclass(frozen=True, slots=True)
class Selection:
    """Answer where conf >= `threshold` (or > it if `strict`): the error among the answered is at most `alpha`.

    `threshold` None: no threshold can be certified, answer nothing. `error_upper` is what may be claimed: alpha itself
    for thresholds fixed beforehand, an exact limit below it otherwise. `coverage` holds the answered fraction of new
    examples, at confidence 1 - delta of its own.
    """

    threshold: float | None
    strict: bool
    answered: int
    errors: int
    n: int
    p: float
    alpha: float
    delta: float
    error_upper: float
    coverage: tuple[float, float]


def choose_threshold(
    confidences: npt.ArrayLike,
    errors: npt.ArrayLike,
    alpha: float,
    delta: float,
    thresholds: Sequence[float] | None = None,
) -> Selection:
    """The most generous threshold with P(error | answered) <= alpha, at confidence 1 - delta.

    `thresholds` are numbers fixed before these examples were scored (or quantiles of unlabelled data), tried in the
    order given, which should begin where about 2 ln(delta)/ln(1-alpha) examples are answered.
    """
    risk, level = probability("alpha", alpha), probability("delta", delta)
    wrong = binary("errors", errors)
    conf = np.asarray(confidences, dtype=np.float64)
    if conf.shape != wrong.shape:
        raise InputError("confidences", f"shape {conf.shape}", f"one for each of {len(wrong)} examples")
    if np.any(np.isnan(conf)):
        raise InputError("confidences", "nan", "numbers", f"Look at example {int(np.flatnonzero(np.isnan(conf))[0])}")
    strict, n = thresholds is None, len(conf)
    values = _counted(conf) if thresholds is None else [float(value) for value in thresholds]
    if not values or any(math.isnan(value) for value in values):
        raise InputError("thresholds", values, "at least one number, fixed beforehand")
    chosen: tuple[float, int, int, float] | None = None
    for value in values:
        above = conf > value if strict else conf >= value
        size, seen = int(above.sum()), int(np.sum(wrong & above))
        p = float(binomial_cdf(seen, size, risk)) if size else 1.0
        if p * (1.0 + 1e-12) <= (level / PARTS if strict else level):
            chosen = value, size, seen, p
        elif not strict:
            break  # what stands behind the first failure is not tried
    if chosen is None:
        return Selection(None, strict, 0, 0, n, 1.0, alpha, delta, 1.0, (0.0, 0.0))
    threshold, answered, mistakes, p = chosen
    # For all thresholds at once (Dvoretzky-Kiefer-Wolfowitz-Massart): the threshold was selected on these examples.
    around = math.sqrt(math.log(2.0 / delta) / (2.0 * n))
    upper = min(alpha, exact_upper("selection", mistakes, answered, delta / PARTS)) if strict else alpha
    return Selection(
        threshold=threshold,
        strict=strict,
        answered=answered,
        errors=mistakes,
        n=n,
        p=p,
        alpha=alpha,
        delta=delta,
        error_upper=upper,
        coverage=(max(0.0, answered / n - around), min(1.0, answered / n + around)),
    )


def _counted(conf: npt.NDArray[np.float64]) -> list[float]:
    """Thresholds above which about 1/S, 2/S, ... of the examples are, the last one below all of them."""
    falling, n = np.sort(conf)[::-1], len(conf)
    counts = (part * n // PARTS for part in range(1, PARTS + 1))
    return [-math.inf if count == n else float(falling[count]) for count in counts]
