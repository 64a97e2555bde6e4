"""Robust losses against mpmath and quadrature; the guarantees by simulation."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus import robust
from certiformer.theory.core.errors import InputError

POINTS = np.array([-50.0, -3.0, -1.0, -0.2, -1e-9, 0.0, 1e-9, 0.2, 0.5, 1.0, 2.0, 7.5, 1e6])


def _wide(x):
    x = mpmath.mpf(x)
    return mpmath.sign(x) * mpmath.log(1 + abs(x) + x**2 / 2)


@pytest.mark.independent("li.thm6.9")
def test_influence_functions_against_mpmath():
    with mpmath.workdps(40):
        for x in POINTS:
            assert float(robust.catoni_wide(x)) == pytest.approx(float(_wide(x)), rel=1e-12)
            for alpha in (1.1, 1.5):
                m = mpmath.mpf(abs(x))
                expected = math.copysign(1.0, x) * float(mpmath.log(1 + m + m**alpha / alpha))
                assert float(robust.catoni_generalized(x, alpha)) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    for alpha in (1.0, 2.1):
        with pytest.raises(InputError, match="alpha"):
            robust.catoni_generalized(POINTS, alpha)


@given(x=st.floats(-40, 40), alpha=st.sampled_from([1.05, 1.3, 1.7, 2.0]))
def test_influence_functions_lie_in_their_sandwich(x, alpha):
    """-ln(1 - x + |x|^alpha/alpha) <= psi <= ln(1 + x + |x|^alpha/alpha); this is all the guarantees use."""
    low = -math.log(1 - x + abs(x) ** alpha / alpha)
    high = math.log(1 + x + abs(x) ** alpha / alpha)
    assert low - 1e-12 <= float(robust.catoni_generalized(np.float64(x), alpha)) <= high + 1e-12


def test_plain_numbers_are_welcome():
    assert robust.catoni_wide(2.0) == pytest.approx(math.log(5))
    assert robust.huber(-3.0, 1.0) == pytest.approx(2.5)
    assert robust.huber(0.5, 1.0) == pytest.approx(0.125)


@pytest.mark.independent("li.thm6.9", "li.thm6.10", "li.thm6.11")
@pytest.mark.parametrize("alpha", [1.05, 1.1, 1.25, 1.5, 1.75, 1.9])
def test_slopes_are_rounded_up_suprema(alpha):
    with mpmath.workdps(30):

        def derivative(x):
            return (1 + x ** (alpha - 1)) / (1 + x + x**alpha / alpha)

        best = max(derivative(mpmath.exp(mpmath.mpf(i) / 50)) for i in range(-2000, 200))
        top = max(range(-2000, 200), key=lambda i: derivative(mpmath.exp(mpmath.mpf(i) / 50)))
        fine = [mpmath.exp(mpmath.mpf(top) / 50 + mpmath.mpf(j) / 500_000) for j in range(-10_000, 10_001, 20)]
        supremum = max(best, *(derivative(x) for x in fine))
    assert robust.slope(alpha) > 1
    assert 0 <= robust.slope(alpha) - float(supremum) <= 1.1e-7


def test_slopes_known_to_ten_digits():
    """Independent values of the suprema; each constant is at least that and at most one in the seventh digit more."""
    for alpha, supremum in {
        1.05: 1.76431726907,
        1.1: 1.62532745622,
        1.25: 1.37939053435,
        1.75: 1.06164691892,
        1.9: 1.01744076506,
    }.items():
        assert supremum <= robust.slope(alpha) <= supremum + 1.1e-7
    assert robust.slope(2.0) == 1.0


def test_the_bias_of_truncation_is_small():
    loss = np.exp(np.linspace(-5, 12, 200))
    gap = loss - robust.log_truncated(loss, 1.0)
    assert np.all(gap >= 0)
    assert np.all(gap <= np.minimum(loss**3 / 6, 0.1036 * loss**2) + 1e-12)


# --- guarantees --------------------------------------------------------------------------------------------------


@given(alpha=st.sampled_from([1.2, 1.5, 2.0]), log_size=st.floats(0, 20), moment=st.floats(0.1, 100))
def test_truncated_erm_uses_the_best_scale(alpha, log_size, moment):
    n, eta = 500, 0.05
    best = robust.truncated_erm(n, log_size, moment, eta, alpha=alpha)
    scale = robust.truncated_erm_scale(n, log_size, moment, eta, alpha)
    for factor in (0.7, 1.0, 1.4):
        assert best <= robust.truncated_erm(n, log_size, moment, eta, alpha=alpha, scale=scale * factor) * (1 + 1e-12)
    level = (math.log(2 / eta) + log_size + math.log(2 / eta)) / 2
    explicit = 2 * scale ** (alpha - 1) * moment / alpha + 2 * level / (n * scale)
    assert best == pytest.approx(explicit, rel=1e-12)
    if alpha == 2.0:
        assert best == pytest.approx(2 * math.sqrt(2 * moment * level / n), rel=1e-12)


@pytest.mark.independent("li.thm6.9", "li.thm6.10", "li.thm6.11")
def test_truncated_erm_keeps_its_promise():
    """Squared losses of constants under Student t(5) noise: excess above the bound in at most eta of the runs."""
    rng = np.random.default_rng(2)
    thetas, n, eta = np.linspace(-1, 1, 9), 200, 0.1
    variance, fourth = 5 / 3, 25.0
    moment = max(fourth + 6 * variance * t**2 + t**4 for t in thetas)  # E (xi - t)^4
    bound = robust.truncated_erm(n, math.log(9), moment, eta)
    scale = robust.truncated_erm_scale(n, math.log(9), moment, eta)
    misses = 0
    for _ in range(200):
        y = rng.standard_t(5, size=n)
        truncated = robust.log_truncated((y[:, None] - thetas) ** 2, scale)
        chosen = thetas[np.argmin(truncated.mean(axis=0))]
        misses += chosen**2 > bound
    assert misses / 200 <= eta
    assert bound < 6.0


def test_discretisation_of_truncated_erm():
    assert robust.truncated_erm_discretisation(2.0, 1.5, 0.1) == pytest.approx(2 * 0.1 * 2.5)
    assert robust.truncated_erm_discretisation(2.0, 1.5, 0.1, 0.01, 0.02) == pytest.approx(2 * 0.11 + 3 * 0.12)


def test_two_moments_are_the_default():
    n, log_size, moment, eta = 100, 3.0, 2.0, 0.05
    level = math.log(2 / eta) + log_size / 2
    assert robust.truncated_erm_scale(n, log_size, moment, eta) == pytest.approx(math.sqrt(2 * level / (n * moment)))
    assert robust.truncated_erm(n, log_size, moment, eta) == pytest.approx(2 * math.sqrt(2 * moment * level / n))
