"""Large CSV and JSONL files through pyarrow, where it is there: only such as have one meaning for every reader.

CSV: no quotation mark, no empty line or row, no lone carriage return, every line as many cells as the header: then a
row is a line split at the delimiter. JSONL: every line has the fields of the first, each of one plain type, and none is
null.
Anything else, and whatever pyarrow refuses, is left to the plain reader and its messages.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.json_reader import NotJson, parse_json

WORTH_IT = 2**20
"""Bytes from which on the import of pyarrow is regained."""
_BLOCK = 2**20
_LOOKED_AT = 10_000
"""Rows that say whether a column repeats its cells."""


@dataclass(frozen=True, eq=False)
class Coded(Sequence[str]):
    """A column of few different cells: these in the order in which they first occur, and which one each row has."""

    cells: tuple[str, ...]
    codes: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return list(map(self.cells.__getitem__, self.codes[row].tolist()))
        return self.cells[int(self.codes[row])]

    def __iter__(self) -> Iterator[str]:
        return map(self.cells.__getitem__, self.codes.tolist())

    def row_of(self, cell: int) -> int:
        """The first row that has this cell."""
        return int(np.argmax(self.codes == cell))


def cells_of(column: Sequence[Any]) -> Sequence[Any]:
    """The different cells of a column, where they are known at once, or all of them."""
    return column.cells if isinstance(column, Coded) else column


def columns_of(path: Path, names: int, delimiter: str) -> list[Sequence[str]] | None:
    """The cells below the header, column by column; None if the plain reader has to say what they are."""
    empty = delimiter.encode() * (names - 1)
    if path.stat().st_size < WORTH_IT or importlib.util.find_spec("pyarrow") is None or not _one_meaning(path, empty):
        return None
    pyarrow: Any = importlib.import_module("pyarrow")
    arrow: Any = importlib.import_module("pyarrow.csv")
    keys = [str(place) for place in range(names)]
    try:
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(column_names=keys, skip_rows=1, use_threads=False),
            arrow.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False, ignore_empty_lines=False),
            arrow.ConvertOptions(column_types=dict.fromkeys(keys, pyarrow.string()), strings_can_be_null=False),
        )
        return [_cells(table.column(key)) for key in keys]
    except (pyarrow.ArrowException, UnicodeDecodeError, _TooLong):
        return None


_KINDS = {bool: "bool_", int: "int64", float: "float64", str: "string"}


def fields_of(path: Path) -> dict[str, Any] | None:
    """The values of a JSONL file, field by field; None if the plain reader has to say what they are."""
    if path.stat().st_size < WORTH_IT or importlib.util.find_spec("pyarrow") is None:
        return None
    with path.open("rb") as file:
        try:
            first = parse_json(file.readline(_BLOCK), unique=True)
        except NotJson:
            return None
    if any(type(value) not in _KINDS for value in first.values()):
        return None
    pyarrow: Any = importlib.import_module("pyarrow")
    arrow: Any = importlib.import_module("pyarrow.json")
    schema = pyarrow.schema([(name, getattr(pyarrow, _KINDS[type(value)])()) for name, value in first.items()])
    try:
        table = arrow.read_json(
            path,
            arrow.ReadOptions(use_threads=False),
            arrow.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
        if len(table) != _lines(path) or any(column.null_count for column in table.columns):
            return None
        pairs = zip(table.column_names, table.columns, strict=True)
        return {name: _cells(part) if type(first[name]) is str else part.to_numpy() for name, part in pairs}
    except (pyarrow.ArrowException, UnicodeDecodeError, _TooLong):
        return None


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        count, last = 0, b"\n"
        while block := file.read(_BLOCK):
            count, last = count + block.count(b"\n"), block[-1:]
    return count + (last != b"\n")


class _TooLong(Exception):
    """A cell that the plain reader refuses."""


def _one_meaning(path: Path, empty: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        blank = (b"\n\n", b"\n\r\n", *((b"\n" + empty + b"\n", b"\n" + empty + b"\r") if empty else ()))
        if any(content.find(mark) >= 0 for mark in (b'"', b"\x00", *blank)):
            return False
        if empty and content[-len(empty) - 1 :] == b"\n" + empty:
            return False
        # every carriage return belongs to a line end, of which no two follow each other
        place = content.find(b"\r")
        while place >= 0:
            if content[place + 1 : place + 2] != b"\n":
                return False
            place = content.find(b"\r", place + 1)
    return True


def _cells(column: Any) -> Sequence[str]:
    operations: Any = importlib.import_module("pyarrow.compute")
    if len(column) == 0:
        return []
    if operations.max(operations.binary_length(column)).as_py() > csv.field_size_limit():
        raise _TooLong
    first = column.slice(0, _LOOKED_AT)
    if len(first.unique()) * 4 > len(first):
        found: list[str] = column.to_pylist()
        return found
    coded = column.dictionary_encode().combine_chunks()
    chunks = coded.chunks if hasattr(coded, "chunks") else [coded]
    if len(chunks) != 1:
        return list(column.to_pylist())
    return Coded(tuple(chunks[0].dictionary.to_pylist()), chunks[0].indices.to_numpy().astype(np.int32, copy=False))
