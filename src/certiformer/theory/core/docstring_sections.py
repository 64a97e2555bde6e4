"""The docstring of a result tells what it is, once: this reads its sections for `explain`, the pages and JSON.

Title in one line.

What it is about, in prose.

Printed: the claim in plain text
.. math:: the claim in LaTeX
Quoted: the paper's own words at the point in question, letter by letter (`tools/quotations.py` compares them)
Sound: what holds instead
Because: why the two differ
Assumes:
- what the caller must make sure of
Defects:
- what is wrong with the printed claim, with the counterexample
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import dataclass

from certiformer.theory.core.errors import CertiformerError

_SECTION = re.compile(r"^(Printed|Quoted|Sound|Because|Assumes|Defects):(?:\s+(.*))?$")


@dataclass(frozen=True, slots=True)
class DocstringSections:
    """The sections of a docstring; what it does not tell is empty."""

    title: str
    prose: str
    printed: str
    printed_latex: str
    quoted: str
    sound: str
    sound_latex: str
    because: str
    assumes: tuple[str, ...]
    defects: tuple[str, ...]


def read(docstring: str | None) -> DocstringSections:
    """The sections of a docstring; refused where Python was told to forget them: no claim may lose its conditions."""
    if docstring is None and sys.flags.optimize > 1:
        raise CertiformerError("python -OO (PYTHONOPTIMIZE=2) removes the conditions of claims: run it without")
    lines = inspect.cleandoc(docstring or "").splitlines()
    title = lines[0].rstrip(".") if lines else ""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line in lines[1:]:
        match = _SECTION.match(line)
        if match:
            current = match[1]
            sections.setdefault(current, []).append(match[2] or "")
        else:
            sections[current].append(line)
    printed, printed_latex = _text_and_formula(sections.get("Printed", []))
    sound, sound_latex = _text_and_formula(sections.get("Sound", []))
    return DocstringSections(
        title=title,
        prose="\n".join(sections[""]).strip(),
        printed=printed,
        printed_latex=printed_latex,
        quoted=_joined(sections.get("Quoted", [])),
        sound=sound,
        sound_latex=sound_latex,
        because=_joined(sections.get("Because", [])),
        assumes=_items(sections.get("Assumes", [])),
        defects=_items(sections.get("Defects", [])),
    )


def _text_and_formula(lines: list[str]) -> tuple[str, str]:
    """Plain text, and the `.. math::` block: that line and the indented ones after it."""
    text: list[str] = []
    formula: list[str] = []
    inside = False
    for line in lines:
        if line.startswith(".. math::"):
            inside = True
            formula.append(line.removeprefix(".. math::"))
        elif inside and line.startswith(" "):
            formula.append(line)
        else:
            inside = False
            text.append(line)
    return _joined(text), _joined(formula)


def _items(lines: list[str]) -> tuple[str, ...]:
    items: list[list[str]] = []
    for line in lines:
        if line.startswith("- "):
            items.append([line[2:]])
        elif line.strip() and items:
            items[-1].append(line)
    return tuple(_joined(item) for item in items)


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
