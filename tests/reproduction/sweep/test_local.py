"""Whole sweeps in this process and in a pool of processes."""

from __future__ import annotations

import cProfile
import os
import pstats
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from certiformer.reproduction.sweep import Experiment, Inline, Ledger, Local, sweep
from certiformer.reproduction.sweep import engine as engine_module
from certiformer.reproduction.sweep.ledger import Claims
from certiformer.reproduction.sweep.local import cores, thread_environment
from certiformer.reproduction.sweep.progress import SweepProgress
from certiformer.theory.core.errors import CertiformerError, InputError
from subprocesses import python_path

WALK = "reproduction.sweep.toy_runs:walk"
WALKS = "reproduction.sweep.toy_runs:walks"
TROUBLED = "reproduction.sweep.toy_runs:troubled"


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "runs.db") as ledger:
        yield ledger


@pytest.fixture(scope="module")
def pool():
    with Local(2) as engine:
        yield engine


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.touch()
    return path


def seeds(log):
    return Counter(int(line.split()[0]) for line in log.read_text().splitlines())


def walk(log, count=6, run=WALK, **options):
    return Experiment("walk", run, [{"seed": s, "log": str(log)} for s in range(count)], **options)


def test_a_sweep_does_everything_once_and_then_nothing(ledger, pool, log):
    first = sweep(walk(log), ledger, pool)
    assert (first.runs, first.reused, first.failed) == (6, 0, 0)
    again = sweep(walk(log), ledger, pool)
    assert (again.runs, again.reused, again.digest) == (6, 6, first.digest)
    more = sweep(walk(log, count=8), ledger, pool)
    assert (more.runs, more.reused) == (8, 6)
    assert seeds(log) == Counter(range(8))
    pids = {line.split()[1] for line in log.read_text().splitlines()}
    assert str(os.getpid()) not in pids


def test_an_experiment_without_runs_is_done(ledger):
    swept = sweep(Experiment("nothing", WALK, []), ledger, Inline())
    assert (swept.runs, swept.reused, swept.failed) == (0, 0, 0)


def test_fresh_does_it_all_again(ledger, log):
    first = sweep(walk(log, 2), ledger, Inline())
    again = sweep(walk(log, 2), ledger, Inline(), fresh=True)
    assert (again.reused, again.digest) == (0, first.digest)
    assert seeds(log) == {0: 2, 1: 2}


def test_a_new_version_is_a_new_run(ledger, log):
    sweep(walk(log, 2, version=1), ledger, Inline())
    assert sweep(walk(log, 2, version=2), ledger, Inline()).reused == 0


def test_the_pool_and_this_process_find_the_same(ledger, pool, log, tmp_path):
    options = {"run_batch": WALKS, "batch_size": 4}
    here = sweep(walk(log, **options), ledger, Inline())
    with Ledger(tmp_path / "other.db") as other:
        there = sweep(walk(log, **options), other, pool)
        assert here.digest == there.digest
        assert [row.values["batch"] for row in other.rows(walk(log, **options)) if row.config["seed"] < 4] == [4] * 4


def test_failures_are_recorded_never_stop_the_others_and_are_retried_on_request(ledger, pool, tmp_path):
    troubles = [None, "raise", "exit", "wrong", None, None]
    cure = tmp_path / "cure"
    configs = [{"seed": s, "trouble": t, "cured": str(cure)} for s, t in enumerate(troubles)]
    experiment = Experiment("troubled", TROUBLED, configs)
    swept = sweep(experiment, ledger, pool)
    assert swept.failed == 3
    rows = ledger.rows(experiment)
    assert [row.state for row in rows] == ["done", "failed", "failed", "failed", "done", "done"]
    assert rows[1].error == "ValueError: seed 1 is unlucky"
    assert "in troubled" in rows[1].traceback
    assert (sweep(experiment, ledger, pool).failed, ledger.rows(experiment)[1].attempts) == (3, 1)
    cure.touch()
    retried = sweep(experiment, ledger, pool, retry=True)
    assert (retried.reused, retried.failed) == (3, 2)
    row = ledger.rows(experiment)[1]
    assert (row.state, row.attempts, row.error) == ("done", 2, None)


def test_a_run_that_kills_its_worker_is_a_failure_and_its_batch_survives(ledger, pool):
    configs = [{"seed": s, "trouble": "die" if s == 1 else None} for s in range(4)]
    experiment = Experiment("deadly", TROUBLED, configs, run_batch="reproduction.sweep.toy_runs:deadly_batch")
    assert sweep(experiment, ledger, pool).failed == 1
    rows = ledger.rows(experiment)
    assert [row.state for row in rows] == ["done", "failed", "done", "done"]
    assert rows[1].error == "the worker process died (killed by SIGKILL)"


@pytest.mark.parametrize("threads", [1, 3])
def test_workers_keep_to_their_threads_and_leave_our_environment_alone(ledger, threads):
    names = [*thread_environment(1), "PATH"]
    before = dict(os.environ)
    experiment = Experiment(
        "environment", "reproduction.sweep.toy_runs:environment", [{"names": names, "threads": threads}]
    )
    with Local(1, threads=threads) as engine:
        sweep(experiment, ledger, engine)
    (row,) = ledger.rows(experiment)
    assert row.values == {**thread_environment(threads), "PATH": os.environ["PATH"]}
    assert dict(os.environ) == before


def test_what_runs_print_never_reaches_stdout(ledger, pool, capfd):
    for engine in (pool, Inline()):
        experiment = Experiment(f"noisy {type(engine).__name__}", TROUBLED, [{"seed": 0, "trouble": "print"}])
        assert sweep(experiment, ledger, engine).failed == 0
    assert capfd.readouterr().out == ""


class Interrupted(Inline):
    """Ctrl-C comes when two tasks are done and a third is in hand."""

    def __init__(self):
        super().__init__()
        self.count = 0
        self.abandoned = False

    def wait(self, timeout):
        self.count += 1
        if self.count == 3:
            raise KeyboardInterrupt
        return super().wait(timeout)

    def abandon(self):
        self.abandoned = True
        super().abandon()


def test_an_interruption_leaves_the_ledger_consistent(ledger, log):
    engine = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        sweep(walk(log), ledger, engine)
    assert engine.abandoned
    status = ledger.status(walk(log))
    assert (status.done, status.running, status.pending) == (2, 0, 4)
    assert sweep(walk(log), ledger, Inline()).reused == 2
    assert seeds(log) == Counter(range(6))


def test_abandoning_ends_the_work_in_hand_and_the_pool_stays_usable(ledger, log):
    slow = Experiment("slow", WALK, [{"seed": 0, "sleep": 60.0, "log": str(log)}])
    with Local(1) as engine:
        engine.submit(1, slow.task(slow.runs))
        while not log.read_text():
            assert engine.wait(0.1) == []
        engine.abandon()
        assert sweep(walk(log, 2), ledger, engine).failed == 0


def test_a_worker_that_cannot_start_is_an_error_not_a_failed_run(ledger, monkeypatch):
    monkeypatch.setattr("certiformer.theory.core.workers._PROGRAM", "import os; os._exit(7)")
    experiment = Experiment("walk", WALK, [{"seed": 0}])
    with Local(1) as engine, pytest.raises(CertiformerError, match=r"before it began \(exit code 7\)"):
        sweep(experiment, ledger, engine)
    assert ledger.status(experiment).pending == 1


SCRIPT = """
from certiformer.reproduction.sweep import Experiment, Ledger, Local, sweep
grid = [{"seed": seed} for seed in range(3)]
with Ledger("runs.db") as ledger, Local(2) as engine:
    print(sweep(Experiment("walk", "reproduction.sweep.toy_runs:walk", grid), ledger, engine, progress=False).failed)
"""


def test_a_script_needs_no_guard_to_start_workers(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": python_path()}
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_the_pool_is_sized_to_the_cores():
    assert Local().slots == cores() >= 1
    assert Local(threads=cores() + 1).slots == 1
    for options in ({"workers": 0}, {"threads": 0}):
        with pytest.raises(InputError, match="at least 1"):
            Local(**options)


def test_progress_goes_to_stderr(ledger, log, capsys, monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    sweep(walk(log, 2), ledger, Inline())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2" in captured.err


def test_the_work_of_a_sweep_is_linear_in_its_runs(ledger, monkeypatch):
    """Transactions follow the time that passed, not the number of runs; what is shown is counted, not listed."""
    clock, writes, shows = [0.0], [], []
    monkeypatch.setattr(engine_module.time, "monotonic", lambda: clock[0])
    record, update = Claims.record, SweepProgress.update

    def recorded(self, runs, finished):
        writes.append(len(runs))
        record(self, runs, finished)

    def updated(self, settled, failed, waiting_for="", work_left=None):
        shows.append((settled, sum(writes), work_left))
        update(self, settled, failed, waiting_for, work_left)

    class Ticking(Inline):
        def wait(self, timeout):
            clock[0] += 0.01
            return super().wait(timeout)

    monkeypatch.setattr(Claims, "record", recorded)
    monkeypatch.setattr(SweepProgress, "update", updated)
    runs = Experiment("walk", run="reproduction.sweep.toy_runs:walk", configs=[{"seed": s} for s in range(300)])
    assert sweep(runs, ledger, Ticking(), progress=False).failed == 0
    assert sum(writes) == 300
    assert len(writes) <= 300 * 0.01 / 0.2 + 2
    assert all(settled == written for settled, written, _ in shows), "reported before it was written"
    assert shows[-1][2] == pytest.approx(0.0, abs=1e-9)


def test_what_a_ledger_is_asked_is_linear_in_its_runs(tmp_path):
    """Status, a sweep with nothing left and the rows for a redraw: in calls of Python and in steps of SQLite."""

    def asked(count):
        runs = Experiment("walk", run=WALK, configs=[{"seed": s, "n": 1} for s in range(count)])
        with Ledger(tmp_path / f"{count}.db") as ledger:
            sweep(runs, ledger, Inline(), progress=False)
            steps = []
            ledger._db.set_progress_handler(lambda: steps.append(1), 10)
            profile = cProfile.Profile()
            for ask in (ledger.status, lambda _: sweep(runs, ledger, Inline(), progress=False), ledger.rows):
                profile.runcall(ask, runs)
            return pstats.Stats(profile).total_calls, len(steps)

    asked(2)  # what is imported late is there
    one, two, four = map(np.array, map(asked, (100, 200, 400)))
    assert np.all(one > 0)
    assert np.all(four - two <= 3 * (two - one))


def test_an_interruption_keeps_what_has_ended(ledger):
    """Runs that ended and are not recorded yet are recorded on the way out."""
    configs = [{"seed": s} for s in range(5)] + [{"seed": 5, "trouble": "interrupt"}]
    runs = Experiment("walk", run="reproduction.sweep.toy_runs:troubled", configs=configs)
    with pytest.raises(KeyboardInterrupt):
        sweep(runs, ledger, Inline(), progress=False)
    status = ledger.status(runs)
    assert (status.done, status.running) == (5, 0)
