"""The ledger: one SQLite file that remembers every run, whatever happens to the processes around it.

A result is stored with its fingerprint, SHA-256 of what the run found, and checked against it when it is read: a digit
that was changed afterwards is refused, and the run named.

A run is `pending`, `running` (claimed by an owner), `done` or `failed`. Claims and results are transactions, so a
process killed at any moment loses the runs it was doing and nothing else. An owner is one sweep in one process; it
is known to be dead when its process is gone (same machine) or when its heart has not beaten for a while (elsewhere),
and then its claims are anybody's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.reproduction.sweep.origin import Origin
from certiformer.reproduction.sweep.readonly import read_only_connection
from certiformer.reproduction.sweep.run import Array, Config, Experiment, Failure, Finished, Outcome, Run, canonical
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.json_reader import NotJson, parse_json

SCHEMA_VERSION = 2
APPLICATION_ID = 0x43455254  # "CERT" in the file's header tells our ledgers from other SQLite databases
BEAT_SECONDS = 5.0
LEASE_SECONDS = 60.0
STATES = ("pending", "running", "done", "failed")
_WORK = "CAST(COALESCE(cpu, seconds, 0) AS REAL)"  # in SQL, the seconds of a run: of the processor, else on the clock

_SCHEMA = """
CREATE TABLE runs (
    key TEXT PRIMARY KEY, experiment TEXT NOT NULL, version INTEGER NOT NULL, config TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'done', 'failed')),
    owner TEXT, attempts INTEGER NOT NULL DEFAULT 0,
    result TEXT, fingerprint TEXT, error TEXT, traceback TEXT,
    seconds REAL, finished REAL, worker TEXT, cpu REAL, origin TEXT
) WITHOUT ROWID;
CREATE INDEX runs_by_experiment ON runs (experiment, version);
CREATE INDEX runs_by_owner ON runs (owner) WHERE state = 'running';
CREATE TABLE arrays (
    key TEXT NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    name TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (key, name)
) WITHOUT ROWID;
CREATE TABLE owners (
    id TEXT PRIMARY KEY, machine TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL, beat REAL NOT NULL
) WITHOUT ROWID;
"""


class LedgerError(CertiformerError):
    """A ledger that cannot be used, and what to do about it."""


@dataclass(frozen=True)
class Row:
    """One run as the ledger has it. Its origin names the commit that computed it."""

    key: str
    experiment: str
    version: int
    config: Config
    state: str
    attempts: int = 0
    values: Config = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    error: str | None = None
    traceback: str | None = None
    seconds: float | None = None
    finished: float | None = None
    worker: str | None = None
    cpu: float | None = None
    origin: Origin = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As a person names it: the experiment and the configuration."""
        return f"{self.experiment} {canonical(self.config)}"


@dataclass(frozen=True)
class Status:
    """How many runs are in which state, and the seconds of work in the finished ones: of the processor where known."""

    experiment: str
    version: int
    pending: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    seconds: float = 0.0


class Ledger(contextlib.AbstractContextManager["Ledger"]):
    """The ledger in the file `path`, made if there is none. Use it as a context manager.

    With `read_only` nothing is made or changed, and the file may be on a read-only disk.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path, self.read_only = Path(path), read_only
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        try:
            if read_only:
                self._db, self._copy = read_only_connection(self.path)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._db = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            fix = "" if read_only else ". Name another file: --ledger FILE"
            raise LedgerError(f"cannot open the ledger {self.path}: {error}{fix}") from error
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()
        if self._copy is not None:
            self._copy.cleanup()

    # What is in it

    def rows(self, experiment: Experiment | str | None = None) -> list[Row]:
        """The runs of an experiment in the order of its configurations; by name, or all, in the order of the keys."""
        where, values = _selection(experiment)
        with self._reading():
            found = self._db.execute(
                "SELECT key, experiment, version, config, state, attempts, result, fingerprint, origin, error,"
                f" traceback, seconds, finished, worker, cpu FROM runs {where} ORDER BY experiment, version, key",
                values,
            ).fetchall()
            stored: dict[str, list[tuple[Any, ...]]] = {}
            for key, *array in self._db.execute(
                f"SELECT key, name, dtype, shape, data FROM arrays WHERE key IN (SELECT key FROM runs {where})", values
            ):
                stored.setdefault(key, []).append(tuple(array))
        rows = {key: self._row(key, stored.get(key, ()), *rest) for key, *rest in found}
        if isinstance(experiment, Experiment):
            return [rows[run.key] for run in experiment.runs if run.key in rows]
        return list(rows.values())

    def status(self, experiment: Experiment) -> Status:
        """The counts for the runs of this experiment; a run that was never claimed, or whose owner died, is pending."""
        counts = dict.fromkeys(STATES, 0)
        states = self.states(experiment)
        for run in experiment.runs:
            counts[states.get(run.key, "pending")] += 1
        keys = {run.key for run in experiment.runs}
        with self._reading():
            where, values = _selection(experiment)
            timed = self._db.execute(f"SELECT key, {_WORK} FROM runs {where} AND state = 'done'", values).fetchall()
        return Status(experiment.name, experiment.version, **counts, seconds=sum(s for k, s in timed if k in keys))

    def states(self, experiment: Experiment) -> dict[str, str]:
        """The state of every run that the ledger knows under this experiment and version, by key."""
        alive = self._living_owners()
        where, values = _selection(experiment)
        with self._reading():
            found = self._db.execute(f"SELECT key, state, owner FROM runs {where}", values).fetchall()
        return {key: "pending" if state == "running" and owner not in alive else state for key, state, owner in found}

    def older(self, experiment: Experiment) -> int:
        """How many runs that are missing in this version are there in another one."""
        states = self.states(experiment)
        with self._reading():
            found = self._db.execute(
                "SELECT config FROM runs WHERE experiment = ? AND version != ? AND state = 'done'",
                (experiment.name, experiment.version),
            ).fetchall()
        finished = {config for (config,) in found}
        return sum(states.get(run.key) != "done" and canonical(run.config) in finished for run in experiment.runs)

    def digest(self, experiment: Experiment) -> str:
        """SHA-256 over what the settled runs found: the same for the same results, in whichever order or version."""
        return digest(self.rows(experiment))

    # What changes it

    def enrol(self, experiment: Experiment, *, retry: bool = False) -> None:
        """Put the runs of an experiment down as pending where they are new; with `retry`, the failed ones again too."""
        with self._writing():
            self._db.executemany(
                "INSERT OR IGNORE INTO runs (key, experiment, version, config, state) VALUES (?, ?, ?, ?, 'pending')",
                [(run.key, experiment.name, experiment.version, canonical(run.config)) for run in experiment.runs],
            )
            if retry:
                self._db.executemany(
                    "UPDATE runs SET state = 'pending', error = NULL, traceback = NULL"
                    " WHERE key = ? AND state = 'failed'",
                    [(run.key,) for run in experiment.runs],
                )

    def forget(self, experiment: Experiment) -> None:
        """Delete the runs of an experiment, results and all; refused while a living process is doing one of them."""
        with self._writing():
            self._bury()
            keys = [(run.key,) for run in experiment.runs]
            for (key,) in keys:
                if self._db.execute("SELECT 1 FROM runs WHERE key = ? AND state = 'running'", (key,)).fetchone():
                    raise LedgerError(
                        f"another process is running {experiment.name} on {self.path}; stop it before starting afresh"
                    )
            self._db.executemany("DELETE FROM runs WHERE key = ?", keys)

    def absorb(self, rows: Iterable[Row]) -> int:
        """Add finished runs of another ledger or file that are not finished here; how many there were.

        A run that is settled here, or that a living process is doing, stays as it is.
        """
        taken = 0
        with self._writing():
            self._bury()
            for row in rows:
                if row.state == "done":
                    taken += self._absorb(row)
        return taken

    @contextlib.contextmanager
    def claims(self) -> Iterator[Claims]:
        """An owner for as long as the block lasts; what it still holds at the end is given back."""
        claims = Claims(self, uuid.uuid4().hex)
        with self._writing():
            self._register(claims.owner)
        try:
            yield claims
        finally:
            with self._writing():
                self._release(claims.owner)

    # How it works

    def _row(self, key: str, stored: Iterable[tuple[Any, ...]], experiment: str, version: int, config: str, state: str,
             attempts: int, result: str | None, kept: str | None, origin: str | None, *rest: Any) -> Row:  # fmt: skip
        """A run as it was written, or a refusal that names it."""
        try:
            row = Row(key, experiment, version, parse_json(config), state, attempts, {}, {}, *rest)
        except (NotJson, TypeError):
            raise self._refusal(f"damaged (the configuration of the run {str(key)[:80]!r} is not JSON)") from None
        if not (isinstance(key, str) and isinstance(experiment, str) and isinstance(version, (int, str))):
            raise self._refusal(f"damaged (the name of the run {str(key)[:80]!r} is no text)")
        with contextlib.suppress(ValueError, TypeError, SyntaxError, OverflowError, MemoryError):
            arrays = {
                n: np.frombuffer(data, dtype).reshape(parse_json(shape, list)).copy()
                for n, dtype, shape, data in stored
            }
            values = parse_json(result) if result else {}
            if all(isinstance(name, str) for name in arrays):
                row = dataclasses.replace(row, values=values, arrays=arrays, origin=parse_json(origin or "{}"))
        if not isinstance(state, str) or state not in STATES:
            raise self._refusal(f"damaged (the run {row.name[:200]} is in no known state)")
        if state == "done" and fingerprint(row) != kept:
            raise LedgerError(
                f"{self.path}: the stored result of {row.name} was changed after it was written. "
                "Do that run again (--fresh with --only), or take the ledger from a copy."
            )
        return row

    def _absorb(self, row: Row) -> int:
        self._db.execute(
            "INSERT OR IGNORE INTO runs (key, experiment, version, config, state) VALUES (?, ?, ?, ?, 'pending')",
            (row.key, row.experiment, row.version, canonical(row.config)),
        )
        updated = self._db.execute(
            "UPDATE runs SET state = 'done', result = ?, fingerprint = ?, error = NULL, traceback = NULL, attempts = ?,"
            " seconds = ?, finished = ?, worker = ?, cpu = ?, origin = ?"
            " WHERE key = ? AND state IN ('pending', 'failed')",
            (
                canonical(row.values), fingerprint(row), row.attempts, row.seconds, row.finished, row.worker, row.cpu,
                canonical(row.origin), row.key,
            ),
        ).rowcount  # fmt: skip
        if updated:
            self._put_arrays(row.key, row.arrays)
        return updated

    def _put_arrays(self, key: str, arrays: Mapping[str, Array]) -> None:
        self._db.executemany(
            "INSERT INTO arrays VALUES (?, ?, ?, ?, ?)",
            [(key, n, a.dtype.str, json.dumps(a.shape), a.tobytes()) for n, a in arrays.items()],
        )

    def _open(self) -> None:
        """Make a new ledger in an empty file, accept one of ours, touch nothing else."""
        with self._reading("not a ledger, or a damaged one"):
            header = self._pragma("application_id"), self._pragma("user_version")
            tables = self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
            empty = header == (0, 0) and tables == 0
            if self.read_only and empty:
                raise self._refusal("empty", "Name a ledger that has runs in it.")
            if not empty and header[0] != APPLICATION_ID:
                raise self._refusal("a database of another program")
            if header[1] > SCHEMA_VERSION:
                raise self._refusal(
                    f"made by a newer certiformer (schema {header[1]}, this one knows {SCHEMA_VERSION})",
                    "Upgrade certiformer, or name another file.",
                )
            if not empty and header[1] < SCHEMA_VERSION:
                raise self._refusal(
                    "a ledger of certiformer 0.1, which filed runs by a hash of their code",
                    f"`certiformer reproduce upgrade {self.path}` carries its runs over.",
                )
            if (damage := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
                raise self._refusal(f"damaged ({damage})")
        if self.read_only:
            return
        with self._explained("damaged"):
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA synchronous = FULL")
            if empty:
                self._create()

    def _create(self) -> None:
        self._write_ahead()
        with self._writing():
            # another process may have been faster
            if self._pragma("user_version") == 0:
                for statement in _SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _write_ahead(self) -> None:
        """Switching the journal needs the file for itself for an instant, and SQLite does not wait for that."""
        for attempt in range(100):
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if attempt == 99:
                    raise
                time.sleep(0.02)

    def _pragma(self, name: str) -> int:
        value: int = self._db.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    def _refusal(self, why: str, fix: str = "Move it away or name another file; it was left as it is.") -> LedgerError:
        return LedgerError(f"{self.path} is {why}. {fix}")

    @contextlib.contextmanager
    def _explained(self, trouble: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.OperationalError as error:
            raise LedgerError(f"cannot use the ledger {self.path}: {error}") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._refusal(f"{trouble} ({error})") from error

    @contextlib.contextmanager
    def _reading(self, trouble: str = "damaged") -> Iterator[None]:
        """One consistent view of the ledger."""
        with self._explained(trouble):
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """All or nothing, and nobody else meanwhile."""
        with self._explained("damaged"):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _living_owners(self) -> set[str]:
        with self._explained("damaged"):
            owners = self._db.execute("SELECT id, machine, pid, born, beat FROM owners").fetchall()
        return {owner for owner, *process in owners if process_alive(*process)}

    def _bury(self) -> None:
        """Give back the claims of the dead (inside a transaction)."""
        alive = self._living_owners()
        owners = self._db.execute(
            "SELECT id FROM owners UNION SELECT owner FROM runs WHERE state = 'running'"
        ).fetchall()
        for (owner,) in owners:
            if owner not in alive:
                self._release(owner)

    def _register(self, owner: str) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?)",
            (owner, _machine(), os.getpid(), _born(os.getpid()), time.time()),
        )

    def _release(self, owner: str) -> None:
        self._db.execute(
            "UPDATE runs SET state = 'pending', owner = NULL WHERE owner = ? AND state = 'running'", (owner,)
        )
        self._db.execute("DELETE FROM owners WHERE id = ?", (owner,))


@dataclass
class Claims:
    """The runs that one sweep has taken for itself."""

    ledger: Ledger
    owner: str
    _beaten: float = field(default_factory=time.monotonic)

    def take(self, runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
        """Claim what is free among `runs`: (now mine, held by another living process). The rest is settled."""
        ledger = self.ledger
        mine: list[Run] = []
        theirs: list[Run] = []
        with ledger._writing():
            ledger._bury()
            if self.owner not in ledger._living_owners():
                ledger._register(self.owner)
            for run in runs:
                (state,) = ledger._db.execute("SELECT state FROM runs WHERE key = ?", (run.key,)).fetchone()
                if state == "pending":
                    ledger._db.execute(
                        "UPDATE runs SET state = 'running', owner = ?, attempts = attempts + 1 WHERE key = ?",
                        (self.owner, run.key),
                    )
                    mine.append(run)
                elif state == "running":
                    theirs.append(run)
        return mine, theirs

    def record(self, runs: Iterable[Run], finished: Iterable[Finished]) -> None:
        """Put down how claimed runs ended, in one transaction. A run that was taken over meanwhile is left alone."""
        with self.ledger._writing():
            for run, end in zip(runs, finished, strict=True):
                self._record(run, end)

    def beat(self) -> None:
        """Say that this owner lives; to be called often, writes seldom."""
        if time.monotonic() - self._beaten < BEAT_SECONDS:
            return
        self._beaten = time.monotonic()
        with self.ledger._writing():
            # a process that slept past its lease finds itself struck off
            self.ledger._register(self.owner)

    def _record(self, run: Run, end: Finished) -> None:
        db, result = self.ledger._db, end.result
        found: tuple[str | None, ...]
        if isinstance(result, Failure):
            found = ("failed", None, None, result.error, result.traceback)
        else:
            kept = fingerprint_of(run.config, "done", result.values, result.arrays)
            found = ("done", canonical(result.values), kept, None, None)
        updated = db.execute(
            "UPDATE runs SET state = ?, result = ?, fingerprint = ?, error = ?, traceback = ?, seconds = ?,"
            " finished = ?, worker = ?, cpu = ?, origin = ?, owner = NULL"
            " WHERE key = ? AND owner = ? AND state = 'running'",
            (*found, end.seconds, time.time(), end.worker, end.cpu, canonical(end.origin), run.key, self.owner),
        )
        if updated.rowcount and isinstance(result, Outcome):
            self.ledger._put_arrays(run.key, result.arrays)


def counting(rows: Iterable[Row], version: int) -> dict[str, Row]:
    """Finished runs by configuration, of different versions: that of `version` where there is one, else the latest."""
    done = [row for row in rows if row.state == "done"]
    done.sort(key=lambda row: (row.version == version, row.finished or 0.0))
    return {canonical(row.config): row for row in done}


def digest(rows: Iterable[Row]) -> str:
    """SHA-256 over what settled runs found, whatever their order and version."""
    prints = sorted(fingerprint(row) for row in rows if row.state in ("done", "failed"))
    return hashlib.sha256("".join(prints).encode()).hexdigest()


def fingerprint(row: Row) -> str:
    """SHA-256 of a run's configuration and of what it found."""
    return fingerprint_of(row.config, row.state, row.values, row.arrays)


def fingerprint_of(identity: Config | str, state: str, values: Config, arrays: Mapping[str, Array]) -> str:
    """The same of its parts. The text of an error may name places and times, so a failure counts as such only."""
    total = hashlib.sha256(canonical([identity, state, values if state == "done" else None]).encode())
    for name, array in sorted(arrays.items()):
        total.update(canonical([name, array.dtype.str, array.shape]).encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _selection(experiment: Experiment | str | None) -> tuple[str, tuple[str | int, ...]]:
    if experiment is None:
        return "", ()
    if isinstance(experiment, str):
        return "WHERE experiment = ?", (experiment,)
    return "WHERE experiment = ? AND version = ?", (experiment.name, experiment.version)


def process_alive(machine: str, pid: int, born: str, beat: float) -> bool:
    """Whether an owner's process is there: by its start on this machine, elsewhere by its last sign of life."""
    if machine and machine == _machine():
        return _born(pid) == born
    return time.time() - beat < LEASE_SECONDS


def _machine() -> str:
    """Names this boot of this machine and its space of process numbers; empty where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _born(pid: int) -> str:
    """When the process `pid` started, in the kernel's ticks: process numbers come back, pairs do not. Empty if dead."""
    try:
        # the name, in parentheses, may hold anything: what follows is state, ppid, ..., and the start as field 22
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
