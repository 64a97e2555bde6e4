"""An array that is read in blocks of rows: in memory, in a file, or unpacked from an archive of `numpy.savez`."""

from __future__ import annotations

import hashlib
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from certiformer.certification.split import data_hash
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.npy_reader import npy_header
from certiformer.theory.core.zip_reader import BROKEN, BadArchive, zip_members

BLOCK_BYTES = 8 * 2**20


class Rows(Protocol):
    """Named rows: `shape` and `dtype` are known, the numbers come in blocks."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def blocks(self, rows: int) -> Iterator[npt.NDArray[Any]]:
        """Consecutive blocks of at most `rows` rows."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rows of an array that is there already."""

    array: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def blocks(self, rows: int) -> Iterator[npt.NDArray[Any]]:
        for start in range(0, len(self.array), rows):
            yield self.array[start : start + rows]


@dataclass(frozen=True, eq=False)
class InFile:
    """Rows of an array in the .npy format behind `open_at`, a function that opens it; read in order, never as a whole.

    Fortran order keeps columns together, so such a file is read whole.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    open_at: Callable[[], IO[bytes]]

    def blocks(self, rows: int) -> Iterator[npt.NDArray[Any]]:
        if self.fortran and len(self.shape) > 1:
            with self.open_at() as file:
                whole = self._read(file, math.prod(self.shape)).reshape(self.shape[::-1]).T
            yield from InMemory(whole).blocks(rows)
            return
        width = math.prod(self.shape[1:])
        with self.open_at() as file:
            for start in range(0, self.shape[0], rows):
                count = min(rows, self.shape[0] - start)
                yield self._read(file, count * width).reshape(count, *self.shape[1:])

    def _read(self, file: IO[bytes], items: int) -> npt.NDArray[Any]:
        wanted = items * self.dtype.itemsize
        data = bytearray()
        while len(data) < wanted:
            try:
                part = file.read(min(wanted - len(data), BLOCK_BYTES))
            except BROKEN as error:
                raise InputError("file", self.name, "a complete array", f"It cannot be read: {error}") from error
            if not part:
                raise InputError("file", self.name, "a complete array", f"It ends {wanted - len(data)} bytes too early")
            data += part
        return np.frombuffer(data, dtype=self.dtype)


def rows_of_npy(name: str, opened: Callable[[], IO[bytes]], size: int) -> InFile:
    """The array in .npy format that `opened` reads from `size` bytes; objects, which would run code, are refused."""
    try:
        with opened() as file:
            shape, fortran, dtype = npy_header(file)
            start = file.tell()
    except BROKEN as error:
        raise InputError("file", name, "an array as numpy.save writes it", f"It cannot be read: {error}") from error
    if dtype.hasobject:
        raise InputError("file", name, "plain arrays", "It holds pickled objects, which are never loaded: save numbers")

    if dtype.kind not in "biufcUSMm" or not 0 < dtype.itemsize < 2**20 or not _counts(shape):
        raise InputError("file", name, "numbers or texts", f"It has type {str(dtype)[:80]}, shape {str(shape)[:80]}")
    if start + math.prod(shape) * dtype.itemsize > size or (math.prod(shape[1:]) == 0 and shape):
        raise InputError("file", name, "a complete array", f"An array of shape {shape} does not fit into {size} bytes")

    def open_at() -> IO[bytes]:
        again = opened()
        again.read(start)
        return again

    # A stored number counts as a list of one.
    return InFile(name, tuple(shape) or (1,), dtype, fortran, open_at)


def _counts(shape: tuple[object, ...]) -> bool:
    return len(shape) <= 32 and all(
        isinstance(axis, int) and not isinstance(axis, bool) and axis >= 0 for axis in shape
    )


def member_opener(path: Path, member: str) -> Callable[[], IO[bytes]]:
    """Opens a member of a zip archive, stored or compressed."""

    def opened() -> IO[bytes]:
        archive = zipfile.ZipFile(path)
        file = archive.open(member)
        archive.close()  # the member keeps the file open for itself
        return file

    return opened


def rows_of(value: Rows | npt.ArrayLike) -> Rows:
    """Whatever was given, as rows."""
    return value if hasattr(value, "blocks") else InMemory(np.atleast_1d(np.asarray(value)))  # type: ignore[return-value]


def whole(value: Rows | npt.ArrayLike) -> npt.NDArray[Any]:
    """All rows as one array."""
    if not hasattr(value, "blocks"):
        return np.asarray(value)
    rows: Rows = value  # type: ignore[assignment]
    if isinstance(rows, InMemory):
        return rows.array
    parts = list(rows.blocks(max(rows.shape[0], 1)))
    return parts[0] if parts else np.empty(rows.shape, rows.dtype)


def block_rows(*arrays: Rows) -> int:
    """How many rows of all arrays together make a block."""
    width = sum(8 * max(math.prod(array.shape[1:]), 1) for array in arrays)
    return max(1, BLOCK_BYTES // width)


def hash_of_rows(rows: Rows) -> str:
    """SHA-256 of dtype, shape and bytes, as `split.data_hash` has it, without holding them."""
    if rows.dtype.hasobject:
        return data_hash(whole(rows))
    digest = hashlib.sha256(f"{rows.dtype.str}{tuple(rows.shape)}".encode())
    for block in rows.blocks(block_rows(rows)):
        digest.update(np.ascontiguousarray(block).tobytes())
    return digest.hexdigest()


def rows_of_npz(path: Path) -> dict[str, Rows]:
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
    arrays = rows_of_npz(source)
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
