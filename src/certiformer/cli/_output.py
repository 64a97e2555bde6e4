"""Where text goes: one JSON document on stdout, or tables for people, whole at every width."""

from __future__ import annotations

import functools
import inspect
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.console import Console, ConsoleDimensions, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from certiformer.report.latex import latex_table
from certiformer.report.result_tables import theorem_table
from certiformer.theory.core import Result
from certiformer.theory.core.csv_writer import csv_text
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.report import Report

PIPED = 100_000
"""The width of a pipe or a file: nothing is wrapped there."""
NARROW = 16
"""A column of words that gets less room than this is read more easily as a line of its own."""

Form = Literal["", "json", "csv", "markdown", "latex"]
"""How an answer is written: for people, or as asked for."""
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
FLAGS: dict[str, Any] = {
    "json": Json,
    "csv": Annotated[bool, typer.Option("--csv", help="Comma-separated values.")],
    "markdown": Annotated[bool, typer.Option("--markdown", help="A Markdown table.")],
    "latex": Annotated[bool, typer.Option("--latex", help="A LaTeX table.")],
}
Command = Callable[..., None]


def one_form(flags: Mapping[str, bool]) -> str:
    """The flag that was given, or "" where none was; two are refused."""
    given = [name for name, asked in flags.items() if asked]
    if len(given) > 1:
        asked = [f"--{name}" for name in given]
        raise InputError("output", " ".join(asked), "one form of output", f"Choose {' or '.join(asked)}")
    return "".join(given)


def forms(*names: str) -> Callable[[Command], Command]:
    """Give a command these flags; its `form` is the one that was typed, or "" for people."""

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True)

        @functools.wraps(command)
        def run(**given: Any) -> None:
            form = one_form({name: given.pop(name, False) for name in names})
            command(**given, form=form)

        kept = [one for one in own.parameters.values() if one.name != "form"]
        kind = inspect.Parameter.KEYWORD_ONLY
        kept += [inspect.Parameter(name, kind, default=False, annotation=FLAGS[name]) for name in names]
        run.__signature__ = own.replace(parameters=[one.replace(kind=kind) for one in kept])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in kept}
        return run

    return decorate


def commanded(report: Report) -> Report:
    """The report with the command that made it, among what may differ when it is made again."""
    return replace(report, machine={**report.machine, "command": shlex.join(["certiformer", *sys.argv[1:]])})


class Whole(Console):
    """A console that cuts nothing: tables that do not fit are written row by row; pipes get the full width."""

    @property
    def size(self) -> ConsoleDimensions:
        columns = os.environ.get("COLUMNS", "")
        if columns.isdigit() and int(columns) > 0:
            return ConsoleDimensions(int(columns), 25)
        return super().size if self.is_terminal else ConsoleDimensions(PIPED, 25)

    @size.setter
    def size(self, new_size: tuple[int, int]) -> None:
        raise AttributeError("the width is that of the terminal")

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_fitted, objects), **options)

    def on_broken_pipe(self) -> NoReturn:
        """Whoever read our output has gone: `main` ends the process."""
        raise BrokenPipeError


console = Whole(highlight=False, soft_wrap=False)


def _fitted(thing: Any) -> Any:
    if isinstance(thing, Table):
        return _Fitted(thing)
    if isinstance(thing, Group):
        return Group(*map(_fitted, thing.renderables))
    if isinstance(thing, Padding):
        return _SetIn(Padding(_fitted(thing.renderable), (thing.top, thing.right, thing.bottom, thing.left)))
    return thing


class _SetIn:
    """What stands away from the margin, without the blanks that would fill its lines up to the width."""

    def __init__(self, padding: Padding) -> None:
        self.padding = padding

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from _stripped(console.render_lines(self.padding, options, pad=False))


class _Fitted:
    """A table, or its rows one below the other where it is too wide: no mark, exponent or title is cut."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self.table
        for column in table.columns:
            column.overflow = "fold"
            column.no_wrap = column.no_wrap or column.justify == "right"
        if options.max_width >= PIPED or _room(console, options, table) <= options.max_width:
            yield from _stripped(console.render_lines(table, options, pad=False))
        else:
            yield from _rows(console, table)


def _room(console: Console, options: ConsoleOptions, table: Table) -> int:
    """The least width at which every cell is whole, and words have some room."""
    wide = options.update(width=PIPED)
    needed = 0
    for column in table.columns:
        cells = [*([column.header] if table.show_header else []), *column.cells]
        found = [Measurement.get(console, wide, cell) for cell in cells if cell != ""]
        longest = max((one.maximum for one in found), default=0)
        words = max((one.minimum for one in found), default=0)
        needed += longest if column.no_wrap else min(longest, max(words, NARROW))
    gaps = max(0, len(table.columns) - 1) * (table.padding[1] + table.padding[3])
    edges = 0 if table.box is None else 3 * len(table.columns) + 1
    return needed + max(gaps, edges)


def _stripped(lines: list[list[Segment]]) -> Iterator[Segment]:
    """Lines without the blanks that fill up the last column."""
    for line in lines:
        kept = list(line)
        while kept and not kept[-1].text.strip():
            kept.pop()
        if kept:
            last = kept.pop()
            kept.append(Segment(last.text.rstrip(), last.style))
        yield from kept
        yield Segment.line()


def _rows(console: Console, table: Table) -> Iterator[RenderableType]:
    """Every row as lines `name  value`, rows apart by an empty line."""
    if table.title:
        yield console.render_str(table.title) if isinstance(table.title, str) else table.title
    columns = [(_text(console, column.header), list(column.cells)) for column in table.columns]
    heads = [Text(" ".join(head.plain.split())) if table.show_header else Text() for head, _ in columns]
    for at, row in enumerate(table.rows):
        if at:
            yield Text()
        for head, (_, cells) in zip(heads, columns, strict=True):
            cell = _text(console, cells[at])
            if cell.plain:
                cell.stylize_before(row.style or "")
                yield Text.assemble((f"{head.plain}: " if head.plain else "", "bold"), cell)


def _text(console: Console, cell: RenderableType) -> Text:
    return cell.copy() if isinstance(cell, Text) else console.render_str(str(cell))


@contextmanager
def progress_bar(name: str, *, quiet: bool) -> Iterator[Callable[..., None] | None]:
    """Progress with the time left, on a terminal: `step(done, total, what)`, where `what` may be left out."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    errors = Console(stderr=True)
    if quiet or not errors.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.fields[what]}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(name, what=name, total=None)

        def step(done: float, total: float, what: str = name) -> None:
            bar.update(task, completed=done, total=total, what=what)

        yield step


def print_json(document: Any) -> None:
    """One JSON document on stdout, strictly valid (infinities are strings by then)."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def answered(form: Form, document: Callable[[], Any], rows: Callable[[], Sequence[Mapping[str, Any]]]) -> bool:
    """Write the answer in the form that was asked for; False where people read it, who get tables."""
    if form == "json":
        print_json(document())
    elif form:
        print_rows(rows(), form)
    return bool(form)


def print_rows(rows: Sequence[Mapping[str, Any]], form: Form) -> None:
    """Rows as comma-separated values, or as a table in Markdown or LaTeX.

    Lists inside a cell are joined by spaces; a mapping is a column for each of its names.
    """
    rows = [_spread(row) for row in rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [{name: _flat(row.get(name)) for name in names} for row in rows]
    if form == "latex":
        sys.stdout.write(latex_table(names, [list(row.values()) for row in cells]))
        return
    if not names:
        return
    if form == "csv":
        sys.stdout.write(csv_text(cells, names))
        return
    lines = [names, *([str(cell) for cell in row.values()] for row in cells)]
    safe = [[cell.replace("|", "\\|").replace("<", "&lt;") for cell in line] for line in lines]
    texts = [f"| {' | '.join(line)} |\n" for line in safe]
    sys.stdout.writelines([texts[0], f"|{' --- |' * len(names)}\n", *texts[1:]])


def print_results(results: Sequence[type[Result]], form: Form) -> None:
    """A list of results; a LaTeX table leaves out what is wider than a page."""
    listed = [each.listing() for each in results]
    narrow = ("id", "title", "place", "bounds", "printed")
    rows = [{name: row[name] for name in narrow} for row in listed] if form == "latex" else listed
    if not answered(form, lambda: listed, lambda: rows):
        console.print(theorem_table(results, console.width))


def _spread(row: Mapping[str, Any]) -> dict[str, Any]:
    """{"runs": {"quick": 3}} as {"runs.quick": 3}."""
    spread: dict[str, Any] = {}
    for name, cell in row.items():
        spread.update(
            {f"{name}.{part}": one for part, one in cell.items()} if isinstance(cell, Mapping) else {name: cell}
        )
    return spread


def _flat(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return "" if value is None else " ".join(value.splitlines()) if isinstance(value, str) else value
