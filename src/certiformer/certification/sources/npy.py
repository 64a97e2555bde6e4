"""A single array in a .npy file: right/wrong if it is boolean, otherwise the caller says what it holds."""

from __future__ import annotations

from pathlib import Path

from certiformer.certification.sources.rows import InFile, rows_of_npy
from certiformer.core.errors import InputError


def read(path: Path) -> InFile:
    """The rows of a .npy file."""
    try:
        return rows_of_npy(path.name, lambda: path.open("rb"))
    except OSError as error:
        raise InputError("file", str(path), "a readable .npy file", f"It cannot be read: {error}") from error
