"""A sweep in a process of its own, to be killed: python client_process.py LEDGER LOG RUNS SLEEP WORKERS [dask].

It says when it is ready and begins when it is told to; what ends it ends a command of certiformer.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

from certiformer import cli
from certiformer.reproduction.sweep import Dask, Experiment, Ledger, Local, sweep


def experiment(log: str, runs: int, sleep: float) -> Experiment:
    configs: list[dict[str, Any]] = [
        {"seed": s, "log": log, "sleep": sleep, "hold": f"{log}.hold"} for s in range(runs)
    ]
    return Experiment("walk", run="reproduction.sweep.toy_runs:walk", configs=configs)


def engine_of(workers: int, kind: str) -> Local | Dask:
    """Processes of this machine: our own, or those of a Dask cluster that ends with the sweep."""
    if kind == "local":
        return Local(workers)
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    return Dask(Client(cluster, set_as_default=False), cluster)


def main() -> None:
    path, log, runs, sleep, workers, *kind = sys.argv[1:]
    # A job started in the background of a script inherits a deaf ear for Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ready", flush=True)  # noqa: T201
    input()
    with Ledger(path) as ledger, engine_of(int(workers), *(kind or ["local"])) as engine:
        sweep(experiment(log, int(runs), float(sleep)), ledger, engine)


if __name__ == "__main__":
    cli.application = lambda *_: main  # type: ignore[assignment]
    cli.main()
