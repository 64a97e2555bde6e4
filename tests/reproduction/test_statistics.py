"""Intervals cover as often as they say, also with five seeds; verdicts say what intervals say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.reproduction import statistics, verdicts

REPETITIONS = 300


def inside(interval, value):
    return interval.low <= value <= interval.high


def coverage(draw, truth, estimate):
    generator = np.random.default_rng(7)
    return np.mean([inside(estimate(draw(generator)), truth) for _ in range(REPETITIONS)])


def test_the_mean_interval_covers():
    assert coverage(lambda g: g.normal(3.0, 2.0, 5), 3.0, statistics.mean_interval) > 0.92


def test_the_mean_interval_is_students():
    found = statistics.mean_interval([1.0, 2.0, 3.0])
    # t(0.975, 2) = 4.302653, sd = 1
    assert found.value == 2.0
    assert found.high - 2.0 == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_the_prediction_interval_catches_the_next_run():
    def caught(g):
        return inside(statistics.prediction_interval(g.normal(size=5)), float(g.normal()))

    generator = np.random.default_rng(3)
    assert np.mean([caught(generator) for _ in range(REPETITIONS)]) > 0.92


def test_the_median_interval_covers_whatever_the_tails():
    assert coverage(lambda g: g.standard_cauchy(9), 0.0, statistics.median_interval) > 0.94
    # with six values the whole range is the interval: P(miss) = 2 / 64
    assert statistics.median_interval([3, 1, 2, 6, 5, 4]).ends == (1.0, 6.0)
    assert statistics.median_interval([3, 1, 2, 5, 4]).ends == (-math.inf, math.inf)


def power_data(generator, exponent=-1.0, seeds=5):
    return {n: n**exponent * np.exp(0.3 * generator.normal(size=seeds)) for n in (10, 30, 100, 300, 1000)}


def test_a_planted_exponent_is_found_as_often_as_promised():
    assert coverage(power_data, -1.0, statistics.power_law) > 0.92


def test_paired_seeds_narrow_the_interval():
    generator = np.random.default_rng(0)
    common = np.exp(generator.normal(size=8))
    points = {n: common / n for n in (10, 100, 1000)}
    paired = statistics.power_law(points, paired=True)
    assert paired.high - paired.low < 1e-9
    assert statistics.power_law(points).high - statistics.power_law(points).low > 0.1


def test_the_trend_covers_with_unequal_noise():
    x = np.repeat([20.0, 50.0, 100.0, 200.0], 5)
    assert coverage(lambda g: 0.01 * x + x / 100 * g.normal(size=20), 0.01, lambda y: statistics.trend(x, y)) > 0.92


def test_ratio():
    assert statistics.ratio([2.0] * 4, [1.0] * 4).ends == (2.0, 2.0)


@pytest.mark.parametrize(
    "few",
    [
        statistics.mean_interval([1.0]),
        statistics.prediction_interval([1.0]),
        statistics.median_interval([1.0]),
        statistics.power_law({10: [1.0], 20: [0.5]}),
        statistics.power_law({10: [1.0, 2.0]}),
        statistics.trend([1.0, 2.0], [1.0, 2.0]),
        statistics.ratio([1.0], [2.0]),
        statistics.power_law({10: [1.0, 1.1, 1.2], 100: [0.1, 0.11, 0.12]}),
    ],
)
def test_too_few_runs_say_nothing(few):
    assert few.ends == (-math.inf, math.inf)
    said = [verdicts.number(few, 0.0, 1e9), verdicts.sign(few, 1e9), verdicts.no_more_than(few, 1e9)]
    assert [one.word for one in said] == ["cannot tell"] * 3
    assert verdicts.rate_allowed(few, 1e9).word == "not violated"


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=6), st.floats(0.1, 10))
def test_intervals_scale_with_the_data(values, factor):
    one, other = statistics.mean_interval(values), statistics.mean_interval([factor * v for v in values])
    assert other.value == pytest.approx(factor * one.value)
    assert other.high - other.low == pytest.approx(factor * (one.high - one.low), abs=1e-9)
    assert one.low <= one.value <= one.high


def test_exponents_of_what_may_be_negative():
    rng = np.random.default_rng(0)
    noisy = {n: 2.0 / n + 0.03 * rng.standard_normal(8) for n in (10.0, 20.0, 40.0, 80.0)}
    assert min(np.min(values) for values in noisy.values()) < 0.0 < min(np.mean(values) for values in noisy.values())
    found = statistics.power_law(noisy, paired=True)
    assert inside(found, -1.0)
    assert found.high - found.low > 0.5
    assert math.isnan(statistics.power_law({10.0: [-1.0, 0.5], 20.0: [1.0, 1.0]}).value)


def test_the_inner_interval_is_the_narrower_one():
    for found in (
        statistics.mean_interval([1.0, 2.0, 4.0]),
        statistics.bootstrap([[1.0, 2.0, 4.0, 3.0]], lambda c: c[..., 0]),
        statistics.trend([0, 1, 2, 3], [0.0, 1.2, 1.9, 3.1]),
    ):
        low, high = found.inner
        assert found.low < low < found.value < high < found.high
    assert str(statistics.Interval(0.5, 0.25, 1.0)) == "0.5 [0.25, 1]"
