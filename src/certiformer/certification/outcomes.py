"""What happened to every row of a file: a loss, an id, a group, a confidence. For comparing models and abstaining."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification import sources
from certiformer.certification.predictions import examples, refuse_unknown, row_ids, scored, told_by
from certiformer.certification.reading import Reading
from certiformer.certification.sources import scores
from certiformer.certification.sources.rows import Rows, rows_of, whole
from certiformer.core.errors import InputError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Losses in [low, high] by row; `binary` says that they are right/wrong by construction."""

    name: str
    losses: Array
    binary: bool
    low: float
    high: float
    ids: list[str] | None
    groups: npt.NDArray[Any] | None
    confidences: Array | None
    prompts: npt.NDArray[Any] | None


def outcomes_of(path: str | Path, columns: sources.Choice | None, reading: Reading) -> Outcomes:
    """The outcomes in a file of predictions, losses or scores."""
    found = sources.read(path, columns)
    name = Path(path).name
    arrays = {key: value for key, value in found.items() if key not in sources.ASIDE}
    refuse_unknown(arrays, name)
    rows = {key: rows_of(value) for key, value in arrays.items() if key != "classes"}
    n = examples(rows)
    told = scored(rows, arrays, reading)
    low, high = 0.0, 1.0
    if told is not None:
        losses, binary = told.wrong.astype(np.float64), True
    else:
        losses, binary = _losses(rows, name), False
        low, high = reading.low, reading.high if reading.high is not None else 1.0
        if reading.clip is not None:
            high = reading.clip
            losses = np.minimum(losses, high)
    ids = whole(rows["heldout_ids"]) if "heldout_ids" in rows else None
    return Outcomes(
        name=name,
        losses=losses,
        binary=binary,
        low=low,
        high=high,
        ids=None if ids is None else row_ids(ids),
        groups=None if "heldout_groups" not in rows else np.asarray(whole(rows["heldout_groups"])),
        confidences=_confidences(rows, n),
        prompts=found.get("prompt_hashes"),
    )


def _losses(rows: dict[str, Rows], name: str) -> Array:
    told = told_by(rows)
    if len(told) != 1:
        raise InputError("--metric", told, "one loss", f"Say which of those in {name} is meant")
    return np.asarray(whole(rows[told[0]]), dtype=np.float64)


def _confidences(rows: dict[str, Rows], n: int) -> Array | None:
    """The confidence that was given, or the largest probability."""
    if "heldout_confidences" in rows:
        found = np.asarray(whole(rows["heldout_confidences"]))
        if found.dtype.kind in "US":
            found = found.astype(np.float64)
        return np.asarray(found, dtype=np.float64)
    for form in ("logits", "probabilities"):
        if f"heldout_{form}" in rows:
            return scores.largest_probability(rows[f"heldout_{form}"], form)
    return None
