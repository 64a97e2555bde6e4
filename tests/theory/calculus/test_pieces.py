"""Pieces of the calculus: a search of chains returns the value of the chain it found; suprema of activations."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from certiformer.theory.calculus import (
    allocation,
    chaining,
    compression,
    coordinate_covers,
    covers,
    descent,
    entropies,
    excess_risk,
    ladder,
    tails,
)
from certiformer.theory.calculus.activations import activation
from certiformer.theory.core.errors import InputError


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("cover", [covers.quadratic_cover(2.0), covers.volumetric(1.0, 7), covers.maurey(1.0, 12)])
def test_a_chain_costs_what_its_scales_cost(cover, external):
    def sizes(steps):
        return cover.log_sizes(np.exp(-steps))

    n = np.array([30.0, 1000.0, 1e6])
    best, found = chaining._searched(sizes, np.concatenate([[0.0], sizes(chaining._grid()[1:])]), n, external=external)
    for number, value, steps in zip(n, best, found, strict=True):
        # coarser scales first; zeros stand for those that are not needed
        scales = [1.0, *np.exp(-steps[steps > 0.0])]
        assert scales == sorted(scales, reverse=True)
        cost = scales[-1]
        for before, after in itertools.pairwise(scales):
            link = before + after if external else before
            cost += link * math.sqrt(2.0 * cover.log_size(after) / number)
        assert value == pytest.approx(cost, rel=1e-9)
        plain = min(
            eps + (1.0 + external * eps) * math.sqrt(2.0 * cover.log_size(eps) / number) for eps in (1.0, 0.5, 0.1)
        )
        assert value <= min(1.0, plain) * (1.0 + 1e-9)


def test_many_sample_sizes_are_as_good_as_one():
    cover = covers.volumetric(1.0, 7)
    n = np.geomspace(50.0, 1e6, 700)
    together = chaining.proper_chain(cover, 1.0, n)
    for index in (0, 1, 350, 698, 699):
        alone = chaining.proper_chain(cover, 1.0, float(n[index]))
        assert together[index] == pytest.approx(alone, rel=2e-3)
        assert together[index] >= alone * (1.0 - 2e-3)


@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid", "sin"])
def test_suprema_of_activations(name):
    sigma = activation(name)
    x = np.linspace(-40.0, 40.0, 200_001)
    assert sigma.s0 == pytest.approx(np.max(np.abs(sigma.value(x))), rel=1e-6)
    assert sigma.s1 == pytest.approx(np.max(np.abs(sigma.slope(x))), rel=1e-6)
    bend = np.max(np.abs(np.diff(sigma.slope(x)) / np.diff(x)))
    assert sigma.s2 == pytest.approx(bend, rel=1e-5)


def test_ends_of_compression():
    assert compression.log_e_value(2, 10, 1.0) == math.inf
    assert compression.log_e_value(2, 10, 0.0) == pytest.approx(math.log(8 / (10 * 3)))
    assert compression.log_e_value(10, 10, 0.5) == -math.inf
    for wrong in (-0.05, 1.05):
        with pytest.raises(InputError, match="v"):
            compression.log_e_value(2, 10, wrong)
    for bound in (compression.compression_upper, compression.windowed_upper):
        for ln_delta in (0.5, math.nan):
            with pytest.raises(InputError, match="ln_delta"):
                bound(2, 10, ln_delta)
        assert bound(2, 10, 0.0) < 1.0
        assert bound(10, 10, -1.0) == 1.0
        assert bound(2, 10, -math.inf) == 1.0
    assert compression.compression_upper(4, 5, -800.0) == 1.0  # the root is beyond the last float below one
    assert compression.windowed_upper(8, 10, -1.0) == 1.0  # nothing is claimed from 0.8 n on


def test_the_formula_with_a_plus():
    assert compression.published_with_a_plus(10, 10, 0.05) == 1.0
    assert compression.published_with_a_plus(0, 10, 0.05) == 0.0
    found = compression.published_with_a_plus(3, 50, 0.05)
    above = -math.expm1(tails.log_binomial_cdf(3, 50, found))
    left = 50 * found * math.exp(tails.log_binomial_pmf(3, 50, found))
    assert left == pytest.approx(0.05 + above, rel=1e-9)
    # at delta = 1 the two sides do not cross right of k/n
    assert compression.published_with_a_plus(1, 2, 1.0) == 0.5


COVERS = [
    covers.quadratic_cover(2.0),
    covers.volumetric(1.5, 7),
    covers.maurey(1.2, 12),
    covers.rows_two_one(1.2, 3, 10),
    covers.columns_two_one(1.2, 3, 4),
    covers.perceptron_vector(1.2, 10),
    covers.dual_sudakov(1.2, 3, 4),
]


@pytest.mark.parametrize("cover", COVERS, ids=lambda cover: cover.name)
def test_covers_at_the_ends(cover):
    radius = math.exp(cover.ln_radius)
    at = [0.0, 1e-320, 1e-200, 0.01 * radius, 0.3 * radius, 0.999 * radius, 1.001 * radius, 2.0 * radius, math.inf]
    alone = [cover.log_size(eps) for eps in at]
    assert alone[0] == math.inf
    assert alone[-3:] == [0.0, 0.0, 0.0]
    assert all(size > 0.0 for size in alone[:-3])
    assert alone == sorted(alone, reverse=True)
    together = cover.log_sizes(np.array(at))
    finite = [index for index, size in enumerate(alone) if math.isfinite(size)]
    assert together[finite].tolist() == pytest.approx([alone[index] for index in finite], rel=1e-9)
    assert together[0] == math.inf
    nothing = cover.scaled(0.0)
    assert nothing.log_size(0.0) == nothing.log_size(1.0) == 0.0
    assert nothing.log_sizes(np.array([0.0, 1.0])).tolist() == [0.0, 0.0]


def test_coordinates_at_the_ends():
    assert coordinate_covers.sphere_cover_nats(5, 2.0) == pytest.approx(5.0 * math.log(2.0))
    with pytest.raises(InputError, match="eps"):
        coordinate_covers.sphere_cover_nats(5, 2.05)
    for dimension in (2, 3, 9, 400):
        assert coordinate_covers.cap_nats(dimension, math.sqrt(2.0)) == pytest.approx(math.log(2.0))
    for rho in (1.42, 1.45):
        with pytest.raises(InputError, match="rho"):
            coordinate_covers.cap_nats(5, rho)
    # both ways to compute the share of a cap, on either side of where one gives way to the other
    turn = math.sqrt(2.0 * (1.0 - math.sqrt(0.5)))
    for rho in (0.999 * turn, 1.001 * turn, 1.03 * turn):
        angle = 2.0 * math.asin(rho / 2.0)
        assert coordinate_covers.cap_nats(3, rho) == pytest.approx(-math.log((1.0 - math.cos(angle)) / 2.0))
    assert coordinate_covers.ball_nats(0, 1.0, 0.5) == 0.0
    assert coordinate_covers.ball_nats(3, 0.0, 0.5) == 0.0
    assert coordinate_covers.ball_nats(3, 0.5, 0.5) == pytest.approx(3.0 * math.log(2.0))
    with pytest.raises(InputError, match="dimension"):
        coordinate_covers.ball_nats(-1, 1.0, 0.5)
    with pytest.raises(InputError, match="radius"):
        coordinate_covers.ball_nats(3, -0.5, 0.5)
    assert coordinate_covers.box_nats([0.0, 0.0], [1.0, 1.0], 0.1) == 0.0
    assert coordinate_covers.box_nats([1.0], [0.0], 0.1) == 0.0
    assert coordinate_covers.box_nats([1.0], [0.04], 0.1) == 0.0
    assert coordinate_covers.box_nats([1.0], [1.0], 0.1) == pytest.approx(math.log(20.0))


def test_without_a_level_nothing_is_paid_for_confidence():
    given = {"M": 1.0, "kappa": 2.0, "empirical": 0.1}
    cover = covers.volumetric(1.0, 3)
    assert excess_risk.optimistic(cover, 0.1, 1000, t=0.5, **given).terms["confidence"] == 0.0
    assert excess_risk.optimistic_best(cover, 0.1, 1000, **given).terms["confidence"] == 0.0
    found = excess_risk.slow(cover, 0.1, 1000, loss_range=2.0, kappa=1.0).tilt
    assert (found.a, found.lam, found.oracle) == (1.0, 1.0, 1.0)


def test_constants_by_hand():
    assert covers.maurey_plain(1.0, 12).quadratic == pytest.approx(math.log(25.0))
    assert ladder.value_nats(1) == 0.0
    with pytest.raises(InputError, match="values"):
        ladder.value_nats(0)
    assert excess_risk.required_log_size(covers.volumetric(1.0, 3), np.float64(0.1)) == pytest.approx(
        3 * math.log(21.0)
    )


def test_regret_is_bounded_up_to_a_right_angle():
    run = descent.Run(1.0, 1.0, 1.0, 0.1, 0.5, 10, 0.5)
    for angle in (0.5, 1.2, 1.55):
        c0, c1 = angle / math.tan(angle), angle / math.sin(angle)
        expected = (10 * c1 * 0.1 + (1.0 - c0) * 0.5 + 1.0 / (2.0 * 0.5)) / c0
        assert descent.regret(angle, run) == pytest.approx(expected, rel=1e-9)
    assert descent.regret(math.pi / 2.0, run) == math.inf


@pytest.mark.parametrize("dimension", [1, 2, 7, 1000, 10**9, 10**262])
@pytest.mark.parametrize("shrunk", [True, False])
def test_multisets_of_arrays_are_those_of_numbers(dimension, shrunk):
    entropy = entropies.Multisets(dimension, shrunk=shrunk)
    x = np.concatenate([np.linspace(0.01, 3.0, 40), [5.0, 8.0, 12.0, 20.0, 40.0, 301.0, 303.0]])
    with np.errstate(over="ignore"):
        together = entropy.on(x)
    alone = np.array([entropy(float(one)) for one in x])
    assert np.all(together >= alone * (1.0 - 1e-14))
    assert together == pytest.approx(alone, rel=1e-9)
    with np.errstate(over="ignore"):
        assert entropy.on(x[-2:]) == pytest.approx(alone[-2:], rel=1e-9)  # nothing but what is far


def test_surrogates_at_tiny_levels_and_at_the_worst():
    half = math.log(1e-210) - math.log(2.0)
    expected = tails.binomial_upper(1, 3000, half) + tails.binomial_upper(2, 4000, half)
    assert expected < 1.0
    assert compression.surrogate_unseen(1, 3000, 2, 4000, 1e-210) == pytest.approx(expected, rel=1e-12)
    assert compression.surrogate_unseen(5, 5, 6, 6, 0.05) == pytest.approx(1.0)
    assert compression.surrogate_joint(2, 2, 6, 6, -1.0) == pytest.approx(1.0)


def test_the_pmf_and_the_cdf_at_the_ends():
    for p in (0.0, 0.3, 1.0):
        for k in (0, 4, 10):
            exact = math.comb(10, k) * p**k * (1.0 - p) ** (10 - k)
            below = math.fsum(math.comb(10, j) * p**j * (1.0 - p) ** (10 - j) for j in range(k + 1))
            assert math.exp(tails.log_binomial_pmf(k, 10, p)) == pytest.approx(exact, rel=1e-12)
            assert math.exp(tails.log_binomial_cdf(k, 10, p)) == pytest.approx(below, rel=1e-12)


def test_multisets_by_stirling_against_forty_digits():
    """Never below the logarithm of the binomial coefficient, and within the margins of rounding above it."""
    assert entropies._log_multisets_on(np.array(6.0), np.array([0.0, 1.0])).tolist() == [
        0.0,
        pytest.approx(math.log(7.0)),
    ]
    for dimension in (12, 13, 40, 900):
        draws = np.array([1.0, 5.0, 23.0, 24.0, 25.0, 60.0, 1500.0])
        with mpmath.workdps(40):
            exact = [float(mpmath.log(mpmath.binomial(2 * dimension + int(k), int(k)))) for k in draws]
        found = entropies._log_multisets_on(np.array(2.0 * dimension), draws)
        assert np.all(found >= np.array(exact) * (1.0 - 1e-15))
        assert found == pytest.approx(exact, rel=3e-11)


def test_powers_up_to_the_end_of_the_floats():
    power = entropies.Power(1e-200)
    assert power.on(np.array([1.0, 340.0])) == pytest.approx([power(1.0), power(340.0)], rel=1e-11)


def test_the_least_of_covers_far_apart():
    """Below the smaller radius a cover may cost less than a nat; nothing from it on, in either form."""
    least = entropies.Least(((entropies.Power(0.01), 0.0), (entropies.Constant(5.0), -0.5)))
    x = np.array([0.2, 0.45, 0.55, 0.8, 4.0])
    expected = [0.0, 0.0, 0.01 * math.exp(1.1), 0.01 * math.exp(1.6), 5.0]
    assert [least(float(one)) for one in x] == pytest.approx(expected, rel=1e-11)
    assert least.on(x) == pytest.approx(expected, rel=1e-11)


def test_a_network_without_weights_is_one_function():
    assert excess_risk.required_log_size(allocation.network_cover([]), 0.0) == 0.0
