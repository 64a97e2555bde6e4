"""SLURM through dask-jobqueue itself: only `sbatch` and `scancel` are ours, and run the jobs on this machine."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from certiformer.reproduction.sweep import Dask, Experiment, Inline, Ledger, sweep
from subprocesses import python_path

# like the real one, it has its own copy of the script before it returns
SBATCH = """#!/bin/sh
cp "$1" "{jobs}.sh"
setsid sh "{jobs}.sh" >"{log}" 2>&1 &
echo $! >>"{jobs}"
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
for job in "$@"; do kill -TERM -- -"$job" 2>/dev/null; done
exit 0
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    jobs = tmp_path / "jobs"
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        tool = tools / name
        tool.write_text(text.format(log=tmp_path / "log", jobs=jobs) if name == "sbatch" else text)
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", python_path())
    return jobs


def alive(job):
    """Whether a process is more than an entry that nobody has read yet."""
    try:
        return Path(f"/proc/{job}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_a_sweep_on_slurm_finds_what_it_finds_at_home(slurm, tmp_path):
    grid = Experiment("walk", run="reproduction.sweep.toy_runs:walk", configs=[{"seed": s} for s in range(6)])
    with Ledger(tmp_path / "home.db") as ledger, Inline() as engine:
        sweep(grid, ledger, engine, progress=False)
        expected = ledger.digest(grid)
    # any free port: Dask warns where its usual one is taken, by whoever else is on this machine
    options = {"interface": "lo", "scheduler_options": {"dashboard_address": "127.0.0.1:0"}}
    with Ledger(tmp_path / "slurm.db") as ledger, Dask.slurm(1, 2, "1GB", **options) as engine:
        done = sweep(grid, ledger, engine, progress=False)
        workers = {row.worker for row in ledger.rows(grid)}
    assert done.digest == expected
    assert done.failed == 0
    assert all(not worker.endswith(f":{os.getpid()}") for worker in workers)
    (job,) = slurm.read_text().split()
    deadline = time.monotonic() + 60
    while alive(job) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(job)
