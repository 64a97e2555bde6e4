"""Betting in blocks against the recursion as the note writes it, one mean, one order and one step at a time."""

import itertools
import math
from statistics import NormalDist

import mpmath
import numpy as np
import pytest

from certiformer.theory.calculus.block_betting import _slopes, block_evidence, block_upper
from certiformer.theory.calculus.target_betting import fixed_orders
from certiformer.theory.core.errors import InputError

NORMAL = NormalDist()


def slopes(z, j, r):
    found = []
    for t in range(len(z)):
        before_z, before_j = z[:t], j[:t]
        shared = sum(a * b for a, b in zip(before_z, before_j, strict=True))
        shared -= sum(before_z) * sum(before_j) / max(t, 1)
        spread = sum(b * b for b in before_j) - sum(before_j) ** 2 / max(t, 1)
        found.append(min(max(shared / (spread + 1), 0), 1) * r / (r + 1))
    return found


def final(z, j, means, r, m, delta, complement):
    """The last capital against the mean m, from 1."""
    n, top, capital = len(z), 1.5 / delta, 1.0
    total, squares = 0.5, 0.0
    for t, (one, verdict, mean, slope) in enumerate(zip(z, j, means, slopes(z, j, r), strict=True), 1):
        y = one - slope * (verdict - mean)
        y = 1 - y if complement else y
        deviation = math.sqrt((2 / 4 + squares) / (2 + t - 1) * (n - t + 1))
        hedge = top * NORMAL.pdf(NORMAL.inv_cdf(capital / top)) / deviation if 0 < capital < top else 0.0
        stake = min(hedge, capital / (1 + slope - m), (top - capital) / (m + slope))
        capital = min(max(capital + stake * (m - y), 0.0), top)
        total += y
        squares += (y - total / (t + 1)) ** 2
    return capital


def evidence(z, j, means, r, m, delta, complement):
    orders = fixed_orders(len(z)).tolist()
    parts = [[values[row] for row in order] for order in orders for values in (z, j, means)]
    triples = [parts[place : place + 3] for place in range(0, len(parts), 3)]
    return sum(final(*triple, r, m, delta, complement) for triple in triples) / len(triples)


def problem(n, seed, share=0.3):
    rng = np.random.default_rng(seed)
    z = (rng.random(n) < share).astype(float)
    j = np.where(rng.random(n) < 0.8, z, rng.random(n))
    return z, j, rng.random(n) * 0.4


ROW = np.arange(1, 61)
NOTE = ((ROW % 7 == 0) * 1.0, (((ROW % 7 == 0) & (ROW % 21 != 0)) | (ROW % 11 == 0)) * 1.0, ((3 * ROW) % 4) / 9)


def test_the_numbers_of_the_note():
    assert block_upper(*NOTE, 9, 0.05) == pytest.approx(0.238335967, abs=1e-9)
    assert 1 - block_upper(*NOTE, 9, 0.05, complement=True) == pytest.approx(0.0530053941, abs=1e-9)


def test_slopes_start_at_zero_and_use_the_past_alone():
    z, j, _ = problem(120, 3)
    found = _slopes(z[:, None], j[:, None], 4)[:, 0]
    assert found == pytest.approx(slopes(z.tolist(), j.tolist(), 4), abs=1e-14)
    assert found[0] == 0.0
    faint = 0.1 * z  # a judge whose verdicts hardly differ: the slope is cut off at 1
    assert _slopes(z[:, None], faint[:, None], 4).max() == 0.8
    assert slopes(z.tolist(), faint.tolist(), 4) == pytest.approx(_slopes(z[:, None], faint[:, None], 4)[:, 0])
    z[-1], j[-1] = 1 - z[-1], 1 - j[-1]
    assert _slopes(z[:, None], j[:, None], 4)[:, 0].tolist() == found.tolist()


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-4])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_capital_is_that_of_the_recursion(seed, delta, complement):
    z, j, means = problem(25, seed)
    plain = [values.tolist() for values in (z, j, means)]
    for m in (0.02, 0.2, 0.5, 0.9):
        found = block_evidence(m, z, j, means, 3, delta, complement=complement)
        expected = evidence(*plain, 3, m, delta, complement)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("complement", [False, True])
def test_the_limit_is_where_the_capital_is_one_over_delta(complement):
    z, j, means = problem(40, 5)
    upper = block_upper(z, j, means, 2, 0.05, complement=complement)
    assert 0.0 < upper < 1.0
    assert block_evidence(upper, z, j, means, 2, 0.05, complement=complement) >= 20.0
    assert block_evidence(upper * (1 - 1e-9), z, j, means, 2, 0.05, complement=complement) < 20.0


def test_few_items_prove_nothing():
    z, j, means = np.ones(2), np.ones(2), np.zeros(2)
    assert block_upper(z, j, means, 1, 0.05) == 1.0


def test_the_computed_capital_stays_below_the_exact_one():
    """Forty digits, the same orders: what rounding costs is taken off, and hardly more."""
    z, j, means = problem(20, 9)
    m, delta, r = 0.6, 1e-6, 5
    for complement in (False, True):
        with mpmath.workdps(40):
            found = mpmath.mpf(0)
            for order in fixed_orders(20):
                rows = [[mpmath.mpf(float(values[row])) for row in order] for values in (z, j, means)]
                found += _exact(*rows, r, mpmath.mpf(m), mpmath.mpf(delta), complement)
            exact = found / 16
        computed = block_evidence(m, z, j, means, r, delta, complement=complement)
        assert computed <= exact
        assert computed == pytest.approx(float(exact), rel=1e-9)


def _exact(z, j, means, r, m, delta, complement):
    n, top, capital = len(z), mpmath.mpf("1.5") / delta, mpmath.mpf(1)
    total, squares = mpmath.mpf("0.5"), mpmath.mpf(0)
    for t, (one, verdict, mean, slope) in enumerate(zip(z, j, means, slopes(z, j, r), strict=True), 1):
        y = one - slope * (verdict - mean)
        y = 1 - y if complement else y
        deviation = mpmath.sqrt((mpmath.mpf("0.5") + squares) / (t + 1) * (n - t + 1))
        share = capital / top
        hedge = mpmath.mpf(0)
        if 0 < share < 1:
            start = NORMAL.inv_cdf(float(share))
            at = mpmath.findroot(lambda x, share=share: mpmath.log(mpmath.ncdf(x)) - mpmath.log(share), start)
            hedge = top * mpmath.npdf(at) / deviation
        stake = min(hedge, capital / (1 + slope - m), (top - capital) / (m + slope))
        capital = min(max(capital + stake * (m - y), 0), top)
        total += y
        squares += (y - total / (t + 1)) ** 2
    return capital


def test_every_outcome_of_three_blocks():
    """The probability of a wrong limit, summed over all outcomes, is at most delta: humans, judge and blocks."""
    theta, seen, false_alarm, delta = mpmath.mpf("0.3"), mpmath.mpf("0.8"), mpmath.mpf("0.4"), 0.4
    alarm = theta * seen + (1 - theta) * false_alarm
    failing = {False: mpmath.mpf(0), True: mpmath.mpf(0)}
    for rows in itertools.product(itertools.product((0.0, 1.0), repeat=3), repeat=3):
        chance = mpmath.mpf(1)
        for wrong, verdict, other in rows:
            says = seen if wrong else false_alarm
            chance *= (
                (theta if wrong else 1 - theta) * (says if verdict else 1 - says) * (alarm if other else 1 - alarm)
            )
        z, j, means = map(np.array, zip(*rows, strict=True))
        for complement, rate in ((False, theta), (True, 1 - theta)):
            failing[complement] += chance * (block_upper(z, j, means, 1, delta, complement=complement) < rate)
    assert max(failing.values()) <= delta


@pytest.mark.parametrize("delta", [1e-301, 0.0, math.nan])
def test_a_delta_that_is_too_small_is_refused(delta):
    with pytest.raises(InputError, match="delta"):
        block_upper(*NOTE, 9, delta)


def test_a_tiny_delta_and_a_lost_capital():
    """A capital below 1e-280 is given up: 0, never negative, so that nothing is said from a delta as small as that."""
    zeros, ones = np.zeros(2000), np.ones(300)
    assert 0.2 < block_upper(zeros, zeros, zeros, 1, 1e-200) < 0.3
    assert block_upper(zeros, zeros, zeros, 1, 1e-290) == 1.0
    assert block_evidence(0.01, ones, np.zeros(300), np.zeros(300), 1, 1e-270) == 0.0
