"""A report checked again: every row recomputed from the predictor, the data and the report.

What was counted is counted again where the data are at hand (`--data`, or those that come with the package), with the
predictors written beside the report; their hashes have to be those of the report. From the counts, again or as the
report has them, every bound is recomputed at its share of delta, and the shares are added up. A row whose counts were
only taken from the report is listed as unchecked, with the reason: its arithmetic was verified, its counts were not.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence, Predictor, certificates
from certiformer.certification.handover import read_predictor
from certiformer.certification.rows.evidence import evidence_row
from certiformer.core.errors import CertiformerError, InputError, refuse_unknown_options

if TYPE_CHECKING:
    from certiformer.certification.reading import Reading

TOLERANCE = 1e-9
"""Relative: two machines may round a logarithm differently; nothing else may differ."""
FIELDS = ("delta", "shares", "classes", "certificates", "provenance")

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One number of the report and what it is when it is computed again; `counted` says whether from the data."""

    id: str
    reported: float
    recomputed: float | None
    agrees: bool
    counted: bool
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        found = {"id": self.id, "reported": self.reported, "recomputed": self.recomputed, "agrees": self.agrees}
        return {**found, "counted": self.counted, **({"why": self.why} if self.why else {})}


@dataclass(frozen=True)
class Unchecked:
    """A row of which something could not be checked, and why."""

    id: str
    why: str

    def as_json(self) -> dict[str, str]:
        return {"id": self.id, "why": self.why}


@dataclass(frozen=True)
class Verification:
    """What `certiformer verify` found."""

    rows: tuple[Row, ...]
    unchecked: tuple[Unchecked, ...]

    @property
    def agrees(self) -> bool:
        """No row disagrees; rows that could not be checked are not held against the report."""
        return all(row.agrees for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        return {"rows": [row.as_json() for row in self.rows], "unchecked": [one.as_json() for one in self.unchecked]}


@refuse_unknown_options
def verify(
    report: str | Path, *, data: str | Path | None = None, apply: Callable[..., Any] | None = None
) -> Verification:
    """Recompute every row of a report.json from the predictors beside it, `data` and itself.

    `data` is the file that was certified with: the predictions, or the examples of a checkpoint. `apply` is the
    function that belongs to the weights of a model from elsewhere, as in `load_predictor`.
    """
    path = Path(report)
    document = read_report(path)
    sources = _Recount(document, path.parent, None if data is None else Path(data), apply)
    rows: list[Row] = []
    unchecked: list[Unchecked] = []
    for entry in document["certificates"]:
        if entry.get("version") != "sound" or (entry.get("value") is None and entry.get("log10") is None):
            continue
        if entry["id"] not in certificates():
            unchecked.append(Unchecked(entry["id"], "a paper's result: certify the model again to compare"))
            continue
        row, missing = _checked(entry, document, sources)
        if row is not None:
            rows.append(row)
        if missing:
            unchecked.append(Unchecked(entry["id"], missing))
    total = math.fsum(document["shares"].values())
    if total > document["delta"] * (1 + 1e-12):
        overspent = f"the shares add up to {total:.6g}, more than delta = {document['delta']:.6g}"
        rows = [replace(row, agrees=False, why=overspent) for row in rows]
    return Verification(tuple(rows), tuple(unchecked))


def read_report(path: Path) -> Mapping[str, Any]:
    """The document of a report.json."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("report", str(path), "a readable report.json", f"({error})") from error
    except json.JSONDecodeError as error:
        raise InputError("report", str(path), "JSON as `certiformer certify` writes it", f"({error})") from error
    if not isinstance(found, dict) or any(name not in found for name in FIELDS):
        raise InputError("report", str(path), f"a report of certiformer certify, with {', '.join(FIELDS)}")
    return found


def _checked(entry: Mapping[str, Any], document: Mapping[str, Any], sources: _Recount) -> tuple[Row | None, str]:
    """The row again, and what could not be checked of it."""
    reported, written = float(entry["value"]), dict(entry.get("evidence") or {})
    key = written.pop("key", entry["id"])
    share = document["shares"].get(key)
    if share is None:
        return Row(entry["id"], reported, None, False, False, f"no share of delta is written down for {key}"), ""
    try:
        recorded = certificates()[entry["id"]].from_record(written)
    except (TypeError, CertiformerError) as error:
        return Row(entry["id"], reported, None, False, False, f"its record cannot be read ({error})"), ""
    why, again = "", None
    try:
        again = sources.again(key, entry, recorded)
    except _CannotCount as reason:
        why = str(reason)
    except CertiformerError as error:
        return Row(entry["id"], reported, None, False, True, str(error)), ""
    if sources.trusted:
        why = f"its errors were counted again, but this was taken from the report: {', '.join(sources.trusted)}"
    record = recorded if again is None else again
    if record is None:
        return None, why
    value = evidence_row(record, float(share), int(document["classes"])).value
    same = again is None or _same(again.record(), written)
    agrees = value is not None and math.isclose(value, reported, rel_tol=TOLERANCE) and same
    differs = "" if same else f"counted again: {_shown(record.record())}; the report has {_shown(written)}"
    return Row(entry["id"], reported, value, agrees, again is not None, differs), why


def _same(found: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    """Two records with equal counts; figures that were computed may differ by rounding."""
    plain = json.loads(json.dumps(found))

    def close(a: Any, b: Any) -> bool:
        if isinstance(a, float) or isinstance(b, float):
            return isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isclose(a, b, rel_tol=TOLERANCE)
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(close(a[name], b[name]) for name in a)
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(close, a, b))
        return bool(a == b)

    return close(plain, dict(written))


def _shown(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in record.items() if isinstance(value, (int, float, str)))


class _CannotCount(Exception):
    """Why the counts of a row could not be made again."""


class _Recount:
    """Counts again what a report says was counted, from files."""

    def __init__(
        self, document: Mapping[str, Any], folder: Path, data: Path | None, apply: Callable[..., Any] | None
    ) -> None:
        self.provenance: Mapping[str, Any] = document["provenance"]
        self.folder, self.data, self.apply = folder, data, apply
        self._evidence: Mapping[str, Evidence] | None = None
        self._arrays: Mapping[str, Any] | None = None
        self.trusted: tuple[str, ...] = ()
        """Figures of the last row that were taken from the report although its errors were counted again."""

    def again(self, key: str, entry: Mapping[str, Any], recorded: Evidence | None) -> Evidence | None:
        """The record of a row counted anew; _CannotCount says what is missing."""
        self.trusted = ()
        predictor = self._predictor(entry)
        flow = self.provenance.get("flow", "")
        if "recipe" in self.provenance:
            return self._from_recipe(key, predictor, recorded)
        if flow == "predictions":
            return self._from_predictions(key, predictor, recorded)
        if flow in ("model", "training"):
            return self._from_model(key, predictor)
        if flow == "procedures":
            return self._from_procedures(predictor, recorded)
        raise _CannotCount("its counts were handed to certify as they are; there are no data to count again")

    def _predictor(self, entry: Mapping[str, Any]) -> Predictor | None:
        handed = entry.get("predictor")
        if handed is None:
            return None
        place = self.folder / handed["file"]
        if not place.is_file():
            raise _CannotCount(f"{handed['file']} is not beside the report")
        found, digest = read_predictor(place, apply=self.apply)
        if digest != handed["sha256"]:
            raise InputError(handed["file"], f"sha256 {digest}", f"sha256 {handed['sha256']}, as in the report")
        return found

    def _file(self, read: Callable[[Path], Mapping[str, Any]]) -> Mapping[str, Any]:
        if self.data is None:
            raise _CannotCount("its counts come from the report: give the data it was certified with (--data FILE)")
        if self._arrays is None:
            self._arrays = read(self.data)
        return self._arrays

    def _reading(self) -> Reading:
        """What was declared when it was certified; overlap was looked at then."""
        from certiformer.certification.reading import Reading

        return replace(Reading.from_text(str(self.provenance["reading"])), allow_twins=True)

    def _from_predictions(self, key: str, predictor: Predictor | None, recorded: Evidence | None) -> Evidence:
        from certiformer.certification import predictions, sources

        columns = sources.Choice.from_text(str(self.provenance.get("columns", "{}")))
        arrays = self._file(lambda path: sources.read(path, columns))
        if predictor is not None:
            if recorded is None or not {"head_features", "head_labels"} <= set(arrays):
                raise _CannotCount("head_features and head_labels are not in the data")
            features, labels, _ = predictions.head_data(arrays, predictions.class_names(arrays, self._reading()))
            return predictor.recount(recorded, features, labels)
        if self._evidence is None:
            rest = {
                name: array
                for name, array in arrays.items()
                if not name.startswith("head_") and name not in sources.ASIDE
            }
            found = predictions.of_predictions(rest, self._reading())
            self._evidence = {record.key: record for record in found.evidence}
        return self._known(key)

    def _from_model(self, key: str, predictor: Predictor | None) -> Evidence:
        from certiformer.certification import api, counting
        from certiformer.certification.sources.npz import read_npz

        if predictor is None:
            raise _CannotCount("the model was not handed over: it is a function that this package cannot write")
        arrays = self._file(lambda path: read_npz(path, api.DATA_ARRAYS))
        if self.provenance["flow"] == "training":
            x, y = arrays.get("inputs"), arrays.get("labels")
            if x is None or y is None:
                raise _CannotCount("the data that were divided are needed: inputs and labels, in their order")
            rows = counting.division(len(x), float(self.provenance["fraction"]), int(self.provenance["seed"]))[
                "certify"
            ]
            heldout: counting.Pair = (x[rows], y[rows])
        else:
            heldout, _ = api.heldout_and_train(arrays, str(self.data))
        found = counting.of_model(predictor.outputs, heldout, reading=self._reading(), batched=True)
        self._evidence = {record.key: record for record in found.evidence}
        return self._known(key)

    def _from_procedures(self, predictor: Predictor | None, recorded: Evidence | None) -> Evidence:
        from certiformer.certification.procedures.recipe import ARRAYS
        from certiformer.certification.procedures.run import classes_of
        from certiformer.certification.sources.npz import read_npz

        if predictor is None or recorded is None:
            raise _CannotCount("its predictor was not handed over")
        if predictor.reads != "inputs":
            raise _CannotCount(f"its predictor reads {predictor.reads}, which are not in the data")
        arrays = self._file(lambda path: read_npz(path, ARRAYS))
        if not {"train_inputs", "train_labels"} <= set(arrays):
            raise _CannotCount("train_inputs and train_labels are not in the data")
        return self._recounted(predictor, recorded, arrays["train_inputs"], classes_of(arrays["train_labels"])[0])

    def _recounted(self, predictor: Predictor, recorded: Evidence, inputs: Any, labels: Labels) -> Evidence:
        """Counted with the predictor; what it does not show is named, and taken from the report."""
        trusted = predictor.kept(recorded)
        if trusted and "errors" not in recorded.record():
            raise _CannotCount(f"examples and predictor do not show {', '.join(trusted)}")
        if trusted and recorded.size != len(labels):
            raise _CannotCount("it was certified on a part of the examples that the report does not name")
        self.trusted = trusted
        return predictor.recount(recorded, inputs, labels)

    def _from_recipe(self, key: str, predictor: Predictor | None, recorded: Evidence | None) -> Evidence:
        name = str(self.provenance["recipe"])
        module = importlib.import_module(f"certiformer.certification.recipes.{name}")
        examples: Callable[..., Mapping[str, tuple[Any, Labels]]] | None = getattr(module, "examples", None)
        if predictor is None or recorded is None or examples is None:
            raise _CannotCount("its predictor was not handed over, or the recipe does not say on which examples")
        found = examples(self.provenance)
        if key not in found:
            raise _CannotCount("the recipe does not say on which examples it was certified")
        return self._recounted(predictor, recorded, *found[key])

    def _known(self, key: str) -> Evidence:
        assert self._evidence is not None
        if key not in self._evidence:
            raise _CannotCount("the data do not hold what it was counted from")
        return replace(self._evidence[key], note="")
