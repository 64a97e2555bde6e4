"""Sturm's comparison and the self-consistent certificate, against mpmath, explicit functions and a plain iteration."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certiformer.theory.calculus.descent import (
    Certificate,
    Landscape,
    Refusal,
    Run,
    certify,
    iterate_loss,
    least_count,
    log_stability,
    regret,
    segment_maximum,
    sturm,
)


def landscape(curvature=0.01, lift=1.0, drift=0.05, cap=0.05, smooth=0.1):
    return Landscape(
        gradient=lambda b: 1.0 + b,
        lipschitz=lambda b: 2.0 * (1.0 + b),
        smoothness=lambda b: smooth * (1.0 + b),
        curvature=lambda b: curvature * (1.0 + b),
        lift=lift,
        drift=drift,
        drift_cap=cap,
    )


@pytest.mark.parametrize("s", [0.0, 1e-9, 1e-4, 0.05, 0.0999999, 0.1, 0.1000001, 0.5, 1.0, 1.5, 1.57, 3.0])
def test_sturm_coefficients_to_full_precision(s):
    mpmath.mp.dps = 40
    c = sturm(s)
    if s == 0.0:
        assert (float(c.cotangent), float(c.cosecant), float(c.deficit)) == (1.0, 1.0, 0.0)
        return
    exact = mpmath.mpf(s) * mpmath.cot(mpmath.mpf(s))
    assert float(c.deficit) == pytest.approx(float(1 - exact), rel=1e-12)
    assert float(c.cotangent) == pytest.approx(float(exact), rel=1e-10, abs=1e-15)
    assert float(c.cosecant) == pytest.approx(float(mpmath.mpf(s) / mpmath.sin(mpmath.mpf(s))), rel=1e-13)


@given(st.floats(0.01, 2.4), st.floats(-3, 3), st.floats(0.01, 2.0), st.floats(0.0, 3.0))
def test_sturm_inequality_for_explicit_solutions(q, slope, start, forcing):
    """f'' + q f = forcing >= 0 has f = (start - forcing/q) cos + ... ; the inequality has no other way to be tight."""
    s = math.sqrt(q)
    c = sturm(s)
    f1 = (start - forcing / q) * math.cos(s) + slope / s * math.sin(s) + forcing / q
    left, right = f1 * float(c.cosecant), start * float(c.cotangent) + slope
    assert left >= right - 1e-9 * (1 + abs(left))
    if forcing == 0.0:
        assert left == pytest.approx(right, abs=1e-9)
    if s < math.pi / 2 - 0.05:
        assert iterate_loss(q, f1, -slope) >= start - 1e-9 * (1 + abs(slope))


def test_iterate_loss_is_attained_and_ends_at_half_pi():
    q, slope, start = 1.3, -0.4, 2.0
    s = math.sqrt(q)
    end = start * math.cos(s) + slope * math.sin(s) / s
    assert iterate_loss(q, end, -slope) == pytest.approx(start, rel=1e-12)
    assert iterate_loss(math.pi**2 / 4, 1.0, 1.0) == math.inf
    assert math.isfinite(iterate_loss(math.pi**2 / 4 * 0.999, 1.0, 1.0))


@pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 2.0, 9.0])
def test_segment_maximum_is_attained_by_the_cosine(q):
    s = math.sqrt(q)
    x = np.linspace(0, 1, 2001)
    f = np.cos(s * (x - 0.5))
    assert segment_maximum(q) == pytest.approx(f.max() / f[0], rel=1e-9)


def test_segment_maximum_beyond_pi_squared():
    assert segment_maximum(math.pi**2) == math.inf
    assert segment_maximum(math.pi**2 - 1e-6) < math.inf


@given(
    D=st.floats(0.0, 3.0),
    b=st.floats(0.0, 2.0),
    b0=st.floats(0.0, 2.0),
    Lt=st.floats(0.0, 0.5),
    L0=st.floats(0.0, 2.0),
    K=st.integers(1, 200),
    eta=st.floats(0.01, 4.0),
    curvature=st.floats(1e-6, 0.5),
)
def test_certificate_satisfies_its_conditions_and_is_the_least(D, b, b0, Lt, L0, K, eta, curvature):
    land, run = landscape(curvature), Run(D, b, b0, Lt, L0, K, eta)
    answer = certify(land, run)
    s = 0.0
    for _ in range(3000):  # the monotone iteration from below, written out
        if s >= math.pi / 2:
            break
        c0, c1, deficit = (float(c) for c in sturm(s))
        total = (K * c1 * Lt + deficit * L0 + D**2 / (2 * eta)) / c0
        square = D**2 + 2 * eta * K * c1 * Lt + 2 * eta * deficit * L0
        B = max(b, b0, min(b + math.sqrt(square), b0 + eta * 0.05 * (L0 + total)))
        new = math.sqrt(curvature * (1 + B) * square)
        if abs(new - s) <= 1e-14 * new:
            break
        s = new
    reach = B + eta * min(0.05 * L0, 0.05)
    if isinstance(answer, Certificate):
        assert answer.angle == pytest.approx(s, rel=1e-5, abs=1e-12)
        assert answer.angle < math.pi / 2
        assert answer.total == pytest.approx(regret(answer.angle, run), rel=1e-12)
        assert curvature * (1 + answer.B) * answer.distance**2 <= answer.q * (1 + 1e-13)
        assert max(b, b0) <= answer.B
        assert eta * 0.1 * (1 + reach) <= 1.0 + 1e-4
    elif "step size" in answer.requires:
        assert eta * 0.1 * (1 + reach) >= 1.0 - 1e-4
        assert answer.measured > 1.0 - 1e-11
    else:
        assert s >= math.pi / 2 - 1e-6 or answer.measured < 1.0001  # no fixed point, or a tangency
        assert answer.measured > 1.0 - 1e-9


def test_fixed_point_by_hand():
    """Constant moduli make q(s) explicit: curvature rho^2(s) with D = 0 is solved by mpmath."""
    land = Landscape(*(lambda b: b * 0 + 1.0,) * 2, lambda b: b * 0 + 0.1, lambda b: b * 0 + 0.02, 0.0, 0.0, 0.0)
    run = Run(1.5, 0.0, 0.0, 0.02, 0.6, 30, 2.0)
    answer = certify(land, run)
    mpmath.mp.dps = 30
    root = mpmath.findroot(
        lambda s: (
            0.02 * (2.25 + 120 * s / mpmath.sin(s) * mpmath.mpf("0.02") + 4 * (1 - s * mpmath.cot(s)) * 0.6) - s**2
        ),
        0.35,
    )
    assert isinstance(answer, Certificate)
    assert answer.angle == pytest.approx(float(root), rel=1e-10)
    assert answer.B == 0.0


def test_refusals_name_their_reason():
    run = Run(5.0, 0.0, 0.0, 0.1, 0.7, 10, 1.0)
    far = certify(landscape(curvature=1.0), run)
    assert isinstance(far, Refusal)
    assert "heads" in far.requires
    assert far.measured > 1.0
    fast = certify(landscape(curvature=1e-6, smooth=10.0), run)
    assert isinstance(fast, Refusal)
    assert "step size" in fast.requires
    assert fast.measured > 1.0
    assert isinstance(certify(landscape(), Run(1e200, 0.0, 0.0, 0.0, 0.7, 10, 1.0)), Refusal)
    assert isinstance(certify(landscape(), Run(3.0, 0.0, 0.0, 1e300, 0.7, 10, 1.0)), Refusal)


def test_step_size_is_checked_one_step_ahead():
    """eta smoothness(B + eta min(drift L0, cap)) <= 1: with constant norms the threshold is known."""
    run = Run(0.0, 1.0, 1.0, 0.0, 2.0, 1, 1.0)

    def at(limit, cap):
        step = lambda b: (b >= limit) * 10.0  # noqa: E731
        return certify(Landscape(lambda b: 1.0, lambda b: 1.0, step, lambda b: 0.0 * b, 1.0, 0.25, cap), run)

    assert isinstance(at(1.5000001, 1.0), Certificate)  # 1 + 1 * 0.25 * 2 = 1.5
    assert isinstance(at(1.4999999, 1.0), Refusal)
    assert isinstance(at(1.3000001, 0.3), Certificate)  # capped: 1 + 0.3
    assert isinstance(at(1.2999999, 0.3), Refusal)


def test_step_size_limit_is_one():
    run = Run(0.0, 0.0, 0.0, 0.0, 0.0, 1, 1.0)
    for smooth, fine in ((0.999, True), (1.001, False)):
        assert isinstance(certify(landscape(smooth=smooth, drift=0.0), run), Certificate) is fine


def test_a_target_at_the_start_is_a_certificate():
    answer = certify(landscape(), Run(0.0, 0.5, 0.5, 0.7, 0.7, 1, 0.5))
    assert isinstance(answer, Certificate)
    assert answer.total >= 0.7
    nothing = certify(landscape(), Run(0.0, 0.0, 0.0, 0.0, 0.0, 5, 0.5))
    assert isinstance(nothing, Certificate)
    assert (nothing.angle, nothing.distance, nothing.total) == (0.0, 0.0, 0.0)
    assert log_stability(landscape(), Run(0.0, 0.0, 0.0, 0.0, 0.0, 5, 0.5), nothing, 10) == -math.inf


def test_norm_bound_takes_the_better_of_the_two_ways():
    """B is at most b + lift distance and at most b0 + eta drift (losses), whichever is smaller, and at least b, b0."""
    run = Run(2.0, 0.3, 0.1, 0.01, 0.7, 20, 0.5)
    near_start = certify(landscape(1e-4, drift=0.001, cap=0.001), run)
    near_target = certify(landscape(1e-4, lift=0.01, drift=50.0, cap=0.001), run)
    assert isinstance(near_start, Certificate)
    assert isinstance(near_target, Certificate)
    assert pytest.approx(max(0.3, 0.1 + 0.5 * 0.001 * (0.7 + near_start.total)), rel=1e-12) == near_start.B
    assert pytest.approx(0.3 + 0.01 * near_target.distance, rel=1e-12) == near_target.B


def test_regret_formula():
    run = Run(1.2, 0.0, 0.0, 0.1, 0.7, 20, 0.5)
    c0, c1 = 0.8 / math.tan(0.8), 0.8 / math.sin(0.8)
    assert regret(0.8, run) == pytest.approx((20 * c1 * 0.1 + (1 - c0) * 0.7 + 1.44) / c0, rel=1e-13)
    assert regret(math.pi / 2, run) == math.inf


def test_log_stability_formula():
    run, certificate = Run(1.0, 0.0, 0.0, 0.1, 0.7, 20, 0.5), Certificate(0.6, 1.5, 0.4, 3.0)
    growth = 2 * 0.5 * (0.01 * 1.4) * 3.7 / math.cos(0.6)
    expected = 0.5 * 1.4 / 50 * math.exp(growth) * 3.7
    assert math.exp(log_stability(landscape(), run, certificate, 50)) == pytest.approx(expected, rel=1e-12)


@given(st.integers(1, 10**12))
def test_least_count_finds_the_threshold(threshold):
    assert least_count(lambda k: k >= threshold, 10**15) == threshold


def test_least_count_gives_up_at_the_limit():
    assert least_count(lambda k: False, 1000) is None
    assert least_count(lambda k: k >= 1000, 1000) == 1000
    assert least_count(lambda k: k >= 1001, 1000) is None
    assert least_count(lambda k: True, 1) == 1
