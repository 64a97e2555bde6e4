"""`python -m benchmarks.sweeps [RUNS] [WORKERS]`: what the sweep engine itself costs, by runs that do nothing.

Prints processor milliseconds per empty run (this process and its workers; waiting for the disk does not count), and the
seconds of processor time for the status, a resume with nothing left, and the rows for a redraw.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from certiformer.reproduction.sweep import Experiment, Inline, Ledger, Local, Outcome, sweep


def empty(config: dict[str, Any]) -> Outcome:
    """A run that does nothing."""
    return Outcome({"index": config["index"]})


def measure(runs: int, workers: int) -> dict[str, float]:
    """Milliseconds per run, inline and with workers, and seconds for what is done with a ledger of so many runs."""
    grid = [{"index": index} for index in range(runs)]
    found: dict[str, float] = {"runs": runs}
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment("empty", run="benchmarks.sweeps:empty", configs=grid)
        with Ledger(Path(folder) / "inline.db") as ledger:
            found["inline: CPU ms per run"] = 1000 * _cpu(lambda: sweep(experiment, ledger, Inline())) / runs
            found["status: CPU s"] = _cpu(lambda: ledger.status(experiment))
            found["rows: CPU s"] = _cpu(lambda: ledger.rows(experiment))
            found["nothing left: CPU s"] = _cpu(lambda: sweep(experiment, ledger, Inline()))
        few = Experiment("few", run="benchmarks.sweeps:empty", configs=grid[:2000])
        with Ledger(Path(folder) / "local.db") as ledger:
            # a worker's own start is not the engine's cost: what two sweeps need more than one
            def swept() -> None:
                with Local(workers) as engine:
                    sweep(few, ledger, engine)

            def started() -> None:
                with Local(workers) as engine:
                    one = Experiment("one", run="benchmarks.sweeps:empty", configs=grid[:workers])
                    sweep(one, ledger, engine)

            begun, wall = _cpu(started), time.perf_counter()
            found["local: CPU ms per run"] = 1000 * max(0.0, _cpu(swept) - begun) / len(few.runs)
            found["local: wall ms per run"] = 1000 * (time.perf_counter() - wall) / len(few.runs)
    return found


def _cpu(work: Callable[[], object]) -> float:
    """Processor seconds of this process and of the children that ended meanwhile."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    return sum(
        use.ru_utime + use.ru_stime for use in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    runs, workers = (*given, *(10_000, os.cpu_count() or 1)[len(given) :])[:2]
    sys.stdout.write(json.dumps(measure(runs, workers), indent=2) + "\n")
