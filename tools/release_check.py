"""What would be released: build wheel and source, install each in a fresh environment, run what a user runs first.

python tools/release_check.py [--light] [--write docs/install.md]

Without extras: help, a bound, predictions certified. With `[train]` (left out by `--light`): the demo. Sizes and
start-up times go between `<!-- measured -->` and `<!-- end -->` of the page named by `--write`.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STARTS = 5
PREDICTIONS = """
import numpy as np
labels = np.arange(400) % 2
answers = np.where(np.arange(400) % 40 == 0, 1 - labels, labels)
np.savez("predictions.npz", heldout_labels=labels, heldout_predictions=answers)
"""


@dataclass(frozen=True)
class Measured:
    """One installation: what was downloaded and unpacked, in megabytes, and processor seconds."""

    name: str
    archive: float
    light: float
    start: float
    bound: float
    full: float | None
    demo: float | None


def run(*words: str | Path, cwd: Path | None = None) -> float:
    """Run a command that must succeed; processor seconds of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, words)), cwd=cwd, capture_output=True, text=True, env=alone)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def build(place: Path) -> tuple[Path, Path]:
    """Wheel and source distribution, by the backend that pyproject.toml names."""
    python = environment(place / "builder")
    pip(python, "hatchling")
    run(python, "-m", "hatchling", "build", "-d", place / "dist", cwd=ROOT)
    return next((place / "dist").glob("*.whl")), next((place / "dist").glob("*.tar.gz"))


def environment(place: Path) -> Path:
    run(sys.executable, "-m", "venv", place)
    return place / "bin" / "python"


def pip(python: Path, *what: str) -> None:
    quiet = ("--quiet", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *quiet, "--constraint", ROOT / "constraints.txt", *what)


def complaints(wheel: Path, source: Path) -> list[str]:
    """What the archives lack, and classifiers that nobody has tried."""
    found = []
    names = zipfile.ZipFile(wheel).namelist()
    wanted = ("certiformer/py.typed", "certiformer/report/templates/certificate.html")
    wanted += ("certiformer/certificates/proofs/Statements.v",)
    found += [f"{wheel.name} lacks {name}" for name in wanted if name not in names]
    if not any(name.endswith("licenses/LICENSE") for name in names):
        found.append(f"{wheel.name} lacks the licence")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ("Makefile", "constraints.txt", "tests/test_docs.py", "docs/claims.md", "examples/material.py")
    found += [f"{source.name} lacks {name}" for name in wanted if name not in inside]
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    claimed = {word.rpartition(" ")[2] for word in classifiers if re.search(r"Python :: 3\.\d+$", word)}
    page = (ROOT / "docs" / "install.md").read_text()
    tested = set(re.findall(r"^\| (3\.\d+) \| works \|", page, re.MULTILINE))
    if claimed != tested:
        found.append(f"classifiers name Python {sorted(claimed)}; make versions found {sorted(tested)} working")
    return found


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def try_out(archive: Path, place: Path, demo: bool) -> Measured:
    """Install it alone, use it; then with `[train]`, and run the demo."""
    python = environment(place)
    empty = megabytes(place)
    pip(python, str(archive))
    light = megabytes(place) - empty
    command = python.parent / "certiformer"
    run(command, "--version")  # byte code is written now
    start = min(run(command, "--help") for _ in range(STARTS))
    words = ("trauger.lem3.6", "Bw=1", "Bx=1", "eps=0.5", "d=4", "k=4")
    bound = min(run(command, "bound", *words) for _ in range(STARTS))
    run(python, "-c", PREDICTIONS, cwd=place)
    run(command, "certify", "--predictions", "predictions.npz", "--out", "light", cwd=place)
    if not (place / "light" / "report.html").exists():
        raise SystemExit(f"{archive.name}: certify wrote no report")
    size = archive.stat().st_size / 1e6
    if not demo:
        return Measured(archive.name, size, light, start, bound, None, None)
    pip(python, f"{archive}[train]")
    seconds = run(command, "demo", "--out", "demo", cwd=place)
    if not (place / "demo" / "report.html").exists():
        raise SystemExit(f"{archive.name}: the demo wrote no report")
    return Measured(archive.name, size, light, start, bound, megabytes(place) - empty, seconds)


def table(rows: list[Measured]) -> str:
    """The figures as a table for a page."""
    head = "| | archive | installed, no extras | `--help` | `bound` | installed with `[train]` | the demo |"
    lines = [head, "|---" * 7 + "|"]
    for row in rows:
        kind = "wheel" if row.name.endswith(".whl") else "source"
        full = "not tried" if row.full is None else f"{row.full:.0f} MB"
        demo = "not tried" if row.demo is None else f"{row.demo:.1f} s"
        sizes = f"{row.archive:.1f} MB | {row.light:.0f} MB"
        lines.append(f"| {kind} | {sizes} | {row.start:.2f} s | {row.bound:.2f} s | {full} | {demo} |")
    system = f"Python {platform.python_version()}, {platform.system()}"
    told = f"Processor seconds, of the first two the least of {STARTS}; {system}."
    return "\n".join([*lines, "", f"{told} Most of what is installed is scipy, numpy and matplotlib."])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--light", action="store_true", help="without the demo, which needs JAX")
    parser.add_argument("--write", type=Path, help="a page with <!-- measured --> and <!-- end -->")
    options = parser.parse_args()
    os.environ["PIP_NO_INPUT"] = "1"
    with tempfile.TemporaryDirectory(prefix="release-") as folder:
        place = Path(folder)
        archives = build(place)
        wrong = complaints(*archives)
        if wrong:
            raise SystemExit("\n".join(wrong))
        rows = []
        for archive in archives:
            rows.append(try_out(archive, place / archive.suffix.strip("."), not options.light))
            print(rows[-1], flush=True)
    found = table(rows)
    print(found)
    if options.write:
        text = options.write.read_text()
        options.write.write_text(
            re.sub(
                r"<!-- measured -->\n.*?<!-- end -->",
                f"<!-- measured -->\n{found}\n<!-- end -->",
                text,
                flags=re.DOTALL,
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
