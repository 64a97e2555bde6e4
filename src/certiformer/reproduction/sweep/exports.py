"""Rows of a ledger as a file for other programs: CSV for a spreadsheet, JSON with everything."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from certiformer.reproduction.sweep.ledger import Row
from certiformer.reproduction.sweep.origin import utc
from certiformer.theory.core.bound import json_number
from certiformer.theory.core.csv_writer import csv_text
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.whole_files import write_text


def export(rows: Iterable[Row], path: str | os.PathLike[str]) -> Path:
    """Write `rows` to `path`, whose ending (.csv or .json) says how; an existing file is replaced whole or not at all.

    CSV has a column for each entry of the configurations (`config.width`), of the origins (`origin.cpu`, the type of
    processor), of the values (`loss`) and of the arrays; lists and arrays stand in their cells as JSON. In both formats
    infinities are "inf" and "-inf", nan is empty, and dates are of UTC.
    """
    target = Path(path)
    writers = {".csv": _csv, ".json": json_text}
    if target.suffix.lower() not in writers:
        raise InputError("export", str(path), "a file name that ends in .csv or .json")
    text = writers[target.suffix.lower()]([_record(row) for row in rows])
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, text)
    return target


def _record(row: Row) -> dict[str, Any]:
    return {
        "experiment": row.experiment,
        "version": row.version,
        "key": row.key,
        "state": row.state,
        "attempts": row.attempts,
        "seconds": row.seconds,
        "cpu_seconds": row.cpu,
        "finished": None if row.finished is None else utc(row.finished),
        "error": row.error,
        "config": row.config,
        "origin": dict(row.origin),
        "values": strict(row.values),
        "arrays": {name: strict(array.tolist()) for name, array in sorted(row.arrays.items())},
    }


def json_text(document: Any) -> str:
    """A document for a file; what has infinities or nan goes through `strict` first."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _csv(records: list[dict[str, Any]]) -> str:
    flat = [_flat(record) for record in records]
    columns = list(dict.fromkeys(name for record in flat for name in record))
    return csv_text(flat, columns)


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """The record with its dicts opened; entries of `values` and `arrays` keep their bare names where these are free."""
    fixed = {name: value for name, value in record.items() if not isinstance(value, dict)}
    for group in ("config", "origin", "values", "arrays"):
        for name, value in _leaves(record[group]):
            column = f"{group}.{name}" if group in ("config", "origin") or name in fixed else name
            fixed[column] = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
    return fixed


def _leaves(value: dict[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, entry in value.items():
        if isinstance(entry, dict):
            yield from _leaves(entry, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", entry


def strict(value: Any) -> Any:
    """JSON's own numbers only: infinities are the strings "inf" and "-inf", nan is null, complex numbers are pairs."""
    if isinstance(value, Mapping):
        return {str(name): strict(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(entry) for entry in value]
    if hasattr(value, "as_json"):
        return strict(value.as_json())
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, complex):
        return [strict(value.real), strict(value.imag)]
    if isinstance(value, float):
        return None if math.isnan(value) else json_number(value)
    return value
