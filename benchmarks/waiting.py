"""`python -m benchmarks.waiting [SECTION ...]`: what people wait for, in processor time of whole commands.

Each section is also part of `make bench`: comparisons with the compiled loop and without, files beside just reading
them, what the sweep engine adds to a run, the demo, and how soon a command answers.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bounds import Line

PLAIN = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in ("numba", "pyarrow") else found(name, *rest)
from certiformer.cli import main
sys.exit(main())
"""
PEAK = """
import sys
from certiformer.cli import main
try:
    main()
finally:
    # not ru_maxrss, which begins with the memory of the process that started this one
    kept = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
    sys.stderr.write(f"\\n{kept[0]}")
"""


def empty(config: dict[str, Any]) -> Any:
    """A run that does nothing."""
    from certiformer.reproduction.sweep import Outcome

    return Outcome({"index": config["index"]})


def compare() -> list[Line]:
    """`compare` on two files of 0/1 outcomes, without and with what is compiled, and a million items."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(path) for path in _models(Path(folder), 100_000)]
        quick = ["-m", "certiformer", "compare", *files, "--json"]
        _seconds(*quick)  # what is compiled is kept
        compiled, said = min(_seconds(*quick) for _ in range(3))
        plain, expected = min(_seconds("-c", PLAIN, "compare", *files, "--json") for _ in range(3))
        intervals = [np.array(_interval(json.loads(text))) for text in (said, expected)]
        if not np.allclose(*intervals, rtol=1e-9):
            raise ArithmeticError(f"the compiled loop gives another interval: {intervals}")
        many, _ = _seconds(*quick[:3], *map(str, _models(Path(folder), 1_000_000)), "--json")
    ratio = plain / compiled
    what = f"`compare`, 100,000 items: without Numba and pyarrow {plain:.2g} s"
    return [
        Line(what, f"{compiled:.2g} s: {ratio:.2g}x", "5x", ratio >= 5.0),
        Line("`compare`, 1,000,000 items", f"{many:.2g} s", "30 s", many <= 30.0),
    ]


def files() -> list[Line]:
    """`certify` on long files beside just reading them with pyarrow."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        for ending, rows in (("csv", 10_000_000), ("jsonl", 1_000_000)):
            path = Path(folder) / f"x.{ending}"
            labels = rng.integers(0, 5, rows).tolist()
            guesses = np.where(rng.random(rows) < 0.1, 0, labels).tolist()
            form = "{},{}\n" if ending == "csv" else '{{"label": {}, "prediction": {}}}\n'
            with path.open("w") as file:
                file.write("label,prediction\n" if ending == "csv" else "")
                file.writelines(form.format(*pair) for pair in zip(labels, guesses, strict=True))
            module, read = ("csv", "read_csv") if ending == "csv" else ("json", "read_json")
            reading, _ = _seconds("-c", f"from pyarrow import {module}; {module}.{read}({str(path)!r})")
            whole, _ = _seconds("-m", "certiformer", "certify", str(path), "--json")
            ratio = whole / reading
            what = f"`certify` on {rows:,} rows of .{ending}: just reading them {reading:.2g} s"
            found.append(Line(what, f"{whole:.2g} s: {ratio:.2g}x", "5x", ratio <= 5.0))
            path.unlink()
    return found


def sweeps() -> list[Line]:
    """What the engine adds to a run, by runs that do nothing; a worker's own start is not counted."""
    from certiformer.reproduction.sweep import Experiment, Inline, Ledger, Local, sweep
    from certiformer.reproduction.sweep.dask import Dask

    def runs(name: str, count: int) -> Experiment:
        return Experiment(name, run="benchmarks.waiting:empty", configs=[{"index": index} for index in range(count)])

    def local() -> Local:
        return Local(2)

    def cluster() -> Dask:
        from distributed import Client, LocalCluster

        made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        return Dask(Client(made), made)

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, engine, count, most in (("local workers", local, 2000, 3.0), ("Dask", cluster, 1000, 10.0)):

            def swept(count: int, name: str = name, engine: Callable[[], Any] = engine) -> float:
                def work() -> None:
                    with Ledger(Path(folder) / f"{name}-{count}.db") as ledger, engine() as running:
                        sweep(runs("empty", count), ledger, running, progress=False)

                return _used_by(work)

            each = 1000 * (swept(count) - swept(2)) / count
            found.append(Line(f"an empty run on {name}", f"{each:.2g} ms", f"{most:g} ms", each <= most))
        with Ledger(Path(folder) / "many.db") as ledger:
            many = runs("many", 100_000)
            told = {
                "run inline": _used_by(lambda: sweep(many, ledger, Inline(), progress=False)),
                "status": _used_by(lambda: ledger.status(many)),
                "a resume with nothing left": _used_by(lambda: sweep(many, ledger, Inline(), progress=False)),
                "the rows for a redraw": _used_by(lambda: ledger.rows(many)),
            }
    slow = max(value for name, value in told.items() if name != "run inline")
    words = ", ".join(f"{name} {value:.2g} s" for name, value in told.items())
    return [*found, Line("100,000 empty runs", words, "10 s each but the runs", slow <= 10.0)]


def demo() -> list[Line]:
    """The demo: processor time, and the memory of its process."""
    with tempfile.TemporaryDirectory() as folder:
        _seconds("-m", "certiformer", "demo", "--out", folder)  # what is compiled is kept
        seconds, _ = _seconds("-m", "certiformer", "demo", "--out", folder)
        told = subprocess.run(
            [sys.executable, "-c", PEAK, "demo", "--out", folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    memory = int(told.stderr.split()[-1]) / 1024
    return [
        Line("`demo`", f"{seconds:.2g} s", "4 s", seconds <= 4.0),
        Line("`demo`: memory", f"{memory:.0f} MB", "500 MB", memory <= 500),
    ]


def answers() -> list[Line]:
    """Commands that only look something up, beside the bare imports of what they use."""
    bare = {False: "numpy, scipy, typer, rich", True: "numpy, scipy.special, typer, rich.console"}
    base = {special: min(_seconds("-c", f"import {names}")[0] for _ in range(7)) for special, names in bare.items()}
    commands = (
        ("theorems", False, ()), ("search", False, ("Dudley",)), ("explain", False, ("trauger.thm4.1",)),
        ("explain", False, ("Trauger Theorem 4.1",)), ("plan", True, ("--error", "0.05")),
        ("bound", False, ("trauger.lem3.6", "Bw=1", "Bx=1", "eps=0.5", "d=4", "k=4")),
    )  # fmt: skip
    found = []
    for name, special, words in commands:
        seconds = min(_seconds("-m", "certiformer", name, *words)[0] for _ in range(7))
        ratio = seconds / base[special]
        what = f"`{name} {' '.join(words[:2])}`: importing {bare[special]} {base[special]:.2g} s"
        found.append(Line(what, f"{seconds:.2g} s: {ratio:.2g}x", "2.5x", ratio <= 2.5))
    return found


SECTIONS: Mapping[str, Callable[[], list[Line]]] = {
    "compare": compare, "files": files, "runs": sweeps, "demo": demo, "answers": answers,
}  # fmt: skip


def _models(folder: Path, items: int) -> list[Path]:
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


def _interval(found: Any) -> Any:
    """The first interval in what is printed."""
    if isinstance(found, dict):
        return found["interval"] if "interval" in found else _interval(next(iter(found.values())))
    return _interval(found[0]) if isinstance(found, list) else found


def _seconds(*words: str) -> tuple[float, str]:
    """Processor seconds of Python with these words, and what it prints; compiled files are kept, as pip keeps them."""
    said: list[str] = []
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def work() -> None:
        done = subprocess.run([sys.executable, *words], check=True, stdout=subprocess.PIPE, text=True, env=kept)
        said.append(done.stdout)

    return _used_by(work), said[0]


def _used_by(work: Callable[[], object]) -> float:
    """Processor seconds of this process and of the children that ended meanwhile."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    uses = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        for line in SECTIONS[section]():
            print(f"{line.what}: {line.found} (target {line.target}) {'reached' if line.reached else 'MISSED'}")
