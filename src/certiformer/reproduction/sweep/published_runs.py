"""Finished runs as a file to publish: small, complete, and checked when it is read.

A `.runs` file is a ZIP archive with three members:

    header.json   {"format": "certiformer-runs", "format_version": 2, "experiment", "digest", "runs", "date",
                   "origins": [{"certiformer", "commit", "python", "libraries", "cpu"}, ...]}; origins of runs that
                   certiformer 0.1 filed by a hash of their code have it as "code"
    runs.jsonl    one JSON object per run: "version" (a number), "config", "values", "fingerprint" (SHA-256 of what it
                  found), "seconds", "cpu", "finished" (UTC), "attempts", "origin" (an index into "origins"),
                  "arrays": {name: {"dtype", "shape", "start", "bytes"}}
    arrays.bin    the arrays, one after another: all first bytes of the numbers, then all second bytes, and so on, which
                  compresses better; little-endian

"digest" is SHA-256 over what the runs found, the same as the ledger's: whoever runs them again gets the same digest.
The same runs give the same file, byte for byte. Python's own zipfile reads it; so do unzip programs that know LZMA.

Format 1 (certiformer 0.1) is read too: its "version" is a hash of the code, and "key" takes the fingerprint's place.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.reproduction.sweep.former import UNKNOWN, carried, former_digest
from certiformer.reproduction.sweep.ledger import Row, digest, fingerprint
from certiformer.reproduction.sweep.origin import Origin, utc
from certiformer.reproduction.sweep.run import Array, canonical, run_key
from certiformer.theory.core.errors import CertiformerError, InputError
from certiformer.theory.core.json_reader import parse_json
from certiformer.theory.core.regular_file import regular
from certiformer.theory.core.whole_files import write_bytes
from certiformer.theory.core.zip_reader import BROKEN, refuse_dense, zip_content, zip_members

LARGEST = 2**30
FORMAT, FORMAT_VERSION, SUFFIX = "certiformer-runs", 2, ".runs"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # no date in the archive itself: it is in the header


@dataclass(frozen=True)
class PublishedRuns:
    """What a file of runs holds."""

    experiment: str
    digest: str
    date: str
    origins: tuple[Origin, ...]
    rows: tuple[Row, ...]
    format_version: int = FORMAT_VERSION


def publish(rows: Iterable[Row], path: str | os.PathLike[str]) -> PublishedRuns:
    """Write the finished runs of one experiment to `path`; an existing file is replaced whole or not at all."""
    target = Path(path)
    if target.suffix != SUFFIX:
        raise InputError("file", str(path), f"a file name that ends in {SUFFIX}")
    done = sorted((row for row in rows if row.state == "done"), key=lambda row: (row.version, canonical(row.config)))
    names = sorted({row.experiment for row in done})
    if len(names) != 1:
        raise InputError("runs", names, "finished runs of one experiment")
    origins = sorted({canonical(row.origin) for row in done})
    published = PublishedRuns(
        names[0],
        digest(done),
        utc(max((row.finished or 0.0 for row in done), default=0.0)),
        tuple(json.loads(text) for text in origins),
        tuple(done),
    )
    data = _archive(published, origins)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(target, data)
    return published


def read(path: str | os.PathLike[str], versions: Mapping[str, int] | None = None) -> PublishedRuns:
    """The runs of a file that `publish` wrote; what was damaged or changed by hand is refused.

    `versions`, by experiment, says of which version runs of a file of format 1 are whose code is unknown.
    """
    file = regular(Path(path), "file", "a file of published runs")
    try:
        with zipfile.ZipFile(file) as archive:
            members = zip_members(file, archive)
            text, runs, blob = (
                zip_content(archive, members[name], LARGEST) for name in ("header.json", "runs.jsonl", "arrays.bin")
            )
            text, runs = refuse_dense(file, (text, runs))
    except FileNotFoundError as error:
        raise InputError("file", str(path), "a file of published runs", "There is no such file.") from error
    except (*BROKEN, KeyError) as error:
        raise CertiformerError(f"{path} is no file of published runs, or a damaged one: {error}") from error
    try:
        return _read(path, parse_json(text), runs, blob, versions)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        if isinstance(error, CertiformerError):
            raise
        raise CertiformerError(f"{path} is no file of published runs, or a damaged one: {error!r}"[:500]) from error


def _read(
    path: str | os.PathLike[str], header: dict[str, Any], runs: bytes, blob: bytes, versions: Mapping[str, int] | None
) -> PublishedRuns:
    if header.get("format") != FORMAT:
        raise CertiformerError(f"{path} is no file of published runs (format {header.get('format')!r})")
    if (form := header["format_version"]) > FORMAT_VERSION:
        raise CertiformerError(f"{path} was written by a newer certiformer (format {form}); upgrade")
    records = [parse_json(line) for line in runs.decode().splitlines()]
    rows = tuple(_row(record, header, blob) for record in records)
    if form == 1:
        filed = zip(rows, records, strict=True)
        rows = tuple(carried(row, record["version"], record["adopted"], versions) for row, record in filed)
    for row, record in zip(rows, records, strict=True):
        if form > 1 and fingerprint(row) != record["fingerprint"]:
            raise CertiformerError(f"{path} was changed after it was written: the run {row.name} is not as it was")
    if (digest(rows) if form > 1 else former_digest(rows)) != header["digest"]:
        raise CertiformerError(f"{path} was changed after it was written: its runs do not have the digest it states")
    return PublishedRuns(header["experiment"], digest(rows), header["date"], tuple(header["origins"]), rows, form)


def _archive(published: PublishedRuns, origins: Sequence[str]) -> bytes:
    blob = io.BytesIO()
    lines = []
    for row in published.rows:
        arrays: dict[str, Any] = {}
        for name, array in sorted(row.arrays.items()):
            data = _shuffled(array)
            arrays[name] = {"dtype": array.dtype.str, "shape": array.shape, "start": blob.tell(), "bytes": len(data)}
            blob.write(data)
        record = {name: getattr(row, name) for name in ("version", "config", "values", "seconds", "attempts")}
        record |= {"cpu": row.cpu, "finished": None if row.finished is None else utc(row.finished), "arrays": arrays}
        record |= {"origin": origins.index(canonical(row.origin)), "fingerprint": fingerprint(row)}
        lines.append(canonical(record))
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "experiment": published.experiment,
        "digest": published.digest,
        "runs": len(published.rows),
        "date": published.date,
        "origins": list(published.origins),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data, way in (
            ("header.json", json.dumps(header, indent=1, ensure_ascii=False).encode(), zipfile.ZIP_DEFLATED),
            ("runs.jsonl", "\n".join(lines).encode(), zipfile.ZIP_LZMA),
            ("arrays.bin", blob.getvalue(), zipfile.ZIP_LZMA),
        ):
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = 0o644 << 16
            archive.writestr(member, data, compress_type=way)
    return out.getvalue()


def _row(record: dict[str, Any], header: dict[str, Any], blob: bytes) -> Row:
    version = record["version"] if header["format_version"] > 1 else UNKNOWN
    return Row(
        key=run_key(header["experiment"], version, record["config"]),
        experiment=header["experiment"],
        version=version,
        config=record["config"],
        state="done",
        attempts=record["attempts"],
        values=record["values"],
        arrays={name: _unshuffled(part, blob) for name, part in record["arrays"].items()},
        seconds=record["seconds"],
        finished=None if record["finished"] is None else datetime.fromisoformat(record["finished"]).timestamp(),
        cpu=record["cpu"],
        origin=header["origins"][record["origin"]],
    )


def _shuffled(array: Array) -> bytes:
    flat = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    return flat.reshape(-1, array.dtype.itemsize).T.tobytes()


def _unshuffled(part: dict[str, Any], blob: bytes) -> Array:
    kind = np.dtype(part["dtype"])
    data = np.frombuffer(blob[part["start"] : part["start"] + part["bytes"]], np.uint8)
    straight = np.ascontiguousarray(data.reshape(kind.itemsize, -1).T).tobytes()
    return np.frombuffer(straight, kind).reshape(part["shape"]).copy()
