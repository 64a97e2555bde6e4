"""The second computation of exact limits, in whole numbers, against exact fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from math import comb

import pytest

from certiformer.certificates.disagreement import DisagreementBound
from certiformer.certificates.holdout import HoldOut, HoldOutBound
from certiformer.certificates.surrogate import SurrogateBound
from certiformer.evaluation import rate_limits
from certiformer.theory.calculus import tail_check
from certiformer.theory.calculus.tail_check import lower_shown, tail_at_least, tail_at_most, upper_shown
from certiformer.theory.calculus.tails import binomial_lower, binomial_upper
from certiformer.theory.core.errors import FormulaError
from certiformer.theory.theorems.toolbox.binomial import Binomial


def exact_tail(n: int, k: int, p: Fraction) -> Fraction:
    return sum((comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1)), Fraction(0))


@pytest.mark.independent("holdout")
def test_what_is_shown_is_true_and_what_is_true_by_a_hair_is_shown() -> None:
    draw = random.Random(5)
    hair = Fraction(1, 10**20)
    for _ in range(150):
        n = draw.randint(1, 60)
        k = draw.randint(0, n - 1)
        p = Fraction(draw.randint(1, 999), 1000)
        tail = exact_tail(n, k, p)
        assert tail_at_most(n, k, p, tail * (1 + hair))
        assert not tail_at_most(n, k, p, tail * (1 - hair))
        assert tail_at_least(n, k + 1, p, 1 - tail * (1 - hair))
        assert not tail_at_least(n, k + 1, p, 1 - tail * (1 + hair))
        # What is false, by far less than the bits that are kept, is never shown.
        for less in (Fraction(1, 10**31), Fraction(1, 10**60)):
            assert not tail_at_most(n, k, p, tail * (1 - less))
            assert not tail_at_least(n, k + 1, p, 1 - tail * (1 + less))


@pytest.mark.parametrize(
    ("n", "k", "p"),
    [(5, 5, Fraction(1, 2)), (5, -1, Fraction(1, 2)), (5, 2, Fraction(0)), (5, 2, Fraction(1)), (5, 2, Fraction(3, 2))],
)
def test_nothing_is_shown_outside_the_range(n: int, k: int, p: Fraction) -> None:
    assert not tail_at_most(n, k, p, Fraction(2))
    assert not tail_at_least(n, k + 1 if k == n else max(k, 0), p, Fraction(2))


def test_every_limit_that_is_found_is_confirmed_and_a_smaller_one_is_not() -> None:
    draw = random.Random(6)
    for _ in range(400):
        n = int(10 ** draw.uniform(0.0, 5.0))
        k = min(n, int(10 ** draw.uniform(0.0, 3.0)) - 1)
        delta = 10 ** draw.uniform(-9.0, -0.05)
        upper, lower = binomial_upper(k, n, math.log(delta)), binomial_lower(k, n, math.log(delta))
        share = Fraction(delta)
        assert upper_shown(n, k, Fraction(upper), share)
        assert lower_shown(n, k, Fraction(lower), share)
        if k < n:
            assert not upper_shown(n, k, Fraction(upper) * (1 - Fraction(1, 10**6)), share)
        if k > 0:
            assert not lower_shown(n, k, Fraction(lower) * (1 + Fraction(1, 10**6)) + Fraction(1, 10**12), share)


def test_a_lower_limit_is_rounded_down() -> None:
    """1 - u, rounded to nearest, was above the exact limit here."""
    delta = 0.7431565554304232
    found = rate_limits(115, 115, delta).lower
    assert Fraction(found) ** 115 <= Fraction(delta)
    assert HoldOut(errors=115, n=115).lower(delta) == found


def test_a_limit_that_whole_numbers_do_not_confirm_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_check, "binomial_upper", lambda *given: binomial_upper(*given) * (1.0 - 1e-6))
    counts = {"errors": 5, "n": 5000, "delta": 0.05}
    for evaluate in (
        lambda: HoldOutBound.evaluate(counts),
        lambda: Binomial.evaluate(counts),
        lambda: DisagreementBound.evaluate({**counts, "disagreements": 3, "unlabelled": 900}),
        lambda: SurrogateBound.evaluate({**counts, "disagreements": 3, "m": 900}),
        lambda: rate_limits(5, 5000, 0.05),
    ):
        with pytest.raises(FormulaError, match="whole numbers do not confirm"):
            evaluate()


@pytest.mark.parametrize("delta", [1e-300, 1e-40, 1e-18, 1e-13, 1.0 - 1e-9, 1.0 - 1e-12, 1.0 - 1e-15])
def test_levels_beyond_the_bits_that_are_kept_are_no_error(delta: float) -> None:
    """97 bits do not tell 1 - 1e-40 from 1: a limit there was called a defect."""
    for errors, n in ((0, 271_677), (0, 100), (25, 453_834), (26, 26), (996, 4301), (3, 7)):
        found = rate_limits(errors, n, delta)
        assert 0.0 <= found.lower <= 1.0
        assert 0.0 <= found.upper <= 1.0


def test_beyond_twenty_thousand_errors_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_check, "upper_shown", lambda *given: pytest.fail("it was"))
    tail_check.exact_upper("holdout", 20_001, 100_000, 0.05)
