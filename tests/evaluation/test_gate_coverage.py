"""Verdicts of gates are wrong in at most a fraction delta of repetitions; the same test catches broken procedures."""

import pytest

from evaluation import gate_coverage
from evaluation.coverage import DELTA, judged

REPETITIONS = {
    "losses at the threshold": 150,
    "losses a hair above": 150,
    "groups": 150,
    "slices": 150,
    "tries of tasks": 100,
    "any of several tries": 100,
    "against a baseline": 100,
    "against a baseline that is as good": 50,
    "inspect_ai: wrong answers take long": 150,
    "anytime, five looks": 50,
    "a ledger of four runs": 20,
    "human labels and a judge": 30,
    "human labels and a judge, at the threshold": 30,
}
"""Betting, or files that are written at every look: fewer than 500 by default."""


@pytest.mark.parametrize("name", gate_coverage.VALID)
def test_valid(name):
    repetitions = REPETITIONS.get(name, 500)
    failures, p_value = judged(gate_coverage.VALID[name], repetitions)
    assert p_value > 1e-4, f"{failures} of {repetitions} wrong at level {DELTA}"


@pytest.mark.parametrize("name", gate_coverage.BROKEN)
def test_broken_procedures_are_caught(name):
    # Four runs are wrong not much more often than delta, as each keeps below its own: it takes more to see that.
    repetitions = {"labels where the judge says fine": 15, "four runs without a ledger": 300}.get(name, 60)
    _, p_value = judged(gate_coverage.BROKEN[name], repetitions)
    assert p_value < 1e-2


@pytest.mark.deep
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", gate_coverage.VALID)
def test_valid_at_length(name):
    failures, p_value = judged(gate_coverage.VALID[name], 10_000, seed=1)
    assert p_value > 1e-4, f"{failures} of 10,000 wrong at level {DELTA}"
