"""The whole story of a result, in a screenful."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from certiformer.certificates._refutations import refutation_command
from certiformer.report import numbers
from certiformer.report.latex import latex_words
from certiformer.report.result_tables import STATUS_STYLES
from certiformer.theory.core import Input, Result


def explanation(result: type[Result]) -> RenderableType:
    """Printed statement, verdict, defects, sound statement, inputs, assumptions, reference, an example."""
    parts: list[RenderableType] = [
        Text.assemble((result.id, "bold"), f"  {result.title}"),
        Text(f"{result.place}; bounds the {result.bounds.value}", "dim"),
    ]
    if result.sections.prose:
        parts += _section("Setting", Text(_unmarked(result.sections.prose)))
    if result.has_printed():
        verdict = Text.assemble(
            (result.status.value, STATUS_STYLES[result.status]), f" ({result.status.meaning}): {result.reason}"
        )
        quoted = [Text(f"{result.place}: “{result.sections.quoted}”")] if result.sections.quoted else []
        parts += _section("As printed", Text(result.sections.printed), *quoted, verdict, *_refutation(result))
    if result.defects:
        parts += _section("What is wrong with it", _bullets(result.defects))
    if result.counterexample:
        parts += _section("Counterexample", Text(result.counterexample))
    parts += _section("What holds", Text(result.sections.sound))
    parts += _section("Inputs", _input_table(result.inputs))
    if result.assumptions:
        parts += _section("Assumptions", _bullets(result.assumptions))
    parts += _section("Reference", Text(f"{result.paper.reference} {result.place}."), *_proof(result))
    parts += _section("Try", Text(result.example))
    return Group(*parts)


def _refutation(result: type[Result]) -> list[Text]:
    command = refutation_command(result.id)
    return [] if command is None else [Text(f"Refuted; checked by a proof kernel: {command}")]


def _proof(result: type[Result]) -> list[Text]:
    return [Text(f"Proof of the sound form: {result.proof}")] if result.proof else []


def _section(title: str, *body: RenderableType) -> list[RenderableType]:
    return [Text(), Text(title, "bold"), *(Padding(line, (0, 0, 0, 2)) for line in body)]


def _bullets(lines: tuple[str, ...]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    for line in lines:
        table.add_row("-", Text(line))
    return table


def _input_table(inputs: tuple[Input, ...]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_column(max_width=26)
    for entry in inputs:
        table.add_row(Text(entry.name, "bold"), Text(entry.meaning), Text(_range(entry), "dim"))
    return table


def _range(entry: Input) -> str:
    words = entry.short_range or "any"
    if entry.factory is not None or (entry.default is None and entry.otherwise):
        words += f"; default {entry.left_out}"
    elif entry.default is not None and not entry.required:
        default = int(entry.default) if isinstance(entry.default, bool) else entry.default
        words += f"; default {numbers.short(default) if isinstance(default, float) else default}"
    if entry.aliases:
        words += f"; also {', '.join(entry.aliases)}"
    return words


def explanation_json(result: type[Result]) -> dict[str, Any]:
    """The same as data."""
    return {
        "id": result.id,
        "title": result.title,
        "paper": result.paper.key,
        "reference": f"{result.paper.reference} {result.place}.",
        "place": result.place,
        "bounds": result.bounds.value,
        "statement": result.sections.printed,
        "latex": result.sections.printed_latex,
        "quoted": result.sections.quoted or None,
        "status": result.status.value,
        "reason": result.reason,
        "defects": list(result.defects),
        "counterexample": result.counterexample or None,
        "refutation": refutation_command(result.id),
        "sound_statement": result.sections.sound,
        "sound_latex": result.sections.sound_latex,
        "setting": result.sections.prose,
        "assumptions": list(result.assumptions),
        "inputs": [
            {
                "name": entry.name,
                "meaning": entry.meaning,
                "symbol": entry.symbol or entry.name,
                "range": entry.range,
                "required": entry.required,
                "default": None if entry.required or entry.factory is not None else entry.default,
                "derived": entry.left_out or None,
                "aliases": list(entry.aliases),
            }
            for entry in result.inputs
        ],
        "monotone": result.directions(),
        "proof": result.proof or None,
        "example": result.example,
    }


def _unmarked(prose: str) -> str:
    """Prose for a terminal: paragraphs are refolded, displayed formulas and lists keep their lines."""
    paragraphs = []
    for paragraph in prose.split("\n\n"):
        lines = paragraph.splitlines()
        kept = any(line.startswith((" ", "* ", "- ", ".. math::")) for line in lines)
        paragraphs.append("\n".join(lines).replace(".. math:: ", "    ") if kept else " ".join(lines))
    return "\n\n".join(paragraphs)


def bibtex_entry(result: type[Result]) -> str:
    """The paper as BibTeX, with the place of the result in a note and the identifiers that are in print."""
    paper = result.paper
    known = paper.identifiers
    kind = "article" if "journal" in known else "inproceedings" if "booktitle" in known else "misc"
    entries = {
        "author": paper.authors.replace(", ", " and "),
        "title": paper.title,
        **({"year": str(paper.year)} if paper.year else {}),
        **({"howpublished": paper.venue} if paper.venue and kind == "misc" else {}),
        **known,
        "note": result.place.replace("&", r"\&"),
    }
    lines = [f"@{kind}{{{paper.key},", *(f"  {name} = {{{value}}}," for name, value in entries.items()), "}"]
    return "\n".join(lines)


def latex_statement(result: type[Result]) -> str:
    """The two statements as displayed formulas; what has no formula is given in words."""
    story = result.sections
    parts = [f"% {result.id}: {result.title}"]
    for name, formula, words in (
        ("as printed", story.printed_latex, story.printed),
        ("sound", story.sound_latex, story.sound),
    ):
        if formula or words:
            parts.append(f"% {name}")
            parts.append(f"\\[ {formula} \\]" if formula else latex_words(words))
    return "\n".join(parts)
