"""How often certificates fail where the risk is known: simulate, and write the table into docs/coverage.md.

`python tools/generate_coverage.py [--repetitions 10000]` measures every law of every certificate through `certify`
(a valid law's share of the repetitions of its certificate) and adds a line to docs/data/coverage.jsonl for each; laws
that are there with as many repetitions are not run again, so it may be stopped and started; the quickest come first.
`--redraw` writes the table from the lines alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from certiformer.auditing.coverage import DELTA, Coverage, as_expected, judged, laws, repetitions, simulate
from certiformer.certificates import Law

DOCS = Path(__file__).parent.parent / "docs"
LINES, PAGE = DOCS / "data" / "coverage.jsonl", DOCS / "coverage.md"
BEGIN, END = "<!-- coverage: written by tools/generate_coverage.py -->", "<!-- end of coverage -->"
SEED = 1
TRIED = 3
"""Repetitions that tell how long a law takes."""


def measured() -> dict[tuple[str, str], dict[str, object]]:
    """The last line of every law."""
    lines = LINES.read_text(encoding="utf-8").splitlines() if LINES.is_file() else []
    return {(found["id"], found["law"]): found for found in map(json.loads, lines)}


def table() -> str:
    """One row per law, in the order of the certificates."""
    found = measured()
    rows = ["| certificate | law | repetitions | failed | |", "|---|---|---|---|---|"]
    for id, name, law in laws():
        if (id, name) not in found:
            rows.append(f"| `{id}` | {name} | - | - | not measured |")
            continue
        line = found[id, name]
        coverage = judged(int(str(line["failures"])), int(str(line["repetitions"])))
        verdict = ("covers" if law.valid else "caught") if as_expected(law, coverage) else "UNEXPECTED"
        words = name if law.valid else f"*{name}*"
        rows.append(f"| `{id}` | {words} | {coverage.repetitions:,} | {100 * coverage.rate:.2f} % | {verdict} |")
    return "\n".join(rows)


def write_table() -> None:
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


def missing(total: int) -> list[tuple[float, str, str, Law, int]]:
    """The laws that are not there with as many repetitions: about how many seconds each takes, and what it is."""
    found = []
    for id, name, law in laws():
        wanted, known = repetitions(id, law, total), measured().get((id, name))
        if known is None or int(str(known["repetitions"])) < wanted:
            began = time.process_time()
            simulate(id, law, TRIED, seed=SEED)
            found.append(((time.process_time() - began) * wanted / TRIED, id, name, law, wanted))
    return found


def measure(total: int) -> bool:
    """Simulate what is not there yet, the quickest first."""
    passed = True
    for _, id, name, law, wanted in sorted(missing(total), key=lambda one: one[0]):
        began = time.process_time()
        found: Coverage = simulate(id, law, wanted, seed=SEED)
        passed &= as_expected(law, found)
        line = {"id": id, "law": name, "valid": law.valid, "delta": DELTA, "repetitions": wanted, "seed": SEED}
        with LINES.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "failures": found.failures}) + "\n")
        seconds = time.process_time() - began
        print(f"{id}: {name}: {found.rate:.4f} of {wanted}, p = {found.p_value:.2e}, {seconds:.0f} s", flush=True)
    return passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10_000)
    parser.add_argument("--redraw", action="store_true")
    given = parser.parse_args()
    passed = True if given.redraw else measure(given.repetitions)
    write_table()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
