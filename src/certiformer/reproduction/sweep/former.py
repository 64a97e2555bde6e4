"""Runs of certiformer 0.1, which filed them by a hash of their code: which version they are of now.

`former.json` says of a hash which version its numbers belong to, and a commit whose code has it. Runs by other code get
version 0: they are kept and redrawn, and never taken for those of a later version, unless the caller says which version
they are of. The hash stays in the run's origin, as "code".
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from certiformer.reproduction.sweep.ledger import Row, fingerprint_of
from certiformer.reproduction.sweep.run import run_key

UNKNOWN = 0
"""The version of runs by code of which nothing is known."""


def carried(row: Row, code: str, adopted: str | None = None, versions: Mapping[str, int] | None = None) -> Row:
    """The run with a number for its version.

    code      the hash it was filed under;
    adopted   the hash of the code that computed it, if that was another, with which it was found to agree;
    versions  what the caller says of experiments: these runs are of that version, if nothing is known of their code.
    """
    known = _known().get(row.experiment, {})
    version = known[code]["version"] if code in known else (versions or {}).get(row.experiment, UNKNOWN)
    commit = known.get(adopted or code, {}).get("commit")
    origin = {**row.origin, "commit": commit, "code": code}
    key = run_key(row.experiment, version, row.config)
    return dataclasses.replace(row, key=key, version=version, origin=origin)


def former_digest(rows: Iterable[Row]) -> str:
    """The digest of certiformer 0.1 over runs that were carried over: it took the hash of the code in."""
    keyed = {run_key(row.experiment, row.origin["code"], row.config): row for row in rows}
    total = hashlib.sha256()
    for key, row in sorted(keyed.items()):
        total.update(fingerprint_of(key, row.state, row.values, row.arrays).encode())
    return total.hexdigest()


@functools.cache
def _known() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_name("former.json").read_text())
    return found
