"""Files as people have them, each kind turned into columns by one small reader. A reader returns all rows, or refuses.

Which reader is told by the ending (`READERS`), for JSON by its keys, for a folder by what is in it. Nothing in a file
is executed: pickled objects are refused.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from certiformer.certification.sources import metrics
from certiformer.certification.sources.arrow_files import cells_of, columns_of, fields_of
from certiformer.certification.sources.rows import rows_of_npy, rows_of_npz, whole
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.json_reader import NotJson, parse_json
from certiformer.theory.core.regular_file import regular
from certiformer.theory.core.report import Decision
from certiformer.theory.core.zip_reader import BROKEN, BadArchive, refuse_dense, zip_content, zip_members

Column = Sequence[Any] | npt.NDArray[Any]
Lookup = Callable[[str], "list[Any] | None"]

MOST_UNPACKED = 2**28
"""An archive member that claims to be larger is not unpacked."""
MOST_VALUES = 2**24
"""Of a small Parquet file: a constant column of any length takes a few bytes."""
GATE_OF_INSPECT = "certiformer"
"""How a log of inspect_ai names the early stopping of `inspect_plugin`."""
ZSTANDARD = 93
"""The number of this compression in zip archives."""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, and what the format itself says about them.

    `roles` names the columns of ids and inputs, `metrics` those that are outcomes; `lookup` finds fields inside
    (doc.subject); `arrays` holds arrays under the names of `certify` instead of columns.
    """

    name: str
    columns: Mapping[str, Column]
    roles: Mapping[str, str] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    lookup: Lookup | None = None
    arrays: Mapping[str, Any] | None = None
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    groups: tuple[str, str] | None = None
    """The column that the format itself says is the unit, and why."""
    partial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Metrics of a folder that only some of its files have, and which files."""
    model: str | None = None
    """The model that was asked, where a log says so."""
    stopped: str = ""
    """What the gate said that ended the evaluation by its outcomes, where one did."""


def read(path: str | Path) -> Table:
    """The columns of a file, or of the files of one kind in a folder."""
    source = Path(path)
    if not source.exists():
        raise InputError("file", str(source), "an existing file", "There is no file or folder of this name")
    if source.is_dir():
        return _folder(source)
    regular(source, "file", "a file of predictions, losses or a log")
    reader = READERS.get(source.suffix.lower())
    if reader is None:
        if source.suffix.lower() in OTHERS:
            raise InputError("file", source.name, f"one of {', '.join(READERS)}", OTHERS[source.suffix.lower()])
        with source.open("rb") as file:
            start = file.read(2)
        if start in (b"PK", b"\x93N") or start[:1] == b"\x80":
            reader = _npz
        else:
            known = ", ".join(READERS)
            raise UnknownNameError("kind of file", source.suffix or source.name, READERS, place=f" (known: {known})")
    return reader(source)


def _folder(folder: Path) -> Table:
    """All logs of one run: lm-evaluation-harness writes one file of samples for each task."""
    inside = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix.lower() in READERS)
    samples = [path for path in inside if path.suffix.lower() == ".jsonl" and path.name.startswith("samples_")]
    chosen = samples or [path for path in inside if path.suffix.lower() in (".eval", ".json")] or inside
    kinds = {path.suffix.lower() for path in chosen}
    if not chosen or len(kinds) > 1 or kinds & {".npz", ".npy"}:
        raise InputError(
            "folder", str(folder), "logs of lm-evaluation-harness (samples_*.jsonl) or inspect_ai, or tables",
            f"It has {', '.join(path.name for path in inside[:6]) or 'no file that can be read'}",
        )  # fmt: skip
    parts = [read(path) for path in chosen]
    names = [_task(path, chosen) for path in chosen]
    left = len(inside) - len(chosen)
    said = f"{len(chosen)} files of {folder.name}" + (f"; other files there: {left}" if left else "")
    if len(parts) == 1:
        return replace(parts[0], decisions=(*parts[0].decisions, Decision("files", said, "a folder was given")))
    if samples and len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            "folder", str(folder), "one run: a file of samples for each task",
            f"{twice} has {names.count(twice)} (two runs, or two models): name the folder of one, or its file",
        )  # fmt: skip
    models = sorted({part.model for part in parts if part.model is not None})
    if len(models) > 1:
        raise InputError(
            "folder", str(folder), "logs of one model", f"These are of {', '.join(models)}: name the folder of one"
        )
    shared = [name for name in parts[0].columns if all(name in part.columns for part in parts)]
    partial = _partial(parts, names, shared)
    columns: dict[str, list[Any]] = {name: [cell for part in parts for cell in part.columns[name]] for name in shared}
    sizes = [len(next(iter(part.columns.values()))) for part in parts]
    columns["file"] = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    grouped = next((part.groups for part in parts if part.groups is not None), None)
    own = parts[0].roles.get("id") if grouped is None else "row"

    def apart(names_in: Sequence[str]) -> list[str]:
        """A column of each file, told apart by the file: the first sample of one is not that of another."""
        cells = [cell for part, name in zip(parts, names_in, strict=True) for cell in part.columns[name]]
        return [f"{file}: {cell}" for file, cell in zip(columns["file"], cells, strict=True)]

    ids = [part.roles.get("id", "") for part in parts]
    if own is not None and all(ids):
        columns[own] = apart(ids)
    if grouped is not None:
        columns[grouped[0]] = apart([grouped[0]] * len(parts))

    def lookup(path: str) -> list[Any] | None:
        found = [None if part.lookup is None else part.lookup(path) for part in parts]
        return None if any(one is None for one in found) else [cell for one in found for cell in one or ()]

    return Table(
        folder.name,
        columns,
        {**parts[0].roles, **({} if own is None else {"id": own}), "slice": "file"},
        tuple(name for name in parts[0].metrics if name in columns),
        lookup,
        decisions=(Decision("files", said, "a folder was given; each file is a slice"), *_each(parts, "decisions")),
        warnings=(
            *(f"{metric} is only in {', '.join(where)}: not part of this table" for metric, where in partial.items()),
            *_each(parts, "warnings"),
        ),
        conditions=(
            f"the {len(parts)} files are of one model, and weigh as many items as they have here: a mean over all",
            *_each(parts, "conditions"),
        ),
        partial=partial,
        stopped=next((part.stopped for part in parts if part.stopped), ""),
        groups=grouped,
    )


def _partial(parts: Sequence[Table], names: Sequence[str], shared: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The metrics, or columns of tables, that only some files have; files that have none in common are refused."""
    found: dict[str, list[str]] = {}
    for part, name in zip(parts, names, strict=True):
        for metric in part.metrics or part.columns:
            if metric not in shared:
                found.setdefault(metric, []).append(name)
    if found and not any(metric in shared for part in parts for metric in part.metrics or part.columns):
        told = "; ".join(f"{metric}: {', '.join(where)}" for metric, where in found.items())
        raise InputError(
            "metrics", told, "a metric that all files of the folder have", "Certify files with one metric apart"
        )
    return {metric: tuple(where) for metric, where in found.items()}


def _each(parts: Sequence[Table], what: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(one for part in parts for one in getattr(part, what)))


def _task(path: Path, all_paths: Sequence[Path]) -> str:
    """samples_gsm8k_2025-01-01T00-00-00.jsonl as gsm8k; another file by its stem, where two would be alike."""

    def short(one: Path) -> str:
        stem = one.stem.removeprefix("samples_")
        return stem.rpartition("_20")[0] or stem

    alike = len({short(one) for one in all_paths}) < len(all_paths)
    return path.stem if alike and not path.name.startswith("samples_") else short(path)


# --- tables -----------------------------------------------------------------------------------------------------------


def read_csv(path: Path) -> Table:
    """Comma-separated values with a header; tabs, semicolons and bars are recognised there.

    Strict: an open quotation mark would swallow the rows behind it. A large plain file goes through pyarrow. Columns
    without a name and a cell, and such rows at the end, are what a spreadsheet leaves of its grid.
    """
    blank = between = 0
    empty: list[list[str]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            delimiter = max(",;\t|", key=header.count)
            file.seek(0)
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            names = [name.strip() for name in next(reader, [])]
            if not names:
                raise InputError("file", str(path), "a header with column names, then a row per example", "It is empty")
            if len(set(filter(None, names))) < sum(map(bool, names)):
                raise InputError(
                    "file",
                    str(path),
                    "a header with different names",
                    f"It has {names}. The first line names the columns, as in label,prediction",
                )
            quick = columns_of(path, len(names), delimiter)
            if quick is not None:
                return Table(path.name, _columns(path, names, quick))
            columns: list[list[str]] = [[] for _ in names]
            for line, cells in enumerate(reader, 2):
                if not cells and len(names) > 1:
                    blank += 1
                    continue
                if len(cells or [""]) != len(names):
                    raise InputError("file", str(path), f"{len(names)} cells per line", f"Line {line} has {len(cells)}")
                if not any(cells) and len(names) > 1:
                    empty.append(cells)
                    continue
                between = blank
                for row in (*empty, cells or [""]):
                    for column, cell in zip(columns, row, strict=True):
                        column.append(cell)
                empty = []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError("file", str(path), "a readable CSV file", _unread(error)) from error
    left = (Decision("rows", f"{len(empty)} empty ones at the end left out", "they have no cell"),) if empty else ()
    return Table(path.name, _columns(path, names, columns), warnings=_blank(between), decisions=left)


def _columns(path: Path, names: Sequence[str], columns: Sequence[Sequence[str]]) -> dict[str, Column]:
    """Columns by name, without those that have neither a name nor a cell."""
    pairs = zip(names, columns, strict=True)
    kept = [(name, column) for name, column in pairs if name or any(map(str.strip, cells_of(column)))]
    if sum(not name for name, _ in kept) > 1:
        raise InputError("file", str(path), "a name for every column", f"The first line is {list(names)}")
    return dict(kept)


def _blank(between: int) -> tuple[str, ...]:
    """Blank lines at the end are none of anybody's rows; those between rows may be."""
    return (f"{between} blank lines between rows are not counted: is an outcome missing there?",) if between else ()


def _unread(error: Exception) -> str:
    hint = ". Save it as UTF-8" if isinstance(error, UnicodeDecodeError) else ""
    return f"It cannot be read: {error}{hint}"


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import lib, parquet
    except ImportError as error:
        raise InputError(
            "file", str(path), "pyarrow to read Parquet", "Install it: pip install 'certiformer[files]'"
        ) from error
    opened: Any = parquet.ParquetFile
    try:
        file = opened(path)
        values = file.metadata.num_rows * file.metadata.num_columns
        if values > max(MOST_VALUES, 100 * path.stat().st_size):
            raise InputError(
                "file", str(path), "a Parquet file", f"{values:,} values are too many for its size: a bomb"
            )
        table = file.read(use_threads=False)
        names = table.column_names
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError("file", str(path), "columns with names of their own", f"Two are called {twice[0]!r}")
        pairs = zip(names, table.columns, strict=True)
        columns = {name: part.to_numpy() if part.null_count == 0 else part.to_pylist() for name, part in pairs}
    except InputError:
        raise
    except (OSError, ValueError, lib.ArrowException) as error:
        raise InputError("file", str(path), "a complete Parquet file", f"It cannot be read: {error}") from error
    return Table(path.name, columns)


def parsed(text: str | bytes, where: str, place: str = "") -> Any:
    """JSON, in which a key occurs once; `place` says which part of the file it is."""
    try:
        return parse_json(text, object, unique=True)
    except NotJson as error:
        raise InputError("file", where, "JSON", f"{place}{': ' if place else ''}{error}") from error


def _jsonl(path: Path) -> Table:
    quick = fields_of(path)
    if quick is not None and "doc_id" not in quick:
        return Table(path.name, quick)
    objects: list[Mapping[str, Any]] = []
    blank = between = 0
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                text = line.strip()
                if not text:
                    blank += 1
                    continue
                try:
                    found = parse_json(text, object, unique=True)
                except NotJson as error:
                    raise InputError("file", str(path), "JSON", f"Line {number}: {error}") from error
                if not isinstance(found, dict):
                    raise InputError("file", str(path), "an object on every line", f"Line {number} is another value")
                objects.append(found)
                between = blank
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("file", str(path), "a readable JSONL file", _unread(error)) from error
    if not objects:
        raise InputError("file", str(path), "at least one line")
    return replace(of_objects(objects, path.name), warnings=_blank(between))


def of_objects(objects: Sequence[Mapping[str, Any]], name: str) -> Table:
    """Rows as a table, or the samples of lm-evaluation-harness; a key that a row lacks is an empty cell."""
    first = objects[0]
    if "doc_id" in first and ({"filtered_resps", "doc_hash", "resps"} & set(first)):
        return _harness(objects, name)
    names = dict.fromkeys(key for keys in dict.fromkeys(map(tuple, objects)) for key in keys)
    columns = {key: [entry.get(key) for entry in objects] for key in names}
    return Table(name, columns, lookup=lambda path: _inside(objects, path))


def _json(path: Path) -> Table:
    try:
        found = parsed(path.read_text(encoding="utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("file", str(path), "a readable JSON file", _unread(error)) from error
    if isinstance(found, list) and found and all(isinstance(entry, dict) for entry in found):
        return of_objects(found, path.name)
    if isinstance(found, dict) and "samples" in found and "eval" in found:
        return _inspect(found, path.name)
    if isinstance(found, dict) and isinstance(found.get("results"), dict):
        raise InputError(
            "file", path.name, "outcomes of single examples",
            "These are aggregate results: give the samples_*.jsonl that lm_eval --log_samples writes beside them",
        )  # fmt: skip
    raise InputError(
        "file", str(path), "a log of inspect_ai (status, eval, samples), or a list of rows",
        "A table of any program can be saved as .csv; a data frame by frame.to_csv(FILE, index=False)",
    )  # fmt: skip


# --- arrays -----------------------------------------------------------------------------------------------------------


def _npz(path: Path) -> Table:
    return Table(path.name, {}, arrays=rows_of_npz(path))


def _npy(path: Path) -> Table:
    """One array: a metric that is called as its file is (correct.npy)."""
    try:
        rows = rows_of_npy(path.name, lambda: path.open("rb"), path.stat().st_size)
    except OSError as error:
        raise InputError("file", str(path), "a readable .npy file", f"It cannot be read: {error}") from error
    if len(rows.shape) != 1:
        fix = "Give arrays their names: numpy.savez(file, heldout_labels=..., heldout_logits=...)"
        raise InputError("file", path.name, f"one value for each example, not shape {rows.shape}", fix)
    return Table(path.name, {path.stem: whole(rows)}, metrics=(path.stem,))


# --- lm-evaluation-harness --------------------------------------------------------------------------------------------


def _harness(samples: Sequence[Mapping[str, Any]], where: str) -> Table:
    """`--log_samples`: one object for each document and filter."""
    names = dict.fromkeys(key for sample in samples for key in sample)
    listed = samples[0].get("metrics")
    outcomes = [str(name) for name in listed] if isinstance(listed, list) else [n for n in names if metrics.known(n)]
    hashes = {"input": "doc_hash", "prompt": "prompt_hash"}
    whole = {role: key for role, key in hashes.items() if all(key in sample for sample in samples)}
    roles = {"id": "doc_id", **whole}
    columns = {key: [sample.get(key) for sample in samples] for key in names}
    return Table(where, columns, roles, tuple(outcomes), lambda path: _inside(samples, path))


def filtered(table: Table, wished: str | None) -> Table:
    """The samples of one filter; a task with several holds every document once for each."""
    cells = table.columns.get("filter") if table.roles.get("id") == "doc_id" else None
    if cells is None:
        if wished is not None:
            raise InputError("--filter", wished, "a log of lm-evaluation-harness", f"{table.name} has no filters")
        return table
    names = table.columns["file"] if table.roles.get("slice") == "file" else [table.name] * len(cells)
    filters: dict[str, set[str | None]] = {}
    for name, cell in zip(names, cells, strict=True):
        filters.setdefault(name, set()).add(None if cell is None else str(cell))
    several = {name: kinds for name, kinds in filters.items() if len(kinds) > 1}
    if wished is None and not several:
        return table
    known = sorted({kind for kinds in (several or filters).values() for kind in kinds if kind is not None})
    if any(None in kinds for kinds in (several or filters).values()):
        missing = sum(cell is None for cell in cells)
        raise InputError(
            "filter", f"{missing} samples without the field", "a filter in every sample", f"Look at {table.name}"
        )
    if wished is None:
        options = " or ".join(f"--filter {name}" for name in known)
        raise InputError(
            "--filter",
            known,
            "one of them",
            f"{' and '.join(several) or 'the folder'} holds every document once for each: {options}",
        )
    # A task with a single filter keeps it: dropping the task would be a selection.
    lacking = [name for name, kinds in (several or filters).items() if wished not in kinds]
    if lacking:
        raise UnknownNameError("filter", wished, known, place=f" in {lacking[0]} (known: {', '.join(known)})")
    kept = [
        row
        for row, (name, cell) in enumerate(zip(names, cells, strict=True))
        if str(cell) == wished or (several and name not in several)
    ]
    inner = table.lookup

    def lookup(path: str) -> list[Any] | None:
        found = None if inner is None else inner(path)
        return None if found is None else [found[row] for row in kept]

    said = Decision("filter", wished, f"declared; {len(cells) - len(kept)} samples belong to other filters")
    return replace(
        table,
        columns={name: [column[row] for row in kept] for name, column in table.columns.items()},
        lookup=lookup,
        decisions=(*table.decisions, said),
    )


def _inside(samples: Sequence[Mapping[str, Any]], path: str) -> list[Any] | None:
    """A field of every sample by a path such as doc.subject; None where a sample lacks it."""
    found = [_field(sample, path) for sample in samples]
    return None if any(value is None for value in found) else found


def _field(value: Any, path: str) -> Any:
    """A field by a path such as doc.subject; None where there is none."""
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


# --- inspect_ai -------------------------------------------------------------------------------------------------------


def _eval(path: Path) -> Table:
    """An .eval archive: a zip with one JSON file for each sample and epoch."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = zip_members(path, archive)
            if "header.json" not in members:
                raise InputError("file", str(path), "a complete .eval log", "It has no header.json")
            names = sorted(name for name in members if name.startswith("samples/") and name.endswith(".json"))
            read = ("header.json", *names)
            texts = refuse_dense(path, (_unpacked(path, archive, members[name]) for name in read))
            header, *samples = (parsed(text, str(path), name) for name, text in zip(read, texts, strict=True))
    except InputError:
        raise
    except BROKEN as error:
        raise InputError("file", str(path), "a complete .eval log", f"It cannot be read: {error}") from error
    if not isinstance(header, dict):
        raise InputError("file", str(path), "a header that is an object")
    return _inspect({**header, "samples": samples}, path.name)


def _unpacked(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member; zstd, which inspect_ai writes, is unpacked with whichever library is there."""
    try:
        return zip_content(archive, info, MOST_UNPACKED)
    except BadArchive as error:
        if not isinstance(error.__cause__, NotImplementedError) or info.compress_type != ZSTANDARD:
            raise
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        lengths = file.read(4)
        file.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
        packed = file.read(info.compress_size)
    return _zstandard(path)(packed, info.file_size)


def _zstandard(path: Path) -> Callable[[bytes, int], bytes]:
    """A function that unpacks zstd: of Python itself (3.14), of `zstandard`, or of `backports.zstd`."""
    import importlib

    for module in ("compression.zstd", "zstandard", "backports.zstd"):
        try:
            found: Any = importlib.import_module(module)
        except ImportError:
            continue

        def unpack(packed: bytes, size: int, library: Any = found) -> bytes:
            try:
                unpacking = library.ZstdDecompressor()
                if hasattr(unpacking, "stream_reader"):
                    return bytes(unpacking.stream_reader(io.BytesIO(packed)).read(size))
                return bytes(unpacking.decompress(packed, max_length=size))
            except Exception as error:  # each library has an error of its own
                raise InputError(
                    "file", str(path), "a complete .eval log", f"It cannot be unpacked: {error}"
                ) from error

        return unpack
    raise InputError(
        "file", str(path), "a library that unpacks zstd",
        "Install one: pip install 'certiformer[files]'; or convert: inspect log convert --to json --output-dir DIR LOG",
    )  # fmt: skip


def _inspect(log: Mapping[str, Any], where: str) -> Table:
    """The samples of a log: a column for each scorer (scorer.key where it gives several values)."""
    if log.get("status") != "success":
        raise InputError(
            "status", log.get("status"), '"success"', f"{where} did not finish: its samples are a selection"
        )
    samples = log.get("samples")
    if not isinstance(samples, list) or not samples or not all(isinstance(one, dict) for one in samples):
        raise InputError("file", where, "a log with samples")
    total = _field(log, "results.total_samples")
    stopped, left_out = _stopped(_field(log, "results.early_stopping"), where)
    if isinstance(total, int) and len(samples) + left_out < total:
        raise InputError(
            "samples", f"{len(samples)} of the {total} that it says it scored", "all of them",
            f"{where} was cut: what is left is a selection",
        )  # fmt: skip
    columns: dict[str, list[Any]] = {
        "id": [sample.get("id") for sample in samples],
        "input": [
            hashlib.sha256(json.dumps(sample.get("input"), sort_keys=True).encode()).hexdigest() for sample in samples
        ],
    }
    outcomes: dict[str, list[Any]] = {}
    for row, sample in enumerate(samples):
        scores = sample.get("scores") or {}
        if not isinstance(scores, Mapping):
            raise InputError(
                "scores", type(scores).__name__, "scores by scorer", f"Sample {sample.get('id')} of {where}"
            )
        for scorer, score in scores.items():
            value = score.get("value") if isinstance(score, Mapping) else score
            parts = {f"{scorer}.{key}": part for key, part in value.items()} if isinstance(value, Mapping) else None
            for name, part in (parts or {str(scorer): value}).items():
                # A sample that ended in an error, or was declared invalid, has no outcome, whatever a scorer said.
                void = sample.get("error") or sample.get("invalidation")
                given = None if void or (isinstance(part, float) and math.isnan(part)) else part
                outcomes.setdefault(name, [None] * len(samples))[row] = given
    ids = [str(id) for id in columns["id"]]
    epochs = len(set(ids)) < len(ids)
    if epochs:
        numbers = [sample.get("epoch") for sample in samples]
        columns["row"] = [f"{id}, epoch {number}" for id, number in zip(ids, numbers, strict=True)]
    return Table(
        where,
        {**columns, **outcomes},
        {"id": "row" if epochs else "id", "input": "input"},
        tuple(outcomes),
        lambda path: _inside(samples, f"metadata.{path}") or _inside(samples, path),
        warnings=_own_figures(log),
        conditions=_limited(log),
        model=_model(log),
        groups=("id", "several epochs of one sample form a unit") if epochs else None,
        stopped=stopped,
        decisions=(Decision("stopped early", stopped, f"{left_out} samples were not run"),) if stopped else (),
    )


def _stopped(told: Any, where: str) -> tuple[str, int]:
    """What the gate of our extension said when it ended the evaluation, and how many samples were then left out."""
    left_out, manager, said = (_field(told, path) for path in ("early_stops", "manager", "metadata.says"))
    if not isinstance(left_out, list) or not left_out:
        return "", 0
    if manager != GATE_OF_INSPECT or not isinstance(said, str):
        raise InputError(
            "early_stopping", manager, "samples that nobody chose by their outcomes",
            f"{where} was stopped early, sample by sample: what is left is a selection",
        )  # fmt: skip
    return said, len(left_out)


def _own_figures(log: Mapping[str, Any]) -> tuple[str, ...]:
    """What the log says of its epochs: ours is the mean over epochs, whatever their reducer."""
    scores = _field(log, "results.scores")
    said = []
    for score in scores if isinstance(scores, list) else ():
        reducer = _field(score, "reducer")
        if reducer not in (None, "mean"):
            figures = score["metrics"] if isinstance(score.get("metrics"), Mapping) else {}
            shown = ", ".join(
                f"{name} {one['value']:.4g}"
                for name, one in figures.items()
                if isinstance(one, Mapping) and isinstance(one.get("value"), (int, float))
            )
            name = score.get("name", "the scorer")
            said.append(
                f"the log's own figure of {name} takes the {reducer} of the epochs ({shown}); ours is their mean"
            )
    return tuple(said)


def _model(log: Mapping[str, Any]) -> str | None:
    model = _field(log, "eval.model")
    return model if isinstance(model, str) else None


def _limited(log: Mapping[str, Any]) -> tuple[str, ...]:
    said = []
    for name in ("limit", "sample_id"):
        if (chosen := _field(log, f"eval.config.{name}")) is not None:
            value = f" = {chosen}" if name == "limit" else ""
            said.append(f"the samples that {name}{value} chose are a random part of the dataset, not its easy ones")
    return tuple(said)


READERS: Mapping[str, Callable[[Path], Table]] = {
    ".npz": _npz,
    ".npy": _npy,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": _parquet,
    ".jsonl": _jsonl,
    ".json": _json,
    ".eval": _eval,
}
"""Which reader a file has, by its ending."""

_SPREADSHEET = "Save the sheet as .csv, in UTF-8"
_PACKED = "Unpack it, and give the file inside"
_PICKLED = "It may hold pickled objects, which are never loaded: save results as .csv (frame.to_csv) or .npz"
_TEXT = "If it is a table, call it .csv, or .tsv if tabs separate its columns"
OTHERS: Mapping[str, str] = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), _SPREADSHEET),
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip", ".tar"), _PACKED),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), _PICKLED),
    **dict.fromkeys((".txt", ".tab"), _TEXT),
}
"""What to do with results in a file of another ending."""
