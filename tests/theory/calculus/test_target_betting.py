"""Target betting against the recursion as the docstring writes it, one mean and one step at a time."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.calculus.target_betting import (
    _mixture_upper,
    _target_upper,
    evidence_against,
    fixed_orders,
    target_upper,
)
from certiformer.theory.core.errors import InputError

NORMAL = NormalDist()


def capitals(w, y, m, delta, tau):
    """K_1, ..., K_n against the mean m."""
    n, T, K, found = len(w), tau / delta, 1.0, []
    errors, weight, squares = 0.5, 1.0, 0.0
    for t, (one, loss) in enumerate(zip(w, y, strict=True), 1):
        deviation = math.sqrt((2 / 4 + squares) / (2 + t - 1) * (n - t + 1))
        hedge = T * NORMAL.pdf(NORMAL.inv_cdf(K / T)) / deviation if 0.0 < K < T else 0.0
        K += min(hedge, K / (1 - m), (T - K) / m) * (m * one - loss)
        K = min(max(K, 0.0), T)
        errors, weight = errors + loss, weight + one
        squares += (loss - errors / weight * one) ** 2
        found.append(K)
    return found


def rejected(w, y, m, delta, orders):
    if orders is None:
        return max(capitals(w, y, m, delta, 1.3)) >= 1 / delta
    return np.mean([capitals(w[row], y[row], m, delta, 1.5)[-1] for row in orders]) >= 1 / delta


def limit(w, y, delta, orders):
    """The least mean that is rejected; 1 if none is. Below 1e-3 half of delta is for fixed bets."""
    if delta < 1e-3:
        fixed = boundary(lambda m: mixture(w, y, m) >= 2 / delta, y, w)
        return min(fixed, boundary(lambda m: rejected(w, y, m, delta / 2, orders), y, w))
    return boundary(lambda m: rejected(w, y, m, delta, orders), y, w)


def mixture(w, y, m):
    """Ten bets of a fixed share of what can be bet, weighted like 1/2, 1/3, ..."""
    shares = [0.95, *(2.0**-j for j in range(1, 10))]
    weights = [1 / (j + 2) for j in range(10)]
    capital = [
        math.prod(1 + f * (m * one - loss) / (1 - m) for one, loss in zip(w.tolist(), y.tolist(), strict=True))
        for f in shares
    ]
    return sum(c * v for c, v in zip(capital, weights, strict=True)) / sum(weights)


def boundary(rejects, y, w):
    low, high = float(np.sum(y) / np.sum(w)), math.nextafter(1.0, 0.0)
    if not rejects(high):
        return 1.0
    while high - low > 1e-11:
        middle = (low + high) / 2
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return high


i = np.arange(1, 31)
GOLDEN = (i * 0.6180339887498949) % 1
PROBLEMS = {
    "no errors": (np.ones(30), np.zeros(30), 0.05),
    "a third of errors": (np.ones(30), (i % 3 == 1).astype(float), 0.05),
    "half of ten": (np.ones(10), (i[:10] % 2).astype(float), 0.05),
    "losses near one": (np.ones(30), 1 - 0.2 * GOLDEN, 0.1),
    "all the same": (np.ones(30), np.full(30, 0.5), 0.01),
    "weights": (0.05 + 0.95 * GOLDEN, (0.05 + 0.95 * GOLDEN) * (i % 4 == 0), 0.05),
    "little weight in all": (np.full(30, 1 / 32), np.zeros(30), 0.7),
    "two": (np.ones(2), np.array([0.0, 0.25]), 0.3),
    "a small level": (np.ones(30), GOLDEN**3, 1e-4),
    "nothing is rejected": (np.ones(5), np.array([1.0, 0.9, 1.0, 0.8, 1.0]), 0.01),
}


@pytest.mark.parametrize("several", [False, True], ids=["one order", "several orders"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_limit_is_the_least_mean_that_is_rejected(name, several):
    w, y, delta = PROBLEMS[name]
    orders = fixed_orders(len(w)) if several else None
    exact = limit(w, y, delta, orders)
    assert target_upper(w, y, delta, orders) == pytest.approx(exact, rel=1e-9)
    assert (exact == 1.0) == (target_upper(w, y, delta, orders) == 1.0)


def test_problems_reach_from_small_limits_to_none_at_all():
    limits = [limit(w, y, delta, None) for w, y, delta in PROBLEMS.values()]
    assert min(limits) < 0.2
    assert sum(0.95 < found < 1.0 for found in limits) >= 1
    assert sum(found == 1.0 for found in limits) == 1


def test_where_nothing_can_be_rejected_the_limit_is_one():
    assert target_upper(np.ones(4), np.ones(4), 0.05) == 1.0
    assert target_upper(np.zeros(4), np.zeros(4), 0.05) == 1.0


TINY = [  # zeros, delta, limit of the target alone: by exact arithmetic of 50 digits
    (5000, 1e-12, 0.005532659902),
    (300, 1e-12, 0.08809079211),
    (200, 1e-12, 0.1291000221),
    (200, 1e-30, 0.2920542156),
    (200, 0.05, 0.01546423558),
]


@pytest.mark.parametrize(("n", "delta", "expected"), TINY)
def test_a_tiny_delta_costs_its_logarithm_only(n, delta, expected):
    assert _target_upper(np.ones(n), np.zeros(n), delta, None) == pytest.approx(expected, rel=1e-9)
    found = target_upper(np.ones(n), np.zeros(n), delta)
    assert -math.expm1(math.log(delta) / n) < found <= (1.05 if delta < 1e-3 else 1.0 + 1e-9) * expected
    if delta < 1e-3:
        assert found < target_upper(np.ones(n), np.zeros(n), delta / 100)


def test_errors_at_a_tiny_delta_are_for_the_fixed_bets():
    y = np.random.default_rng(0).permutation((np.arange(2000) < 49).astype(float))
    for delta, fixed in ((1e-6, 0.04895), (1e-12, 0.06196)):
        assert _mixture_upper(np.ones(2000), y, delta) == pytest.approx(fixed, abs=1e-5)
        assert binomial_upper(49, 2000, math.log(delta)) < target_upper(np.ones(2000), y, delta) < 1.02 * fixed
    with pytest.raises(InputError, match="1e-300"):
        target_upper(np.ones(9), np.zeros(9), 1e-301)


@pytest.mark.parametrize("delta", [0.05, 1e-6])
@pytest.mark.parametrize("several", [False, True])
def test_evidence_reaches_one_over_delta_at_the_limit(delta, several):
    w, y = np.ones(200), (np.arange(200) % 40 == 3).astype(float)
    orders = fixed_orders(200) if several else None
    limit = target_upper(w, y, delta, orders)
    below, above = (evidence_against(limit * factor, w, y, delta, orders) for factor in (1 - 1e-7, 1 + 1e-7))
    assert below < 1 / delta <= above
