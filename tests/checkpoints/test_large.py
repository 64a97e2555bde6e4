"""Models larger than the memory that may be used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import certiformer

LARGE = Path(__file__).with_name("large.py")


def run(rows, megabytes, folder, timeout):
    source = str(Path(certiformer.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(LARGE), str(rows), str(megabytes), str(folder)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert json.loads(done.stdout)["bytes"] > 2 * megabytes * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="limits on private memory are Linux's")
def test_a_sharded_model_of_twice_the_memory(tmp_path):
    run(1_500_000, 160, tmp_path, 200)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform != "linux", reason="limits on private memory are Linux's")
def test_a_sharded_model_of_sixteen_gigabytes_in_one(tmp_path):
    run(64_000_000, 1024, tmp_path, 3500)
