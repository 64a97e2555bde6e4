"""Binomial and relative-entropy inversions at their edges."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.special

from certiformer.theory.calculus import tails
from certiformer.theory.calculus.tails import (
    _stirling_error,
    binary_kl,
    binomial_cdf,
    binomial_upper,
    kl_inverse,
    log_binomial_cdf,
    log_binomial_pmf,
)
from certiformer.theory.core.errors import InputError


def exact_log_cdf(k, n, p):
    with mpmath.workdps(40):
        p = mpmath.mpf(p)
        return float(mpmath.log(mpmath.fsum(mpmath.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))))


@pytest.mark.parametrize(
    ("k", "n", "p"),
    [(0, 5, 0.3), (2, 5, 0.3), (4, 5, 0.9), (10, 100, 0.5), (60, 100, 0.5), (99, 100, 0.2), (3, 2000, 0.1)],
)
def test_log_cdf_is_exact(k, n, p):
    assert log_binomial_cdf(k, n, p) == pytest.approx(exact_log_cdf(k, n, p), rel=1e-12, abs=1e-12)


def test_log_cdf_at_the_ends():
    assert log_binomial_cdf(5, 5, 0.5) == 0.0
    assert log_binomial_cdf(2, 5, 0.0) == 0.0
    assert log_binomial_cdf(2, 5, 1.0) == -math.inf


def test_sums_longer_than_one_block_are_complete():
    # 9,000 terms on either side of the mode count.
    assert log_binomial_cdf(50_000, 100_000_000, 0.0005) == pytest.approx(math.log(0.5), abs=0.01)


def test_tiny_delta_does_not_underflow():
    limit = binomial_upper(50, 1000, -5000.0)
    assert 0.99 < limit < 1.0
    assert log_binomial_cdf(50, 1000, limit) <= -5000.0
    assert log_binomial_cdf(50, 1000, limit * (1 - 1e-9)) > -5000.01


def test_edges_of_the_binomial_limit():
    assert binomial_upper(10, 10, -3.0) == 1.0
    assert binomial_upper(3, 10, -math.inf) == 1.0
    assert binomial_upper(0, 10, math.log(0.05)) == pytest.approx(1 - 0.05**0.1, rel=1e-12)
    for bad in (-1, 11):
        with pytest.raises(InputError, match="errors"):
            binomial_upper(bad, 10, -1.0)
    for bad in (0.1, math.nan):
        with pytest.raises(InputError, match="ln_delta"):
            binomial_upper(1, 10, bad)


def test_binary_kl():
    assert binary_kl(0.5, 0.5) == 0.0
    assert binary_kl(0.0, 0.5) == pytest.approx(math.log(2))
    assert binary_kl(1.0, 0.5) == pytest.approx(math.log(2))
    assert binary_kl(0.5, 0.0) == binary_kl(0.5, 1.0) == math.inf
    assert binary_kl(0.0, 0.0) == binary_kl(1.0, 1.0) == 0.0
    assert binary_kl(0.1, 0.3) == pytest.approx(0.1 * math.log(1 / 3) + 0.9 * math.log(0.9 / 0.7))


def test_edges_of_the_kl_inverse():
    assert kl_inverse(1.0, 0.1) == kl_inverse(0.2, math.inf) == 1.0
    assert kl_inverse(0.2, 0.0) == pytest.approx(0.2, abs=1e-7)
    assert kl_inverse(0.0, 0.0) == 0.0
    for q, c in ((-0.1, 1.0), (1.1, 1.0), (0.5, -1.0), (0.5, math.nan), (math.nan, 1.0)):
        with pytest.raises(InputError):
            kl_inverse(q, c)


@pytest.mark.parametrize("budget", [10.0, 15.0, 17.0, 18.62153219962803])
def test_kl_close_to_certainty(budget):
    # 1 - p has few digits left there; the logarithm must neither fail nor overstate the divergence.
    q = 0.4678878549542799
    limit = kl_inverse(q, budget)
    if limit < 1.0:
        with mpmath.workdps(60):
            exact_q, p = mpmath.mpf(q), mpmath.mpf(limit)
            exact = exact_q * mpmath.log(exact_q / p) + (1 - exact_q) * mpmath.log((1 - exact_q) / (1 - p))
            assert exact >= budget
    assert binary_kl(0.3, 1 - 2**-53) == pytest.approx(0.3 * math.log(0.3) + 0.7 * math.log(0.7 * 2**53), rel=1e-12)


@pytest.mark.parametrize("delta", [0.4, 0.499, 0.5, 0.51, 0.7, 0.9, 0.999])
def test_the_binomial_limit_at_every_level_against_forty_digits(delta):
    """Beyond delta = 1/2 the limit may lie below errors/n: it still is the exact root, from above."""
    with mpmath.workdps(40):

        def tail(k, n, p):
            return mpmath.fsum(mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))

        for k, n in ((0, 1), (1, 2), (1, 10), (5, 10), (9, 10), (3, 60), (30, 60), (59, 60)):
            found = mpmath.mpf(binomial_upper(k, n, math.log(delta)))
            assert tail(k, n, found) <= mpmath.mpf(delta) <= tail(k, n, found * (1 - mpmath.mpf("1e-9")))


def test_the_logarithm_of_a_probability_is_never_positive():
    for n in (2, 7, 30, 100):
        for p in (1e-9, 1e-3, 0.02, 0.1, 0.3):
            assert all(log_binomial_cdf(k, n, p) <= 0.0 for k in range(n + 1))


def test_half_of_a_hundred_million_is_summed_to_the_end():
    """P(Bin(n, 1/2) <= n/2) = 1/2 + P(n/2)/2 by symmetry; eleven standard deviations are 55,000 terms."""
    n = 10**8
    with mpmath.workdps(40):
        middle = mpmath.exp(mpmath.loggamma(n + 1) - 2 * mpmath.loggamma(n // 2 + 1) - n * mpmath.log(2))
        exact = float(mpmath.log((1 + middle) / 2))
    assert log_binomial_cdf(n // 2, n, 0.5) == pytest.approx(exact, rel=1e-10)


def test_the_cdf_of_arrays_against_sums_of_whole_numbers():
    k, n, p = np.array([-3, -1, 0, 1, 4, 9, 10, 12]), 10, 0.3
    exact = [float(sum(Fraction(3, 10) ** j * Fraction(7, 10) ** (n - j) * math.comb(n, j) for j in range(one + 1)))
             for one in np.minimum(k, n)]  # fmt: skip
    assert binomial_cdf(k, n, p).tolist() == pytest.approx(exact, rel=1e-12)
    assert binomial_cdf(2, np.array([1, 2, 5]), 0.5).tolist() == [1.0, 1.0, 0.5]


def test_a_certain_event_has_the_logarithm_zero():
    for p, certain in ((0.0, 0), (1.0, 10)):
        for k in range(11):
            assert log_binomial_pmf(k, 10, p) == (0.0 if k == certain else -math.inf)


@pytest.mark.parametrize("x", [1, 2, 15, 16, 17, 25, 300])
def test_stirling_errors_against_forty_digits(x):
    """The series stops after x^-9: at x = 16, where it takes over, 2e-14 of it are left out."""
    with mpmath.workdps(40):
        exact = mpmath.loggamma(x + 1) - mpmath.log(2 * mpmath.pi * x) / 2 - x * mpmath.log(x) + x
    assert _stirling_error(x) == pytest.approx(float(exact), rel=1e-13 if x >= 16 else 1e-11, abs=0.0)


def test_limits_are_probabilities():
    assert binomial_upper(9, 10, -5000.0) == 1.0
    assert kl_inverse(0.5, 60.0) == 1.0
    assert kl_inverse(0.0, 60.0) == 1.0


def test_no_errors_and_a_tiny_budget():
    """kl(0 || p) = -ln(1-p): every digit, also where the divergence is near the smallest that can be told from zero."""
    for budget in (1e-15, 1e-9, 0.3):
        assert kl_inverse(0.0, budget) == pytest.approx(-math.expm1(-budget), rel=2e-14, abs=0.0)


@pytest.mark.parametrize("q", [0.2, 0.5])
def test_budgets_too_small_to_resolve_end_at_pinsker(q):
    budget = 1e-18
    with mpmath.workdps(60):
        # kl(q || q + d) <= d^2/2q(1-q) + O(d^3)
        exact = mpmath.mpf(q)
        p = exact + mpmath.sqrt(2 * exact * (1 - exact) * budget) * (1 - mpmath.mpf("1e-6"))
        assert exact * mpmath.log(exact / p) + (1 - exact) * mpmath.log((1 - exact) / (1 - p)) <= budget
    assert p <= kl_inverse(q, budget) <= q + math.sqrt(budget / 2) + 1e-14


@pytest.mark.parametrize("deviation", [-6.5, -1.0, 0.0, 2.5])
def test_huge_samples_are_summed_in_blocks_and_err_upwards(deviation):
    n, p = 10**11, 0.4
    errors = round(n * p + deviation * math.sqrt(n * p * (1 - p)))
    exact = float(scipy.special.log_ndtr(deviation))  # the binomial is Gaussian to five digits here
    found = tails.at_least_log_binomial_cdf(errors, n, p)
    assert exact - 1e-3 <= found <= exact + 0.2
    limit = tails.binomial_upper(errors, n, math.log(0.05))
    assert errors / n < limit < errors / n + 2.0 * math.sqrt(0.24 / n)


def test_samples_beyond_the_floats_get_chernoffs_bound():
    for n in (10**14 + 1, 2**63, 10**30, 10**300):
        limit = tails.binomial_upper(n // 5, n, math.log(0.05))
        assert 0.2 < limit <= 0.2 + math.sqrt(math.log(20) / (2 * n)) + 1e-7
        assert tails.at_least_log_binomial_cdf(n // 5, n, 0.21) == pytest.approx(
            -n * tails.binary_kl(0.2, 0.21), rel=1e-6
        )
        assert tails.at_least_log_binomial_cdf(n // 5, n, 0.19) == 0.0


def test_the_largest_count_is_that_of_the_distribution_function():
    from certiformer.theory.calculus.tails import binomial_cdf, largest_count

    sizes = np.array([1, 2, 10, 58, 59, 100, 1000, 12_345])
    for level in (0.5, 0.05, 1e-9):
        for p in (0.001, 0.05, 0.5, 0.97):
            found = largest_count(level, sizes, p)
            for n, k in zip(sizes, found, strict=True):
                assert k == -1 or binomial_cdf(k, n, p) <= level
                assert k == n or binomial_cdf(k + 1, n, p) > level


def test_sums_in_blocks_are_the_sums_of_terms_and_never_below():
    """Blocks of one term are the terms themselves; wider ones are above by at most a block's fall."""
    for n, p, top, step, stop in ((300, 0.03, 9, -1, 0), (300, 0.03, 9, 1, 60), (5, 0.5, 2, 1, 5)):
        plain = tails.partial_ratio(top, n, p, step=step, stop=stop)
        assert tails._ratio_in_blocks(top, n, p, step=step, stop=stop) == pytest.approx(plain, rel=1e-9)
    n, p, top = 10**8, 0.01, 10**6
    plain = tails.partial_ratio(top, n, p, step=-1, stop=top - 40_000)
    assert plain <= tails._ratio_in_blocks(top, n, p, step=-1, stop=top - 40_000) <= plain * 1.02
    assert tails.at_least_log_binomial_cdf(top, n, p) == log_binomial_cdf(top, n, p)  # blocks begin beyond 10^10
