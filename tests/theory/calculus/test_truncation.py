"""Tail functionals by quadrature; S7, S8 and the clipped forms against all samples of tiny problems."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from certiformer.theory.calculus import excess_risk, truncation
from certiformer.theory.calculus.covers import volumetric
from certiformer.theory.calculus.excess_risk import given_cover
from certiformer.theory.calculus.truncation import Power, SubGaussian
from theory.calculus.tiny_problems import erm, law, miscoverage

TAILS = [SubGaussian(9.0, 1.0), SubGaussian(0.5, 2.0), Power(2.0, 3.0), Power(1.0, 2.5), Power(50.0, 4.0)]


@pytest.mark.independent("li.thm6.4", "li.thm6.5", "li.thm6.6", "li.thm6.9", "li.thm6.10", "li.thm6.11")
@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("M", [0.7, 2.0, 6.0])
def test_moments_by_quadrature(tail, M):
    """m1 and m2 are the integrals of the tail, cut at one."""
    kink = [tail.crossing] if tail.crossing > M else []
    top = max(M, tail.crossing) * 60 + 60

    def integral(function):
        pieces = [M, *kink, *(max(M, tail.crossing) + step for step in (1.0, 5.0, 20.0)), top]
        pieces = sorted({x for x in pieces if x >= M})
        total = sum(quad(function, a, b, limit=200)[0] for a, b in itertools.pairwise(pieces))
        return total + quad(function, top, math.inf, limit=200)[0]

    first = 2 * M * tail.probability(M) + integral(tail.probability)
    second = 4 * M**2 * tail.probability(M) + integral(lambda t: 2 * (t + M) * tail.probability(t))
    assert truncation.first_moment(tail, M) == pytest.approx(first, rel=1e-6)
    assert truncation.second_moment(tail, M) == pytest.approx(second, rel=1e-5)


def test_closed_forms_of_the_moments():
    a, v, M = 9.0, 1.0, 3.0
    m0 = a * math.exp(-(M**2) / (2 * v))
    area = a * math.sqrt(math.pi * v / 2) * math.erfc(M / math.sqrt(2 * v))
    tail = SubGaussian(a, v)
    assert tail.probability(M) == pytest.approx(m0)
    assert truncation.first_moment(tail, M) == pytest.approx(2 * M * m0 + area, rel=1e-12)
    assert truncation.second_moment(tail, M) == pytest.approx((4 * M**2 + 2 * v) * m0 + 2 * M * area, rel=1e-12)
    power = Power(2.0, 3.0)
    assert truncation.first_moment(power, 10.0) == pytest.approx(2 * 10**-2 * 5 / 2, rel=1e-12)
    assert truncation.second_moment(power, 10.0) == pytest.approx(2 / 10 * (4 + 2 + 1), rel=1e-12)


def test_tails_never_exceed_one_and_moments_may_be_infinite():
    assert SubGaussian(9.0, 1.0).probability(0.1) == 1.0
    assert Power(4.0, 2.0).probability(1.0) == 1.0
    assert SubGaussian(9.0, 1.0).crossing == pytest.approx(math.sqrt(2 * math.log(9)))
    assert SubGaussian(1.0, 1.0).crossing == 0.0
    assert SubGaussian(1.05, 1.0).crossing == pytest.approx(math.sqrt(2 * math.log(1.05)))
    assert Power(1.0, 1.05).area(2.0) == pytest.approx(2.0**-0.05 / 0.05)
    assert Power(1.0, 2.1).moment(2.0) == pytest.approx(2 * 2.0**-0.1 / 0.1)
    assert Power(8.0, 3.0).crossing == pytest.approx(2.0)
    assert truncation.first_moment(Power(1.0, 1.0), 2.0) == math.inf
    assert truncation.second_moment(Power(1.0, 2.0), 2.0) == math.inf
    assert truncation.first_moment(Power(1.0, 1.5), 2.0) < math.inf


def test_threshold_makes_the_tail_one_over_n():
    tail = SubGaussian(9.0, 2.0)
    assert tail.probability(tail.threshold(1000)) == pytest.approx(1e-3)
    assert SubGaussian(0.001, 1.0).threshold(10) == 0.0


@pytest.mark.independent("li.ass6.2", "li.thm6.9")
def test_tails_of_gaussian_tokens_and_of_entries():
    rng = np.random.default_rng(0)
    covariance = np.diag([1.0, 0.5, 0.25])
    tokens = rng.normal(size=(40_000, 4, 3)) @ np.sqrt(covariance)
    b = np.linalg.norm(tokens, axis=2).max(axis=1)
    tail = truncation.gaussian_tokens(4, 3, 1.0)
    assert tail == SubGaussian(4 * 2**1.5, 2.0)
    for t in np.linspace(0.5, 6, 23):
        assert np.mean(b > t) <= tail.probability(float(t)) + 1e-9


@pytest.mark.parametrize("dimension", [900, 1024, 1025, 5000])
def test_tokens_in_more_dimensions_than_floats_have_powers_of_two(dimension):
    """a = T 2^(d/2) by its logarithm: tail, crossing, threshold and both integrals as in forty digits."""
    tokens, spectral = 3, 0.01
    tail = truncation.gaussian_tokens(tokens, dimension, spectral)
    with mpmath.workdps(40):
        v, ln_a = 2 * mpmath.mpf(spectral), mpmath.log(tokens) + dimension * mpmath.log(2) / 2
        crossing = mpmath.sqrt(2 * v * ln_a)
        assert tail.crossing == pytest.approx(float(crossing), rel=1e-13)
        assert tail.threshold(1000) == pytest.approx(float(mpmath.sqrt(2 * v * (ln_a + mpmath.log(1000)))), rel=1e-13)
        for t in (1.001 * tail.crossing, 1.05 * tail.crossing):
            formula = mpmath.exp(ln_a - mpmath.mpf(t) ** 2 / (2 * v))
            area = mpmath.exp(ln_a) * mpmath.sqrt(mpmath.pi * v / 2) * mpmath.erfc(t / mpmath.sqrt(2 * v))
            assert tail.probability(t) == pytest.approx(float(formula), rel=1e-9, abs=0.0)
            assert tail.area(t) == pytest.approx(float(area), rel=1e-9, abs=0.0)
            assert tail.moment(t) == pytest.approx(float(2 * v * formula), rel=1e-9, abs=0.0)
    assert tail.probability(0.5 * tail.crossing) == 1.0


# --- tiny problems with rare, huge inputs ------------------------------------------------------------------------


def _heavy(rng, labels):
    """Scalars f(x) = theta x, inputs of which some are rare and huge, labels f0(x) + noise."""
    x = rng.uniform(-1, 1, size=int(rng.integers(2, 4)))
    x[-1] = rng.choice([-1, 1]) * rng.uniform(5, 50)
    rare = rng.choice([0.002, 0.02, 0.1])
    px = np.append(law(rng, len(x) - 1) * (1 - rare), rare)
    thetas = np.append(rng.uniform(-1, 1, size=int(rng.integers(1, 5))), 0.0)
    truth = float(rng.choice(thetas))
    noise, weights = labels
    X = np.repeat(x, len(noise))
    p = np.outer(px, weights).ravel()
    y = truth * X + np.tile(noise, len(x))
    return X, p, y, thetas, truth


@pytest.mark.independent("li.thm6.4", "li.thm6.5", "li.thm6.9", "li.thm6.10")
def test_truncated_lipschitz_bound_holds_on_every_tiny_problem():
    rng = np.random.default_rng(1)
    checked, worst = 0, 0.0
    while checked < 80:
        s = float(rng.choice([0.2, 1.0]))
        X, p, y, thetas, truth = _heavy(rng, (np.array([-s, 0.0, s]), np.array([0.25, 0.5, 0.25])))
        M, n = float(rng.choice([1.0, 3.0])), int(rng.integers(1, 4))
        cut = X * np.minimum(1.0, M / np.abs(X))
        K = float(np.max(np.abs(thetas)))
        losses = np.abs(y - np.outer(thetas, cut))
        g = losses - np.abs(y - truth * cut)
        inside = np.abs(X) <= M
        mean, square = g[:, inside] @ p[inside], g[:, inside] ** 2 @ p[inside]
        live = square > 1e-12
        if np.any(live & (mean <= 1e-9)) or K == 0:
            continue
        V = float(np.max(square[live] / mean[live], initial=1e-3))
        tau_1 = float(np.abs(truth * (X - cut)) @ p)
        outside = float(p[~inside].sum())
        excess = losses @ p - np.abs(y - truth * X) @ p
        actual = erm(p, losses, excess, n)[0]
        cover = given_cover(math.log(len(thetas)))
        common = {"M_g": 2 * K * M, "kappa": 1.0, "outside": outside, "tau_1": tau_1}
        fixed = truncation.lipschitz(cover, 0.0, n, V=V, **common)
        best = truncation.lipschitz_best(cover, 0.0, n, V=V, **common)
        assert actual <= best.value + 1e-12
        assert best.value <= fixed.value * (1 + 1e-12)
        worst = max(worst, actual / best.value)
        checked += 1
    assert worst > 0.1


@pytest.mark.independent("li.thm6.4", "li.thm6.5", "li.thm6.9", "li.thm6.10")
def test_truncated_squared_bound_holds_on_every_tiny_problem():
    rng = np.random.default_rng(2)
    worst = 0.0
    for _ in range(80):
        s = float(rng.choice([0.2, 1.0]))
        X, p, y, thetas, truth = _heavy(rng, (np.array([-s, s]), np.array([0.5, 0.5])))
        M, n = float(rng.choice([1.0, 3.0])), int(rng.integers(1, 4))
        cut = X * np.minimum(1.0, M / np.abs(X))
        K = float(np.max(np.abs(thetas)))
        error = truth * (X - cut)
        distance = (np.outer(thetas, cut) - truth * X) ** 2 @ p
        actual = erm(p, (y - np.outer(thetas, cut)) ** 2, distance, n)[0]
        cover = given_cover(math.log(len(thetas)))
        for share in (0.05, 0.5):
            bound = truncation.squared(
                cover,
                0.0,
                n,
                reach=2 * K * M,
                sigma=s,
                tau_1=float(np.abs(error) @ p),
                tau_2=float(error**2 @ p),
                a=share / (2 * s**2),
            )
            assert actual <= bound + 1e-12
            worst = max(worst, actual / max(bound, 1e-9))
    assert worst > 0.2


@pytest.mark.independent("li.thm6.6", "li.thm6.11", "li.thm6.4", "li.thm6.9")
def test_clipped_outputs_need_no_truncation():
    """Clipped predictors, cover of the bounded inputs only: members agree with f there and nowhere else."""
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(80):
        s, B = float(rng.choice([0.2, 1.0])), 1.0
        X, p, _, thetas, truth = _heavy(rng, (np.array([-s, s]), np.array([0.5, 0.5])))
        M, n = 1.0, int(rng.integers(1, 4))
        target = np.clip(truth * X, -B, B)
        y = target + np.tile([-s, s], len(X) // 2)
        predictions = np.clip(np.outer(thetas, X), -B, B)
        inside = np.abs(X) <= M
        radius = float(rng.choice([0.0, 0.5]))
        centres: list[int] = []
        for i, f in enumerate(predictions):
            if not centres or min(np.max(np.abs((f - predictions[j])[inside])) for j in centres) > radius:
                centres.append(i)
        cover = given_cover(math.log(len(centres)))
        actual = erm(p, (y - predictions) ** 2, (predictions - target) ** 2 @ p, n)[0]
        bound = excess_risk.squared(cover, radius, n, b_h=(2 * B) ** 2, sigma=s, widen=2 * B * float(p[~inside].sum()))
        assert actual <= bound.value + 1e-12
        worst = max(worst, actual / bound.value)
    assert worst > 0.02


@pytest.mark.independent("li.thm6.6", "li.thm6.11")
def test_the_observable_clipped_form_covers():
    """Binary labels, absolute loss on [0, 1]: P(E(f) > bound with the observed fraction outside) <= eta."""
    rng = np.random.default_rng(4)
    eta, n, checked = 0.1, 4, 0
    while checked < 25:
        p = law(rng, 5)
        predictions = rng.random(size=(4, 5))
        y = rng.integers(0, 2, size=5)
        losses = np.abs(predictions - y)
        g = losses - losses[np.argmin(losses @ p)]
        mean, square = g @ p, g**2 @ p
        if np.any((square > 1e-12) & (mean <= 1e-9)) or np.max(-g) <= 0:
            continue
        V = float(np.max(square[mean > 1e-9] / mean[mean > 1e-9], initial=1e-6))
        inside = np.arange(5) < 4
        centres: list[int] = []
        for i, f in enumerate(predictions):
            if not centres or min(np.max(np.abs((f - predictions[j])[inside])) for j in centres) > 0.4:
                centres.append(i)
        cover = given_cover(math.log(len(centres)))
        outside = np.broadcast_to(~inside, g.shape).astype(float)
        both = np.concatenate([g, outside[:1]])  # the last "function" counts the inputs outside

        def bad(row, V=V, g=g, cover=cover, p=p, mean=mean, inside=inside):
            fraction = row[-1]
            return any(
                risk
                > excess_risk.bernstein_hp(
                    cover,
                    0.4,
                    n,
                    V=V,
                    M=float(np.max(-g)),
                    kappa=1.0,
                    ln_inverse_eta=math.log(1 / eta),
                    empirical=float(empirical),
                    widen=float(p[~inside].sum()),
                    widen_observed=float(fraction),
                ).value
                for risk, empirical in zip(mean, row[:-1], strict=True)
            )

        from theory.calculus.tiny_problems import samples

        counts, weights = samples(p, n)
        assert sum(w for row, w in zip(counts @ both.T / n, weights, strict=True) if bad(row)) <= eta
        checked += 1
    assert miscoverage(p, g, mean, lambda e: math.inf, n) == 0.0


# --- formulas ----------------------------------------------------------------------------------------------------


def test_truncated_lipschitz_term_by_term():
    cover, V, M_g = given_cover(30.0), 5.0, 12.0
    tilt = excess_risk.bernstein_tilt(V, M_g)
    bound = truncation.lipschitz(cover, 0.01, 1000, V=V, M_g=M_g, kappa=2.0, outside=0.001, tau_1=0.02)
    expected = (
        30 / (1000 * tilt.lam)
        + (1 + tilt.oracle) * 0.02
        + (tilt.oracle - 1) * (M_g * 0.001 + M_g**2 * 0.001 / V)
        + 0.04
    )
    assert bound.value == pytest.approx(expected, rel=1e-13)


def test_truncated_squared_is_the_best_theta():
    cover = given_cover(30.0)
    kwargs = {"reach": 3.0, "sigma": 0.5, "tau_1": 0.01, "tau_2": 0.04}
    value = truncation.squared(cover, 0.01, 1000, **kwargs)
    tilt = excess_risk.squared_tilt(9.0, 0.5, 1.0)
    Q = 30 / (1000 * tilt.lam) + 2 * tilt.oracle * 3 * 0.01 + 0.02 * (3 + tilt.oracle * 3.5)
    thetas = np.exp(np.linspace(-6, 6, 4001))
    assert value == pytest.approx(float(np.min((1 + thetas) * Q + (1 + 1 / thetas) * 0.04)), rel=1e-5)
    assert value <= np.min((1 + thetas) * Q + (1 + 1 / thetas) * 0.04)
    assert truncation.squared(cover, 0.01, 1000, a=0.5, **kwargs) != value


@given(V=st.floats(0.01, 100), M_g=st.floats(0.1, 1000), outside=st.floats(0, 0.1))
@pytest.mark.property_of("li.thm6.4", "li.thm6.9")
def test_a_larger_bernstein_constant_is_allowed_and_may_help(V, M_g, outside):
    cover = given_cover(50.0)
    common = {"M_g": M_g, "kappa": 1.0, "outside": outside, "tau_1": 0.0}
    best = truncation.lipschitz_best(cover, 1e-4, 10_000, V=V, **common).value
    for factor in (1.0, 3.0, 30.0, 1000.0):
        other = truncation.lipschitz(cover, 1e-4, 10_000, V=V * factor, **common).value
        assert best <= other * (1 + 1e-7)
    # The best value cannot grow when the condition is stronger.
    assert truncation.lipschitz_best(cover, 1e-4, 10_000, V=V / 2, **common).value <= best * (1 + 1e-7)


@pytest.mark.property_of("li.rem6.12")
@pytest.mark.parametrize(("beta", "ceiling"), [(2.5, -0.53), (3.0, -0.60), (5.0, -0.73)])
def test_the_rate_in_the_tail_index_needs_the_free_constant(beta, ceiling):
    """M = n^{1/beta}, ten parameters: with V fixed the exponent is far from -(beta-1)/beta, with V' free it is near."""

    def value(n, free):
        M = n ** (1 / beta)
        M_g = 2.0 * M
        tail = Power(1.0, beta)
        cover = given_cover(10 * math.log(1 + 4 * M * n))
        function = truncation.lipschitz_best if free else truncation.lipschitz
        tau_1 = truncation.first_moment(tail, M)
        return function(cover, 1 / n, n, V=5.0, M_g=M_g, kappa=1.0, outside=tail.probability(M), tau_1=tau_1).value

    def exponent(free):
        return math.log(value(1e12, free) / value(1e8, free)) / math.log(1e4)

    assert -(beta - 1) / beta - 0.01 < exponent(True) < ceiling
    if beta < 4:
        assert exponent(False) > exponent(True) + 0.1


@pytest.mark.property_of("li.thm6.9", "li.thm6.4")
def test_the_optimised_squared_bound_beats_any_radius_and_tilt():
    cover = volumetric(3.0, 20)
    common = {"reach": 6.0, "sigma": 0.5, "tau_1": 0.001, "tau_2": 0.01}
    best = truncation.squared_best(cover, 5000, **common)
    for radius in (1e-4, 1e-3, 1e-2):
        for a in (0.01, 0.1, 1.0):
            assert best <= truncation.squared(cover, radius, 5000, a=a, **common) * (1 + 1e-7)
    far = {**common, "tau_1": 0.5}  # what truncation costs is nearly all
    tried = [
        truncation.squared(cover, radius, 5000, a=a, **far)
        for radius in np.geomspace(1e-6, 1e-2, 9)
        for a in np.geomspace(1e-3, 1.99, 40)
    ]
    assert 0.98 * min(tried) <= truncation.squared_best(cover, 5000, **far) <= min(tried) * (1 + 1e-7)
    infinite = {**common, "tau_2": math.inf}
    assert truncation.squared_best(cover, 5000, **infinite) == math.inf
    assert truncation.squared_best(cover, 5000, **{**common, "tau_1": math.inf}) == math.inf
