"""Parquet tables, with pyarrow from the extra `files`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certiformer.core.errors import InputError


def read(path: Path) -> dict[str, Any]:
    """The columns of a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            "file", str(path), "pyarrow to read Parquet", "Install it: pip install 'certiformer[files]'"
        ) from error
    read_table: Any = parquet.read_table
    try:
        table = read_table(path)
    except (OSError, ValueError) as error:  # pyarrow's own errors are one of the two
        raise InputError("file", str(path), "a complete Parquet file", f"It cannot be read: {error}") from error
    return {
        name: table.column(name).to_numpy() if table.column(name).null_count == 0 else table.column(name).to_pylist()
        for name in table.column_names
    }
