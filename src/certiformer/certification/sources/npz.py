"""`numpy.savez` archives: every array by its name, read in blocks; pickled objects are refused, not run."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from certiformer.certification.sources.rows import Rows, member_opener, rows_of_npy, whole
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.zip_reader import BadArchive, zip_members


def read(path: Path) -> dict[str, Rows]:
    """The arrays of an .npz archive by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = zip_members(path, archive)
    except BadArchive as error:
        raise InputError("file", str(path), "a complete .npz file", f"It cannot be read: {error}") from error
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise InputError("file", str(path), "an .npz archive with named arrays", _why(path, error)) from error
    except OSError as error:
        raise InputError("file", str(path), "a readable .npz file", f"It cannot be read: {error}") from error
    found: dict[str, Rows] = {}
    for member, info in members.items():
        name = member.removesuffix(".npy")
        found[name] = rows_of_npy(f"{path.name}: {name}", member_opener(path, member), info.file_size)
    return found


def read_npz(path: str | Path, known: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file, whole, all of them named in `known`."""
    source, names = Path(path), tuple(known)
    if not source.is_file():
        raise InputError(
            "file", str(source), "an existing .npz file" if not source.exists() else "a file, not a folder"
        )
    arrays = read(source)
    for name in arrays:
        if name not in names:
            raise UnknownNameError("array", name, names, place=f" in {source.name} (known: {', '.join(names)})")
    return {name: whole(rows) for name, rows in arrays.items()}


def _why(path: Path, error: Exception) -> str:
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith((b"\x80", b"(lp")):
        return "It holds pickled objects, which are never loaded: save numbers with numpy.savez"
    if start.startswith(b"\x93NUMPY"):
        return "It is a single array: use numpy.savez with names"
    if start.startswith(b"PK"):
        return f"It cannot be read: {error}"
    return "It is not one; CSV, JSONL, Parquet and .npy are recognised by their endings"
