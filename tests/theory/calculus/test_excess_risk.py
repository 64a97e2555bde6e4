"""S1-S4 and the repaired Theorem 4.4 against all samples of tiny problems, and against closed forms."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus import excess_risk as risk
from certiformer.theory.calculus import offset
from certiformer.theory.calculus.covers import Cover, low_rank, maurey, rows_two_one, volumetric
from certiformer.theory.core.errors import InputError
from theory.calculus.tiny_problems import class_cover, erm, greedy_cover, law, miscoverage, samples

GIVEN = risk.given_cover(20.0)


# --- all samples of tiny problems --------------------------------------------------------------------------------


@pytest.mark.independent("li.cor4.5", "li.cor4.8", "li.cor4.13")
def test_bernstein_holds_on_every_tiny_problem():
    rng = np.random.default_rng(1)
    checked, worst = 0, 0.0
    while checked < 400:
        atoms, functions, n = rng.integers(2, 6), rng.integers(2, 6), rng.integers(1, 6)
        p = law(rng, atoms)
        y = rng.normal(size=atoms)
        predictions = rng.normal(size=(functions, atoms))
        losses = np.abs(predictions - y)  # one-Lipschitz
        risks = losses @ p
        g = losses - losses[np.argmin(risks)]
        mean, square = g @ p, (g**2) @ p
        if np.any((square > 1e-12) & (mean <= 1e-9)) or np.max(-g) <= 0:
            continue
        V = float(np.max(square[mean > 1e-9] / mean[mean > 1e-9], initial=1e-6))
        radius = rng.choice([0.0, 0.5, 1.5])
        cover = risk.given_cover(math.log(len(greedy_cover(predictions, radius))))
        actual = erm(p, losses, mean, n)[0]
        bound = risk.bernstein(cover, radius, n, V=V, M=float(np.max(-g)), kappa=1.0)
        assert actual <= bound.value + 1e-12
        if bound.value > 0:
            worst = max(worst, actual / bound.value)
        checked += 1
    assert worst > 0.1  # the search is not idle


@pytest.mark.independent("li.cor4.5")
def test_bernstein_hp_covers_every_function_at_once():
    rng = np.random.default_rng(2)
    eta, checked = 0.1, 0
    while checked < 40:
        atoms, functions, n = rng.integers(2, 5), rng.integers(2, 5), 5
        p = law(rng, atoms)
        losses = rng.random(size=(functions, atoms)) * rng.choice([1.0, 3.0])
        risks = losses @ p
        g = losses - losses[np.argmin(risks)]
        mean, square = g @ p, (g**2) @ p
        if np.any((square > 1e-12) & (mean <= 1e-9)) or np.max(-g) <= 0:
            continue
        V = float(np.max(square[mean > 1e-9] / mean[mean > 1e-9], initial=1e-6))
        cover = risk.given_cover(math.log(functions))

        def limit(empirical, V=V, g=g, n=n, cover=cover):
            common = {"V": V, "M": float(np.max(-g)), "kappa": 1.0, "ln_inverse_eta": math.log(1 / eta)}
            return risk.bernstein_hp(cover, 0.0, n, empirical=empirical, **common).value

        assert miscoverage(p, g, mean, limit, n) <= eta + 1e-12
        checked += 1


def _noisy(rng, points, functions, s):
    """Inputs with labels f0(x) +- s, sub-Gaussian with sigma = s; returns the law, labels, targets, predictions."""
    p = np.repeat(law(rng, points), 2) / 2
    target = rng.normal(size=points)
    y = np.stack([target - s, target + s], axis=1).ravel()
    predictions = rng.normal(size=(functions, points)) * rng.choice([0.5, 1.5]) + target
    return p, y, np.repeat(target, 2), np.repeat(predictions, 2, axis=1)


@pytest.mark.independent("li.cor4.5", "li.cor4.8", "li.cor4.13")
def test_squared_loss_holds_on_every_tiny_problem():
    rng = np.random.default_rng(3)
    worst = 0.0
    for trial in range(120):
        s = float(rng.choice([0.1, 0.5, 2.0]))
        p, y, target, predictions = _noisy(rng, int(rng.integers(1, 5)), int(rng.integers(2, 6)), s)
        if trial % 2:
            predictions[0] = target  # well specified
        n = int(rng.integers(1, 5))
        distance = (predictions - target) ** 2 @ p
        b_h = float(np.max((predictions - target) ** 2))
        radius = float(rng.choice([0.0, 0.3]))
        cover = risk.given_cover(math.log(len(greedy_cover(predictions, radius))))
        actual = erm(p, (predictions - y) ** 2, distance, n)[0]
        for share in (0.1, 0.5, 0.9):
            bound = risk.squared(
                cover, radius, n, b_h=b_h, sigma=s, a=share / (2 * s**2), approximation=float(distance.min())
            )
            assert actual <= bound.value + 1e-12
            worst = max(worst, actual / bound.value)
    assert worst > 0.2


@pytest.mark.independent("li.cor4.5")
def test_optimistic_holds_on_every_tiny_problem():
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(120):
        atoms, functions, n = int(rng.integers(2, 6)), int(rng.integers(1, 6)), int(rng.integers(1, 6))
        p = law(rng, atoms)
        y = rng.integers(0, 2, size=atoms)
        predictions = rng.random(size=(functions, atoms)) ** 3
        losses = np.abs(predictions - y)
        radius = float(rng.choice([0.0, 0.2]))
        cover = risk.given_cover(math.log(len(greedy_cover(predictions, radius))))
        actual, empirical = erm(p, losses, losses @ p, n)
        for t in (0.2, 1.0, 3.0):
            bound = risk.optimistic(cover, radius, n, M=1.0, kappa=1.0, empirical=empirical, t=t)
            assert actual <= bound.value + 1e-12
            worst = max(worst, actual / bound.value)
    assert worst > 0.3


@pytest.mark.independent("li.cor4.5")
@pytest.mark.parametrize("form", ["fixed", "best", "kl"])
def test_optimistic_hp_covers_every_function_at_once_even_when_t_sees_the_data(form):
    rng = np.random.default_rng(5)
    eta = 0.2
    for _ in range(12):
        atoms, functions, n = int(rng.integers(2, 4)), int(rng.integers(1, 4)), 5
        p = law(rng, atoms)
        losses = rng.random(size=(functions, atoms)) ** 2
        cover = risk.given_cover(math.log(functions))
        common = {"M": 1.0, "kappa": 1.0, "ln_inverse_eta": math.log(1 / eta)}

        def limit(empirical, cover=cover, n=n, common=common):
            if form == "fixed":
                return risk.optimistic(cover, 0.0, n, empirical=empirical, t=0.7, **common).value
            if form == "best":
                return risk.optimistic_best(cover, 0.0, n, empirical=empirical, **common).value
            return risk.optimistic_kl(cover, 0.0, n, empirical=empirical, **common)

        assert miscoverage(p, losses, losses @ p, limit, n) <= eta + 1e-12


@pytest.mark.independent("li.cor4.5", "li.cor4.8", "li.cor4.13")
def test_slow_and_chained_hold_on_every_tiny_problem():
    rng = np.random.default_rng(6)
    worst = 0.0
    for trial in range(150):
        atoms, functions, n = int(rng.integers(2, 6)), int(rng.integers(2, 6)), int(rng.integers(1, 6))
        p = law(rng, atoms)
        y = rng.normal(size=atoms)
        predictions = rng.normal(size=(functions, atoms))
        predictions[0] = 0.0
        losses = np.abs(predictions - y)
        excess = losses @ p - np.min(losses @ p)
        actual = erm(p, losses, excess, n)[0]
        span = float(losses.max() - losses.min())
        radius = float(rng.choice([0.0, 0.4]))
        cover = risk.given_cover(math.log(len(greedy_cover(predictions, radius))))
        bound = risk.slow(cover, radius, n, loss_range=span, kappa=1.0)
        assert actual <= bound.value + 1e-12
        worst = max(worst, actual / bound.value)
        if trial < 6:
            chained = risk.slow_chain(
                class_cover(predictions), n, output_bound=float(np.max(np.abs(predictions))), kappa=1.0
            )
            assert actual <= chained
    assert worst > 0.25


def _offset_expectation(p, values, beta, n):
    counts, weights = samples(p, n)
    total = 0.0
    for count, weight in zip(counts, weights, strict=True):
        total += weight * offset.exact(values[:, np.repeat(np.arange(len(p)), count)], beta)
    return total


@pytest.mark.independent("li.thm4.4", "li.thm4.7", "li.thm4.11")
def test_theorem_4_4_a_holds_on_every_tiny_problem():
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(25):
        atoms, functions, n = int(rng.integers(2, 5)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
        p = law(rng, atoms)
        losses = rng.choice([0.0, 0.3, 1.0], size=(functions, atoms))
        actual, empirical = erm(p, losses, losses @ p, n)
        for a in (0.3, 1.0, 4.0):
            complexity = _offset_expectation(p, losses, risk.offset_a_beta(a, 1.0), n)
            bound = risk.offset_a(a, complexity, empirical)
            assert actual <= bound + 1e-12
            common = {"M": 1.0, "kappa": 1.0, "radius": 0.0, "empirical": empirical}
            finite = risk.offset_sample_cover(a, math.log(functions), n, **common)
            assert bound <= finite + 1e-12
            worst = max(worst, actual / max(bound, 1e-9))
    assert worst > 0.5


@pytest.mark.independent("li.thm4.4", "li.thm4.7", "li.thm4.11")
def test_theorem_4_4_b_holds_on_every_tiny_problem():
    rng = np.random.default_rng(8)
    for _ in range(15):
        s = float(rng.choice([0.2, 1.0]))
        points = int(rng.integers(1, 3))
        p, y, target, predictions = _noisy(rng, points, int(rng.integers(2, 4)), s)
        n = int(rng.integers(1, 4))
        h = predictions - target
        distance = h**2 @ p
        b_h = float(np.max(h**2))
        actual = erm(p, (predictions - y) ** 2, distance, n)[0]
        a, a_prime = 2.5, 1.0
        complexity = _offset_expectation(p, h**2, a_prime / ((1 + a_prime) * b_h), n)
        counts, weights = samples(p, n)
        process = (counts @ ((y - target) * h - (a - a_prime) / (1 + 2 * a) * h**2).T / n).max(axis=1)
        bound = risk.offset_b(a, a_prime, complexity, float(weights @ process), float(distance.min()))
        assert actual <= bound + 1e-12
        finite = risk.offset_b_finite(
            a, a_prime, math.log(len(h)), n, b_h=b_h, sigma=s, approximation=float(distance.min())
        )
        assert bound <= finite + 1e-12


@pytest.mark.independent("li.thm4.4", "li.thm4.7", "li.thm4.11")
def test_theorem_4_4_c_holds_without_noise():
    rng = np.random.default_rng(9)
    worst = 0.0
    for _ in range(25):
        atoms, functions, n = int(rng.integers(2, 5)), int(rng.integers(2, 5)), int(rng.integers(1, 5))
        p = law(rng, atoms)
        g = rng.choice([0.0, 0.2, 1.0], size=(functions, atoms))  # squared errors of noise-free labels
        complexity = _offset_expectation(p, g, 1.0 / (2 * float(g.max() or 1.0)), n)
        actual = erm(p, g, g @ p, n)[0]
        bound = risk.offset_c(complexity, float(np.min(g @ p)))
        assert actual <= bound + 1e-12
        worst = max(worst, actual / max(bound, 1e-9))
    assert worst > 0.5


@pytest.mark.independent("li.thm4.4")
def test_sample_cover_form_follows_from_the_offset_process():
    """Moving to a cover of the sample costs kappa delta (1 + 2 beta M) in the process, 2(1+3a) kappa delta in all."""
    rng = np.random.default_rng(10)
    for _ in range(40):
        functions, n, a = 8, 6, float(rng.choice([0.3, 1.0, 3.0]))
        predictions = rng.random(size=(functions, n))
        losses = np.abs(predictions - rng.integers(0, 2, size=n))
        radius = 0.35
        centres = greedy_cover(predictions, radius)
        beta = risk.offset_a_beta(a, 1.0)
        full = offset.exact(losses, beta)
        covered = risk.offset_sample_cover(a, math.log(len(centres)), n, M=1.0, kappa=1.0, radius=radius, empirical=0.0)
        assert 2 * (1 + a) * full <= covered + 1e-12


# --- closed forms ------------------------------------------------------------------------------------------------


@given(V=st.floats(1e-6, 1e6), M=st.floats(1e-6, 1e6))
def test_bernstein_tilt_maximises_the_rate(V, M):
    """lambda(a) = a - (V/M^2)(e^{aM} - 1 - aM), computed with fifty digits, is largest at a."""
    tilt = risk.bernstein_tilt(V, M)
    with mpmath.workdps(60):

        def rate(a):
            x = mpmath.mpf(a) * M
            return mpmath.mpf(a) - mpmath.mpf(V) / mpmath.mpf(M) ** 2 * (mpmath.expm1(x) - x)

        assert float(rate(tilt.a)) == pytest.approx(tilt.lam, rel=1e-11)
        assert rate(tilt.a * 0.99) <= rate(tilt.a)
        assert rate(tilt.a * 1.01) <= rate(tilt.a)
    assert 1 < tilt.oracle < 2 + 1e-9
    assert 1 / tilt.lam <= (2 * V + 2 * M / 3) * (1 + 1e-12)


@pytest.mark.parametrize("u", [0.00999, 0.01, 0.01001])
def test_the_series_and_the_closed_form_of_the_rate_meet(u):
    with mpmath.workdps(40):
        exact = (1 + 1 / mpmath.mpf(u)) * mpmath.log1p(u) - 1
    assert risk.bernstein_tilt(1 / u, 1.0).lam == pytest.approx(float(exact), rel=1e-13)


def test_terms_and_their_weights():
    """Each additional input enters with the factor that its proof gives it."""
    base = {"V": 3.0, "M": 4.0, "kappa": 2.0}
    tilt = risk.bernstein_tilt(3.0, 4.0)
    plain = risk.bernstein_at(tilt, GIVEN, 0.001, 1000, 2.0)
    more = risk.bernstein_at(tilt, GIVEN, 0.001, 1000, 2.0, approximation=0.5, optimisation=0.25, widen=0.125)
    extra = tilt.oracle * 0.75 + (1 + tilt.oracle) * 2 * 0.125
    assert more.value - plain.value == pytest.approx(extra, rel=1e-12)
    assert plain.value == pytest.approx(20 / (1000 * tilt.lam) + (1 + tilt.oracle) * 2 * 0.001, rel=1e-14)

    high = risk.bernstein_hp(
        GIVEN, 0.001, 1000, **base, ln_inverse_eta=3.0, empirical=0.5, widen=0.25, widen_observed=0.125
    )
    expected = plain.value + 3 / (1000 * tilt.lam) + tilt.oracle * 0.5 + 2 * (0.25 + tilt.oracle * 0.125)
    assert high.value == pytest.approx(expected, rel=1e-12)

    squared = risk.squared(GIVEN, 0.001, 1000, b_h=4.0, sigma=0.5)
    assert squared.tilt.a == 1.0
    lam = (1 - math.exp(-2.0)) / 4
    assert squared.tilt.lam == pytest.approx(lam, rel=1e-14)
    assert squared.value == pytest.approx(20 / (1000 * lam) + 0.002 * (2 + 2.5 / lam), rel=1e-13)
    more = risk.squared(GIVEN, 0.001, 1000, b_h=4.0, sigma=0.5, approximation=0.5, optimisation=0.25, widen=0.002)
    assert more.value - squared.value == pytest.approx(0.75 / lam + 0.004 * (2 + 2.5 / lam), rel=1e-12)

    slow = risk.slow(GIVEN, 0.001, 1000, loss_range=4.0, kappa=2.0, approximation=0.5, optimisation=0.25)
    assert slow.value == pytest.approx(4 * math.sqrt(20 / 2000) + 0.004 + 0.75, rel=1e-13)
    hopeful = risk.optimistic(GIVEN, 0.001, 1000, M=4.0, kappa=2.0, empirical=0.3, t=0.4, ln_inverse_eta=2.0)
    gain = 1 - math.exp(-0.4)
    assert hopeful.value == pytest.approx(
        0.4 / gain * 0.3 + 4 * 22 / (1000 * gain) + (1 + 0.4 / gain) * 0.002, rel=1e-13
    )
    assert (hopeful.tilt.a, hopeful.tilt.oracle) == pytest.approx((0.1, 0.4 / gain))


@given(b_h=st.floats(0.01, 100), sigma=st.floats(0.05, 20))
def test_the_default_tilt_has_the_advertised_constants(b_h, sigma):
    tilt = risk.squared_tilt(b_h, sigma, 0.25 / sigma**2)
    assert 1 / tilt.lam <= (b_h + 8 * sigma**2) * (1 + 1e-12)
    assert tilt.oracle <= (2 + b_h / (4 * sigma**2)) * (1 + 1e-12)


def test_a_tilt_outside_its_range_is_an_error():
    with pytest.raises(InputError, match="sigma"):
        risk.squared_tilt(1.0, 1.0, 0.5)
    with pytest.raises(InputError, match="a'"):
        risk.offset_b(1.0, 1.0, 0.1, 0.1, 0.0)
    with pytest.raises(InputError, match="a'"):
        risk.offset_b_finite(1.0, 0.0, 1.0, 10, b_h=1.0, sigma=1.0)


# --- who may use which cover -------------------------------------------------------------------------------------


def test_external_and_sample_covers_are_refused():
    external = rows_two_one(1.0, 3, 10, domain=True)
    sample = Cover("sample", 0.0, lambda x: x, domain=False)
    common = {"V": 1.0, "M": 1.0, "kappa": 1.0}
    for cover in (external, sample):
        with pytest.raises(InputError, match="cover"):
            risk.bernstein(cover, 0.1, 10, **common)
        with pytest.raises(InputError, match="cover"):
            risk.bernstein_hp(cover, 0.1, 10, **common, ln_inverse_eta=1.0)
        with pytest.raises(InputError, match="cover"):
            risk.squared(cover, 0.1, 10, b_h=1.0, sigma=1.0)
        with pytest.raises(InputError, match="cover"):
            risk.squared_best(cover, 10, b_h=1.0, sigma=1.0)
        with pytest.raises(InputError, match="cover"):
            risk.optimistic(cover, 0.1, 10, M=1.0, kappa=1.0, empirical=0.0, t=1.0)
        with pytest.raises(InputError, match="cover"):
            risk.optimistic_kl(cover, 0.1, 10, M=1.0, kappa=1.0, empirical=0.0, ln_inverse_eta=1.0)
        with pytest.raises(InputError, match="cover"):
            risk.slow(cover, 0.1, 10, loss_range=1.0, kappa=1.0)
    with pytest.raises(InputError, match="proper"):
        risk.slow_chain(external, 10, output_bound=1.0, kappa=1.0)
    assert risk.slow_chain(sample, 10, output_bound=1.0, kappa=1.0) <= 2.0  # a chain works on the sample


# --- optimised forms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cover", [low_rank(1.3, 6, 5, 2), volumetric(0.7, 12), maurey(2.0, 40)])
@pytest.mark.parametrize("n", [30, 10_000, 10_000_000])
def test_the_best_radius_and_tilt_beat_every_other(cover, n):
    best = risk.squared_best(cover, n, b_h=4.0, sigma=0.5, approximation=0.01, widen=0.001)
    kwargs = {"V": 3.0, "M": 2.0, "kappa": 1.5, "approximation": 0.01, "widen": 0.001}
    fast = risk.bernstein_best(cover, n, **kwargs)
    plain = risk.slow_best(cover, n, loss_range=2.0, kappa=1.5, approximation=0.01)
    rng = np.random.default_rng(0)
    for _ in range(60):
        radius = math.exp(cover.ln_radius - rng.uniform(0, 25))
        a = rng.uniform(0.01, 0.99) * 2.0
        other = risk.squared(cover, radius, n, b_h=4.0, sigma=0.5, a=a, approximation=0.01, widen=0.001)
        assert best.value <= other.value * (1 + 1e-6)
        assert fast.value <= risk.bernstein(cover, radius, n, **kwargs).value * (1 + 1e-6)
        slow = risk.slow(cover, radius, n, loss_range=2.0, kappa=1.5, approximation=0.01)
        assert plain.value <= slow.value * (1 + 1e-6)
    again = risk.squared(cover, best.radius, n, b_h=4.0, sigma=0.5, a=best.tilt.a, approximation=0.01, widen=0.001)
    assert again.value == pytest.approx(best.value, rel=1e-12)


@given(empirical=st.floats(0, 1), radius=st.floats(0, 0.05), log_size=st.floats(0.1, 50))
def test_optimistic_forms_are_ordered(empirical, radius, log_size):
    """kl <= best t <= any t, and with kappa delta = 0 the best t is close to the kl form."""
    cover = risk.given_cover(log_size)
    common = {"M": 1.0, "kappa": 1.0, "empirical": empirical, "ln_inverse_eta": 1.0}
    best = risk.optimistic_best(cover, radius, 1000, **common).value
    assert risk.optimistic_kl(cover, radius, 1000, **common) <= max(best, 1.0) + 2 * radius + 1e-9
    if best <= 1.0:
        assert risk.optimistic_kl(cover, radius, 1000, **common) <= best * (1 + 1e-9) + 1e-12
    for t in (0.01, 0.3, 1.0, 5.0):
        assert best <= risk.optimistic(cover, radius, 1000, t=t, **common).value * (1 + 1e-7)


def test_optimistic_kl_is_the_inverse():
    from certiformer.theory.calculus.tails import binary_kl

    value = risk.optimistic_kl(GIVEN, 0.01, 1000, M=2.0, kappa=3.0, empirical=0.4, ln_inverse_eta=2.0)
    assert binary_kl((0.4 + 0.03) / 2, (value - 0.03) / 2) == pytest.approx(22 / 1000, rel=1e-9)
    hopeless = risk.optimistic_kl(GIVEN, 0.01, 10, M=1.0, kappa=1.0, empirical=5.0, ln_inverse_eta=2.0)
    assert hopeless == pytest.approx(1.01)


@given(constant=st.floats(0.01, 1e4), n=st.integers(10, 10**9))
def test_the_closed_chain_is_the_best_of_ratio_e(constant, n):
    output, kappa = 2.0, 1.5
    closed = risk.slow_chain_closed(constant, output, n, kappa=kappa, approximation=0.5)
    chains = []
    for links in range(60):
        scales = output * np.exp(-np.arange(links + 1.0))
        chains.append(scales[-1] + np.sum(scales[:-1] * np.sqrt(2 * constant / scales[1:] ** 2 / n)))
    assert closed - 0.5 == pytest.approx(2 * kappa * min(chains), rel=1e-9)
    step = math.e * math.sqrt(2 * constant / n)
    links = max(0, math.ceil(math.log(output * math.sqrt(n / (2 * constant))) - 1))
    assert closed - 0.5 <= 2 * kappa * step * (1 + links) * (1 + 1e-9)


def test_the_closed_chain_of_an_infinite_class_is_trivial():
    assert risk.slow_chain_closed(math.inf, 2.0, 100, kappa=1.5, approximation=0.5) == 6.5


def test_chain_adds_the_approximation_error():
    cover = volumetric(1.0, 3)
    plain = risk.slow_chain(cover, 1000, output_bound=1.0, kappa=2.0)
    assert risk.slow_chain(cover, 1000, output_bound=1.0, kappa=2.0, approximation=0.25) == pytest.approx(plain + 0.25)
    from certiformer.theory.calculus.chaining import proper_chain

    assert plain == pytest.approx(4 * proper_chain(cover, 1.0, 1000), rel=1e-12)


def test_offset_formulas():
    assert risk.offset_a_beta(0.25, 2.0) == pytest.approx(0.1)
    assert risk.offset_a(1.0, 0.02, 0.1) == pytest.approx(0.38)
    assert risk.offset_a(0.25, 0.02, 0.1) == pytest.approx(0.2)
    assert risk.offset_b(2.5, 1.0, 0.02, 0.03, 0.1) == pytest.approx(4 * 0.02 + 12 * 0.03 + 6 * 0.1)
    assert risk.offset_b_finite(2.5, 1.0, 3.0, 50, b_h=2.0, sigma=0.5) == pytest.approx((4 * 2 + 24 * 0.25) * 3 / 50)
    assert risk.offset_b_finite(2.5, 1.0, 3.0, 50, b_h=2.0, sigma=0.5, approximation=0.1) == pytest.approx(0.84 + 0.6)
    assert risk.offset_c(0.02, 0.1) == pytest.approx(0.38)
    value = risk.offset_sample_cover(0.5, 3.0, 40, M=2.0, kappa=1.5, radius=0.01, empirical=0.1)
    assert value == pytest.approx(0.2 + 2.25 * 2 * 3 / 20 + 2 * 2.5 * 0.015)


def test_radius_zero_is_for_finite_classes():
    assert risk.required_log_size(GIVEN, 0.0) == 20.0
    assert risk.required_log_size(GIVEN, 1e-300) == 20.0
    for cover in (volumetric(1.0, 3), low_rank(1.0, 3, 3, 1), maurey(1.0, 3)):
        assert risk.required_log_size(cover, 0.0) == math.inf


def test_what_is_not_given_counts_nothing():
    cover, base = volumetric(1.0, 3), {"V": 3.0, "M": 4.0, "kappa": 2.0}
    plain = risk.bernstein_hp(GIVEN, 0.001, 1000, **base, ln_inverse_eta=3.0)
    zero = {"empirical": 0.0, "widen": 0.0, "widen_observed": 0.0}
    assert plain.value == risk.bernstein_hp(GIVEN, 0.001, 1000, **base, ln_inverse_eta=3.0, **zero).value
    nothing = {"approximation": 0.0, "widen": 0.0}
    assert risk.bernstein_best(cover, 1000, **base).value == risk.bernstein_best(cover, 1000, **base, **nothing).value
    noise = {"b_h": 4.0, "sigma": 0.5}
    assert risk.squared_best(cover, 1000, **noise).value == risk.squared_best(cover, 1000, **noise, **nothing).value
    loss = {"loss_range": 4.0, "kappa": 2.0}
    assert risk.slow_best(cover, 1000, **loss).value == risk.slow_best(cover, 1000, **loss, approximation=0.0).value
    closed = risk.slow_chain_closed(1.0, 2.0, 1000, kappa=1.0)
    assert closed == risk.slow_chain_closed(1.0, 2.0, 1000, kappa=1.0, approximation=0.0)
    for terms in (risk.bernstein(GIVEN, 0.001, 1000, **base).terms, risk.squared(GIVEN, 0.001, 1000, **noise).terms):
        assert terms["approximation"] == terms["outside"] == terms["optimisation"] == 0.0
    slow = risk.slow(GIVEN, 0.001, 1000, **loss).terms
    assert slow["approximation"] == slow["optimisation"] == 0.0


@pytest.mark.parametrize("sizes", [[300.0], [300.0, 1e6], [50.0, 4e3, 2e5, 1e9]])
def test_several_sample_sizes_at_once_are_each_their_own(sizes):
    """Of one, two and more sample sizes every one gets its own best radius."""
    cover = volumetric(2.0, 9)
    forms = {
        "slow": lambda n: risk.slow_best(cover, n, loss_range=3.0, kappa=1.5),
        "squared": lambda n: risk.squared_best(cover, n, b_h=4.0, sigma=0.5),
        "bernstein": lambda n: risk.bernstein_best(cover, n, V=2.0, M=3.0, kappa=1.5),
    }
    for name, form in forms.items():
        together, alone = form(np.array(sizes)), [form(n) for n in sizes]
        assert np.ravel(together.value) == pytest.approx([one.value for one in alone], rel=1e-9), name
        assert np.ravel(together.radius) == pytest.approx([one.radius for one in alone], rel=1e-4), name


@pytest.mark.parametrize("n", [100, 10_000, 10**7])
def test_the_range_of_the_losses_is_the_best_at_least_as_large(n):
    """-g <= M implies -g <= M': the least over M' >= M, which does not fall when M grows."""
    common = {"V": 3.0, "kappa": 2.0, "approximation": 0.05}
    wider = [0.01 * 1.02**k for k in range(900)]
    fixed = [
        risk.bernstein_at(risk.bernstein_tilt(3.0, M), GIVEN, 0.01, n, 2.0, approximation=0.05).value for M in wider
    ]
    best = [risk.bernstein(GIVEN, 0.01, n, M=M, **common).value for M in wider[:500]]
    for at, value in enumerate(best):
        assert value <= min(fixed[at:]) * (1 + 1e-9)
        assert value >= min(fixed[at:]) * (1 - 1e-4)
    assert all(after >= before * (1 - 1e-9) for before, after in itertools.pairwise(best))
    several = risk.bernstein(GIVEN, 0.01, np.array([n, 2 * n, 3 * n]), M=0.1, **common).value
    alone = [risk.bernstein(GIVEN, 0.01, k * n, M=0.1, **common).value for k in (1, 2, 3)]
    assert several == pytest.approx(alone, rel=1e-12)
