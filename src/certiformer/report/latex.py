"""Tables and plain words in LaTeX: no package is needed to set them."""

from __future__ import annotations

import math
from collections.abc import Sequence

_ESCAPED = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "–": "--",
}


def latex_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A tabular with a line under its head; numbers are set to the right, in powers of ten where they are long."""
    numeric = [bool(rows) and all(_numeric(row[place]) for row in rows) for place in range(len(names))]
    lines = [
        f"\\begin{{tabular}}{{{''.join('r' if one else 'l' for one in numeric)}}}",
        *(_line(row) for row in (names, *rows)),
        "\\end{tabular}",
    ]
    return "\n".join([*lines[:2], "\\hline", *lines[2:]]) + "\n" if names else ""


def latex_words(text: str) -> str:
    """Words as LaTeX prints them."""
    return "".join(_ESCAPED.get(letter, letter) for letter in text)


def latex_number(value: float) -> str:
    """A number in mathematics, six digits; long exponents as powers of ten."""
    if math.isnan(value):
        return "--"
    if math.isinf(value):
        return r"$\infty$" if value > 0 else r"$-\infty$"
    digits, _, exponent = f"{value:.6g}".partition("e")
    return f"${digits} \\times 10^{{{int(exponent)}}}$" if exponent else f"${digits}$"


def _numeric(cell: object) -> bool:
    return cell == "" or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


def _line(cells: Sequence[object]) -> str:
    return " & ".join(_cell(cell) for cell in cells) + " \\\\"


def _cell(cell: object) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"${cell}$"
    return latex_number(cell) if isinstance(cell, float) else latex_words(str(cell))
