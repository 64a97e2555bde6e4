"""The processes of the audit end with the one that started them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from subprocesses import python_path

PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a suite in the background inherits that it is ignored
from certiformer.auditing.workers import spread
from auditing.test_workers_end import long_work
from certiformer.cli import main
import certiformer.cli as cli

def work(*_):
    spread(long_work, [sys.argv[1]] * 2, 2, lambda *_: None)

cli.application = lambda *_: work
main()
"""


def long_work(folder):
    Path(folder, str(os.getpid())).touch()
    time.sleep(300)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path, ending):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], env={**os.environ, "PYTHONPATH": python_path()},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    last = time.monotonic() + 120
    while len(list(tmp_path.iterdir())) < 2:
        assert time.monotonic() < last
        time.sleep(0.02)
    process.send_signal(ending)
    _, said = process.communicate(timeout=60)  # the workers' end of the pipe is closed, too
    assert process.returncode == (-9 if ending == signal.SIGKILL else 128 + ending)
    assert "Traceback" not in said
    while any(alive(int(path.name)) for path in tmp_path.iterdir()):
        assert time.monotonic() < last
        time.sleep(0.05)
