"""Objects as notebooks show them: a small table in HTML, everything escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

MOST_ROWS = 60


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """A table with a caption; beyond sixty rows it says how many more there are."""
    every = list(rows)
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in every[:MOST_ROWS])
    more = f"<p>and {len(every) - MOST_ROWS} more rows</p>" if len(every) > MOST_ROWS else ""
    told = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<table><caption>{html.escape(title)}</caption><tr>{top}</tr>{body}</table>{more}{told}"


def _cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else html.escape("" if value is None else str(value))
