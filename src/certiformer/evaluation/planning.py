r"""How many labels, before any is collected.

n_k is the least n with P(Bin(n, eps) <= k) <= delta: with at most k errors among n_k examples the rate is certified to
be at most eps. If the true rate is p, that succeeds with probability P(Bin(n_k, p) <= k). Between n_k and n_{k+1} the
chance of success falls, so the first k that reaches the target gives the smallest n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import failure_probability, probability
from certiformer.theory.calculus.tails import binomial_cdf, largest_count
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import scipy

MOST_ERRORS = 2_000_000
_CHUNK = 512


@dataclass(frozen=True, slots=True)
class Plan:
    """Label `n` examples; with at most `errors` errors the rate is certified to be at most `error`.

    `power` is the chance of that if the true rate is `expect`. From `stable` on it never falls below the target again.
    """

    n: int
    errors: int
    power: float
    stable: int
    error: float
    delta: float
    expect: float


@dataclass(frozen=True, slots=True)
class PairPlan:
    """Label `n` items with both models; the two-sided sign test at level `delta` then decides with chance `power`."""

    n: int
    power: float
    delta: float
    only_a_wrong: float
    only_b_wrong: float


def plan(
    *,
    error: float | None = None,
    difference: float | None = None,
    expect: float | None = None,
    discordance: float = 0.1,
    models: int = 1,
    power: float = 0.8,
    delta: float | None = None,
    confidence: float | None = None,
) -> Plan | PairPlan:
    """How many labels: to certify an `error` rate, or to see a `difference` of two models' error rates.

    `expect` is the error rate you expect (0 is a claim, too: it has to be said), `discordance` the fraction of items
    that exactly one of two models gets right, `power` the chance of success.

    >>> plan(error=0.02, expect=0.01, confidence=0.95).n
    969
    """
    if (error is None) == (difference is None):
        raise InputError("error, difference", (error, difference), "one of the two")
    level = failure_probability(delta, confidence)
    if error is not None:
        if expect is None:
            raise InputError(
                "expect",
                None,
                "the error rate that you expect",
                f"For example expect={error / 2.0:g}; 0 if it never errs",
            )
        return plan_errors(error, level, expect, power, models=models)
    wished = float(difference or 0.0)
    if not 0.0 < wished <= discordance < 1.0:
        raise InputError("difference", wished, f"a number in (0, {discordance:g}], the discordance")
    return plan_pairs((discordance + wished) / 2.0, (discordance - wished) / 2.0, level, power)


def plan_errors(error: float, delta: float, expect: float = 0.0, power: float = 0.8, *, models: int = 1) -> Plan:
    """The smallest plan that certifies an error rate of at most `error` at confidence 1 - delta.

    `models` fixed beforehand and compared on the same examples divide delta.

    >>> plan_errors(0.02, 0.05).n
    149
    """
    eps, level = probability("error", error), probability("delta", delta)
    wish = probability("power", power)
    if not 0.0 <= expect < eps:
        raise InputError(
            "expect", expect, f"a rate at least 0 and below {error:g}", "A rate that is too high cannot be certified"
        )
    if models < 1:
        raise InputError("models", models, "a whole number of at least 1")
    level /= models
    if expect == 0.0:
        n = math.ceil(math.log(level) / math.log1p(-eps) - 1e-12)
        return Plan(n, 0, 1.0, n, error, delta, expect)
    found: tuple[int, int, float] | None = None
    stable = 0
    k = 0
    while k < MOST_ERRORS:
        counts = np.arange(k, k + _CHUNK, dtype=np.float64)
        sizes = _least_sizes(np.append(counts, k + _CHUNK), eps, level)
        best = binomial_cdf(counts, sizes[:-1], expect)
        worst = binomial_cdf(counts, np.maximum(sizes[1:] - 1, sizes[:-1]), expect)
        reached = np.flatnonzero(best >= wish)
        if found is None and len(reached):
            i = int(reached[0])
            found = int(sizes[i]), int(counts[i]), float(best[i])
        failing = np.flatnonzero(worst < wish)
        if len(failing):
            stable = int(sizes[int(failing[-1]) + 1])
        if found is not None and not len(failing):
            break
        k += _CHUNK
    if found is None:
        raise InputError("expect", expect, f"a rate further below {error:g}", "No plan of reasonable size succeeds")
    n, errors, chance = found
    return Plan(n, errors, chance, max(n, stable), error, delta, expect)


def success_curve(
    error: float, delta: float, expect: float, sizes: npt.ArrayLike, *, models: int = 1
) -> npt.NDArray[np.float64]:
    """P(the certificate is at most `error`) at each number of labels, if the true rate is `expect`."""
    n = np.asarray(sizes, dtype=np.float64)
    return binomial_cdf(largest_count(delta / models, n, error), n, expect)


def _least_sizes(counts: npt.NDArray[np.float64], eps: float, level: float) -> npt.NDArray[np.float64]:
    """The least n with P(Bin(n, eps) <= k) <= level, for every k at once, by bisection."""
    low = counts.copy()  # with n = k the probability is 1
    high = np.ceil(np.maximum(2.0 * counts, 8.0) / eps)  # whole, so that the bisection has a last step
    while np.any(short := binomial_cdf(counts, high, eps) > level):
        high = np.where(short, 2.0 * high, high)
    while np.any(high - low > 1):
        middle = np.floor(0.5 * (low + high))
        if np.all((middle <= low) | (middle >= high)):
            break  # beyond 2^53 whole numbers have gaps
        small = binomial_cdf(counts, middle, eps) <= level
        low, high = np.where(small, low, middle), np.where(small, middle, high)
    return high


def items_about(variance: float, distance: float, level: float, power: float = 0.8) -> int | None:
    """About how many items show that a mean is `distance` away, by the normal approximation; None if 10^15 do not."""
    z = float(scipy.special.ndtri(power) - scipy.special.ndtri(level))
    return None if z * z * variance >= 1e15 * distance**2 else math.ceil(z * z * variance / distance**2)


def units_about(variance: float, mean: float, threshold: float, level: float) -> int | None:
    """About how many units in [0, 1] let betting decide whether their mean is at most `threshold`, if it is `mean`.

    To the normal approximation (of a target 1.5 times as far) comes what is paid before the bets know the spread.
    """
    distance, room = abs(threshold - mean), 1.0 - threshold if mean < threshold else threshold
    needed = items_about(variance, distance, level / 1.5)
    if needed is None:
        return None
    return needed + math.ceil(-math.log(level) * max(1.0 / math.log1p(distance / room), 0.7 / distance))


def sign_power(n: int, only_a_wrong: float, only_b_wrong: float, delta: float) -> float:
    """P(the two-sided sign test at level delta finds the right direction) on n items."""
    from scipy.stats import binom

    discordance = only_a_wrong + only_b_wrong
    m = np.arange(0, n + 1)
    weights = binom.pmf(m, n, discordance)
    keep = weights > 1e-16
    m, weights = m[keep], weights[keep]
    # Reject with n10 > m/2 if 2 P(Bin(m, 1/2) >= n10) <= delta: n10 >= c.
    critical = binom.isf(delta / 2.0, m, 0.5) + 1
    share = max(only_a_wrong, only_b_wrong) / discordance
    return float(np.sum(weights * binom.sf(critical - 1, m, share)))


def plan_pairs(only_a_wrong: float, only_b_wrong: float, delta: float = 0.05, power: float = 0.8) -> PairPlan:
    """A number of items at which the two-sided sign test tells two models apart with the chance asked for.

    `only_a_wrong`, `only_b_wrong`: the expected fractions of items that only one of them gets wrong. (The chance is
    not monotone in n; this is a crossing of it, found by bisection.)
    """
    a, b = only_a_wrong, only_b_wrong
    if not (0.0 <= a <= 1.0 and 0.0 <= b <= 1.0 and 0.0 < a + b <= 1.0) or a == b:
        raise InputError("only_a_wrong, only_b_wrong", (a, b), "two different fractions that add up to at most 1")
    level, wish = probability("delta", delta), probability("power", power)
    low, high = 1, 64
    while sign_power(high, a, b, level) < wish:
        low, high = high, 2 * high
        if high > 2**26:
            raise InputError("difference", abs(a - b), "a difference that fewer than 10^8 items can show")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sign_power(middle, a, b, level) >= wish else (middle, high)
    return PairPlan(high, sign_power(high, a, b, level), delta, a, b)
