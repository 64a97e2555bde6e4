"""A report checked again: every row recomputed from the predictor, the data and the report.

What was counted is counted again where the data are at hand (`--data`, or those that come with the package), with the
predictors written beside the report; their hashes have to be those of the report. From the counts, again or as the
report has them, every bound is recomputed at its share of delta, and the shares are added up. A row whose counts were
only taken from the report is listed as unchecked, with the reason: its arithmetic was verified, its counts were not.
The headline and what it is based on are written again from the rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from certiformer.certificates import certificates
from certiformer.certification.headline import basis, headline
from certiformer.certification.recount import CannotCount, Counted, Recount
from certiformer.certification.rows.evidence import evidence_row
from certiformer.core.errors import CertiformerError, InputError, refuse_unknown_options

TOLERANCE = 1e-9
"""Relative: two machines may round a logarithm differently; nothing else may differ."""
FIELDS = ("headline", "basis", "delta", "shares", "classes", "certificates", "provenance")


@dataclass(frozen=True)
class Row:
    """One number of the report and what it is when it is computed again; `counted` says whether from the data."""

    id: str
    reported: float
    recomputed: float | None
    agrees: bool
    counted: bool
    why: str = ""
    key: str = ""
    """Which row of its certificate: a slice, a metric."""

    def as_json(self) -> dict[str, Any]:
        found = {
            "id": self.id,
            "key": self.key or self.id,
            "reported": self.reported,
            "recomputed": self.recomputed,
            "agrees": self.agrees,
        }
        return {**found, "counted": self.counted, **({"why": self.why} if self.why else {})}


@dataclass(frozen=True)
class Unchecked:
    """A row of which something could not be checked, and why."""

    id: str
    why: str

    def as_json(self) -> dict[str, str]:
        return {"id": self.id, "why": self.why}


@dataclass(frozen=True)
class Sentence:
    """What the report says in words, and what its rows say."""

    reported: str
    recomputed: str

    @property
    def agrees(self) -> bool:
        return self.reported == self.recomputed

    def as_json(self) -> dict[str, Any]:
        return {"reported": self.reported, "recomputed": self.recomputed, "agrees": self.agrees}


@dataclass(frozen=True)
class Verification:
    """What `certiformer verify` found."""

    rows: tuple[Row, ...]
    unchecked: tuple[Unchecked, ...]
    headline: Sentence
    basis: Sentence

    @property
    def agrees(self) -> bool:
        """No row and no sentence disagrees; rows that could not be checked are not held against the report."""
        return all(row.agrees for row in self.rows) and self.headline.agrees and self.basis.agrees

    def as_json(self) -> dict[str, Any]:
        return {
            "rows": [row.as_json() for row in self.rows],
            "unchecked": [one.as_json() for one in self.unchecked],
            "headline": self.headline.as_json(),
            "basis": self.basis.as_json(),
        }


@refuse_unknown_options
def verify(
    report: str | Path,
    *,
    data: str | Path | None = None,
    apply: Callable[..., Any] | None = None,
    replay: bool = False,
) -> Verification:
    """Recompute every row of a report.json, and its headline, from the predictors beside it, `data` and itself.

    `data` is the file that was certified with: the predictions, or the examples of a checkpoint. `apply` is the
    function that belongs to the weights of a model from elsewhere, as in `load_predictor`. `replay` runs pick loops
    again on their picks, which takes as long as their training did.
    """
    path = Path(report)
    document = read_report(path)
    sources = Recount(document, path.parent, None if data is None else Path(data), apply, replay)
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
            rows.append(replace(row, key=str((entry.get("evidence") or {}).get("key", entry["id"]))))
        if missing:
            unchecked.append(Unchecked(entry["id"], missing))
    total = math.fsum(document["shares"].values())
    if total > document["delta"] * (1 + 1e-12):
        overspent = f"the shares add up to {total:.6g}, more than delta = {document['delta']:.6g}"
        rows = [replace(row, agrees=False, why=overspent) for row in rows]
    return Verification(tuple(rows), tuple(unchecked), *_sentences(document))


def read_report(path: Path) -> Mapping[str, Any]:
    """The document of a report.json."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("report", str(path), "a readable report.json", f"({error})") from error
    except (ValueError, RecursionError) as error:
        raise InputError("report", str(path), "JSON as `certiformer certify` writes it", f"({error})") from error
    if not isinstance(found, dict) or any(name not in found for name in FIELDS):
        raise InputError("report", str(path), f"a report of certiformer certify, with {', '.join(FIELDS)}")
    return found


def _sentences(document: Mapping[str, Any]) -> tuple[Sentence, Sentence]:
    """The headline and its basis, as reported and as the rows have it."""
    rows = document["certificates"]
    try:
        again = headline(rows, float(document["delta"])), basis(rows)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("report", f"rows without {error}", "rows as `certiformer certify` writes them") from error
    first, second = (
        Sentence(str(document[name]), text) for name, text in zip(("headline", "basis"), again, strict=True)
    )
    return first, second


def _checked(entry: Mapping[str, Any], document: Mapping[str, Any], sources: Recount) -> tuple[Row | None, str]:
    """The row again, and what could not be checked of it."""
    reported, written = float(entry["value"]), dict(entry.get("evidence") or {})
    key, kind = written.pop("key", entry["id"]), certificates()[entry["id"]]
    share = document["shares"].get(key)
    if share is None:
        return Row(entry["id"], reported, None, False, False, f"no share of delta is written down for {key}"), ""
    try:
        recorded = kind.from_record(written)
    except (TypeError, CertiformerError) as error:
        return Row(entry["id"], reported, None, False, False, f"its record cannot be read ({error})"), ""
    again: Counted | None = None
    try:
        again = sources.again(key, entry, kind, recorded)
        why = again.trusted
    except CannotCount as reason:
        why = str(reason)
    except CertiformerError as error:
        return Row(entry["id"], reported, None, False, True, str(error)), ""
    record = recorded if again is None else again.record
    if record is None:
        return None, why
    tolerance = TOLERANCE if again is None else again.tolerance
    row = evidence_row(record, float(share), int(document["classes"]))
    value = row.value
    same = again is None or _same(record.record(), written, tolerance)
    agrees = value is not None and math.isclose(value, reported, rel_tol=tolerance) and same
    differs = "" if same else f"counted again: {_shown(record.record())}; the report has {_shown(written)}"
    if not math.isclose(float(entry.get("confidence") or 0.0), row.confidence or 0.0, rel_tol=TOLERANCE):
        agrees, differs = False, f"its confidence is {row.confidence:.6g} at its share of delta"
    below = entry.get("lower")
    if below is not None and not math.isclose(float(below), row.lower or 0.0, rel_tol=tolerance, abs_tol=tolerance):
        agrees, differs = False, f"its lower limit is {row.lower or 0.0:.6g}, the report has {float(below):.6g}"
    said = (entry.get("verdict") == "informative", entry.get("title"), entry.get("bounds"))
    if agrees and said != (row.informative, row.title, row.bounds):
        agrees, differs = False, f"it is {row.verdict}: {row.title}, which bounds {row.bounds}"
    return Row(entry["id"], reported, value, agrees, again is not None, differs), why


def _same(found: Mapping[str, Any], written: Mapping[str, Any], tolerance: float) -> bool:
    """Two records with equal counts; figures that were computed may differ by rounding."""
    plain = json.loads(json.dumps(found))

    def close(a: Any, b: Any) -> bool:
        if isinstance(a, float) or isinstance(b, float):
            numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
            return numbers and math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
        if isinstance(a, dict) and isinstance(b, dict):
            return a.keys() == b.keys() and all(close(a[name], b[name]) for name in a)
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(map(close, a, b))
        return bool(a == b)

    return close(plain, dict(written))


def _shown(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in record.items() if isinstance(value, (int, float, str)))
