"""Binomial and relative-entropy inversions at their edges."""

import math

import mpmath
import pytest

from certiformer.calculus.tails import binary_kl, binomial_upper, kl_inverse, log_binomial_cdf
from certiformer.core.errors import InputError


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
        for k, n in ((0, 1), (1, 2), (1, 10), (5, 10), (9, 10), (3, 60), (30, 60), (59, 60)):
            low, high = mpmath.mpf(0), mpmath.mpf(1)
            for _ in range(70):
                p = (low + high) / 2
                tail = mpmath.fsum(mpmath.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))
                low, high = (p, high) if tail >= mpmath.mpf(delta) else (low, p)
            found = binomial_upper(k, n, math.log(delta))
            assert low <= found <= high * (1 + mpmath.mpf("1e-9"))
