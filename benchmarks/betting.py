"""`python -m benchmarks.betting [ITEMS]`: what a comparison of two models costs, with the compiled loop and without.

Prints processor seconds of one run each, start included, as a person at the command line has them, and the ratio.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PLAIN = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("numba", "pyarrow") else found(name, *rest)
from certiformer.cli import main
sys.exit(main())
"""


def write(folder: Path, items: int) -> list[Path]:
    """Two models, of which 10 % and 12 % of the answers are wrong."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, items)
    paths = []
    for name, rate in (("a.csv", 0.1), ("b.csv", 0.12)):
        guesses = np.where(rng.random(items) < rate, (labels + 1) % 5, labels)
        rows = [f"{row},{a},{b}\n" for row, (a, b) in enumerate(zip(labels.tolist(), guesses.tolist(), strict=True))]
        paths.append(folder / name)
        paths[-1].write_text("id,label,prediction\n" + "".join(rows))
    return paths


def seconds(arguments: list[str]) -> tuple[float, str]:
    """Processor seconds of a process, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(arguments, check=True, capture_output=True, text=True, env={**os.environ}).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said


def measure(items: int) -> dict[str, float]:
    """Seconds of `compare` without and with what is compiled, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(path) for path in write(Path(folder), items)]
        quick = [sys.executable, "-m", "certiformer", "compare", *files, "--json"]
        seconds(quick)  # what is compiled is kept
        compiled, said = seconds(quick)
        plain, expected = seconds([sys.executable, "-c", PLAIN, "compare", *files, "--json"])
    limits = [json.loads(text) for text in (said, expected)]
    intervals = [np.array(_interval(one)) for one in limits]
    assert np.allclose(*intervals, rtol=1e-9), intervals
    return {"items": items, "plain: CPU s": plain, "compiled: CPU s": compiled, "ratio": plain / compiled}


def _interval(found: object) -> object:
    """The first interval in what is printed."""
    if isinstance(found, dict):
        return found["interval"] if "interval" in found else _interval(next(iter(found.values())))
    return _interval(found[0]) if isinstance(found, list) else found


if __name__ == "__main__":
    print(json.dumps(measure(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000), indent=2))
