"""A report made again and compared, field by field, with what was written.

Where data and declaration are at hand the whole report is made again (`rebuild`) and every field of it is compared but
those of `machine`: counts, hashes and words exactly, real numbers to 1e-9 and never below the number made again. Where
something is missing (data, the model, the training) each statement is counted again as far as possible, and what could
not be made again is named: "not verified", which is not a pass.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

from certiformer.certificates import certificates
from certiformer.certification.pipeline import words
from certiformer.certification.rebuild import CannotCount, Rebuilt, Recount, rebuild, recorded, worded
from certiformer.certification.statements import evidence_row
from certiformer.theory.core import Hypothesis, results
from certiformer.theory.core.errors import CertiformerError, InputError, refuse_unknown_options
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.core.report import FORMAT, Statement
from certiformer.theory.core.schema import violations

TOLERANCE = 1e-9
"""Relative: two machines may round a logarithm differently; nothing else may differ."""
BELOW = 1e-12
"""Relative: a reported limit may be below the rebuilt one by rounding, and by nothing else."""
LIMITS = ("value", "log10")
DRIFTED = ("figures of a network", "they differ in their last digits, as float32 does between machines and batches")


@dataclass(frozen=True)
class Difference:
    """A field of the report that is another one when it is made again."""

    field: str
    reported: Any
    rebuilt: Any

    def __str__(self) -> str:
        return f"{self.field}: the report has {_short(self.reported)}, made again it is {_short(self.rebuilt)}"


@dataclass(frozen=True)
class Unchecked:
    """A field, or a statement by its id, that could not be made again, and why."""

    id: str
    why: str


@dataclass(frozen=True)
class Row:
    """One limit of the report and what it is when it is computed again; `counted` says whether from the data."""

    id: str
    reported: float
    recomputed: float | None
    agrees: bool
    counted: bool
    why: str = ""
    key: str = ""
    """Which one of its certificate: a slice, a metric."""


@dataclass(frozen=True)
class Verification:
    """What `certiformer verify` found."""

    differences: tuple[Difference, ...]
    unchecked: tuple[Unchecked, ...]
    rows: tuple[Row, ...] = ()
    compared: int = 0
    """Fields that were compared with the report made again."""

    @property
    def agrees(self) -> bool:
        """Nothing that was made again differs."""
        return not self.differences

    @property
    def exit_code(self) -> Literal[0, 1, 3]:
        """0: all of it was made again and agrees; 1: something differs; 3: something could not be made again."""
        return 1 if self.differences else 3 if self.unchecked else 0

    @property
    def sentence(self) -> str:
        """The outcome in one sentence."""
        if self.differences:
            return (
                f"The report differs from what was made again in {len(self.differences):,} of {self.compared:,} fields."
            )
        if self.unchecked:
            return (
                f"Not verified: {len(self.unchecked)} things could not be made again; {self.compared:,} fields agree."
            )
        return f"Verified: the report was made again from the data, and all {self.compared:,} fields agree."

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": {0: "verified", 1: "differs", 3: "not verified"}[self.exit_code],
            "compared": self.compared,
            "differences": [vars(one) for one in self.differences],
            "unchecked": [vars(one) for one in self.unchecked],
            "rows": [vars(one) for one in self.rows],
        }


OTHER_DATA = "they are not byte for byte those that were certified: other examples, or the same in another form"


@refuse_unknown_options
def verify(
    report: str | Path,
    *,
    data: str | Path | None = None,
    apply: Callable[..., Any] | None = None,
    replay: bool = False,
) -> Verification:
    """Make a report.json again from `data`, the predictors beside it and what it declares, and compare all of it.

    `data` is the file that was certified with: the predictions, or the examples of a model. `apply` is the function
    that belongs to the weights of a model from elsewhere, as in `load_predictor`. `replay` trains pick loops again on
    their picks. Nothing in the folder of the report is executed.
    """
    path = Path(report)
    document = read_report(path)
    if document.get("format") != FORMAT:
        return _other_format(document)
    if "verdict" in document or document.get("provenance") == {}:
        verb, own = ("a gate", "gate FILE --error X") if "verdict" in document else ("another verb", "compare, ...")
        fix = f"It is made again by its own command: certiformer {own}"
        raise InputError("report", f"the report of {verb}", "a report of certify", fix)
    wrong = tuple(
        Difference(place or "report", "something else", expected)
        for place, expected, _ in violations(document, schema())
    )
    if wrong:
        return Verification(wrong, (), compared=len(wrong))
    try:
        sources = Recount(document, path.parent, None if data is None else Path(data), apply, replay)
        wrong, absent = _beside(document, sources)
        try:
            found = _compared(document, rebuild(document, sources))
        except CannotCount as reason:
            found = _in_parts(document, sources, str(reason))
    except (CertiformerError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        # What the report declares does not fit the data, or not even itself.
        return Verification((Difference("report", "what it declares and names", f"refused: {error}"),), (), compared=1)
    return replace(found, differences=(*wrong, *found.differences), unchecked=(*absent, *found.unchecked))


def _beside(document: Mapping[str, Any], sources: Recount) -> tuple[tuple[Difference, ...], tuple[Unchecked, ...]]:
    """The files that the report names: another content is a difference, an absent one is not verified."""
    wrong: dict[str, Difference] = {}
    absent: dict[str, Unchecked] = {}
    for index, entry in enumerate(document["statements"]):
        for side in ("predictor", "through", "trace"):
            if entry[side] is not None:
                name, said = entry[side]["file"], entry[side]["sha256"]
                digest = sources.digest(side, name)
                if digest is None:
                    absent[name] = Unchecked(name, "it is not beside the report")
                elif digest != said:
                    wrong[name] = Difference(f"statements[{index}].{side}.sha256", said, digest)
    return tuple(wrong.values()), tuple(absent.values())


def read_report(path: Path) -> dict[str, Any]:
    """The JSON object in a report.json."""
    found = read_json(path, "a report.json as `certiformer certify` writes it", unique=True)
    if "format" not in found and "certificates" not in found:
        raise InputError("report", str(path), "a report of certiformer certify")
    return found


def schema() -> dict[str, Any]:
    """The JSON schema of report.json."""
    found: dict[str, Any] = json.loads(
        resources.files("certiformer.theory.core").joinpath("report.schema.json").read_text()
    )
    return found


def _other_format(document: Mapping[str, Any]) -> Verification:
    provenance = document.get("provenance")
    known = provenance.get("certiformer") if isinstance(provenance, Mapping) else None
    by = f"written by {known or 'another version'}"
    why = f"{by}, in another form than format {FORMAT}: verify it with that version, or certify again"
    return Verification((), (Unchecked("format", why),))


def _compared(document: Mapping[str, Any], made: Rebuilt) -> Verification:
    """The whole report beside the whole report made again."""
    again = json.loads(json.dumps(made.report.document, allow_nan=False))
    compared, found, drifted = 0, [], False
    missing = [Unchecked(*pair) for pair in dict.fromkeys((_about(document, *item)) for item in made.missing.items())]
    pairs = enumerate(zip(document["statements"], again["statements"], strict=False))
    # What follows from equal counts does not drift, whoever made them.
    drifting = tuple(f"statements[{index}]." for index, (one, other) in pairs if not _same_counts(one, other))
    for place, reported, rebuilt in _leaves("", _outside(document), _outside(again)):
        compared += 1
        if same(place, reported, rebuilt) or any(place.startswith(name) for name in made.missing):
            continue
        near = place.startswith((*drifting, "profile")) and _drifted(reported, rebuilt, made.tolerance)
        if made.tolerance > TOLERANCE and (near or place in made.computed):
            drifted = True
        else:
            found.append(Difference(place, reported, rebuilt))
    if drifted:
        missing.append(Unchecked(*DRIFTED))
    again_by = {one.key: one for one in made.report.statements if one.version == "sound" and one.evidence is not None}
    rows = []
    for index, entry in enumerate(document["statements"]):
        one = again_by.get(entry["key"])
        if one is not None and entry["version"] == "sound" and entry["value"] is not None:
            mine = [difference for difference in found if difference.field.startswith(f"statements[{index}].")]
            why = "; ".join(map(str, mine[:3]))
            rows.append(Row(one.id, float(entry["value"]), one.value, not mine, True, why, one.key))
    return Verification(tuple(found), tuple(missing), tuple(rows), compared)


def _about(document: Mapping[str, Any], place: str, why: str) -> tuple[str, str]:
    """The statement that a field belongs to, or the field."""
    inside = place.startswith("statements[")
    return str(document["statements"][int(place[11:].partition("]")[0])]["key"]) if inside else place, why


def _outside(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "machine"}


def _leaves(place: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
    """Both values at every place where one of the two has something."""
    if isinstance(a, dict) and isinstance(b, dict) and (a or b):
        for name in dict.fromkeys([*a, *b]):
            yield from _leaves(f"{place}.{name}" if place else name, a.get(name, _NOTHING), b.get(name, _NOTHING))
    elif isinstance(a, list) and isinstance(b, list) and (a or b):
        for index in range(max(len(a), len(b))):
            one, other = (part[index] if index < len(part) else _NOTHING for part in (a, b))
            yield from _leaves(f"{place}[{index}]", one, other)
    else:
        yield place, a, b


class _Nothing(str):
    """What stands for an absent value: a text in a report is never of this type."""


_NOTHING = _Nothing("(nothing)")


def same(place: str, reported: Any, rebuilt: Any) -> bool:
    """Equal; real numbers up to rounding, a limit never below the rebuilt one and a lower limit never above."""
    if type(reported) is not type(rebuilt):
        numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (reported, rebuilt))
        return numbers and float(reported) == float(rebuilt)
    if not isinstance(reported, float):
        return bool(reported == rebuilt)
    if not math.isclose(reported, rebuilt, rel_tol=TOLERANCE, abs_tol=TOLERANCE * 1e-3):
        return False
    name = place.rpartition(".")[2] if place.startswith("statements[") else ""
    if name == "lower":
        return bool(reported <= rebuilt + BELOW * abs(rebuilt))
    return bool(name not in LIMITS or reported >= rebuilt - BELOW * abs(rebuilt))


def _same_counts(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one["evidence"] is not None and bool(one["evidence"] == other["evidence"])


def _drifted(reported: Any, rebuilt: Any, tolerance: float) -> bool:
    """Real numbers that are as near as those of one network on two machines."""
    reals = isinstance(reported, float) and isinstance(rebuilt, float)
    return reals and math.isclose(reported, rebuilt, rel_tol=tolerance, abs_tol=tolerance * 1e-3)


# --- statement by statement, where the whole cannot be made again ---------------------------------------------------


def _in_parts(document: Mapping[str, Any], sources: Recount, reason: str) -> Verification:
    """Every statement counted again as far as the files go; the words of the report follow from them."""
    rows, found, compared = [], [], 0
    missing = [Unchecked("report", reason)]
    if sources.other_data:
        missing.append(Unchecked("data", OTHER_DATA))
    stated: list[Statement] = []
    total = math.fsum(document["shares"].values())
    if not 0 < total <= document["delta"] * (1 + 1e-12):
        wrong = Difference("shares", total, f"at most delta = {document['delta']:.6g}")
        return Verification((wrong,), tuple(missing), compared=1)
    known = {*certificates(), *results(), "composition"}
    for index, entry in enumerate(document["statements"]):
        place = f"statements[{index}]"
        if entry["id"] not in known:
            found.append(Difference(f"{place}.id", entry["id"], "a certificate or a result of this version"))
        stated.append(_stated(entry))
        if entry["id"] not in certificates() or entry["version"] != "sound" or entry["evidence"] is None:
            if entry["value"] is not None and entry["id"] not in certificates():
                missing.append(Unchecked(entry["id"], "a paper's result: certify the model again to compare"))
            continue
        row, again, differences, why = _counted(place, entry, document, sources)
        found += differences
        compared += 1
        rows += [] if row is None else [row]
        missing += [Unchecked(entry["key"], why)] if why else []
        stated[-1] = again or stated[-1]
    said = words(stated, float(document["delta"]), int(document["provenance"].get("configurations_tried", 1)))
    compared += len(said)
    found += [Difference(name, document[name], text) for name, text in said.items() if document[name] != text]
    return Verification(tuple(found), tuple(missing), tuple(rows), compared)


def _stated(entry: Mapping[str, Any]) -> Statement:
    """A statement as the report has it, its evidence as it is written."""
    given = {name: value for name, value in entry.items() if name != "key"}
    record = given.pop("evidence")
    said = [(one["requires"], one["state"], one["why"], one["id"]) for one in entry["conditions"]]
    conditions = tuple(Hypothesis(words, state, why, id=id) for words, state, why, id in said)
    evidence = None if record is None else SimpleNamespace(**record, label="", record=lambda: record)
    numbers = {name: float(given[name]) for name in ("value", "log10", "lower") if given[name] is not None}
    return Statement(**{**given, **numbers, "conditions": conditions, "evidence": evidence})


def _counted(
    place: str, entry: Mapping[str, Any], document: Mapping[str, Any], sources: Recount
) -> tuple[Row | None, Statement | None, list[Difference], str]:
    """A statement again: from the data if they are there, otherwise from the counts in the report."""
    key = str(entry["evidence"].get("key"))
    share, reported = document["shares"].get(key), float(entry["value"])

    def broken(name: str, expected: str) -> tuple[Row, None, list[Difference], str]:
        row = Row(entry["id"], reported, None, False, False, expected, key)
        return row, None, [Difference(f"{place}.{name}", "something else", expected)], ""

    if share is None or key != entry["key"]:
        return broken("evidence.key", f"no part of delta is written down for {key}")
    try:
        record = recorded(entry)
    except (TypeError, ValueError, KeyError, CertiformerError) as error:
        return broken("evidence", f"its record cannot be read ({error})")
    counted, why, tolerance = False, "", TOLERANCE
    try:
        again = sources.again(entry)
        record, why, tolerance, counted = again.record, again.trusted, again.tolerance, True
    except CannotCount as cause:
        why = str(cause)
    except CertiformerError as error:
        return broken("evidence", str(error))
    if record is None:
        return None, None, [], why
    row = evidence_row(worded(record, entry), float(share), int(document["classes"]))
    fresh = json.loads(json.dumps(row.as_json(), allow_nan=False))
    differences = []
    # The hashes of files were compared when they were read.
    fresh |= {name: entry[name] for name in ("predictor", "through", "trace")}
    for field, mine, again_ in _leaves(place, dict(entry), fresh):
        proved = ".conditions[" in field and field.endswith(("state", "why")) and mine != again_
        at = field.rpartition(".conditions[")[2].partition("]")[0]
        if proved and entry["conditions"][int(at)]["state"] == "verified":
            why = why or "conditions that were proved while counting are not proved again"
        elif same(field.replace(place, "statements[0]"), mine, again_):
            continue
        elif not _same_counts(entry, fresh) and tolerance > TOLERANCE and _drifted(mine, again_, tolerance):
            why = why or DRIFTED[1]
        else:
            differences.append(Difference(field, mine, again_))
    shown = "; ".join(map(str, differences))
    found = Row(entry["id"], reported, row.value, not differences, counted, shown, key)
    return found, row, differences, why


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
