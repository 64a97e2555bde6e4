"""Several processes on one ledger, and processes that are killed."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from certiformer.reproduction.sweep import Inline, Ledger, Local, sweep
from certiformer.reproduction.sweep.ledger import _born, fingerprint
from reproduction.sweep.client_process import experiment
from subprocesses import python_path

TESTS = Path(__file__).parents[2]


@pytest.fixture
def start(tmp_path):
    """Start a sweep in a process of its own; all are ended with the test."""
    processes = []

    def start(runs, sleep, workers, *kind):
        command = [
            sys.executable,
            TESTS / "reproduction" / "sweep" / "client_process.py",
            tmp_path / "runs.db",
            tmp_path / "log",
        ]
        arguments = [*command, str(runs), str(sleep), str(workers), *kind]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "PYTHONPATH": python_path()}
        process = subprocess.Popen(arguments, env=environment, start_new_session=True, cwd=tmp_path, **pipes)
        processes.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process

    (tmp_path / "log").touch()
    yield start
    for process in processes:
        process.kill()
        process.communicate(timeout=60)


def begin(*processes):
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()


def lines(tmp_path):
    return [tuple(map(int, line.split())) for line in (tmp_path / "log").read_text().splitlines()]


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def test_two_processes_share_a_ledger_and_do_nothing_twice(start, tmp_path):
    hold = tmp_path / "log.hold"
    hold.touch()  # however late one of them comes
    first, second = start(60, 0.02, 1), start(60, 0.02, 1)
    begin(first, second)
    until(lambda: len({pid for _, pid in lines(tmp_path)}) == 2)
    hold.unlink()
    assert (first.wait(120), second.wait(120)) == (0, 0)
    done = lines(tmp_path)
    assert Counter(seed for seed, _ in done) == Counter(range(60))
    with Ledger(tmp_path / "runs.db") as ledger:
        assert ledger.status(experiment(str(tmp_path / "log"), 60, 0.02)).done == 60


def test_after_sigkill_only_the_latest_runs_are_done_again(start, tmp_path):
    runs = experiment(str(tmp_path / "log"), 16, 0.1)
    hold = tmp_path / "log.hold"
    hold.write_text("12")  # however late the signal comes
    process = start(16, 0.1, 2)
    begin(process)
    until(lambda: len(lines(tmp_path)) >= 11)
    process.send_signal(signal.SIGKILL)
    hold.unlink()
    # orphans end by themselves, or they would do work that somebody else has taken over
    workers = {pid for _, pid in lines(tmp_path)}
    until(lambda: not any(_born(pid) for pid in workers))
    begun = lines(tmp_path)
    with Ledger(tmp_path / "runs.db") as ledger:
        status = ledger.status(runs)
        assert 0 < status.done < 16
        assert status.failed == status.running == 0
        # of each of the two workers the run in hand, and those that ended in the last 0.2 seconds
        assert len(begun) - status.done <= 2 * (1 + 3)
        # not reaped: the dead process is still in the table of processes
        swept = sweep(runs, ledger, Inline())
        assert swept.reused == status.done
        assert ledger.status(runs).done == 16
        with Ledger(tmp_path / "reference.db") as reference:
            sweep(runs, reference, Inline())
            assert [fingerprint(row) for row in ledger.rows(runs)] == [fingerprint(r) for r in reference.rows(runs)]
    assert len(lines(tmp_path)) == len(begun) + (16 - status.done) + 16


def test_a_process_waits_for_the_runs_of_another_and_takes_them_over_when_it_dies(start, tmp_path):
    runs = experiment(str(tmp_path / "log"), 2, 0.0)
    hold = tmp_path / "log.hold"
    hold.touch()
    process = start(2, 0.0, 2)
    begin(process)
    until(lambda: len(lines(tmp_path)) == 2)
    with Ledger(tmp_path / "runs.db") as ledger, Local(2) as engine:
        assert ledger.status(runs).running == 2
        killer = subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -9 {process.pid}; rm {hold}"])
        swept = sweep(runs, ledger, engine)
        killer.wait(60)
        assert (swept.reused, swept.failed) == (0, 0)
        assert [row.attempts for row in ledger.rows(runs)] == [2, 2]


def test_ctrl_c_ends_a_sweep_at_once_and_gives_everything_back(start, tmp_path):
    runs = experiment(str(tmp_path / "log"), 4, 0.0)
    (tmp_path / "log.hold").touch()
    process = start(4, 0.0, 2)
    begin(process)
    until(lambda: len(lines(tmp_path)) == 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    with Ledger(tmp_path / "runs.db") as ledger:
        assert set(ledger.states(runs).values()) == {"pending"}
        assert {row.state for row in ledger.rows(runs)} == {"pending"}


@pytest.mark.parametrize(
    ("kind", "ending", "everyone"),
    [
        ("dask", signal.SIGINT, True),
        ("dask", signal.SIGTERM, False),
        *(
            pytest.param(*case, marks=pytest.mark.deep)
            for case in (
                ("dask", signal.SIGINT, False),
                ("dask", signal.SIGTERM, True),
                *itertools.product(["local"], [signal.SIGINT, signal.SIGTERM], [True, False]),
            )
        ),
    ],
)
def test_a_stopped_sweep_goes_on_where_it_was(start, tmp_path, kind, ending, everyone):
    """Ctrl-C in a terminal reaches the workers too, `kill` only the process: both end all, and rows stay the same."""
    runs = experiment(str(tmp_path / "log"), 20, 0.05)
    hold = tmp_path / "log.hold"
    hold.write_text("12")  # however late the signal comes
    process = start(20, 0.05, 2, kind)
    begin(process)
    until(lambda: len(lines(tmp_path)) >= 8)
    if everyone:
        os.killpg(process.pid, ending)
    else:
        process.send_signal(ending)
    _, said = process.communicate(timeout=60)
    hold.unlink()
    assert process.returncode == 128 + ending, said
    # an interrupted worker of Dask says where it was; we do not
    assert b"Traceback" not in said or (kind == "dask" and everyone)
    until(lambda: not any(_born(pid) for _, pid in lines(tmp_path)))
    with Ledger(tmp_path / "runs.db") as ledger, Ledger(tmp_path / "reference.db") as reference:
        status = ledger.status(runs)
        assert 0 < status.done < 20
        assert (status.failed, status.running) == (0, 0)
        assert sweep(runs, ledger, Inline()).reused == status.done
        sweep(runs, reference, Inline())
        assert [fingerprint(row) for row in ledger.rows(runs)] == [fingerprint(row) for row in reference.rows(runs)]
