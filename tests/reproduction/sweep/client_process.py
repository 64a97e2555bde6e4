"""A sweep in a process of its own, to be killed: python client_process.py LEDGER LOG RUNS SLEEP WORKERS.

It says when it is ready and begins when it is told to.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

from certiformer.reproduction.sweep import Experiment, Ledger, Local, sweep


def experiment(log: str, runs: int, sleep: float) -> Experiment:
    configs: list[dict[str, Any]] = [
        {"seed": s, "log": log, "sleep": sleep, "hold": f"{log}.hold"} for s in range(runs)
    ]
    return Experiment("walk", run="reproduction.sweep.toy_runs:walk", configs=configs)


if __name__ == "__main__":
    path, log, runs, sleep, workers = sys.argv[1:]
    # A job started in the background of a script inherits a deaf ear for Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)  # noqa: T201
    input()
    with Ledger(path) as ledger, Local(int(workers)) as engine:
        sweep(experiment(log, int(runs), float(sleep)), ledger, engine)
