"""Logs of inspect_ai: `.json` (one object), or `.eval` (a zip with one file per sample and epoch).

Scores are "C" 1, "P" 1/2, "I" and "N" 0, numbers, true and false. Samples without a score are never dropped: leaving
failures out is a selection. Several epochs of one sample form a group.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.certification.sources.table import Choice
from certiformer.core.errors import InputError, UnknownNameError

LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


def read_json(path: Path) -> Mapping[str, Any]:
    """The log in a .json file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError("file", str(path), "a readable JSON log", f"It cannot be read: {error}") from error
    if not isinstance(found, dict) or "samples" not in found or "eval" not in found:
        raise InputError("file", str(path), "a log of inspect_ai (status, eval, samples)", "Tables are .csv or .jsonl")
    return found


def read_eval(path: Path) -> Mapping[str, Any]:
    """The log in an .eval archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("header.json"))
            names = [name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")]
            return {**header, "samples": [json.loads(archive.read(name)) for name in sorted(names)]}
    except NotImplementedError as error:
        raise InputError(
            "file", str(path), "an archive this Python can unpack", "Convert it: inspect log convert --to json"
        ) from error
    except (KeyError, OSError, zipfile.BadZipFile, json.JSONDecodeError) as error:
        raise InputError("file", str(path), "a complete .eval log", f"It cannot be read: {error}") from error


def arrays_of(log: Mapping[str, Any], choice: Choice, where: str) -> dict[str, Any]:
    """Losses 1 - score, ids, hashes of the inputs, groups."""
    if log.get("status") != "success":
        raise InputError(
            "status", log.get("status"), '"success"', f"{where} did not finish: its samples are a selection"
        )
    samples = list(log.get("samples") or [])
    if not samples:
        raise InputError("file", where, "a log with samples")
    scorer = _scorer(samples, choice, where)
    values = np.array([_score(sample, scorer, choice, where) for sample in samples])
    ids = np.array([str(sample["id"]) for sample in samples])
    epochs = len(set(ids.tolist())) < len(ids)
    found: dict[str, Any] = {
        "heldout_inputs": np.array(
            [hashlib.sha256(json.dumps(sample.get("input"), sort_keys=True).encode()).hexdigest() for sample in samples]
        ),
        "heldout_losses": 1.0 - values,
    }
    if choice.group is not None:
        found["heldout_groups"] = np.array([str(_field(sample, choice.group, where)) for sample in samples])
    elif epochs:
        found["heldout_groups"] = ids
    if not epochs:
        found["heldout_ids"] = ids
    if choice.slices is not None:
        found["heldout_slices"] = np.array([str(_field(sample, choice.slices, where)) for sample in samples])
    return found


def _scorer(samples: list[Mapping[str, Any]], choice: Choice, where: str) -> tuple[str, str | None]:
    names = sorted({name for sample in samples for name in (sample.get("scores") or {})})
    wished = choice.score or (choice.metric[0] if choice.metric else None)
    if wished is None:
        if len(names) != 1:
            raise InputError("--score", names, "one scorer", f"Say which of those in {where} is meant")
        return names[0], None
    name, _, key = wished.partition(".")
    if name not in names:
        raise UnknownNameError("scorer", name, names, f"in {where} (it has {', '.join(names)})")
    return name, key or None


def _score(sample: Mapping[str, Any], scorer: tuple[str, str | None], choice: Choice, where: str) -> float:
    name, key = scorer
    scores = sample.get("scores") or {}
    value = scores.get(name, {}).get("value") if name in scores else None
    if key is not None and isinstance(value, Mapping):
        value = value.get(key)
    place = f"Sample {sample.get('id')} of {where}"
    if sample.get("error") or value is None or (isinstance(value, float) and math.isnan(value)):
        if choice.unscored == "wrong":
            return 0.0
        raise InputError(
            "score",
            "a sample without a score",
            "a score for every sample",
            f"{place}. Dropping failures is a selection; count them as wrong with --unscored wrong",
        )
    if isinstance(value, str) and value.upper() in LETTERS:
        return LETTERS[value.upper()]
    if isinstance(value, (Mapping, list)):
        known = [f"{name}.{part}" for part in value] if isinstance(value, Mapping) else []
        raise InputError("--score", name, "a single value", f"{place} has several: choose one of {', '.join(known)}")
    if isinstance(value, (bool, int, float)) and 0.0 <= float(value) <= 1.0:
        return float(value)
    raise InputError("score", value, 'a number in [0, 1], true, false, "C", "P", "I" or "N"', place)


def _field(sample: Mapping[str, Any], path: str, where: str) -> Any:
    """A field of the metadata, or of the sample."""
    for start in (sample.get("metadata") or {}, sample):
        value: Any = start
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            return value
    raise UnknownNameError("field", path, sample.get("metadata") or {}, f"in sample {sample.get('id')} of {where}")
