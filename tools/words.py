"""Plain words: phrases that a stranger cannot understand, and texts that are too long; run, it lists them.

Read are README, CONTRIBUTING, docs, notebooks, the page templates, `--help`, the package's messages and docstrings, and
the headlines of the published experiments. The changelog is history and is left out.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer

from certiformer.cli import VERBS, application

ROOT = Path(__file__).resolve().parents[1]
HEADLINE, HELP, CELL, PAGE = 30, 12, 25, 2500
"""The most words of a headline, of a line of help, of a table's cell, and of a page's prose (tables and code apart)."""
TABLES = ("docs/audit.md", "docs/papers/items.md", "docs/results.md")
"""Reference tables, made from the results themselves: they are as long as they must be."""

PRIVATE = {
    r"\bone goes on\b|\bgo(es)? on (from|where)\b": "continue",
    r"\btaken over (from|by)\b": "kept from",
    r"\bvouch": "state, confirm",
    r"\bnine words\b": "verdicts",
    r"\bsays? something\b|\bsaying something\b": "is useful, is not vacuous",
    r"\bowes? nothing\b": "does not depend on",
    r"\bpriced\b": "accounted for",
    r"\bwished\b|\bthe wish\b": "target",
    r"saw-?tooth": "rises and falls",
    r"\ba person can rely\b": "name what the number is",
    r"\bvacuous by [^.;|]*decades|\b[Dd]ecades of sensitivity\b|\d decades together\b": "powers of ten, a factor of",
    r"\bwhat was looked at\b": "how it was made",
    r"\blog10 n needed\b": "log10 of examples needed",
    r"\bmachinery\b": "program",
    r"\bthe door\b|\bdoors\b": "input, function",
    r"\bat a level of its own\b": "separate test",
}
"""A phrase of ours, and what a stranger understands instead."""

Finding = tuple[str, str]


def private(text: str) -> Iterator[str]:
    """The phrases of `PRIVATE` in a text, with what to say instead."""
    plain = " ".join(text.split())
    for phrase, instead in PRIVATE.items():
        for match in re.finditer(phrase, plain, re.IGNORECASE):
            yield f"“{match[0]}”: say “{instead}”"


def words(text: str) -> int:
    """Words of a Markdown text; the address of a link is none."""
    return len(re.sub(r"\]\([^)]*\)", "]", text).split())


def pages() -> dict[str, str]:
    """Every page that people read, by its path; a notebook's words are those of its Markdown."""
    docs = ROOT / "docs"
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(docs.rglob("*.md")), *sorted(docs.rglob("*.ipynb"))]
    return {str(path.relative_to(ROOT)): _prose(path) for path in found}


def _prose(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def without_code(text: str) -> str:
    """A page without its blocks of code and what stands in backticks."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", " ", text, flags=re.DOTALL | re.MULTILINE)


def in_table(line: str) -> bool:
    """Whether a line is a row of a table; a line of a proof may begin with a bar, too."""
    return line.startswith("|") and line.rstrip().endswith("|")


def long_cells(text: str) -> Iterator[str]:
    """Cells of the tables of a page with more than `CELL` words."""
    for line in re.sub(r"^```.*?^```|^<details>.*?^</details>", "", text, flags=re.DOTALL | re.MULTILINE).splitlines():
        if in_table(line):
            for cell in re.split(r"(?<!\\)\|", line):
                if words(re.sub(r"`[^`]*`,?", "", cell)) > CELL:
                    yield f"a cell of {words(cell)} words: {cell.strip()[:60]} ..."


def prose_words(text: str) -> int:
    """Words of a page outside tables, code and folded parts."""
    plain = re.sub(r"<details>.*?</details>", " ", without_code(text), flags=re.DOTALL)
    return sum(words(line) for line in plain.splitlines() if not in_table(line))


def on_pages() -> Iterator[Finding]:
    """Private phrases, long cells and long pages."""
    for path, text in pages().items():
        for said in private(without_code(text)):
            yield path, said
        if path not in TABLES:
            for said in long_cells(text):
                yield path, said
            if prose_words(text) > PAGE:
                yield path, f"{prose_words(text)} words"


def helps() -> Iterator[tuple[str, str]]:
    """Every line of help: of a verb its first paragraph, of an argument or option all of it."""

    def of(command: Any, path: str) -> Iterator[tuple[str, str]]:
        yield path, " ".join((command.help or "").split("\n\n")[0].split())
        for parameter in command.params:
            if parameter.name not in ("install_completion", "show_completion"):  # typer's own words
                yield f"{path} {parameter.name}", getattr(parameter, "help", None) or ""
        for name, inner in getattr(command, "commands", {}).items():
            yield from of(inner, f"{path} {name}")

    command: click.Command = typer.main.get_command(application(tuple(VERBS)))
    yield from of(command, "certiformer")


def in_help() -> Iterator[Finding]:
    for path, text in helps():
        for said in private(text):
            yield path, said
        if words(text) > HELP:
            yield path, f"{words(text)} words of help: {text}"


def in_source() -> Iterator[Finding]:
    """Messages, docstrings and page templates of the package."""
    source = ROOT / "src" / "certiformer"
    for path in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for said in private(node.value):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", said
    for path in sorted(source.rglob("*.html")):
        for said in private(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(ROOT)), said


def headlines() -> dict[str, str]:
    """What each published experiment says in one line."""
    reports = (ROOT / "docs" / "reproduction" / "reports").glob("*/report.json")
    return {path.parent.name: json.loads(path.read_text(encoding="utf-8"))["headline"] for path in sorted(reports)}


def in_headlines() -> Iterator[Finding]:
    for id, text in headlines().items():
        for said in private(text):
            yield id, said
        if words(text) > HEADLINE:
            yield id, f"a headline of {words(text)} words"


def findings() -> list[Finding]:
    """All that is to be mended: where, and what."""
    return [*on_pages(), *in_help(), *in_source(), *in_headlines()]


def main() -> int:
    found = findings()
    for place, said in found:
        print(f"{place}: {said}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
