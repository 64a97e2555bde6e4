"""Draw docs/figures/demo.svg, the picture of the README: what may be said of the demo's Transformer, and by whom.

python tools/generate_picture.py [report.json]     without a report the demo is certified first (make picture)
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import certiformer
from certiformer.report.numbers import percent_up

TARGET = Path(__file__).resolve().parents[1] / "docs" / "figures" / "demo.svg"
WIDTH, LEFT, RIGHT, TOP, ROW = 940, 282, 150, 84, 27
LOW, HIGH = -1.3, 4.7
"""Decades of the axis, in per cent."""
WHAT = {
    "holdout": "hold-out: the encoder",
    "surrogate": "surrogate: trained on every image",
    "pacbayes.single": "PAC-Bayes: a head drawn once",
    "progressive": "progressive: the mean iterate",
    "compression": "compression: trained on 20 images",
    "occam": "Occam: attention pooling, coded",
    "cover.local": "cover (local): attention pooling",
    "cover.soft": "cover (soft): attention pooling",
    "mwigo.thm5": "Mwigo & Dasgupta, Theorem 5, sound",
}
"""The rows that speak about the error rate, in the order of the report."""
HALO = 'paint-order="stroke" stroke="#fff" stroke-width="3"'
"""Words stand out from the lines behind them."""
GOOD, BAD, QUIET = "#0072b2", "#d55e00", "#666"


def across(per_cent: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(per_cent) - LOW) / (HIGH - LOW)


def words(x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", size: int = 13) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}" {HALO}'
    return f"<text {place}>{escape(text)}</text>"


def line(x: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.0, dash: str = "") -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"{dashed}/>'


def drawn(document: Mapping[str, Any]) -> str:
    """One row per certificate: from the observed error to the guaranteed one, on a logarithmic axis."""
    sound = {row["id"]: row for row in document["statements"] if row["version"] == "sound"}
    printed = {row["id"]: row for row in document["statements"] if row["version"] == "printed"}
    rows = [(id, 100.0 * sound[id]["value"]) for id in WHAT if sound[id]["value"] is not None]
    held = 100.0 * document["observed"]["heldout_error"]
    bottom = TOP + ROW * (len(rows) + 1)
    parts = [
        words(16, 26, "What may be said of trained Transformers: they err on at most ...", size=17),
        words(
            16,
            46,
            f"{document['observed']['examples']:,} images, zero or one; all rows hold together, confidence 95 %",
            colour=QUIET,
        ),
    ]
    for power in range(math.ceil(LOW), math.floor(HIGH) + 1):
        x = across(10.0**power)
        parts.append(line(x, TOP - 8, x, bottom, "#ddd"))
        parts.append(words(x, bottom + 18, f"{10.0**power:,g} %", anchor="middle", colour=QUIET, size=12))
    for value, name, colour in (
        (held, f"seen held out: {held:.2f} %", "#009e73"),
        (50.0, "guessing", QUIET),
    ):
        x = across(value)
        parts += [
            line(x, TOP - 8, x, bottom, colour, 1.5, "5 4"),
            words(x, TOP - 14, name, anchor="start", colour=colour, size=12),
        ]
    for number, (id, value) in enumerate(rows):
        y, colour = TOP + ROW * (number + 0.6), GOOD if value < 50.0 else BAD
        x = across(value)
        parts += [words(LEFT - 12, y + 4, WHAT[id], anchor="end"), line(LEFT, y, x, y, colour, 2.5)]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        said = percent_up(value / 100.0) if value < 100.0 else f"{value:,.0f} %: says nothing"
        parts.append(words(x + 11, y + 4, said, colour=colour))
    y = TOP + ROW * (len(rows) + 0.6)
    value = 100.0 * printed["mwigo.thm5"]["value"]
    parts.append(words(LEFT - 12, y + 4, "the same, as printed", anchor="end"))
    parts.append(words(LEFT, y + 4, f"{value:,.0f} %: below zero, so it cannot be true", colour=BAD))
    height = bottom + 32
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" role="img">\n<title>Guarantees of the demo</title>\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def main(arguments: list[str]) -> None:
    document = json.loads(Path(arguments[0]).read_text()) if arguments else certiformer.demo().document
    TARGET.write_text(drawn(document), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
