"""`certiformer explain ID`: statement, inputs, assumptions, defects, and what holds instead."""

from __future__ import annotations

from typing import Annotated

import typer

import certiformer
from certiformer.cli._output import console, print_json
from certiformer.report.explanation import explanation, explanation_json


def explain(
    id: Annotated[str, typer.Argument(help="A result, for example trauger.thm4.1; see `certiformer theorems`.")],
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Explain a result: what is printed, what is wrong with it, what holds, and how to evaluate it."""
    result = certiformer.explain(id)
    if json:
        print_json(explanation_json(result))
    else:
        console.print(explanation(result))
