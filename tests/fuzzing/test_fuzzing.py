"""Every reader against mutated files of its format."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subprocesses import python_path

HARNESS = Path(__file__).with_name("harness.py")


def run(count, seed, folder, timeout):
    environment = {**os.environ, "PYTHONPATH": python_path(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(HARNESS), str(count), str(seed), str(folder)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert '"failures": 0' in done.stdout


@pytest.mark.timeout(1200)  # 15 s of the processor; each reading has a limit of its own
@pytest.mark.parametrize("seed", range(2))
def test_a_thousand_mutants(seed, tmp_path):
    run(1_000, seed, tmp_path, 1_100)


@pytest.mark.deep
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_mutants(tmp_path):
    run(100_000, 2, tmp_path, 7000)
