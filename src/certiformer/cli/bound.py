"""`certiformer bound ID key=value ...`: evaluate a result, sweep an input or solve for it, plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from certiformer.cli import _pairs
from certiformer.cli._output import Form, answered, console, forms
from certiformer.report.result_tables import evaluation_table, solution_table, sweep_table
from certiformer.theory.core import Direction, Evaluation, Result, find
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import outward


@forms("json", "csv", "markdown", "latex")
def bound(
    id: Annotated[str, typer.Argument(help="A result, for example trauger.thm4.1; see `certiformer theorems`.")],
    inputs: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Inputs; lists are comma-separated.")
    ] = None,
    sweep_over: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="KEY=FROM:TO:POINTS[:linear]",
            help="A range, e.g. n=1e2:1e8:40; given twice, a map.",
        ),
    ] = None,
    solve_for: Annotated[
        str | None,
        typer.Option("--solve", metavar="KEY", help="The least (or largest) KEY at which the bound meets --below."),
    ] = None,
    below: Annotated[float | None, typer.Option(metavar="VALUE", help="With --solve: at most this.")] = None,
    above: Annotated[float | None, typer.Option(metavar="VALUE", help="With --solve, lower bounds: at least.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the sweep (.png, .pdf or .svg).")] = None,
    form: Form = "",
) -> None:
    """Evaluate a result: printed and sound side by side.

    Every hypothesis is listed: verified, stated by you, open, or failing.
    """
    result = find(id)
    given = _pairs.texts("input", inputs, f"For example: {result.example}")
    if solve_for is not None:
        if sweep_over or plot is not None:
            raise InputError("--solve", solve_for, "no --sweep and no --plot beside it")
        from certiformer.theory.core.solving import solve

        solution = solve(result, given, solve_for, below=below, above=above)
        if not answered(form, solution.as_json, solution.rows):
            console.print(solution_table(solution))
        return
    if below is not None or above is not None:
        raise InputError("--below, --above", below if above is None else above, "--solve KEY", "Say what to solve for")
    if not sweep_over:
        if plot is not None:
            raise InputError("--plot", str(plot), "a sweep to draw", "Add for example --sweep n=1e2:1e8:40")
        evaluation = result.evaluate(given)
        if not answered(form, evaluation.as_json, lambda: _in_print(_sides(evaluation), result, form)):
            console.print(evaluation_table(evaluation))
        return
    from certiformer.theory.core.sweeping import parse_sweep, sweep

    swept = sweep(result, given, *map(parse_sweep, sweep_over))
    if plot is not None:
        from certiformer.report.figure import save

        save(swept.plot(), plot)
    if answered(form, swept.as_json, lambda: _in_print(swept.rows(), result, form)):
        return
    console.print(sweep_table(swept))
    if plot is not None:
        console.print(f"wrote {plot}")


def _in_print(rows: list[dict[str, Any]], result: type[Result], form: Form) -> list[dict[str, Any]]:
    """The rows with bounds rounded outward, where a table shows six digits of them."""
    above = result.bounds.direction is not Direction.LOWER

    def shown(name: str, cell: Any) -> Any:
        limit = isinstance(cell, float) and name.startswith(("value", "log10", "printed_", "sound_"))
        return outward(cell, 6, up=above) if limit else cell

    return [{name: shown(name, cell) for name, cell in row.items()} for row in rows] if form == "latex" else rows


def _sides(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Every variant of both sides as a plain row."""
    return [
        {
            "result": evaluation.result.id,
            "side": side,
            "variant": name,
            "value": bound.value,
            "log10": bound.log10,
            "applies": bound.applies,
            "best": side == "sound" and name == evaluation.best,
            "open": "; ".join(one.requires for one in bound.hypotheses if one.state == "open"),
        }
        for side, variants in (("printed", evaluation.printed), ("sound", evaluation.sound))
        for name, bound in variants.items()
    ]
