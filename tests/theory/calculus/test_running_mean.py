"""Averages of means that may change: the formula in forty digits, fixed numbers, and streams whose rates move."""

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest

from certiformer.theory.calculus.running_mean import ln_capital, running_limits, squares_after
from certiformer.theory.core.errors import InputError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "gates.json").read_text())


def exact(n, total, p, side, squares=None):
    """ln K, and ln (K/4 + 3 E/4), as the proof writes them."""
    total, p = mpmath.mpf(total), mpmath.mpf(p)
    tilts = [mpmath.mpf(4) / 2**j for j in range(24)]
    capital = mpmath.fsum(
        mpmath.mpf(2) / ((j + 2) * (j + 3)) * mpmath.exp(side * tilt * total) / (1 + p * mpmath.expm1(side * tilt)) ** n
        for j, tilt in enumerate(tilts)
    )
    if squares is None:
        return mpmath.log(capital)
    parts = []
    for j in range(12):
        h = mpmath.mpf("0.75") / 2**j
        psi = -mpmath.log(1 - h) - h
        parts.append(mpmath.mpf(2) / ((j + 2) * (j + 3)) * mpmath.exp(side * h * (total - n * p) - psi * squares))
    return mpmath.log(capital / 4 + 3 * mpmath.fsum(parts) / 4)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("p", [0.05, 1e-9, 0.004, 0.5, 0.93])
@pytest.mark.parametrize(
    ("n", "total", "squares"), [(400, 59.4, 3.2), (1, 1.0, None), (200, 2.0, None), (30, 0.0, 0.7)]
)
def test_the_capital_is_below_the_exact_one_by_hardly_anything(n, total, squares, p, side):
    with mpmath.workdps(40):
        expected = exact(n, total, p, side, squares)
    found = ln_capital(n, total, p, side, squares)
    assert found <= expected
    assert found == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("squares", [None, 0.4])
def test_at_the_ends_of_the_range_only_the_impossible_is_rejected(squares):
    for n, total in ((10, 0.0), (10, 0.5), (10, 4.0), (10, 10.0)):
        assert ln_capital(n, total, 0.0, 1, squares) == (math.inf if total > 0 else 0.0)
        assert ln_capital(n, total, 1.0, -1, squares) == (math.inf if total < n else 0.0)
        assert ln_capital(n, total, 0.0, -1, squares) == 0.0
        assert ln_capital(n, total, 1.0, 1, squares) == 0.0


def test_limits_are_where_the_capital_is_two_over_delta():
    for n, total, delta in ((50, 3.0, 0.05), (1000, 400.0, 0.01), (7, 7.0, 0.3), (9, 0.0, 0.3)):
        low, high = running_limits(n, total, delta)
        bar = math.log(2 / delta)
        assert 0.0 <= low <= total / n <= high <= 1.0
        for end, side, inside in ((low, 1, low * (1 + 1e-9)), (high, -1, high * (1 - 1e-9))):
            if 0.0 < end < 1.0:
                assert ln_capital(n, total, end, side) >= bar > ln_capital(n, total, inside, side)


def test_nothing_was_seen():
    assert running_limits(0, 0.0, 0.05) == (0.0, 1.0)
    assert running_limits(1, 0.5, 0.05, 0.0) == (0.0, 1.0)


@pytest.mark.parametrize(("n", "total"), [(-1, 0.0), (3, 3.5), (3, -0.1), (3, math.nan)])
def test_a_sum_that_cannot_be_is_refused(n, total):
    with pytest.raises(InputError, match="total"):
        running_limits(n, total, 0.05)


def test_squares_are_taken_from_the_past():
    x = [0.1, 0.9, 0.4, 0.4]
    centres = [0.5 / 1, 0.6 / 2, 1.5 / 3, 1.9 / 4]
    expected = sum((a - b) ** 2 for a, b in zip(x, centres, strict=True))
    assert squares_after(np.array(x), 0, 0.0) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("v", VECTORS["running"], ids=str)
def test_running_limits(v):
    assert running_limits(v["n"], v["errors"], 0.05) == pytest.approx((v["lower"], v["upper"]), rel=1e-9, abs=1e-12)


def test_capital_and_limits_of_real_losses():
    for v in VECTORS["capital"]:
        assert ln_capital(v["n"], v["total"], v["p"], v["side"]) == pytest.approx(v["ln"], abs=1e-9)
    x = 0.3 * ((37 * np.arange(1, 401) % 101) / 101)
    squares = squares_after(x, 0, 0.0)
    assert squares == pytest.approx(3.238975794, rel=1e-9)
    assert running_limits(400, float(np.sum(x)), 0.05, squares) == pytest.approx((0.1252031771, 0.1720945909), rel=1e-9)
    parts = squares_after(x[:150], 0, 0.0) + squares_after(x[150:], 150, float(np.sum(x[:150])))
    assert parts == pytest.approx(squares, rel=1e-12)


@pytest.mark.parametrize("shape", ["constant", "ramp", "cycle", "step"])
def test_running_limits_hold_the_average_whatever_the_rates_do(shape):
    t = np.arange(1, 2001)
    rates = {
        "constant": np.full(2000, 0.05),
        "ramp": 0.01 + 0.04 * t / 2000,
        "cycle": 0.05 + 0.04 * np.sin(t / 100),
        "step": np.where(t < 1000, 0.01, 0.2),
    }[shape]
    looks = np.array([20, 50, 100, 200, 400, 700, 1000, 1500, 2000])
    averages = np.cumsum(rates)[looks - 1] / looks
    missed = 0
    for seed in range(120):
        sums = np.cumsum(np.random.default_rng(seed).random(2000) < rates)[looks - 1]
        # A rate lies outside the limits where the capital against it has reached 2/delta.
        missed += any(
            ln_capital(int(n), float(total), mean, side) >= math.log(2 / 0.05)
            for n, total, mean in zip(looks, sums, averages, strict=True)
            for side in (1, -1)
        )
    assert missed <= 12  # P(Bin(120, 0.05) > 12) < 0.01
