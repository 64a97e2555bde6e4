"""Comma-separated tables with a header."""

from __future__ import annotations

import csv
from pathlib import Path

from certiformer.core.errors import InputError


def read(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file; tabs and semicolons are recognised in the header."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            delimiter = max(",;\t", key=header.count)
            file.seek(0)
            reader = csv.reader(file, delimiter=delimiter)
            names = [name.strip() for name in next(reader, [])]
            if not names or len(set(names)) < len(names):
                raise InputError("file", str(path), "a header with different names", f"It has {names}")
            columns: list[list[str]] = [[] for _ in names]
            for line, cells in enumerate(reader, 2):
                if not cells:
                    continue
                if len(cells) != len(names):
                    raise InputError("file", str(path), f"{len(names)} cells per line", f"Line {line} has {len(cells)}")
                for column, cell in zip(columns, cells, strict=True):
                    column.append(cell)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError("file", str(path), "a readable CSV file", f"It cannot be read: {error}") from error
    return dict(zip(names, columns, strict=True))
