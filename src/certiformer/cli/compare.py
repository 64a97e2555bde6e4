"""`certiformer compare A B ...`: models by files of predictions, or theorems by id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from certiformer.certification.declaration import Declaration
from certiformer.cli import _pairs
from certiformer.cli import _reading as reading
from certiformer.cli._output import Form, answered, console, forms
from certiformer.cli._reading import conditions, plain
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.sweeping import Range, parse_sweep

if TYPE_CHECKING:
    from certiformer.certification.comparing import Comparisons
    from certiformer.report.comparison import Comparison, Row

MOST_LINES = 21
"""Of a long sweep the terminal shows so many points; --csv has them all."""
COLUMNS = ("id", "sound", "variant", "printed")


@reading.declared("compare")
@forms("json", "csv", "markdown", "latex")
def compare(
    declaration: Declaration,
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE FILE... | ID ID... [KEY=VALUE...]",
            help="Files on the same items, the reference first; or results.",
        ),
    ],
    delta: reading.Delta = None,
    confidence: reading.Confidence = None,
    margin: Annotated[
        float | None, typer.Option(help="Models: is the second at most this much worse than the first?")
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(metavar="noninferior|better", help="Exit code 0 if that is shown, 1 if refuted, 3 otherwise."),
    ] = None,
    sweep: Annotated[
        str | None,
        typer.Option(metavar="KEY=FROM:TO:POINTS[:linear]", help="Results: along a range, e.g. n=1e2:1e8:40."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Results: draw the sweep (.png, .svg).")] = None,
    proof_file: Annotated[
        Path | None,
        typer.Option("--proof", metavar="FILE", help="Models: write the sign test as a proof for a kernel (.v)."),
    ] = None,
    form: Form = "",
) -> None:
    """Compare two models on the same items, or several bounds."""
    from certiformer.certification.comparing import compare as run
    from certiformer.certification.gating import EXIT, required_of
    from certiformer.certification.sources.files import READERS

    files = [word for word in what if Path(word).suffix.lower() in READERS or Path(word).exists()]
    if not files:
        models_only: dict[str, Any] = {"delta": delta, "confidence": confidence, "margin": margin}
        models_only |= {"require": require, "proof": proof_file, **declaration.as_json()}
        for name, value in models_only.items():
            if value is not None:
                raise InputError(
                    f"--{name}", value, "files of predictions to compare", "Results have inputs: KEY=VALUE"
                )
        _results(what, sweep, plot, form)
        return
    if len(files) < len(what):
        raise InputError("compare", [word for word in what if word not in files], "files, or ids, not both")
    if sweep is not None or plot is not None:
        raise InputError("--sweep, --plot", sweep or str(plot), "results (ids) to compare, not files")
    found = run(*files, delta=delta, confidence=confidence, margin=margin, declaration=declaration)
    verdict = None if require is None else required_of(found, require)
    _models(found, proof_file, form)
    if verdict is not None:
        typer.echo(verdict[1], err=bool(form))
        raise typer.Exit(EXIT[verdict[0]])


def _models(found: Comparisons, proof_file: Path | None, form: Form) -> None:
    document: dict[str, Any] = {"comparison": found[0].as_json()}
    if len(found) > 1:
        document["comparisons"] = [one.as_json() for one in found]
    told = ""
    if proof_file is not None:
        from certiformer.auditing.proofs import write_proof

        told = write_proof(document, proof_file, None)
    if answered(form, lambda: document, lambda: [one.as_json() for one in found]):
        return
    said = found.report
    console.print(f"[bold]{plain(said.headline)}[/bold]")
    for row in said.statements:
        if row.key != said.decisive:
            console.print(plain(f"{row.subject}: {row.claim}; {row.verdict}."))
        console.print(plain(f"Seen: {row.seen}."))
    if said.advice:
        console.print(said.advice)
    conditions(said.conditions, said.not_checked, said.warnings)
    if told:
        console.print(told, highlight=False)


def _results(words: list[str], sweep: str | None, plot: Path | None, form: Form) -> None:
    from certiformer.report.comparison import compare_results, draw

    ids = [word for word in words if "=" not in word]
    given = _pairs.texts("input", (word for word in words if "=" in word))
    along = None if sweep is None else parse_sweep(sweep)
    found = compare_results(ids, given, along)
    rows = [row for rows in found.by_quantity().values() for row in rows]
    if not given and along is None and all(row.value is None and row.log10 is None for row in rows):
        raise InputError("compare", ids, "inputs to evaluate them at", f"KEY=VALUE. {rows[0].why}")
    if plot is not None:
        if along is None:
            raise InputError("--plot", str(plot), "a sweep to draw", "Add for example --sweep n=1e2:1e8:40")
        draw(found, plot)

    def listed() -> list[dict[str, Any]]:
        fixed: list[tuple[dict[str, float], Row]] = [({}, row) for row in rows]
        swept = fixed if along is None else [({along.name: value}, row) for value, row in found.along()]
        return [
            {"quantity": row.quantity, **at, **{name: getattr(row, name) for name in COLUMNS}, "why": row.why}
            for at, row in swept
        ]

    if answered(form, found.as_json, listed):
        return
    for quantity, here in found.by_quantity().items():
        if along is not None and quantity in found.swept():
            _swept(found, quantity, along)
        title = quantity if along is None else f"{quantity}, {along.name} = {along.high:g}"
        table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
        for column in ("result", *COLUMNS[1:], "why"):
            table.add_column(column, justify="right" if column in ("sound", "printed") else "left", overflow="fold")
        for row in here:
            table.add_row(
                row.id,
                row.sound,
                row.variant,
                row.printed,
                row.why,
                style="bold" if row.id == found.best(quantity) else "",
            )
        console.print(table)
    if plot is not None:
        console.print(f"wrote {plot}")


def _swept(found: Comparison, quantity: str, along: Range) -> None:
    """The smallest sound bound of every result along the range, and who wins where."""
    sweeps = found.swept()[quantity]
    table = Table(box=None, pad_edge=False, header_style="bold", title=quantity, title_justify="left")
    for name in (along.name, *(one.result.id for one in sweeps), "smallest"):
        table.add_column(name, justify="left" if name == "smallest" else "right", overflow="fold")
    stretches = found.wins(quantity)
    (points,) = sweeps[0].axes.values()
    shown = sorted({round(k * (len(points) - 1) / (MOST_LINES - 1)) for k in range(MOST_LINES)})
    for place in shown if len(points) > MOST_LINES else range(len(points)):
        at = [one.points[place] for one in sweeps]
        values = ["–" if one.best is None else one.sound[one.best].text(one.result.bounds) for one in at]
        (winner,) = (one["id"] for one in stretches if one["low"] <= points[place] <= one["high"])
        table.add_row(f"{points[place]:.4g}", *values, winner or "–")
    console.print(table)
    for one in stretches:
        low, high, best = one["low"], one["high"], one["id"]
        span = f"= {low:.4g}" if low == high else f"from {low:.4g} to {high:.4g}"
        console.print(f"{along.name} {span}: " + (f"{best} is smallest" if best else "none has a bound"))
    console.print()
