"""Prior masses sum to at most one, whatever the grid, and are not much less than that."""

import math

import numpy as np
import pytest

from certiformer.theory.calculus.quantised import best_scale, dimension_nats, gaussian_nats, log_normaliser
from certiformer.theory.core.errors import InputError


@pytest.mark.parametrize("ratio", [0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 10.0])
def test_masses_sum_to_one_from_below(ratio):
    reach = math.ceil(40 / ratio)
    total = sum(
        math.exp(-gaussian_nats(np.array([j]), ratio, 1.0)) for j in range(-min(reach, 4000), min(reach, 4000) + 1)
    )
    assert total <= 1.0
    assert total > (0.999 if reach <= 4000 else 0.99)


def test_density_times_width_would_not_do():
    # Delta = 2s: the naive masses sum to more than one.
    naive = sum(2 / math.sqrt(2 * math.pi) * math.exp(-2 * j * j) for j in range(-20, 21))
    assert naive == pytest.approx(1.0144, abs=1e-4)
    assert naive**100 > 4


def test_the_normaliser_is_theta_at_any_fineness():
    assert log_normaliser(1e-9) == pytest.approx(math.log(math.sqrt(2 * math.pi) * 1e9), rel=1e-8)
    assert log_normaliser(1e-4) == pytest.approx(math.log(math.sqrt(2 * math.pi) * 1e4), rel=1e-8)
    # An integral plus the largest term, where there are too many to add: between theta and that.
    theta = math.sqrt(2 * math.pi) / 5e-6
    assert math.log(theta) <= log_normaliser(5e-6) <= math.log(theta + 1.0) * (1 + 1e-11)
    assert log_normaliser(50.0) == pytest.approx(0.0, abs=1e-11)
    assert log_normaliser(1.0) == pytest.approx(math.log(sum(math.exp(-j * j / 2) for j in range(-50, 51))), rel=1e-11)


def test_nats_by_hand():
    points = np.array([0, 1, -2])
    expected = 0.5 * 0.25 * 5 + 3 * log_normaliser(0.5)
    assert gaussian_nats(points, 2.0, 4.0) == pytest.approx(expected)
    assert gaussian_nats(points, 1.0, 2.0) == pytest.approx(expected)


def test_the_choice_of_scale_is_paid():
    points = np.array([3, -4, 5, 0])
    scales = [1.0, 2.0, 4.0, 8.0]
    nats, scale = best_scale(points, 1.0, scales)
    assert nats == pytest.approx(min(gaussian_nats(points, 1.0, s) for s in scales) + math.log(4))
    assert scale == 4.0


def test_dimensions_sum_to_one():
    assert sum(math.exp(-dimension_nats(k)) for k in range(1, 10_000)) == pytest.approx(1.0, abs=2e-4)
    assert dimension_nats(1) == pytest.approx(math.log(2))


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.inf, math.nan])
def test_a_grid_that_is_none(ratio):
    with pytest.raises(InputError):
        log_normaliser(ratio)
