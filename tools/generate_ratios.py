"""Attack every rule of the engine and write the best ratios into docs/proofs/layers.md: `make ratios`."""

from __future__ import annotations

import sys
from pathlib import Path

from layer_rules import RULES, ratios

PAGE = Path(__file__).parents[1] / "docs" / "proofs" / "layers.md"
START, END = "<!-- ratios -->", "<!-- end of ratios -->"
POINTS = 4000


def table(points: int) -> str:
    """One row per rule."""
    rows = ["| rule | best ratio |", "|---|---|"]
    for name, graph in RULES.items():
        found = ratios(graph, points)
        rows.append(f"| {name} | {', '.join(f'{part} {ratio:.4f}' for part, ratio in found.items())} |")
        print(rows[-1], flush=True)
    return "\n".join(rows)


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    points = int(sys.argv[1]) if len(sys.argv) > 1 else POINTS
    PAGE.write_text(f"{before}{START}\n{table(points)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
