"""A connection to a ledger that changes nothing: not its runs, and not the files beside it.

SQLite keeps the latest transactions in FILE-wal, which the last writer to leave copies into the ledger and removes,
and an index of it in FILE-shm, which is there as long as somebody has the ledger open. A writer that was killed leaves
both; whoever copies a ledger to another disk may bring the first alone.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import urllib.parse
from pathlib import Path

Folder = tempfile.TemporaryDirectory[str]


def read_only_connection(path: Path) -> tuple[sqlite3.Connection, Folder | None]:
    """The connection, and the folder that is to be removed after it where a copy is read."""
    place = path.resolve()
    if not place.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    log, index = (place.with_name(f"{place.name}{ending}") for ending in ("-wal", "-shm"))
    recent = log.is_file() and log.stat().st_size > 0
    how = None
    if index.exists():
        # somebody may be writing: seen through the files that are there
        how = "mode=ro"
    elif not recent and os.access(place, os.W_OK) and os.access(place.parent, os.W_OK):
        # as a writer would, for only then SQLite removes at the end what it made, and a writer may come meanwhile
        how = "mode=rw"
    if how is not None and (found := _connected(place, how)) is not None:
        return found, None
    return _copied(place, log) if recent else (_connection(place, "immutable=1"), None)


def _copied(place: Path, log: Path) -> tuple[sqlite3.Connection, Folder]:
    """Ledger and latest transactions, read elsewhere: in place SQLite would make an index, or do without them."""
    folder = tempfile.TemporaryDirectory(prefix="certiformer-")
    try:
        for source in (place, log):
            shutil.copyfile(source, Path(folder.name, source.name))
        return _connection(Path(folder.name, place.name), "mode=rw"), folder
    except BaseException:
        folder.cleanup()
        raise


def _connected(place: Path, how: str) -> sqlite3.Connection | None:
    """The connection, if SQLite can read through it; what is no database is refused where its header is read."""
    connection = _connection(place, how)
    try:
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return None
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        pass
    return connection


def _connection(place: Path, how: str) -> sqlite3.Connection:
    where = f"file:{urllib.parse.quote(str(place))}?{how}"
    connection = sqlite3.connect(where, uri=True, timeout=60.0, isolation_level=None)
    connection.execute("PRAGMA query_only = ON")
    return connection
