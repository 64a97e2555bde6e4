"""Verdicts of gates are wrong in at most a fraction delta of repetitions; the same test catches broken procedures."""

import functools
import os

import pytest

from certiformer.evaluation import mean
from evaluation import gate_coverage
from evaluation.coverage import DELTA, judged

REMEMBERED = {name: functools.cache(getattr(mean, name)) for name in ("exact_upper", "exact_lower")}


@pytest.fixture(autouse=True)
def cheaper(monkeypatch):
    """Files need not survive the machine; a limit after so many errors among so many is computed once."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    for name, limit in REMEMBERED.items():
        monkeypatch.setattr(mean, name, limit)


@pytest.mark.parametrize("name", gate_coverage.VALID)
def test_valid(name):
    failures, p_value = judged(gate_coverage.VALID[name], 500)
    assert p_value > 1e-4, f"{failures} of 500 wrong at level {DELTA}"


@pytest.mark.parametrize("name", gate_coverage.BROKEN)
def test_broken_procedures_are_caught(name):
    # Four runs are wrong not much more often than delta, as each keeps below its own: it takes more to see that.
    few = {"labels where the judge says fine": 15, "pairs of groups": 30}
    repetitions = {"four runs without a ledger": 300, **few}.get(name, 60)
    _, p_value = judged(gate_coverage.BROKEN[name], repetitions)
    assert p_value < 1e-2


@pytest.mark.deep
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", gate_coverage.VALID)
def test_valid_at_length(name):
    failures, p_value = judged(gate_coverage.VALID[name], 10_000, seed=1)
    assert p_value > 1e-4, f"{failures} of 10,000 wrong at level {DELTA}"
