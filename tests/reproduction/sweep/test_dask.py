"""The Dask engine: a scheduler and workers in processes of their own, some of which are killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import types
from collections import Counter

import distributed  # noqa: F401  before any test changes the settings that it brings, and takes them back
import numpy as np
import pytest

from certiformer.reproduction.sweep import Dask, Experiment, Ledger, Local, sweep
from certiformer.reproduction.sweep.ledger import fingerprint
from certiformer.reproduction.sweep.local import thread_environment
from certiformer.theory.core.errors import CertiformerError, InputError
from subprocesses import python_path

WAIT = 60.0  # at most three waits follow one another: they end with an error that says why, well before the timeout


class Cluster:
    """`dask scheduler` and `dask worker` processes on the loopback interface."""

    def __init__(self, logs):
        self.logs = logs
        self.processes = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self._start("dask_scheduler", "--port", str(self.port), "--dashboard-address", "127.0.0.1:0")

    def worker(self):
        return self._start("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait(WAIT)

    def _start(self, module, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1", *arguments]
        environment = {**os.environ, **thread_environment(1), "PYTHONPATH": python_path()}
        environment["DASK_TEMPORARY_DIRECTORY"] = str(self.logs)
        with (self.logs / f"{module}{len(self.processes)}.txt").open("wb") as log:
            process = subprocess.Popen(command, cwd=self.logs, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()


def lines(log):
    return [tuple(map(int, line.split())) for line in log.read_text().splitlines()] if log.exists() else []


class Killing(Dask):
    """The Dask engine with somebody who pulls a plug once the cluster is in full swing."""

    ready = staticmethod(lambda: False)
    victim: subprocess.Popen | None = None

    def wait(self, timeout):
        if self.victim is not None and self.ready():
            self.victim.send_signal(signal.SIGKILL)
            self.victim = None
        return super().wait(timeout)


def test_a_killed_worker_costs_nothing_and_the_ledger_is_that_of_the_local_engine(cluster, tmp_path):
    log = tmp_path / "log"
    configs = [{"seed": s, "n": 3 + s % 2, "sleep": 0.1, "log": str(log)} for s in range(24)]
    experiment = Experiment(
        "walk", "reproduction.sweep.toy_runs:troubled", [*configs, {"seed": 24, "trouble": "raise"}],
        run_batch="reproduction.sweep.toy_runs:walks", batch_key=lambda c: c.get("n"), batch_size=2,
    )  # fmt: skip
    first, second = cluster.worker(), cluster.worker()
    with (
        Ledger(tmp_path / "cluster.db") as ledger,
        Killing.connect(cluster.address, timeout=WAIT, patience=WAIT) as engine,
    ):
        engine._client.wait_for_workers(2, timeout=WAIT)
        engine.victim = first
        engine.ready = lambda: Counter(pid for _, pid in lines(log))[first.pid] >= 3
        swept = sweep(experiment, ledger, engine)
        assert engine.victim is None, "nobody was killed: nothing was tested"
        there = ledger.rows(experiment)
    first.wait(WAIT)
    done = lines(log)
    workers = Counter(pid for _, pid in done)
    assert set(workers) == {first.pid, second.pid}
    assert {seed for seed, _ in done} == set(range(24))
    # what the dead worker had not handed in is done again, and nothing else
    assert len(done) - 24 <= workers[first.pid]
    assert (swept.runs, swept.reused, swept.failed) == (25, 0, 1)

    with Ledger(tmp_path / "local.db") as ledger, Local(2) as engine:
        local = sweep(experiment, ledger, engine)
        here = ledger.rows(experiment)
    assert swept.digest == local.digest
    assert len(here) == len(there) == 25
    for a, b in zip(here, there, strict=True):
        assert (a.key, a.experiment, a.version, a.config, a.state) == (
            b.key,
            b.experiment,
            b.version,
            b.config,
            b.state,
        )
        assert (a.attempts, a.error) == (b.attempts, b.error)
        assert repr(a.values) == repr(b.values)
        assert a.arrays.keys() == b.arrays.keys()
        for name in a.arrays:
            np.testing.assert_array_equal(a.arrays[name], b.arrays[name], strict=True)
        assert fingerprint(a) == fingerprint(b)
    assert (here[-1].state, here[-1].error) == ("failed", "ValueError: seed 24 is unlucky")


def test_workers_may_come_late_and_a_lost_scheduler_loses_nothing_that_was_finished(cluster, tmp_path):
    log, hold = tmp_path / "log", tmp_path / "hold"
    hold.write_text("20")  # however late the plug is pulled
    configs = [{"seed": s, "sleep": 0.05, "log": str(log), "hold": str(hold)} for s in range(40)]
    experiment = Experiment("walk", "reproduction.sweep.toy_runs:walk", configs)

    class Late(Killing):
        asked = 0

        @property
        def slots(self):
            self.asked += 1
            if self.asked == 2:
                cluster.worker()
            return super().slots

    with Ledger(tmp_path / "runs.db") as ledger:
        with Late.connect(cluster.address, timeout=WAIT, patience=WAIT) as engine:
            engine.victim, engine.ready = cluster.scheduler, lambda: len(lines(log)) >= 8
            with pytest.raises(CertiformerError, match=r"scheduler at tcp://127.*start the same sweep again"):
                sweep(experiment, ledger, engine)
        status = ledger.status(experiment)
        assert 0 < status.done < 40
        assert (status.running, status.failed) == (0, 0)


def test_an_engine_without_workers_ends_with_an_error(cluster, tmp_path):
    experiment = Experiment("walk", "reproduction.sweep.toy_runs:walk", [{"seed": 0}])
    with (
        Ledger(tmp_path / "runs.db") as ledger,
        Dask.connect(cluster.address, timeout=WAIT, patience=2.0) as engine,
        pytest.raises(CertiformerError, match=r"no worker for 2 s; finished runs are in the ledger"),
    ):
        sweep(experiment, ledger, engine)
    with pytest.raises(InputError, match="patience"):
        Dask.connect(cluster.address, timeout=WAIT, patience=0.0)


def test_a_scheduler_that_does_not_answer_is_a_clear_error():
    with pytest.raises(InputError, match="tcp://host:8786"):
        Dask.connect("localhost:8786")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(CertiformerError, match=f"no Dask scheduler answers at {address}"):
            Dask.connect(address, timeout=0.5)
        assert time.monotonic() - began < WAIT


@pytest.fixture
def without(monkeypatch):
    """As if a package were not installed."""

    def without(package):
        monkeypatch.setitem(sys.modules, package, None)

    return without


def test_without_dask_the_error_says_what_to_install(without):
    without("distributed")
    for make in (lambda: Dask.connect("tcp://127.0.0.1:1"), Dask.slurm):
        with pytest.raises(CertiformerError, match=r'distributed.*pip install "certiformer\[cluster\]"'):
            make()


def test_without_jobqueue_the_error_says_what_to_install(without):
    without("dask_jobqueue")
    with pytest.raises(CertiformerError, match=r'dask_jobqueue.*pip install "certiformer\[cluster\]"'):
        Dask.slurm(jobs=2)


class FakeSLURM:
    """What we need of dask-jobqueue, with a real cluster in the place of SLURM's."""

    def __init__(self, **options):
        self.options, self.jobs, self.closed = options, None, False
        FakeSLURM.made = self

    def scale(self, jobs):
        self.jobs = jobs

    def close(self, timeout):
        self.closed = True


def test_without_slurm_the_error_says_so(monkeypatch):
    monkeypatch.setattr("certiformer.reproduction.sweep.dask.shutil.which", lambda name: None)
    with pytest.raises(CertiformerError, match="sbatch"):
        Dask.slurm(jobs=1)


def test_slurm_options_that_nobody_knows_are_named(monkeypatch):
    def refusing(**options):
        raise ValueError("unexpected bogus")

    monkeypatch.setattr("certiformer.reproduction.sweep.dask.shutil.which", lambda name: name)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", types.SimpleNamespace(SLURMCluster=refusing))
    with pytest.raises(InputError, match="unexpected bogus"):
        Dask.slurm(jobs=1, bogus=1)


def test_slurm_jobs_have_one_thread_per_process(monkeypatch):
    monkeypatch.setattr("certiformer.reproduction.sweep.dask.shutil.which", lambda name: name)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", types.SimpleNamespace(SLURMCluster=FakeSLURM))
    client = types.SimpleNamespace(scheduler=types.SimpleNamespace(address="tcp://x:1"), close=lambda timeout: None)
    given = []
    monkeypatch.setattr(
        "certiformer.reproduction.sweep.dask._client", lambda _, target, timeout: given.append(target) or client
    )
    with Dask.slurm(jobs=3, cores=8, memory="16GB", queue="short", job_script_prologue=["module load python"]):
        made = FakeSLURM.made
        assert given == [made]
        assert made.jobs == 3
        prologue = made.options.pop("job_script_prologue")
        assert made.options == {"cores": 8, "processes": 8, "memory": "16GB", "queue": "short"}
        assert prologue[-1] == "module load python"
        assert "export OMP_NUM_THREADS=1" in prologue
        assert "export NPROC=1" in prologue
        assert not made.closed
    assert made.closed
    with pytest.raises(InputError, match="at least 1"):
        Dask.slurm(jobs=0)


def test_a_slurm_cluster_that_no_client_reaches_is_closed(monkeypatch):
    monkeypatch.setattr("certiformer.reproduction.sweep.dask.shutil.which", lambda name: name)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", types.SimpleNamespace(SLURMCluster=FakeSLURM))

    def refuse(*_):
        raise CertiformerError("no answer")

    monkeypatch.setattr("certiformer.reproduction.sweep.dask._client", refuse)
    with pytest.raises(CertiformerError, match="no answer"):
        Dask.slurm()
    assert FakeSLURM.made.closed


def test_the_package_can_be_imported_without_dask():
    program = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None; import certiformer.reproduction.sweep; "
        "assert not any(name.split('.')[0] in ('jax', 'matplotlib') for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
