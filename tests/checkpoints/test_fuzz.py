"""The readers against mutated files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import certiformer

FUZZ = Path(__file__).with_name("fuzz.py")


def run(count, seed, folder, timeout):
    source = str(Path(certiformer.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(FUZZ), str(count), str(seed), str(folder)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert '"failures": 0' in done.stdout


def test_a_thousand_mutants(tmp_path):
    run(1_000, 0, tmp_path, 240)


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_mutants(tmp_path):
    run(100_000, 1, tmp_path, 3500)
