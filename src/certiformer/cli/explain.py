"""`certiformer explain ID`: statement, inputs, assumptions, defects, and what holds instead."""

from __future__ import annotations

from typing import Annotated

import typer

import certiformer
from certiformer.cli._output import Json, console, one_form, print_json
from certiformer.report.explanation import bibtex_entry, explanation, explanation_json, latex_statement


def explain(
    id: Annotated[str, typer.Argument(help="A result, for example trauger.thm4.1 or 'Trauger Theorem 4.1'.")],
    json: Json = False,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="The paper and the place in it as BibTeX.")] = False,
    proof: Annotated[
        bool, typer.Option("--proof", help="The refutation for a proof kernel, checked if one is installed.")
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="The printed and the sound statement in LaTeX.")] = False,
) -> None:
    """What a paper prints, what is wrong with it, what holds."""
    one_form({"json": json, "latex": latex})
    result = certiformer.explain(id)
    if proof:
        from certiformer.auditing.proofs import check_refutation, verdict_on
        from certiformer.certificates._refutations import refutation_of
        from certiformer.cli.verify import told

        text = refutation_of(result.id)
        if not json:
            typer.echo(text)
        told(*verdict_on(lambda: check_refutation(result.id)), json)
    if bibtex:
        typer.echo(bibtex_entry(result))
    elif latex:
        typer.echo(latex_statement(result))
    elif json:
        print_json(explanation_json(result))
    else:
        console.print(explanation(result))
