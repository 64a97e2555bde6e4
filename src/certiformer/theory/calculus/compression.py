r"""Preferent compression: what k examples, picked from n by a local rule, say about the risk of what they teach.

A loop picks examples that its model gets wrong, and learns from those it picked, until no other is wrong. It returns
a list T of k examples; a further example would *change* the list with probability phi(T), and a wrong one always does.

.. math:: E_k(v) = \frac1n\sum_{m=k}^{n-1}\frac{\binom mk}{\binom nk}(1-v)^{m-n}
          = \frac{P(\mathrm{Bin}(n,v)\ge k+1)}{n\,v\,P(\mathrm{Bin}(n,v)=k)}

is an e-value at v = phi(T): its mean is at most one. So phi(T) <= eps(k, n, delta), the root of delta E_k(v) = 1.
For a hold-out, the same function with k the number of errors is an e-value at the risk. Proofs: docs/proofs.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Callable

from certiformer.theory.calculus.tails import binomial_upper, log_binomial_cdf, log_binomial_pmf, partial_ratio
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np, scipy
from certiformer.theory.core.rounding import up

REFINEMENT = 5e-4  # mutants: search-effort
"""Suprema over a cell are enclosed to this relative width; what is returned is the upper end."""
_DEEPEST = 60  # mutants: search-effort
_SMALLEST_DELTA = 1e-200  # mutants: ends-of-the-floats
_MOST_COUNTS = 1_000_000  # mutants: search-effort


def log_e_value(k: int, n: int, v: float) -> float:
    """ln E_k(v); -inf for k = n, whose list claims nothing."""
    _check_counts(k, n)
    if not 0.0 <= v <= 1.0:
        raise InputError("v", v, "a probability")
    if k == n:
        return -math.inf
    if v == 0.0:
        return math.log((n - k) / (n * (k + 1.0)))
    if v == 1.0:  # mutants: nobody-looks
        return math.inf
    if v * n < k + 1:  # mutants: same-for-every-value
        # sf/pmf(k) = sum_{i > k} pmf(i)/pmf(k), whose terms decrease.
        ratio = partial_ratio(k, n, v, step=1, stop=n)
        return math.log(ratio) - math.log(n) - math.log(v) if ratio > 0.0 else -math.inf
    above = math.log(-math.expm1(log_binomial_cdf(k, n, v)))
    return above - math.log(n) - math.log(v) - log_binomial_pmf(k, n, v)


def compression_upper(k: int, n: int, ln_delta: float) -> float:
    """eps(k, n, delta): the root of n v P(Bin(n, v) = k) = delta P(Bin(n, v) >= k + 1), from above."""
    _check_counts(k, n)

    def certain(v: float) -> float:
        found = log_e_value(k, n, v)
        return found - 1e-14 * (abs(found) + abs(k - n * v) + math.log(n)) - 1e-13  # mutants: rounding-margins

    return _least_excluded(certain, ln_delta, claims=k < n)


def windowed_upper(k: int, n: int, ln_delta: float) -> float:
    r"""The same with equal weights on n/2 <= m < 0.8 n in place of all m < n, declared beforehand: from above.

    .. math:: E_k(v) = \frac1{b-a}\sum_{m=a}^{b-1}\frac{\binom mk}{\binom nk}(1-v)^{m-n}
              = \frac{P(\mathrm{Bin}(a,v)\le k) - P(\mathrm{Bin}(b,v)\le k)}{(b-a)\,v\,P(\mathrm{Bin}(n,v)=k)}

    Any weights on m < n that are fixed beforehand give an e-value, by the same proof. These gain five percent where
    10 to 100 of 10,000 were picked; with k >= b nothing is claimed.
    """
    _check_counts(k, n)
    first, last = -(-n // 2), -(-4 * n // 5)

    def certain(v: float) -> float:
        small, large = (log_binomial_cdf(k, size, v) for size in (first, last))
        apart = -math.expm1(large - small)
        if apart <= 1e-9:  # mutants: rounding-margins
            return -math.inf  # the difference is lost in rounding: nothing is certain here
        found = small + math.log(apart) - math.log(last - first) - math.log(v)
        found -= log_binomial_pmf(k, n, v)
        return found - (1e-13 + 1e-14 * (abs(small) + abs(found) + abs(k - n * v))) / apart  # mutants: rounding-margins

    return _least_excluded(certain, ln_delta, claims=k < last and first < last)


def _least_excluded(certain: Callable[[float], float], ln_delta: float, *, claims: bool) -> float:
    """From above, the v from which on ln E(v) > ln 1/delta, given what ln E certainly is; 1 if nothing is claimed."""
    if math.isnan(ln_delta) or ln_delta > 0.0:
        raise InputError("ln_delta", ln_delta, "a number at most 0")
    if not claims or math.isinf(ln_delta):
        return 1.0
    low, high = 0.0, 1.0
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-15 * high:  # mutants: rounding-margins
            return min(1.0, high + 4e-15 * high)  # mutants: rounding-margins
        if certain(middle) > -ln_delta:
            high = middle
        else:
            low = middle


def published_with_a_plus(k: int, n: int, delta: float) -> float:
    """The root of n v P(Bin(n, v) = k) = delta + P(Bin(n, v) >= k + 1): a product written as a sum, as seen in code.

    It is right of k/n; at k = 0 the two sides do not cross and the program returns 0.
    """
    _check_counts(k, n)

    def excess(v: float) -> float:
        above = -math.expm1(log_binomial_cdf(k, n, v))
        return math.log(n) + math.log(v) + log_binomial_pmf(k, n, v) - math.log(delta + above)

    if k == n:
        return 1.0  # mutants: search-effort
    low, high = k / n, 1.0  # mutants: search-effort
    if k == 0 or excess(low) <= 0.0:
        return low
    while low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return high


@functools.lru_cache(maxsize=4096)  # mutants: caches
def surrogate_joint(k: int, n: int, disagreements: int, m: int, ln_delta: float) -> float:
    r"""sup{v + U(d, m, delta E_k(v)) : 0 <= v <= eps(k, n, delta)}: h may have seen everything that is labelled.

    U decreases along v, so a cell [a, b] is bounded by b + U(d, m, delta E(a)); the cell that claims most is halved
    until it is narrow.
    """
    _check_counts(disagreements, m)
    highest = compression_upper(k, n, ln_delta)

    def distance(v: float) -> float:
        level = ln_delta + log_e_value(k, n, v)
        level -= 1e-12 * (1.0 + abs(level))  # mutants: rounding-margins
        return 0.0 if level >= 0.0 else binomial_upper(disagreements, m, level)  # mutants: rounding-margins

    cells = [(-(highest + distance(0.0)), 0.0, highest, distance(0.0))]
    attained = distance(0.0)
    while True:
        bound, low, high, at_low = cells[0]
        attained = max(attained, low + at_low)
        if -bound <= attained * (1.0 + REFINEMENT) or high - low < 1e-12:  # mutants: rounding-margins
            return up(min(1.0, -bound))
        heapq.heappop(cells)
        middle = 0.5 * (low + high)
        at_middle = distance(middle)
        heapq.heappush(cells, (-(middle + at_low), low, middle, at_low))
        heapq.heappush(cells, (-(high + at_middle), middle, high, at_middle))


@functools.lru_cache(maxsize=4096)  # mutants: caches
def surrogate_unseen(errors: int, n: int, disagreements: int, m: int, delta: float) -> float:
    r"""inf{theta : sup_{p+q=theta} P(m e' + n d' <= m e + n d) < delta}: h is independent of the hold-out too.

    e' ~ Bin(n, p) and d' ~ Bin(m, q) are independent; the tail decreases in both, so on a cell of p it is at most its
    value at the left end of p and of q. Whole numbers are compared, not fractions. Levels below 1e-200, where sums of
    probabilities underflow, and more than a million counts e' get the two limits at delta/2 each.
    """
    _check_counts(errors, n)
    _check_counts(disagreements, m)
    observed = m * errors + n * disagreements
    if delta < _SMALLEST_DELTA or min(n, observed // m) > _MOST_COUNTS:
        half = math.log(delta) - math.log(2.0)
        # mutants: search-effort
        return up(min(1.0, binomial_upper(errors, n, half) + binomial_upper(disagreements, m, half)))
    first = np.arange(min(n, observed // m) + 1, dtype=np.float64)
    second = np.minimum(m, (observed - m * first.astype(np.int64)) // n).astype(np.float64)
    ln_choose = (
        # mutants: search-effort
        scipy.special.gammaln(n + 1.0) - scipy.special.gammaln(first + 1.0) - scipy.special.gammaln(n - first + 1.0)
    )
    slack = 1.0 + 1e-10 + 1e-14 * float(scipy.special.gammaln(n + 1.0))  # mutants: rounding-margins, search-effort

    def tail(p: float, q: float) -> float:
        mass = np.exp(ln_choose + first * math.log(p) + (n - first) * math.log1p(-p)) if p > 0 else (first == 0) * 1.0
        return float(np.sum(mass * scipy.special.bdtr(second, m, q))) * slack

    def below(theta: float) -> bool:
        """Certainly every tail of p + q = theta < 1 is below delta."""
        stack = [(0.0, theta, 0)]  # mutants: search-effort
        while stack:
            low, high, depth = stack.pop()
            if tail(low, max(0.0, theta - high)) < delta:
                continue
            middle = 0.5 * (low + high)
            if depth == _DEEPEST or high - low < REFINEMENT * theta or tail(middle, theta - middle) >= delta:
                return False
            stack += [(low, middle, depth + 1), (middle, high, depth + 1)]  # mutants: search-effort
        return True

    low, high = max(errors / n, disagreements / m), 1.0  # mutants: search-effort
    while high - low > REFINEMENT * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if below(middle) else (middle, high)
    return up(high)


def _check_counts(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise InputError("k", k, f"a whole number in [0, {n}]")
