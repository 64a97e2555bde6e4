"""Which Pythons and which dependencies the package works with, as far as this machine offers them.

python tools/versions.py [--write docs/install.md]

For every Python from `requires-python` on, once with the newest dependencies that pyproject.toml allows and once with
the lowest: a fresh environment, the package without extras, what a user runs first. What was found goes between
`<!-- versions -->` and `<!-- end versions -->`. Exit code 1 if the classifiers name a Python that failed, or lack one
that passed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from release_check import PREDICTIONS, ROOT, build

NAMES = tuple(f"3.{minor}" for minor in range(11, 16))
COMMANDS = (
    ("theorems",),
    ("explain", "trauger.thm4.1"),
    ("bound", "trauger.lem3.6", "Bw=1", "Bx=1", "eps=0.5", "d=4", "k=4"),
    ("plan", "--error", "0.05"),
    ("certify", "predictions.npz", "--out", "out"),
    ("verify", "out/report.json", "--data", "predictions.npz"),
    ("compare", "predictions.npz", "predictions.npz"),
)


def pythons() -> dict[str, str]:
    """An interpreter for every version that is on the path or among those of pyenv."""
    found = {}
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for name in NAMES:
        places = [shutil.which(f"python{name}"), *map(str, sorted(kept.glob(f"{name}.*/bin/python"), reverse=True))]
        for place in places:
            if place is not None and _says(place) == name:
                found[name] = place
                break
    return found


def _says(python: str) -> str:
    asked = "import sys, venv, ssl; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", asked], capture_output=True, text=True).stdout.strip()


def lowest(requirements: list[str]) -> list[str]:
    """numpy>=2.0 as numpy==2.0.*"""
    return [re.sub(r"^([A-Za-z0-9_-]+)>=([0-9.]+).*$", r"\1==\2.*", one) for one in requirements]


def tried(python: str, wheel: Path, pins: list[str], place: Path) -> str:
    """What happened: "works", or the first thing that did not."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, env=alone, timeout=900)
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        return "" if done.returncode == 0 else said[-1][:200] if said else f"exit code {done.returncode}"

    place.mkdir(parents=True)
    own = str(place / "env" / "bin" / "python")
    if run(python, "-m", "venv", "env"):
        return "no environment can be made"
    pip = (own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
    if run(*pip, str(wheel), *pins):
        return "not to be had: there are no built packages"
    problem = run(own, "-c", PREDICTIONS)
    for words in COMMANDS:
        problem = problem or run(own, "-W", "error::DeprecationWarning:certiformer", "-m", "certiformer", *words)
        if problem:
            return f"fails: `{words[0]}`: {problem}"
    return "works"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", type=Path, help="a page with <!-- versions --> and <!-- end versions -->")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = {"newest": list(project["dependencies"]), "lowest": lowest(project["dependencies"])}
    rows: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory(prefix="versions-") as folder:
        place = Path(folder)
        wheel, _ = build(place)
        for name, python in pythons().items():
            rows[name] = {which: tried(python, wheel, chosen, place / name / which) for which, chosen in pins.items()}
            print(name, rows[name], flush=True)
    lines = ["| Python | newest dependencies | lowest dependencies |", "|---|---|---|"]
    for name in NAMES[:-1]:
        cells = rows.get(name)
        lines.append(
            f"| {name} | " + " | ".join((cells or dict.fromkeys(pins, "not tried: not installed")).values()) + " |"
        )
    if options.write:
        text = options.write.read_text()
        inner = "\n".join(["<!-- versions -->", *lines, "<!-- end versions -->"])
        options.write.write_text(
            re.sub(r"<!-- versions -->.*?<!-- end versions -->", lambda _: inner, text, flags=re.S)
        )
    classified = {word.rpartition(" ")[2] for word in project["classifiers"] if re.search(r":: 3\.\d+$", word)}
    works = {name for name, cells in rows.items() if cells["newest"] == "works"}
    wrong = [
        f"the classifiers name Python {name}, which {rows[name]['newest']}" for name in classified & {*rows} - works
    ]
    wrong += [f"the classifiers do not name Python {name}, which works" for name in sorted(works - classified)]
    print("\n".join([*lines, *wrong]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
