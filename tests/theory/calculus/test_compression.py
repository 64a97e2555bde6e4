"""eps and its e-value against the sum that defines them, against laws known exactly, and the joint forms summed out."""

import math

import mpmath
import numpy as np
import pytest
from scipy.special import bdtr
from scipy.stats import binom

from certiformer.theory.calculus.compression import (
    compression_upper,
    log_e_value,
    surrogate_joint,
    surrogate_unseen,
    windowed_upper,
)
from certiformer.theory.calculus.tails import binomial_upper, log_binomial_pmf


def e_value_by_definition(k, n, v):
    with mpmath.workdps(40):
        v = mpmath.mpf(v)
        terms = (mpmath.binomial(m, k) / mpmath.binomial(n, k) * (1 - v) ** (m - n) for m in range(k, n))
        return mpmath.fsum(terms) / n


@pytest.mark.independent("compression")
@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 10), (3, 10), (9, 10), (5, 200), (60, 300)])
@pytest.mark.parametrize("v", [1e-6, 0.01, 0.2, 0.7, 0.999])
def test_closed_form_is_the_sum(k, n, v):
    assert log_e_value(k, n, v) == pytest.approx(
        float(mpmath.log(e_value_by_definition(k, n, v))), rel=1e-11, abs=1e-11
    )


@pytest.mark.independent("compression")
@pytest.mark.parametrize(("k", "n", "delta"), [(0, 5, 0.3), (4, 60, 0.05), (59, 60, 0.05), (30, 100, 1e-9)])
def test_the_root_is_never_below_the_truth(k, n, delta):
    found = compression_upper(k, n, math.log(delta))
    with mpmath.workdps(40):
        assert e_value_by_definition(k, n, found) * delta >= 1
        assert e_value_by_definition(k, n, found * (1 - 1e-8)) * delta < 1


@pytest.mark.property_of("compression")
@pytest.mark.parametrize("n", [5, 40, 300])
def test_boundary_cases(n):
    assert compression_upper(n, n, math.log(0.05)) == 1.0
    assert compression_upper(n - 1, n, math.log(0.05)) == pytest.approx(1 - 0.05 / n**2, abs=1e-12)
    values = [compression_upper(k, n, math.log(0.05)) for k in range(n + 1)]
    assert values == sorted(values)


@pytest.mark.independent("compression")
def test_many_examples_against_forty_digits():
    k, n, delta = 300, 100_000, 1e-6
    v = compression_upper(k, n, math.log(delta))
    with mpmath.workdps(40):
        x = mpmath.mpf(v)
        ln_pmf = mpmath.log(mpmath.binomial(n, k)) + k * mpmath.log(x) + (n - k) * mpmath.log(1 - x)
        ratio = n * x * mpmath.exp(ln_pmf) / (delta * (1 - mpmath.betainc(n - k, k + 1, 0, 1 - x, regularized=True)))
    assert 1 - 1e-8 < ratio <= 1


def test_pmf_by_deviances():
    with mpmath.workdps(40):
        for k, n, p in [(3, 10, 0.2), (500, 1000, 0.5), (7, 10**7, 1e-6), (10**6, 10**7, 0.11), (1, 2, 0.999999)]:
            exact = mpmath.log(mpmath.binomial(n, k)) + k * mpmath.log(p) + (n - k) * mpmath.log(1 - mpmath.mpf(p))
            assert log_binomial_pmf(k, n, p) == pytest.approx(float(exact), rel=1e-13, abs=1e-12)


@pytest.mark.counterexample("compression")
def test_the_published_sum_fails_more_often_than_delta():
    """The k largest of n numbers: risk is Beta(k, n - k + 1), so the certificate v fails with P(Bin(n, v) < k)."""
    from certiformer.theory.core import find

    found = find("compression").evaluate({"k": 237, "n": 10_612, "delta": 0.01})
    published, correct = found.printed["published"].value, found.sound["value"].value
    assert (round(100 * published, 2), round(100 * correct, 2)) == (2.53, 2.80)
    assert bdtr(236, 10_612, published) > 0.02
    assert bdtr(236, 10_612, correct) <= 0.01
    assert find("compression").evaluate({"k": 0, "n": 100, "delta": 0.01}).printed["published"].value == 0.0


HOLDOUTS = [
    (28, 5000, 10, 2115, 0.014349708, 0.015359248),
    (0, 1000, 0, 1000, 0.0029934898, 0.0045008971),
    (20, 1000, 50, 5000, 0.040472237, 0.044087644),
]


@pytest.mark.independent("surrogate")
@pytest.mark.parametrize(("e", "n", "d", "m", "unseen", "joint"), HOLDOUTS)
def test_joint_limits_are_from_above_and_close(e, n, d, m, unseen, joint):
    assert joint * (1 - 1e-8) <= surrogate_joint(e, n, d, m, math.log(0.05)) <= joint * 1.001
    assert unseen * (1 - 1e-8) <= surrogate_unseen(e, n, d, m, 0.05) <= unseen * 1.001


@pytest.mark.parametrize(
    ("k", "n", "d", "m", "joint"), [(34, 10_000, 10, 2115, 0.012922908), (34, 10_000, 100, 20_000, 0.010378296)]
)
def test_joint_with_a_compressed_surrogate(k, n, d, m, joint):
    assert joint * (1 - 1e-8) <= surrogate_joint(k, n, d, m, math.log(0.05)) <= joint * 1.001


@pytest.mark.independent("surrogate")
def test_exact_failure_probabilities_of_the_joint_forms():
    """All counts of a small hold-out: an independent h, and an h that knows e and chooses the worst disagreement."""
    n = m = 6
    delta, p = 0.2, 0.1
    joint = np.array([[surrogate_joint(e, n, d, m, math.log(delta)) for d in range(m + 1)] for e in range(n + 1)])
    unseen = np.array([[surrogate_unseen(e, n, d, m, delta) for d in range(m + 1)] for e in range(n + 1)])
    chance = binom.pmf(np.arange(n + 1), n, p)
    worst = np.zeros(n + 1)
    for q in np.linspace(0.0, 1 - p, 61):
        law = binom.pmf(np.arange(m + 1), m, q)
        assert np.sum(chance[:, None] * law * (unseen < p + q)) <= delta
        worst = np.maximum(worst, (joint < p + q) @ law)
    assert chance @ worst <= delta


def test_limit_below_the_observed_rate_where_the_level_is_above_one_half():
    assert binomial_upper(5, 10, math.log(0.9)) < 0.5
    assert bdtr(5, 10, binomial_upper(5, 10, math.log(0.9))) == pytest.approx(0.9, rel=1e-9)


@pytest.mark.independent("compression")
@pytest.mark.parametrize(("k", "n", "delta"), [(0, 4, 0.3), (2, 30, 0.05), (20, 60, 0.05), (7, 200, 1e-9)])
def test_a_declared_window_is_the_root_of_its_own_sum(k, n, delta):
    found = windowed_upper(k, n, math.log(delta))
    with mpmath.workdps(40):
        window = range(-(-n // 2), -(-4 * n // 5))

        def e_value(v):
            v = mpmath.mpf(v)
            terms = (mpmath.binomial(m, k) / mpmath.binomial(n, k) * (1 - v) ** (m - n) for m in window if m >= k)
            return mpmath.fsum(terms) / len(window)

        assert e_value(0) <= 1
        assert e_value(found) * delta >= 1
        assert e_value(found * (1 - 1e-8)) * delta < 1


@pytest.mark.independent("compression")
def test_windows_of_the_note():
    for k, percent in (
        (5, 0.1439),
        (10, 0.2083),
        (30, 0.4614),
        (34, 0.5112),
        (40, 0.5853),
        (100, 1.3035),
        (300, 3.597),
    ):
        assert 100 * windowed_upper(k, 10_000, math.log(0.05)) == pytest.approx(percent, abs=6e-4 if k == 300 else 6e-5)
    assert windowed_upper(9, 10, math.log(0.05)) == 1.0
    assert windowed_upper(0, 1, math.log(0.05)) == 1.0


@pytest.mark.property_of("compression")
def test_one_form_is_declared_and_the_other_does_not_apply():
    import certiformer

    for form, other in (("value", "window"), ("window", "value")):
        found = certiformer.bound("compression", k=34, n=10_000, delta=0.05, form=form)
        assert found.best == form
        assert not found.sound[other].applies


@pytest.mark.independent("surrogate")
@pytest.mark.parametrize(("e", "n", "d", "m"), [(0, 10_000, 1, 50), (2, 40, 0, 3000)])
def test_the_worst_split_may_be_all_on_one_side(e, n, d, m):
    """Tails of p + q = theta by convolution: below delta everywhere at the limit, above it somewhere just below."""
    delta, shares = 0.05, np.append(np.linspace(0.0, 1.0, 41), [1e-4, 1e-3, 1e-2, 0.999, 0.9999])
    first = np.arange(min(n, (m * e + n * d) // m) + 1)
    second = np.minimum(m, (m * e + n * d - m * first) // n)

    def worst(theta):
        return max(np.sum(binom.pmf(first, n, s * theta) * binom.cdf(second, m, (1 - s) * theta)) for s in shares)

    found = surrogate_unseen(e, n, d, m, delta)
    assert worst(found) < delta <= worst(found / 1.001)
