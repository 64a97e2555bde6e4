"""Write what the smoke run of every experiment finds, which a test compares: `python tools/generate_smoke.py`.

Only when numbers were to change: raise the `version` of the experiment first.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from certiformer.reproduction.sweep import Ledger, publish

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "smoke"


def write(ledger: Path, folder: Path = FOLDER) -> None:
    """A file for each experiment of the ledger."""
    with Ledger(ledger, read_only=True) as book:
        rows = book.rows()
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.runs"):
        path.unlink()
    for name in sorted({row.experiment for row in rows}):
        publish([row for row in rows if row.experiment == name], folder / f"{name}.runs")
        print(f"wrote {name}")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        places = ["--ledger", f"{place}/ledger.db", "--out", f"{place}/out"]
        command = [sys.executable, "-m", "certiformer", "reproduce", "all", "--scale", "smoke", "--workers", "1"]
        subprocess.run([*command, *places, "--json"], check=True, stdout=subprocess.DEVNULL)
        write(Path(place, "ledger.db"))


if __name__ == "__main__":
    main()
