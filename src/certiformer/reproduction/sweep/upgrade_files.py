"""Ledgers and published files of certiformer 0.1, written anew in the present format with all that their runs found."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from certiformer.reproduction.sweep.former import UNKNOWN, carried
from certiformer.reproduction.sweep.ledger import APPLICATION_ID, Ledger, LedgerError, Row, process_alive
from certiformer.reproduction.sweep.published_runs import FORMAT_VERSION, SUFFIX, publish, read
from certiformer.reproduction.sweep.readonly import read_only_connection
from certiformer.theory.core.errors import CertiformerError


@dataclass(frozen=True)
class Upgraded:
    """What became of a file: its runs, how many of them have code of which nothing is known, and where the old one is.

    Of several runs of one configuration and version the latest is carried over: `left` counts the others.
    """

    path: Path
    runs: int = 0
    unknown: int = 0
    left: int = 0
    kept: Path | None = None

    def __str__(self) -> str:
        if not self.runs:
            return f"{self.path} has the present format"
        parts = [f"{self.path}: {self.runs} runs carried over"]
        if self.unknown:
            parts.append(f"{self.unknown} of them by unknown code, filed as version {UNKNOWN}")
        if self.left:
            parts.append(f"{self.left} older ones of the same configuration left behind")
        return "; ".join(parts) + (f" (the old ledger is {self.kept})" if self.kept else "")


def upgrade(path: str | os.PathLike[str], versions: Mapping[str, int] | None = None) -> Upgraded:
    """Write a ledger or a `.runs` file of certiformer 0.1 anew in the present format; one that has it is left alone.

    `versions`, by experiment, says of which version runs are whose code is unknown. A ledger's old file is kept.
    """
    place = Path(path)
    if place.suffix == SUFFIX:
        found = read(place, versions)
        if found.format_version == FORMAT_VERSION:
            return Upgraded(place)
        rows = _latest(found.rows)
        publish(rows, place)
        return _upgraded(place, found.rows, rows)
    before = former_ledger(place, versions)
    if before is None:
        return Upgraded(place)
    rows = _latest(before)
    kept = place.with_name(f"{place.name}.0.1")
    if kept.exists():
        raise CertiformerError(f"{kept} is in the way: the old ledger would be kept there. Move it away.")
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    with Ledger(draft) as book:
        book.absorb(rows)
    for ending in ("-wal", "-shm", ""):
        if (part := place.with_name(f"{place.name}{ending}")).exists():
            part.replace(kept.with_name(f"{kept.name}{ending}"))
    draft.replace(place)
    return _upgraded(place, before, rows, kept)


def former_ledger(path: Path, versions: Mapping[str, int] | None = None) -> list[Row] | None:
    """The finished runs of a ledger of certiformer 0.1; None if it is a later one. Refused while a sweep uses it."""
    try:
        connection, copy = read_only_connection(path)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"cannot open the ledger {path}: {error}") from error
    try:
        with closing(connection) as db:
            application, schema = (
                db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
            )
            if application != APPLICATION_ID:
                raise LedgerError(f"{path} is no ledger")
            return _former_rows(db, path, versions) if schema == 1 else None
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"{path} is no ledger, or a damaged one: {error}") from error
    finally:
        if copy is not None:
            copy.cleanup()


def _former_rows(db: sqlite3.Connection, path: Path, versions: Mapping[str, int] | None) -> list[Row]:
    if any(process_alive(*process) for process in db.execute("SELECT machine, pid, born, beat FROM owners")):
        raise LedgerError(f"a sweep is using {path}; stop it, or wait for its end")
    arrays: dict[str, dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]] = {}
    for key, name, dtype, shape, data in db.execute("SELECT key, name, dtype, shape, data FROM arrays"):
        arrays.setdefault(key, {})[name] = np.frombuffer(data, dtype).reshape(json.loads(shape)).copy()
    origins = {}
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'origins'").fetchone():
        origins = {key: rest for key, *rest in db.execute("SELECT key, cpu, origin, adopted FROM origins")}
    rows = []
    for key, experiment, code, config, attempts, result, seconds, finished, worker in db.execute(
        "SELECT key, experiment, version, config, attempts, result, seconds, finished, worker FROM runs"
        " WHERE state = 'done'"
    ):
        cpu, origin, adopted = origins.get(key, (None, None, None))
        row = Row(
            key, experiment, UNKNOWN, json.loads(config), "done", attempts, json.loads(result), arrays.get(key, {}),
            None, None, seconds, finished, worker, cpu, json.loads(origin or "{}"),
        )  # fmt: skip
        rows.append(carried(row, code, adopted, versions))
    return rows


def _latest(rows: list[Row] | tuple[Row, ...]) -> list[Row]:
    return list({row.key: row for row in sorted(rows, key=lambda row: row.finished or 0.0)}.values())


def _upgraded(place: Path, before: list[Row] | tuple[Row, ...], rows: list[Row], kept: Path | None = None) -> Upgraded:
    unknown = sum(row.version == UNKNOWN for row in rows)
    return Upgraded(place, len(rows), unknown, len(before) - len(rows), kept)
