"""Covers and masses in coordinates against counting, volumes and the vectors of the notes; prices of the ledger."""

import itertools
import math

import numpy as np
import pytest

from certiformer.theory.calculus.coordinate_covers import (
    ball_cover_nats,
    ball_nats,
    box_nats,
    cap_nats,
    cross_polytope_nats,
    sphere_cover_nats,
)
from certiformer.theory.calculus.ladder import adaptive_upper, bit_nats, next_bit_nats, round_nats, value_nats
from certiformer.theory.core.errors import InputError

CAPS = [
    (2, 0.1, 3.44689793),
    (3, 0.5, 2.772588722),
    (7, 0.001, 43.30283004),
    (7, 0.1, 15.67556183),
    (13, 0.01, 57.44435065),
]
SPHERES = [
    (2, 0.1, 4.382026635),
    (3, 0.5, 4.584967479),
    (7, 0.001, 48.24447334),
    (7, 0.1, 20.62589201),
    (13, 0.01, 66.83845485),
]


@pytest.mark.independent("cover.local")
@pytest.mark.parametrize(("D", "rho", "nats"), CAPS)
def test_caps(D, rho, nats):
    assert cap_nats(D, rho) == pytest.approx(nats, rel=1e-9)


@pytest.mark.parametrize(("D", "eps", "nats"), SPHERES)
def test_spheres(D, eps, nats):
    assert sphere_cover_nats(D, eps) == pytest.approx(nats, rel=1e-9)


@pytest.mark.property_of("cover.local")
def test_cap_of_half_the_sphere_and_of_many_dimensions():
    assert cap_nats(5, math.sqrt(2.0)) == pytest.approx(math.log(2.0), rel=1e-7)
    assert cap_nats(3, 1.0) == pytest.approx(math.log(4.0), rel=1e-9)  # Archimedes: height 1/2 of 2
    assert 5000 < cap_nats(2000, 0.05) < 7000
    with pytest.raises(InputError, match="sqrt"):
        cap_nats(5, 1.5)


def test_euclidean_forms():
    assert ball_cover_nats(12, 2.0, 0.1 / 3) == pytest.approx(57.54948655, rel=1e-9)
    assert ball_nats(12, 2.0, 0.1 / 3) == pytest.approx(49.33048637, rel=1e-9)


def test_attention_prices():
    phi, slope, gamma = 1.0111874208, 1.468104249 / (2 * math.sqrt(2)), 0.001
    cover = sphere_cover_nats(7, gamma / 4 / phi) + ball_cover_nats(6, 12.33769, gamma / 4 / slope)
    assert cover == pytest.approx(121.6937481, rel=1e-9)
    assert cap_nats(7, 1e-4) + ball_nats(6, 12.0, 2e-4) == pytest.approx(123.1310393, rel=1e-9)
    assert cap_nats(7, 3e-4) + ball_nats(6, 12.0, 1e-2) == pytest.approx(93.07212546, rel=1e-9)


@pytest.mark.independent("cover.coordinates")
def test_the_box_is_covered_by_as_many_points():
    L, R, gamma = (1.0, 3.0), (1.0, 0.4), 0.7
    sizes = [math.ceil(4 * slope * radius / gamma) for slope, radius in zip(L, R, strict=True)]
    assert box_nats(L, R, gamma) == pytest.approx(math.log(math.prod(sizes)), rel=1e-11)
    axes = [radius * (2 * np.arange(size) + 1 - size) / size for radius, size in zip(R, sizes, strict=True)]
    centres = np.array(list(itertools.product(*axes)))
    points = np.random.default_rng(0).uniform(-1, 1, (2000, 2)) * np.array(R)
    nearest = np.min(np.sum(np.array(L) * np.abs(points[:, None] - centres), axis=2), axis=1)
    assert np.max(nearest) <= gamma / 2


@pytest.mark.independent("cover.soft")
def test_the_mass_of_the_cross_polytope():
    L, R, gamma = np.array([1.0, 2.0, 0.5]), np.array([0.3, 0.2, 0.5]), 0.6
    box = R + gamma / (2 * L)
    draws = np.random.default_rng(0).uniform(-1, 1, (2_000_000, 3)) * box
    share = np.mean(np.abs(draws - 0.9 * R) @ L <= gamma / 2)
    assert -math.log(share) == pytest.approx(cross_polytope_nats(L.tolist(), R.tolist(), gamma), abs=0.02)


@pytest.mark.property_of("cover.coordinates", "cover.soft")
def test_a_soft_cover_is_cheaper_in_many_coordinates_and_dead_ones_are_free():
    for D in (5, 20, 60):
        L, R = [1.0] * D, [1.0] * D
        assert cross_polytope_nats(L, R, 0.01) < box_nats(L, R, 0.01) - 0.5 * D
    assert box_nats([1.0, 0.0], [2.0, 5.0], 0.5) == box_nats([1.0], [2.0], 0.5)


@pytest.mark.independent("holdout.ladder")
def test_bits_are_priced_by_laplace():
    assert sum(next_bit_nats(i, min(i, 4), i < 4) for i in range(63)) == pytest.approx(bit_nats(63, 4), rel=1e-12)
    assert sum(math.comb(9, B) * math.exp(-bit_nats(9, B)) for B in range(10)) == pytest.approx(1.0)
    assert sum(math.exp(-round_nats(t)) for t in range(1, 100_000)) < 1.0


@pytest.mark.property_of("holdout.ladder")
def test_other_answers():
    price = 63 * value_nats(2) + round_nats(64)
    assert price == pytest.approx(52.00154273, rel=1e-9)
    assert adaptive_upper(28, 5000, 0.05, price) == pytest.approx(0.02414079502, rel=1e-9)
    price = 3 * value_nats(5001) + round_nats(4)
    assert price == pytest.approx(28.54791179, rel=1e-9)
    assert adaptive_upper(28, 5000, 0.05, price) == pytest.approx(0.01789276711, rel=1e-9)
    price = 5 * value_nats(10) + round_nats(5)
    assert adaptive_upper(28, 5000, 0.05, price) == pytest.approx(0.01376979852, rel=1e-9)
