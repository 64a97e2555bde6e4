"""What gates keep between runs: the state of an anytime gate, and the ledger of a pipeline.

The settings belong to the file: a run with other settings is refused by the name of what changed. Items are kept
as hashes. Files are written whole or not at all, and one run at a time holds them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.sample import Sample
from certiformer.evaluation.gates import AnytimeGate, share_of_run
from certiformer.evaluation.order import hash_order
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.core.locks import held
from certiformer.theory.core.schema import TEXTS, holding, record, tables, violations
from certiformer.theory.core.whole_files import write_text

Array = npt.NDArray[np.float64]
LEDGER, STATE = "certiformer gate ledger", "certiformer gate state"
_RUN = {
    "number": {"type": "integer"}, "share": {"type": "number"}, "items": TEXTS, "outcomes": {"type": "string"},
    "started": {"type": "string"}, "verdict": {"enum": [None, "pass", "fail", "undecided"]},
}  # fmt: skip
_GATE = {"decided_at": {"type": ["integer", "null"]}}
_SHAPES: Mapping[str, Mapping[str, Any]] = {
    LEDGER: holding({"runs": {"type": "array", "items": record(_RUN)}}),
    STATE: holding({"gates": tables({**tables(), "properties": _GATE}), "seen": tables(tables({"type": "number"}))}),
}
"""What the two files consist of, beside their kind and settings."""


def key_of(name: str) -> str:
    """An item by a hash of its name."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def items_of(sample: Sample) -> frozenset[str]:
    """The items of a sample, and the groups they belong to, by hash: what a later run must not share."""
    units = sample.units
    found = {f"item {id}" for id in units.ids or ()}
    if units.groups is not None and sample.declaration.group is not None and sample.declaration.repeats != "group":
        found |= {f"group {name}" for name in units.groups.tolist()}
    if not found:
        raise InputError(
            "--ledger", "rows without ids", "ids, or inputs, to know items by", "Name the column: --id COLUMN"
        )
    return frozenset(map(key_of, found))


def digest(*samples: Sample) -> str:
    """What was seen on which item, in which group and slice and of what size, whatever the order of the rows."""
    lines = []
    for number, sample in enumerate(samples):
        units, n = sample.units, len(sample.outcomes[0].losses)
        names = list(units.ids or map(str, range(n)))
        parts = [one.losses.tolist() for one in sample.outcomes]
        parts += [part.tolist() for part in (units.groups, units.sizes) if part is not None]
        parts += [] if sample.slices is None else [sample.slices[1].tolist()]
        lines += sorted(json.dumps([number, name, *row]) for name, *row in zip(names, *parts, strict=True))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _read(path: Path, kind: str, option: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The file again, if it was begun with these settings."""
    if not path.exists():
        return None
    found = read_json(path, f"a {kind} ({option})")
    if found.get("kind") != kind or not isinstance(found.get("settings"), dict):
        raise InputError(option, str(path), f"a {kind}", "Name another file: it is made by the first run")
    kept, mine = (_flat(one) for one in (found["settings"], json.loads(json.dumps(settings))))
    if kind == LEDGER:  # whose runs may be of different models, each with its title
        mine["title"] = kept.get("title")
    for name in dict.fromkeys((*kept, *mine)):
        if kept.get(name) != mine.get(name):
            fix = "Settings are fixed before the first look. For another question begin another file, with new items"
            if name == "questions":  # the slices, and their shares of delta
                fix = "Slices share delta: each look has rows of all (give the whole file so far), and of no other"
            raise InputError(name, mine.get(name), f"what {path} was begun with: {kept.get(name)!r}", fix)
    if any(violations(found, _SHAPES[kind])):
        raise _changed(path, kind, option)
    return found


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by name, those of the declaration first: the others follow from them."""
    declared = settings.get("declaration")
    own = {name: value for name, value in settings.items() if name != "declaration"}
    return (declared if isinstance(declared, dict) else {}) | own


def _changed(path: Path, kind: str, option: str) -> InputError:
    return InputError(option, str(path), f"a {kind}", "It was changed: take it from a copy")


def _write(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content) + "\n")


# --- the ledger of a pipeline -----------------------------------------------------------------------------------------


@dataclass
class Run:
    """A started run: its number, what it may spend, what it saw. `again`: the same items and outcomes once more."""

    number: int
    share: float
    items: list[str]
    outcomes: str
    started: str
    verdict: str | None = None
    again: bool = False


class Ledger:
    """Run r spends delta/(r(r+1)), so that any false verdict ever has probability at most delta.

    A run counts from its start, also if it crashes. The same items with the same outcomes are the same run. Items that
    an earlier verdict was about are refused otherwise: what came after that verdict may depend on them.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path, self.settings = path, settings

    @contextlib.contextmanager
    def run(self, items: frozenset[str], outcomes: str) -> Iterator[Run]:
        """A run, written down before its verdict is known and completed after."""
        with held(self.path):
            found = _read(self.path, LEDGER, "--ledger", self.settings)
            runs = [] if found is None else _runs(found["runs"], self.path, self.settings["delta"])
            mine = next((one for one in runs if one.outcomes == outcomes and items == frozenset(one.items)), None)
            if mine is None:
                _refuse_shared(items, runs)
                number = len(runs) + 1
                share = share_of_run(number, self.settings["delta"])
                mine = Run(number, share, sorted(items), outcomes, datetime.now(UTC).isoformat(timespec="seconds"))
                runs.append(mine)
                self._save(runs)
            else:
                mine.again = mine.verdict is not None
            yield mine
            self._save(runs)

    def _save(self, runs: Iterable[Run]) -> None:
        rows = [{name: value for name, value in asdict(one).items() if name != "again"} for one in runs]
        _write(self.path, {"kind": LEDGER, "settings": self.settings, "runs": rows})


def _runs(entries: Iterable[Mapping[str, Any]], path: Path, delta: float) -> list[Run]:
    """The runs of a ledger, numbered from 1, each with the share of its number."""
    runs = [Run(**entry) for entry in entries]
    for number, one in enumerate(runs, 1):
        if one.number != number or one.share != share_of_run(number, delta):
            raise _changed(path, LEDGER, "--ledger")
    if not runs:
        raise _changed(path, LEDGER, "--ledger")
    return runs


def _refuse_shared(items: frozenset[str], runs: Iterable[Run]) -> None:
    for one in runs:
        shared = len(items & frozenset(one.items))
        if shared and one.verdict is not None:
            raise InputError(
                "items", f"{shared} of run {one.number} of the ledger, with other outcomes or beside other items",
                "new items",
                "Their verdict was seen: score items that no run saw. More items for an unchanged model: --anytime; "
                "changed models on the same items: certiformer holdout",
            )  # fmt: skip


# --- the state of an anytime gate -------------------------------------------------------------------------------------


class State:
    """What an anytime gate has counted: its sums, and every item by hash with its loss, in the order it was counted."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path, self.settings = path, settings
        found = _read(path, STATE, "--anytime", settings)
        self._gates: dict[str, Any] = {} if found is None else found["gates"]
        self._seen: dict[str, dict[str, float]] = {} if found is None else found["seen"]
        if set(self._gates) != set(self._seen):
            raise _changed(path, STATE, "--anytime")

    def gate(self, label: str, new: AnytimeGate) -> AnytimeGate:
        """The gate of a question as it was left, made again from what it saw; `new` before anything was counted."""
        if label not in self._gates:
            return new
        try:
            kept, losses = AnytimeGate.resume(self._gates[label]), list(self._seen[label].values())
            end = len(losses) if kept.decided_at is None else kept.decided_at
            for part in (losses[:end], losses[end:]):
                if part:
                    new.update(part)
            mine, again = kept.state(), new.state()
            sums = all(math.isclose(mine.pop(name), again.pop(name), rel_tol=1e-9) for name in ("total", "squares"))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise _changed(self.path, STATE, "--anytime") from error
        if mine != again or not sums:
            raise _changed(self.path, STATE, "--anytime")
        return kept

    def counted(self, label: str) -> frozenset[str]:
        """The items of a question that were counted, by hash."""
        return frozenset(self._seen.get(label, ()))

    def refuse_moved(self, label: str, ids: Sequence[str], before: frozenset[str]) -> None:
        """Refuse items of a slice that were counted before, but not in this slice."""
        left = before - self.counted(label)
        moved = [id for id in ids if key_of(id) in left]
        if moved:
            raise InputError(
                f"item {moved[0]}", label, "the slice that it was counted in", "An item stays where it was counted"
            )

    def fresh(self, label: str, ids: Sequence[str], losses: Array) -> Array:
        """The losses of items that were not counted yet, in an order made of their ids."""
        seen = self._seen.setdefault(label, {})
        keys = [key_of(id) for id in ids]
        new = []
        for place, (key, loss) in enumerate(zip(keys, losses.tolist(), strict=True)):
            if key not in seen:
                new.append(place)
            elif seen[key] != loss:
                raise InputError(
                    f"item {ids[place]}", loss, f"the outcome that was counted: {seen[key]:g}",
                    "A changed model, or a new answer to a counted item, needs a state and items of its own",
                )  # fmt: skip
        if not new:
            return np.zeros(0)
        new = [new[place] for place in hash_order([keys[place] for place in new])]
        seen |= {keys[place]: float(losses[place]) for place in new}
        return np.asarray(losses[new])

    def keep(self, label: str, gate: AnytimeGate) -> None:
        """Put a gate back."""
        self._gates[label] = gate.state()

    def save(self) -> None:
        """Write the state, completely or not at all."""
        _write(self.path, {"kind": STATE, "settings": self.settings, "gates": self._gates, "seen": self._seen})
