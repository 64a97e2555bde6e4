"""`certiformer search WORDS`: results whose docstring contains the words."""

from __future__ import annotations

from typing import Annotated

import typer

from certiformer.cli._output import Form, forms, print_results
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.registry import search as found_by


@forms("json", "csv", "markdown", "latex")
def search(
    words: Annotated[list[str], typer.Argument(help="Words that must all occur, for example: heavy tails.")],
    form: Form = "",
) -> None:
    """Find results by words in their title, statement, defects, assumptions and inputs."""
    found = found_by(" ".join(words))
    if not found and form != "json":
        raise InputError("words", " ".join(words), "words that occur in a result", "Try fewer or shorter words")
    print_results(found, form)
