"""`certiformer search WORDS`: results whose docstring contains the words."""

from __future__ import annotations

from typing import Annotated

import typer

from certiformer.cli._output import Csv, Latex, Markdown, console, print_json, print_results
from certiformer.report.table import theorem_table
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.registry import search as found_by


def search(
    words: Annotated[list[str], typer.Argument(help="Words that must all occur, for example: heavy tails.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    csv: Csv = False,
    markdown: Markdown = False,
    latex: Latex = False,
) -> None:
    """Find results by words in their title, statement, defects, assumptions and inputs."""
    found = found_by(" ".join(words))
    if json:
        print_json([each.listing() for each in found])
    elif not found:
        raise InputError("words", " ".join(words), "words that occur in a result", "Try fewer or shorter words")
    elif csv or markdown or latex:
        print_results(found, markdown=markdown, latex=latex)
    else:
        console.print(theorem_table(found, console.width))
