"""A report on the screen: the answer, what it rests on, where the page is and what to do next; the table on request."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from certiformer.report.page import at_least, limit, number, observed, percent
from certiformer.theory.core.report import Report, visible


def first_screen(report: Report, page: Path | None = None, text: Path | None = None, *, table: bool = False) -> Group:
    """The lines of the report, its table if asked for, the files, and the next commands."""
    head, *rest = report.lines()
    parts: list[RenderableType] = [Text(head, "bold"), *map(_line, rest)]
    if table:
        parts += [Text(), report_table(report)]
    elif len(report.rows()) > 1:
        parts[-1] = Text(f"{rest[-1]}  --all shows the table" if rest else "--all shows the table")
    if page is not None and text is not None:
        parts.append(Text(f"Report:  {visible(str(page))}"))
        if report.files:
            parts.append(Text(f"Models:  {len(report.files)} predictor files beside it (certiformer.load_predictor)"))
        data = report.machine.get("predictions") or report.machine.get("data")
        again = shlex.join(
            ["certiformer", "verify", visible(str(text)), *(("--data", visible(str(data))) if data else ())]
        )
        parts.append(Text(f"Next:    check this report        {again}"))
        seen = None if report.best is None or not report.best.rate else observed(report.best)
        if seen is not None and report.value is not None and seen < report.value:
            wish = f"certiformer plan --error {(seen + report.value) / 2:.3g} --expect {seen:.3g}"
            parts.append(Text(f"         how many labels to get   {wish}"))
    return Group(*parts)


def report_table(report: Report) -> Table:
    """A row per statement with a number."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    # An id is what a reader copies into the next command: it is never cut short.
    table.add_column("certificate", no_wrap=True)
    table.add_column("limits")
    table.add_column("at most", justify="right", no_wrap=True)
    two_sided = any(row.lower is not None for row in report.statements)
    if two_sided:
        table.add_column("at least", justify="right", no_wrap=True)
    table.add_column("guessing", justify="right", no_wrap=True)
    table.add_column("verdict")
    table.add_column("examples needed", justify="right")
    for row in report.statements:
        if not row.says:
            continue
        printed = row.version == "printed"
        table.add_row(
            Text(visible(f"{row.key} (printed)" if printed else row.key)),
            Text(visible(row.quantity)),
            limit(row),
            *([at_least(row) if row.lower is not None else ""] if two_sided else []),
            percent(row.guessing) if row.rate else number(row.guessing),
            row.verdict,
            number(row.n_needed),
            style="dim" if printed else "green" if row.informative else None,
        )
    return table


def _line(text: str) -> Text:
    for head in ("NOT CHECKED:", "Warning:"):
        if text.startswith(head):
            return Text.assemble((head, "yellow"), text.removeprefix(head))
    return Text(text)
