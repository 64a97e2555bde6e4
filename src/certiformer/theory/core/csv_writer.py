"""Comma-separated values, the one way they are written: no name from a stranger's file is a formula in them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> str:
    """A line of `names`, then one for each row; a cell that is missing is empty.

    A spreadsheet computes what begins with one of = + - @. Text that does, and is no number, gets an apostrophe first.
    """
    text = io.StringIO(newline="")
    lines = ([row.get(name) for name in names] for row in rows)
    csv.writer(text, lineterminator="\n").writerows([_plain(cell) for cell in line] for line in (names, *lines))
    return text.getvalue()


def _plain(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell
