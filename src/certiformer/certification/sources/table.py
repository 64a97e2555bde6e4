"""Columns of a table, by the names that people give them; two candidates of one kind are asked about."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from certiformer.core.errors import InputError, UnknownNameError

Column = Sequence[Any] | npt.NDArray[Any]

NAMES: Mapping[str, tuple[str, ...]] = {
    "loss": ("loss", "error"),
    "score": ("score", "correct", "acc", "accuracy", "exact_match"),
    "label": ("label", "labels", "y_true", "target", "gold", "reference"),
    "prediction": ("prediction", "pred", "y_pred", "predicted", "output"),
    "id": ("id", "example_id", "sample_id", "doc_id", "idx", "question_id"),
    "group": ("group", "group_id", "cluster", "document", "doc", "writer", "patient", "subject", "template"),
    "confidence": ("confidence", "prob", "max_prob"),
    "model": ("model",),
    "input": ("input", "text", "question", "prompt"),
}
"""What a column is by default, whatever its case."""
BINARY_SCORES = ("correct",)
"""Scores that are right/wrong by construction; others are numbers in [0, 1], whatever values are seen."""


_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0*)?")


@dataclass(frozen=True)
class Choice:
    """Which columns to take where the default names do not say it: `--metric`, `--label`, `--group` and so on."""

    metric: tuple[str, ...] = ()
    label: str | None = None
    prediction: str | None = None
    id: str | None = None
    group: str | None = None
    confidence: str | None = None
    slices: str | None = None
    filter: str | None = None
    score: str | None = None
    unscored: str = "refuse"

    def as_text(self) -> str:
        """What was chosen, as JSON: a report can be counted again from it."""
        return json.dumps({name: value for name, value in asdict(self).items() if value not in (None, (), "refuse")})

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The choice again from what `as_text` wrote."""
        found = json.loads(text)
        return cls(**{**found, "metric": tuple(found.get("metric", ()))})


def arrays_of(columns: Mapping[str, Column], choice: Choice, where: str) -> dict[str, Any]:
    """The arrays `certify` knows from the columns of a table."""
    if not columns or not len(next(iter(columns.values()))):
        raise InputError("file", where, "a table with at least one row")
    found: dict[str, Any] = {}
    for kind, chosen, name in (
        ("id", choice.id, "heldout_ids"),
        ("group", choice.group, "heldout_groups"),
        ("confidence", choice.confidence, "heldout_confidences"),
        ("input", None, "heldout_inputs"),
    ):
        column = _column(columns, kind, chosen, where)
        if column is not None and (kind != "group" or chosen is not None):
            found[name] = _filled(columns[column], column, where)
    if "heldout_groups" not in found and (candidate := _column(columns, "group", None, where, ask=False)) is not None:
        found["group_candidate"] = candidate
    if choice.slices is not None:
        found["heldout_slices"] = _filled(columns[_known(columns, choice.slices, where)], choice.slices, where)
    found |= _outcomes(columns, choice, where)
    return found


def _outcomes(columns: Mapping[str, Column], choice: Choice, where: str) -> dict[str, Any]:
    """Losses, scores, or labels with predictions."""
    if choice.metric:
        return _metrics(columns, choice.metric, where)
    label = _column(columns, "label", choice.label, where)
    prediction = _column(columns, "prediction", choice.prediction, where)
    score, loss = (_column(columns, kind, None, where) for kind in ("score", "loss"))
    if choice.label is None and choice.prediction is None and score is not None and loss is None:
        return _metrics(columns, (score,), where)
    if choice.label is None and choice.prediction is None and loss is not None and score is None:
        return _metrics(columns, (loss,), where)
    if label is not None and prediction is not None:
        both = _filled(columns[label], label, where), _filled(columns[prediction], prediction, where)
        labels, predictions = (_whole(each) for each in both) if all(map(_is_whole, both)) else both
        return {"heldout_labels": labels, "heldout_predictions": predictions}
    if score is not None and loss is not None:
        raise InputError("columns", [score, loss], "one of them", "Choose with --metric")
    raise InputError(
        "columns",
        list(columns),
        "labels with predictions, a loss, or a score",
        "Name them: --label COLUMN --prediction COLUMN, or --metric COLUMN",
    )


def _metrics(columns: Mapping[str, Column], names: Sequence[str], where: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for given in names:
        name = _known(columns, given, where)
        values = numbers(columns[name], name, where)
        if name.lower() in BINARY_SCORES or _boolean(columns[name]):
            key, values = "heldout_correct", values
        elif name.lower() in NAMES["score"]:
            key, values = "heldout_losses", 1.0 - values
        else:
            key = "heldout_losses"
        if len(names) > 1:
            key = f"heldout_losses_{name}"
            values = 1.0 - values if name.lower() in NAMES["score"] or _boolean(columns[name]) else values
        found[key] = values
    return found


def _is_whole(column: npt.NDArray[Any]) -> bool:
    """Whether all cells are whole numbers, written plainly: 3, -1, 2.0 (but not 007, which is a name)."""
    if column.dtype.kind not in "US":
        return column.dtype.kind in "iub" or (column.dtype.kind == "f" and bool(np.all(column == np.round(column))))
    return all(_WHOLE.fullmatch(cell) for cell in np.unique(column).tolist())


def _whole(column: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return column.astype(np.float64).astype(np.int64)


def _boolean(column: Column) -> bool:
    array = np.asarray(column)
    return array.dtype.kind == "b"


def numbers(column: Column, name: str, where: str) -> npt.NDArray[np.float64]:
    """The column as numbers; true and false, right and wrong are 1 and 0."""
    filled = _filled(column, name, where)
    words = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
    if filled.dtype.kind in "biuf":
        return filled.astype(np.float64)
    values = np.empty(len(filled))
    for row, cell in enumerate(filled.tolist()):
        text = str(cell).strip().lower()
        try:
            values[row] = words[text] if text in words else float(text)
        except ValueError:
            raise InputError(f"column {name}", cell, "a number", f"In row {row + 1} of {where}") from None
    return values


def _filled(column: Column, name: str, where: str) -> npt.NDArray[Any]:
    """The column without gaps: an empty cell is named by its row, never dropped."""
    array = np.asarray(column)
    if array.dtype.kind == "O":
        cells = array.tolist()
        for row, cell in enumerate(cells):
            if cell is None or (isinstance(cell, str) and not cell.strip()):
                raise InputError(f"column {name}", "an empty cell", "a value in every row", f"Row {row + 1} of {where}")
            if isinstance(cell, (list, dict)):
                raise InputError(f"column {name}", type(cell).__name__, "a plain value", f"Row {row + 1} of {where}")
        if all(isinstance(cell, (bool, int, float)) for cell in cells):
            array = np.array(cells)
        else:
            array = np.array([str(cell) for cell in cells])
    elif array.dtype.kind in "US":
        array = np.char.strip(array.astype(str))
        empty = np.flatnonzero(array == "")
        if len(empty):
            row = int(empty[0])
            raise InputError(f"column {name}", "an empty cell", "a value in every row", f"Row {row + 1} of {where}")
    if array.dtype.kind == "f" and np.any(np.isnan(array)):
        row = int(np.flatnonzero(np.isnan(array))[0])
        raise InputError(f"column {name}", "an empty cell", "a value in every row", f"Row {row + 1} of {where}")
    return array


def _column(
    columns: Mapping[str, Column], kind: str, chosen: str | None, where: str, *, ask: bool = True
) -> str | None:
    """The column of one kind: the chosen one, or the only one with a default name."""
    if chosen is not None:
        return _known(columns, chosen, where)
    by_lower = {name.lower(): name for name in columns}
    found = [by_lower[name] for name in NAMES[kind] if name in by_lower]
    if len(found) > 1 and kind in ("label", "prediction", "loss", "score") and ask:
        flag = {"loss": "metric", "score": "metric"}.get(kind, kind)
        raise InputError("columns", found, f"one {kind}", f"Choose with --{flag} COLUMN")
    return found[0] if found else None


def _known(columns: Mapping[str, Column], name: str, where: str) -> str:
    if name in columns:
        return name
    raise UnknownNameError("column", name, columns, f"in {where} (it has {', '.join(map(str, columns))})")
