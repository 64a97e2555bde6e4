"""Certificates fail no more often than they may, and the same simulation catches procedures that break a rule."""

import pytest

from certiformer.certification.coverage import BROKEN, VALID, Coverage, run

REPETITIONS = 400


@pytest.mark.independent(
    "holdout",
    "betting",
    "occam",
    "pacbayes.gibbs",
    "pacbayes.single",
    "margin",
    "disagreement",
    "progressive",
)
@pytest.mark.parametrize("name", VALID)
def test_a_valid_certificate_covers(name):
    found = run(VALID[name], REPETITIONS, seed=0)
    assert found.p_value > 1e-3, f"{name}: {found.failures} failures in {found.repetitions}"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_procedure_is_caught(name):
    found = run(BROKEN[name], 100, seed=0)
    assert found.p_value < 1e-6, f"{name}: only {found.failures} failures in {found.repetitions}"


def test_the_binomial_test_is_exact():
    found = run(lambda random: bool(random.random() < 2.0), 3, seed=0, delta=0.1)
    assert found == Coverage(3, 3, pytest.approx(0.001))
    assert run(lambda random: False, 5, seed=0).p_value == 1.0
