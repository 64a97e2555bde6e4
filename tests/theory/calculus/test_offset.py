"""Offset Rademacher complexity: enumeration, estimates, the finite-class bound, offset chaining."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus import excess_risk, offset
from certiformer.theory.calculus.covers import Cover, quadratic_cover, rows_two_one
from certiformer.theory.core.errors import InputError
from theory.calculus.tiny_problems import class_cover


@pytest.mark.independent("li.def3.1")
def test_enumeration_by_hand():
    """H = {0, 1} on two points, beta = 1/2: the sup is max(0, (t1 + t2)/2 - 1/2)."""
    assert offset.exact(np.array([[0.0, 0.0], [1.0, 1.0]]), 0.5) == pytest.approx(0.125)
    assert offset.exact(np.array([[1.0]]), 0.3) == pytest.approx(-0.3)  # without zero it may be negative


@given(scale=st.floats(0.1, 10), beta=st.floats(0.05, 5), seed=st.integers(0, 100))
@pytest.mark.property_of("li.def3.1")
def test_scaling(scale, beta, seed):
    """R(cH, beta) = c R(H, c beta)."""
    values = np.random.default_rng(seed).normal(size=(4, 5))
    assert offset.exact(scale * values, beta) == pytest.approx(scale * offset.exact(values, scale * beta), abs=1e-12)


@pytest.mark.independent("li.def3.1")
def test_finite_class_bound_on_all_ternary_classes_of_a_kind():
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(400):
        n = int(rng.integers(1, 9))
        values = rng.choice([-1.0, 0.0, 1.0], size=(int(rng.integers(2, 30)), n))
        beta = float(rng.choice([0.1, 0.5, 2.0]))
        bound = offset.finite_class(math.log(len(values)), beta, n)
        worst = max(worst, offset.exact(values, beta) / bound)
    assert 0.3 < worst <= 1.0
    assert offset.finite_class(3.0, 0.5, 100) == pytest.approx(0.03)


def test_enumeration_refuses_what_it_cannot_finish():
    limit = offset.MOST_SIGNS
    assert limit == 18
    with pytest.raises(InputError, match="18"):
        offset.exact(np.zeros((1, limit + 1)), 1.0)
    assert offset.exact(np.zeros((1, limit)), 1.0) == 0.0


@pytest.mark.independent("li.def3.1")
def test_monte_carlo_estimates_within_its_half_width():
    rng = np.random.default_rng(3)
    values = rng.uniform(-2, 2, size=(6, 8))
    truth = offset.exact(values, 0.3)
    misses = 0
    for seed in range(40):
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(50, 8))
        suprema = np.max(signs @ values.T / 8 - 0.3 / 8 * np.sum(values**2, axis=1), axis=1)
        width = offset.half_width(float(np.abs(values).max()), 8, 50, 0.1)
        assert width == pytest.approx(np.abs(values).max() * math.sqrt(2 * math.log(20) / (8 * 50)))
        misses += abs(float(np.mean(suprema)) - truth) > width
    assert misses <= 4


@pytest.mark.independent("li.def3.1")
def test_offset_chaining_holds_for_explicit_covers_and_all_signs():
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(40):
        n = int(rng.integers(2, 9))
        values = np.concatenate([np.zeros((1, n)), rng.normal(size=(20, n)) * rng.uniform(0.1, 2)])
        beta = float(rng.choice([0.2, 1.0, 8.0]))
        cover = class_cover(values, lambda f: float(np.sqrt(np.mean(f**2))))
        truth = offset.exact(values, beta)
        for scales in ([1.0], [0.5, 0.2], [1.0, 0.5, 0.25, 0.1]):
            eps = np.array(scales) * math.exp(cover.ln_radius)
            sizes = np.array([cover.log_size(float(e)) for e in eps])
            bound = offset.chain_value(eps, sizes, beta, n)
            assert truth <= bound
            worst = max(worst, truth / bound)
    assert worst > 0.05


def test_chain_value_term_by_term():
    scales, sizes = np.array([1.0, 0.5, 0.2]), np.log([3.0, 10.0, 50.0])
    beta, n = 0.7, 40
    expected = (
        2 * math.log(4) / (beta * n)
        + (1.0 + 0.7) * math.sqrt(2 * math.log(40) / n)
        + 0.5 * math.sqrt(2 * math.log(50) / n)
        + 0.2
    )
    assert offset.chain_value(scales, sizes, beta, n) == pytest.approx(expected, rel=1e-13)
    two = 2 * math.log(4) / (beta * n) + 1.5 * math.sqrt(2 * math.log(40) / n) + 0.5
    assert offset.chain_value(scales[:2], sizes[:2], beta, n) == pytest.approx(two, rel=1e-13)
    assert offset.chain_value(scales[:1], sizes[:1], beta, n) == pytest.approx(2 * math.log(4) / (beta * n) + 1.0)


def test_the_best_chain_is_no_worse_than_geometric_ones():
    cover = quadratic_cover(1.0, 0.0)
    best = offset.chain(cover, 1.0, 10_000)
    for top, ratio, links in itertools.product((1.0, 0.3, 0.1), (1.49182469764127, 2.225540928492468), (1, 2, 4)):
        scales = top * ratio ** -np.arange(links + 1.0)
        sizes = np.array([cover.log_size(float(e)) for e in scales])
        assert best <= offset.chain_value(scales, sizes, 1.0, 10_000) * 1.05
    assert offset.chain(Cover("point", -math.inf, lambda x: 0.0), 1.0, 10) == 0.0
    with pytest.raises(InputError, match="proper"):
        offset.chain(rows_two_one(1.0, 3, 10), 1.0, 10)


@pytest.mark.property_of("li.def3.1")
def test_quadratic_entropy_gives_the_slow_rate_only():
    """Entropy 100/eps^2: the local slope in n tends to -1/2, not to -1."""
    cover = quadratic_cover(100.0, 0.0)
    values = [offset.chain(cover, 1.0, 10.0**k) for k in (8, 10)]
    slope = math.log(values[1] / values[0]) / math.log(100.0)
    assert -0.5 < slope < -0.35


def test_a_class_too_rich_to_cover_costs_its_radius():
    """One ball of the whole radius, K = 0: 2 ln 2/(beta n) + radius."""
    cover = Cover("rich", math.log(3.0), lambda x: 1e12)
    assert offset.chain(cover, 0.5, 40) == pytest.approx(2 * math.log(2) / 20 + 3.0, rel=1e-9)


def test_a_class_of_unbounded_radius_has_no_chain():
    with pytest.raises(InputError, match="finite radius"):
        offset.chain(excess_risk.given_cover(5.0), 0.5, 100)
