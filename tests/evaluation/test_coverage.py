"""Claims are false in at most a fraction delta of repetitions; broken procedures are caught by the same test."""

import os
import subprocess
import sys

import numpy as np
import pytest

from certiformer.certification import statements
from evaluation import coverage
from subprocesses import python_path

SLOW = (
    "certify: mean, rare",
    "certify: mean, levels",
    "certify: mean over groups",
    "certify: repeats, grouped",
    "certify: slices of groups",
    "certify: two metrics",
    "compare: four models",
    "compare: groups",
    "compare: non-inferiority",
    "compare: sign test",
    "plan: pairs",
)
"""Sixteen orders, or several limits each: half as many repetitions by default."""
STREAMS = "watch: "
"""What is said at every moment has many chances to be false: more repetitions."""


@pytest.fixture(autouse=True)
def cheaper(monkeypatch):
    """How many examples would say more is advice, no statement, and takes longer than the limit."""
    monkeypatch.setattr(statements, "size_needed", lambda *given: None)


@pytest.mark.parametrize("name", coverage.VALID)
def test_valid(name):
    repetitions = 500 if name.startswith(STREAMS) else 100 if name in SLOW else 200
    failures, p_value = coverage.judged(coverage.VALID[name], repetitions)
    assert p_value > 1e-4, f"{failures} of {repetitions} false at level {coverage.DELTA}"


@pytest.mark.parametrize("name", coverage.BROKEN)
def test_broken_procedures_are_caught(name):
    few = {"best of shuffles": 40, "limits of a changing stream, intersected": 20}
    repetitions = {"pairs of groups as items": 60, "peeking": 60, **few}.get(name, 200)
    _, p_value = coverage.judged(coverage.BROKEN[name], repetitions)
    assert p_value < 1e-3


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", coverage.LONG)
def test_valid_at_length(name):
    failures, p_value = coverage.judged(coverage.LONG[name], 10_000, seed=1)
    assert p_value > 1e-4, f"{failures} of 10,000 false at level {coverage.DELTA}"


def test_from_the_shell(tmp_path):
    """One smoke test of the whole way: a file, a process, a number."""
    np.savez(tmp_path / "p.npz", heldout_correct=np.arange(200) >= 10)
    command = [sys.executable, "-m", "certiformer", "certify", "p.npz", "--csv", "--delta", "0.1", "--out", "o"]
    environment = {**os.environ, "PYTHONPATH": python_path()}
    found = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    names, row = (line.split(",") for line in found.stdout.splitlines())
    value = float(dict(zip(names, row, strict=True))["value"])
    assert value == pytest.approx(coverage.rate_limits(10, 200, 0.1).upper, rel=1e-9)
