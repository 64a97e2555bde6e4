"""Exact tails: binomial confidence limits and the inverse of the binary relative entropy, rounded outward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from certiformer.theory.core import rounding
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np, scipy

if TYPE_CHECKING:
    import numpy.typing as npt

_CHUNK = 4096  # mutants: two-ways-to-one-number
_MANY = 10**10  # mutants: two-ways-to-one-number
# mutants: two-ways-to-one-number
_HUGE = 10**14  # floats hold no tail of such sums
# mutants: two-ways-to-one-number
_BLOCK = 0.01  # of a standard deviation


def binomial_upper(errors: int, n: int, ln_delta: float) -> float:
    r"""The largest p with P(Bin(n, p) <= errors) >= delta: an exact upper confidence limit at level 1 - delta.

    Works on ln(delta), so that delta/N with N = e^5000 does not underflow. The computed logarithm of the tail is
    lowered by its own rounding error before the comparison, and the end of the bracket that is certainly outside
    is returned, so the limit errs upwards only.
    """
    if not 0 <= errors <= n:
        raise InputError("errors", errors, f"a whole number in [0, {n}]")
    if math.isnan(ln_delta) or ln_delta > 0.0:
        raise InputError("ln_delta", ln_delta, "a number at most 0")
    if errors == n or math.isinf(ln_delta):
        return 1.0
    if errors == 0:
        # (1-p)^n = delta
        return _up_probability(-math.expm1(ln_delta / n))
    if n > _HUGE:
        return _up_probability(kl_inverse(errors / n, -ln_delta / n))
    slack = 1e-15 * (math.lgamma(n + 1.0) + abs(ln_delta)) + 1e-13  # mutants: rounding-margins
    # k is the median of Bin(n, k/n), so the limit is at least k/n for delta up to 1/2, and may be below it beyond.
    low, high = errors / n if ln_delta < -0.7 else 0.0, 1.0  # mutants: the-same-root
    guess = _newton(errors, n, ln_delta)
    for width in (1e-12, 1e-8):  # mutants: rounding-margins, the-same-root
        # A guess is no more than that: its neighbourhood is used where both ends are certainly on their sides.
        left, right = guess * (1.0 - width), guess * (1.0 + width)  # mutants: the-same-root
        if not low < left < right < high:
            continue
        if (
            at_least_log_binomial_cdf(errors, n, left) + slack
            >= ln_delta
            > at_least_log_binomial_cdf(errors, n, right) + slack
        ):
            low, high = left, right
            break
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-15 * high:  # mutants: rounding-margins
            return _up_probability(high)
        # Keep `high` where the tail is certainly below delta.
        if at_least_log_binomial_cdf(errors, n, middle) + slack < ln_delta:
            high = middle
        else:
            low = middle


def binomial_lower(errors: int, n: int, ln_delta: float) -> float:
    """The least p with P(Bin(n, p) >= errors) >= delta: an exact lower confidence limit, rounded down."""
    return max(0.0, rounding.down(1.0 - binomial_upper(n - errors, n, ln_delta)))


def _newton(errors: int, n: int, ln_delta: float) -> float:
    """The root of ln P(Bin(n, p) <= errors) = ln delta in p, up to rounding.

    The logarithm of the tail is concave in p with the slope -n P(Bin(n-1, p) = errors)/P(Bin(n, p) <= errors), and
    Chernoff's bound is right of the root: from there Newton's steps go left, and never beyond it.
    """
    p = kl_inverse(errors / n, -ln_delta / n)
    for _ in range(40):  # mutants: the-same-root
        ln_tail = at_least_log_binomial_cdf(errors, n, p)
        # mutants: the-same-root
        step = (ln_tail - ln_delta) * math.exp(ln_tail - log_binomial_pmf(errors, n - 1, p)) / n
        p += step
        if not abs(step) > 1e-14 * p:  # mutants: the-same-root
            break
    return p


def log_binomial_cdf(errors: int, n: int, p: float) -> float:
    """ln P(Bin(n, p) <= errors), by summing from the largest term down."""
    return _log_sum(errors, n, p, partial_ratio)


def at_least_log_binomial_cdf(errors: int, n: int, p: float) -> float:
    """At least ln P(Bin(n, p) <= errors): that itself, sums in blocks beyond 10^10 examples, Chernoff beyond 10^14."""
    if n > _HUGE and 0.0 < p < 1.0 and errors < n:  # mutants: same-for-every-value
        return -n * binary_kl(errors / n, p) if errors / n < p else 0.0
    return _log_sum(errors, n, p, _ratio_in_blocks if n > _MANY else partial_ratio)


def _log_sum(errors: int, n: int, p: float, ratio: Callable[..., float]) -> float:
    if errors >= n:
        return 0.0
    if p <= 0.0:
        return 0.0
    if p >= 1.0:
        return -math.inf
    top = min(errors, math.floor((n + 1) * p))  # the largest term of the sum
    ln_top = log_binomial_pmf(top, n, p)
    total = 1.0 + ratio(top, n, p, step=-1, stop=0) + ratio(top, n, p, step=1, stop=errors)
    return min(0.0, ln_top + math.log(total))


def binomial_cdf(errors: npt.ArrayLike, n: npt.ArrayLike, p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """P(Bin(n, p) <= errors) over whole arrays: the regularised incomplete beta function, 1 from errors = n on."""
    k, size = np.asarray(errors, dtype=np.float64), np.asarray(n, dtype=np.float64)
    rest = np.maximum(size - k, 1e-300)  # mutants: nobody-looks
    inside = scipy.special.betaincc(np.maximum(k, 0.0) + 1.0, rest, np.asarray(p, dtype=np.float64))
    return np.asarray(np.where(k < 0.0, 0.0, np.where(k >= size, 1.0, inside)), dtype=np.float64)


def largest_count(level: float, n: npt.ArrayLike, p: float) -> npt.NDArray[np.float64]:
    """The largest k with P(Bin(n, p) <= k) <= level at each n; -1 where there is none."""
    size = np.atleast_1d(np.asarray(n, dtype=np.float64))
    k = np.floor(np.nan_to_num(scipy.special.bdtrik(level, size, p), nan=-1.0))  # a guess: below 1e-100 far off
    k = np.clip(k, -1.0, size - 1.0)  # mutants: the-same-root
    # mutants: the-same-root
    lost = (binomial_cdf(k, size, p) > level) | (binomial_cdf(k + 1.0, size, p) <= level)
    low, high = np.full(int(lost.sum()), -1.0), size[lost]  # mutants: the-same-root
    while np.any(high - low > 1.0):
        middle = np.floor(0.5 * (low + high))
        small = binomial_cdf(middle, size[lost], p) <= level
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    k[lost] = low
    return np.asarray(k.reshape(np.shape(n)), dtype=np.float64)


def partial_ratio(top: int, n: int, p: float, *, step: int, stop: int) -> float:
    """Sum of pmf(i)/pmf(top) over i from top + step to stop, until the terms no longer count."""
    odds = math.log(p) - math.log1p(-p)
    total, ln_ratio, i = 0.0, 0.0, top
    while i != stop:
        length = min(_CHUNK, abs(stop - i))
        block = i + step * np.arange(0, length, dtype=np.float64)
        with np.errstate(divide="ignore"):  # n - i beyond 2^53
            if step < 0:  # mutants: nobody-looks
                increments = np.log(block) - np.log(n - block + 1.0) - odds  # pmf(i-1)/pmf(i)
            else:
                increments = np.log(n - block) - np.log(block + 1.0) + odds  # pmf(i+1)/pmf(i)
        ln_terms = ln_ratio + np.cumsum(increments)
        total += float(np.sum(np.exp(ln_terms)))
        ln_ratio = float(ln_terms[-1])
        i += step * length
        if ln_ratio < -60.0:  # mutants: too-small-to-count
            break
    return total


def _ratio_in_blocks(top: int, n: int, p: float, *, step: int, stop: int) -> float:
    """At least the sum of pmf(i)/pmf(top): blocks of terms, each as large as its largest; they fall from `top` on."""
    length, many = max(1, int(_BLOCK * math.sqrt(n * p * (1.0 - p)))), abs(stop - top)
    ln_top, total, done = log_binomial_pmf(top, n, p), 0.0, 0
    while done < many:
        ln_ratio = log_binomial_pmf(top + step * (done + 1), n, p) - ln_top
        block = min(length, many - done)
        total += block * math.exp(min(0.0, ln_ratio))
        done += block
        if ln_ratio < -60.0:  # mutants: too-small-to-count
            break
    return total


def log_binomial_pmf(k: int, n: int, p: float) -> float:
    r"""ln P(Bin(n, p) = k), from deviances and Stirling errors: no difference of large log-gammas.

    .. math:: \ln P = s(n) - s(k) - s(n-k) - d(k, np) - d(n-k, n(1-p)) + \tfrac12\ln\frac{n}{2\pi k(n-k)}

    with d(x, m) = x ln(x/m) + m - x and s(x) = ln x! - ln(sqrt(2 pi x) (x/e)^x). Its absolute error is a few units of
    roundoff times 1 + |k - np| + |ln P|.
    """
    if p <= 0.0 or p >= 1.0:
        return 0.0 if (k == 0 if p <= 0.0 else k == n) else -math.inf
    if k == 0:
        return n * math.log1p(-p)
    if k == n:
        return n * math.log(p)
    deviance = _deviance(k, n * p) + _deviance(n - k, n * (1.0 - p))
    size = 0.5 * (math.log(n) - math.log(2.0 * math.pi) - math.log(k) - math.log(n - k))
    return _stirling_error(n) - _stirling_error(k) - _stirling_error(n - k) - deviance + size


def _deviance(x: float, mean: float) -> float:
    """x ln(x/mean) + mean - x, without cancellation where x and mean are close."""
    change = (mean - x) / x
    if abs(change) < 0.1:  # mutants: two-ways-to-one-number
        # change - ln(1 + change) = change^2/2 - change^3/3 + ...
        total, power = 0.0, change
        for order in range(2, 18):  # mutants: too-small-to-count
            power *= -change
            total -= power / order
        return x * total
    return x * math.log(x / mean) + mean - x


def _stirling_error(x: int) -> float:
    """ln x! - ln(sqrt(2 pi x) (x/e)^x): the series from 16 on, log-gamma below."""
    if x < 16:  # mutants: two-ways-to-one-number
        return math.lgamma(x + 1.0) - (0.5 * math.log(2.0 * math.pi * x) + x * math.log(x) - x)
    square = float(x) * x
    # mutants: too-small-to-count
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / x


def binary_kl(q: float, p: float) -> float:
    """kl(q || p) between Bernoulli laws, with 0 ln 0 = 0; inf where q is not absolutely continuous."""
    if (p <= 0.0 and q > 0.0) or (p >= 1.0 and q < 1.0):
        return math.inf
    left = q * math.log(q / p) if q > 0.0 else 0.0
    return max(0.0, left + _right(q, p))


def _right(q: float, p: float) -> float:
    """(1-q) ln((1-q)/(1-p)); near p = q from the small difference, near p = 1 from 1-p, which is exact."""
    if q >= 1.0:
        return 0.0
    change = (q - p) / (1.0 - q)
    # mutants: two-ways-to-one-number
    log_ratio = math.log1p(change) if change > -0.5 else math.log1p(-p) - math.log1p(-q)
    return -(1.0 - q) * log_ratio


def kl_inverse(q: float, budget: float) -> float:
    """sup{p >= q : kl(q || p) <= budget}, rounded up."""
    if not 0.0 <= q <= 1.0:
        raise InputError("q", q, "a number in [0, 1]")
    if math.isnan(budget) or budget < 0.0:
        raise InputError("budget", budget, "a number at least 0")
    if q == 1.0 or math.isinf(budget):  # mutants: nobody-looks
        return 1.0
    if q == 0.0:
        return _up_probability(-math.expm1(-budget))
    # Pinsker's p - q <= sqrt(c/2) is a valid upper end, and the better one where kl is too small to resolve.
    low, high = q, min(1.0, q + math.sqrt(budget / 2.0) * (1.0 + 1e-15))  # mutants: rounding-margins, the-same-root
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-16 * high:  # mutants: rounding-margins
            return _up_probability(high)
        # kl is a difference of nearly equal numbers near q: allow for its absolute error.
        if binary_kl(q, middle) - 4e-16 > budget:  # mutants: rounding-margins
            high = middle
        else:
            low = middle


def _up_probability(p: float) -> float:
    return min(1.0, p * (1.0 + 1e-14))  # mutants: rounding-margins
