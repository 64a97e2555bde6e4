"""Claims are false in at most a fraction delta of repetitions; broken procedures are caught by the same test."""

import pytest

from evaluation import coverage


@pytest.mark.parametrize("name", coverage.VALID)
def test_valid(name):
    failures, p_value = coverage.judged(coverage.VALID[name], 200)
    assert p_value > 1e-4, f"{failures} of 200 false at level {coverage.DELTA}"


@pytest.mark.parametrize("name", coverage.BROKEN)
def test_broken_procedures_are_caught(name):
    repetitions = 40 if name in ("best of shuffles", "peeking") else 200
    _, p_value = coverage.judged(coverage.BROKEN[name], repetitions)
    assert p_value < 1e-3


@pytest.mark.deep
@pytest.mark.parametrize("name", coverage.LONG)
def test_valid_at_length(name):
    failures, p_value = coverage.judged(coverage.LONG[name], 2500, seed=1)
    assert p_value > 1e-4, f"{failures} of 2500 false at level {coverage.DELTA}"
