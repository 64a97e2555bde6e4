"""Predictions, losses and logs as people have them: one small file per format, one set of names for all.

`read(path)` returns arrays under the names that `certify(predictions=...)` takes, large ones as rows that are read in
blocks. Which format a file has is told by its ending, and by the keys of its first line for JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from certiformer.certification.sources import csv, harness, inspect_ai, jsonl, npy, npz, parquet, table
from certiformer.certification.sources.table import Choice as Choice
from certiformer.core.errors import InputError, UnknownNameError

ASIDE = ("group_candidate", "prompt_hashes")
"""What a source knows beside the arrays that are certified: a column that may name groups, hashes of prompts."""
ENDINGS = (".npz", ".npy", ".csv", ".tsv", ".parquet", ".jsonl", ".json", ".eval")


def read(path: str | Path, choice: Choice | None = None) -> dict[str, Any]:
    """The arrays in a file of predictions, losses or scores."""
    source, chosen = Path(path), choice or Choice()
    if not source.exists():
        raise InputError("file", str(source), "an existing file")
    if source.is_dir():
        raise InputError("file", str(source), "a file, not a folder")
    ending = source.suffix.lower()
    if ending in (".csv", ".tsv"):
        return table.arrays_of(csv.read(source), chosen, source.name)
    if ending == ".parquet":
        return table.arrays_of(parquet.read(source), chosen, source.name)
    if ending == ".jsonl":
        return _json_lines(source, chosen)
    if ending == ".json":
        return inspect_ai.arrays_of(inspect_ai.read_json(source), chosen, source.name)
    if ending == ".eval":
        return inspect_ai.arrays_of(inspect_ai.read_eval(source), chosen, source.name)
    if ending == ".npy":
        rows = npy.read(source)
        if rows.dtype.kind == "b":
            return {"heldout_correct": rows}
        if chosen.metric:
            return {f"heldout_{chosen.metric[0]}": rows}
        raise InputError(
            "file", source.name, "a boolean array (right or wrong)", "Or say what it holds, e.g. --metric losses"
        )
    if ending == ".npz" or _is_archive(source):
        return dict(npz.read(source))
    raise UnknownNameError("kind of file", source.suffix or source.name, ENDINGS, f"(known: {', '.join(ENDINGS)})")


def _json_lines(source: Path, choice: Choice) -> dict[str, Any]:
    objects = list(jsonl.lines(source))
    if not objects:
        raise InputError("file", str(source), "at least one line")
    if harness.recognised(objects[0]):
        return harness.arrays_of(objects, choice, source.name)
    return table.arrays_of(jsonl.columns_of(objects), choice, source.name)


def _is_archive(source: Path) -> bool:
    with source.open("rb") as file:
        return file.read(2) in (b"PK", b"\x93N") or (file.seek(0) == 0 and file.read(1) == b"\x80")
