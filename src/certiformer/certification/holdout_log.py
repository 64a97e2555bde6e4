"""A held-out set with a ledger: it answers with the feedback it was told to give, and prices what was learnt from it.

A folder: `log.jsonl`, the chain of hashes that may be published, and what stays with its keeper: `holdout.npz` (labels,
a salt, and ids if there are some) and the predictions that were handed in, in the order of the labels. Entry t names
the model by the hash of its predictions, holds the answer and the price that later claims pay, and seals the error
count. A claim opens it, and closes the ledger.

The chain shows the order and completeness of what was logged. It cannot show that nobody looked at a private copy of
the labels, nor that a second chain was not dropped: keep the labels here only, publish the first hash early and later
heads (`log --head`) as they come; `verify --head` finds a chain from which a published entry is missing.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt

from certiformer.certification.sources.coding import decide, normal, shifted
from certiformer.certification.sources.repeats import as_text
from certiformer.certification.sources.rows import read_npz, rows_of_npy, whole
from certiformer.theory.calculus.ladder import adaptive_upper, next_bit_nats, round_nats, value_nats
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import NotJson, parse_json
from certiformer.theory.core.locks import NoLocking, locked
from certiformer.theory.core.schema import TEXTS, holding, violations
from certiformer.theory.core.whole_files import write_bytes
from certiformer.theory.measure.margins import margin_errors

KIND = "certiformer holdout"
FEEDBACK = ("ladder", "count", "levels", "none")
LOG, HOLDOUT = "log.jsonl", "holdout.npz"
RESTORE = "It was cut back: take it from a copy (a published head shows which is whole)"
Labels = npt.NDArray[Any]
"""Classes: whole numbers, or names."""
_TEXT, _COUNT, _NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_FIRST = holding(
    {
        "time": _TEXT, "kind": {"enum": [KIND]}, "holdout": _TEXT, "m": _COUNT, "delta": _NUMBER, "feedback": _TEXT,
        "step": _COUNT, "levels": _COUNT, "not_checked": TEXTS,
    }
)  # fmt: skip
_QUESTION = holding(
    {
        "time": _TEXT, "round": _COUNT, "model": _TEXT, "answer": {"type": ["boolean", "number", "null"]},
        "nats": _NUMBER, "sealed": _TEXT,
    }
)  # fmt: skip
_CLAIM = holding(
    {
        "time": _TEXT,
        "claim": holding({"round": _COUNT, "errors": _COUNT, "n": _COUNT, "nats": _NUMBER, "value": _NUMBER}),
    }
)
"""The entries of a log: the first, a question that was answered, and the claim that ends it."""


@dataclass(frozen=True)
class Rules:
    """Written down before the held-out set is read.

    ladder: "better" iff the errors fall by at least `step` below the best so far (at first: all wrong). count: the
    exact number of errors. levels: the error rate rounded up to one of `levels` values. none: nothing.
    """

    delta: float = 0.05
    feedback: str = "ladder"
    step: int = 1
    levels: int = 10

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < 1.0:
            raise InputError("delta", self.delta, "a number in (0, 1)")
        if self.feedback not in FEEDBACK:
            raise InputError("feedback", self.feedback, f"one of {', '.join(FEEDBACK)}")
        if self.step < 1 or self.levels < 1:
            raise InputError("step, levels", (self.step, self.levels), "whole numbers of at least 1")


@dataclass(frozen=True)
class Answer:
    """Round t: what was said, and what that costs everybody who claims a later model."""

    round: int
    says: int | float | bool | None
    nats: float


@dataclass(frozen=True)
class Book:
    """The rules, the size of the held-out set, and what was answered so far; the best count is secret."""

    rules: Rules
    m: int
    answers: tuple[Answer, ...] = ()
    best: int = -1

    def after(self, errors: int) -> Book:
        """The book when a model with this many errors was handed in and answered."""
        rules, asked = self.rules, len(self.answers)
        best = self.m if self.best < 0 else self.best
        says: int | float | bool | None
        if rules.feedback == "ladder":
            ones = sum(answer.says is True for answer in self.answers)
            says = errors <= best - rules.step
            nats, best = next_bit_nats(asked, ones, says), errors if says else best
        elif rules.feedback == "count":
            says, nats = errors, value_nats(self.m + 1)
        elif rules.feedback == "levels":
            # ceil(levels errors/m), in whole numbers; no errors belong to the first level.
            says, nats = max(1, -(-rules.levels * errors // self.m)) / rules.levels, value_nats(rules.levels)
        else:
            says, nats = None, 0.0
        return replace(self, answers=(*self.answers, Answer(asked + 1, says, nats)), best=best)

    def price(self, claim: int) -> float:
        """ln 1/w_t and the answers before round t, in nats."""
        return round_nats(claim) + math.fsum(answer.nats for answer in self.answers[: claim - 1])

    def limit(self, claim: int, errors: int) -> float:
        """The risk of the model of round `claim` is at most this, with probability 1 - delta for all rounds at once."""
        if not 1 <= claim <= len(self.answers):
            raise InputError("round", claim, f"a round from 1 to {len(self.answers)}")
        return adaptive_upper(errors, self.m, self.rules.delta, self.price(claim))


@dataclass(frozen=True)
class Claim:
    """What may be said of the model of one round."""

    round: int
    errors: int
    n: int
    nats: float
    value: float
    delta: float
    not_checked: tuple[str, ...] = ()

    @staticmethod
    def of(book: Book, round: int, errors: int, first: Mapping[str, Any]) -> Claim:
        """What the book says of a round with so many errors; `first` is the first entry of the log."""
        price, limit = book.price(round), book.limit(round, errors)
        return Claim(round, errors, book.m, price, limit, book.rules.delta, tuple(first["not_checked"]))

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the claim rests on and the chain cannot show."""
        return (
            "the held-out examples are independent draws from the population the claim is about",
            "nobody saw their labels, or a score on them, but through this ledger",
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "id": "holdout.ladder",
            "round": self.round,
            "errors": self.errors,
            "n": self.n,
            "nats": self.nats,
            "value": self.value,
            "confidence": 1.0 - self.delta,
            "conditions": list(self.conditions),
            "not_checked": list(self.not_checked),
        }


@dataclass(frozen=True, eq=False)
class Ledger:
    """A folder with a held-out set, as it was when it was opened; every change is one line appended to the log.

    A change holds a lock on the log, reads it again and appends: many processes may ask at once. Predictions are
    written before the entry that answers them, as pending; with the entry on the disk they get their own name. So
    predictions without an entry are a question that was never answered if they are pending, and a missing entry if not.
    """

    folder: Path
    entries: tuple[Mapping[str, Any], ...]
    book: Book

    @staticmethod
    def new(
        folder: str | Path,
        labels: npt.ArrayLike,
        rules: Rules | None = None,
        *,
        ids: npt.ArrayLike | None = None,
        not_checked: Sequence[str] = (),
    ) -> Ledger:
        """Keep the labels of a held-out set from now on; predictions are matched by `ids`, or else by their place."""
        place, own = Path(folder), rules or Rules()
        values = normal("heldout_labels", np.asarray(labels))
        names = None if ids is None else _names("heldout_ids", ids, len(values))
        if len(values) == 0:
            raise InputError("heldout_labels", "no examples", "at least one held-out example")
        place.mkdir(parents=True, exist_ok=True)
        with (place / LOG).open("ab") as log, locked(log, place / LOG):
            if log.seek(0, os.SEEK_END) > 0:  # somebody else may have begun it while this one waited
                raise InputError("ledger", str(place), "a new folder", "A ledger is never started again")
            held = _Held(values, np.frombuffer(os.urandom(32), np.uint8), names)
            content = io.BytesIO()
            arrays: dict[str, Any] = {"labels": values, "salt": held.salt}
            np.savez(content, **arrays if names is None else {**arrays, "ids": np.array(names)})
            write_bytes(place / HOLDOUT, content.getvalue())
            first = {
                "kind": KIND,
                "holdout": held.seal,
                "m": len(values),
                "decision": "the class handed in, or the largest of the logits; ties are errors",
                "weights": "1/(t(t+1))",
                **asdict(own),
                "not_checked": list(not_checked),
            }
            return Ledger(place, (), Book(own, len(values)))._append(log, first)

    @staticmethod
    def open(folder: str | Path) -> Ledger:
        """The ledger in a folder, its chain checked, and the predictions that were answered all there."""
        place = Path(folder)
        with _reading(place / LOG) as entries:
            return Ledger._of(place, entries)

    @staticmethod
    def _of(place: Path, entries: tuple[Mapping[str, Any], ...]) -> Ledger:
        if missing := _without_entry(place, entries):
            raise InputError(
                "ledger", str(place), "an entry for every question that was answered", f"{missing}. {RESTORE}"
            )
        book = _book(entries)
        asked = [entry for entry in entries if "answer" in entry]
        if asked:
            labels = _secrets(place, entries).labels
            for entry in asked:
                book = book.after(_errors(labels, _predictions(place, entry)))
        return Ledger(place, entries, book)

    @property
    def closed(self) -> bool:
        return "claim" in self.entries[-1]

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return _hash(self.entries[-1])

    def ask(self, predictions: npt.ArrayLike, ids: npt.ArrayLike | None = None) -> tuple[Ledger, Answer]:
        """Hand in a model's predictions on the whole held-out set; classes (m,) or logits (m, classes)."""
        values = np.asarray(predictions)
        values = normal("predictions", values) if values.dtype.kind == "O" else values
        with self._current("ask") as (now, log):
            held = _secrets(now.folder, now.entries)
            values = values if held.ids is None else held.ordered(values, ids)
            errors = _errors(held.labels, values)
            book = now.book.after(errors)
            answer = book.answers[-1]
            content = io.BytesIO()
            np.save(content, values, allow_pickle=False)
            entry = {
                "round": answer.round,
                "model": hashlib.sha256(content.getvalue()).hexdigest(),
                "answer": answer.says,
                "nats": answer.nats,
                "sealed": _sealed(held.salt, f"{answer.round}:{errors}".encode()),
            }
            pending, settled = _places(now.folder, entry)
            write_bytes(pending, content.getvalue())
            after = replace(now._append(log, entry), book=book)
            pending.rename(settled)
            return after, answer

    def claim(self, round: int | None = None) -> tuple[Ledger, Claim]:
        """Open the count of one round (the last, if none is named) and certify it. This closes the ledger."""
        with self._current("claim") as (now, log):
            book = now.book
            chosen = len(book.answers) if round is None else round
            if not 1 <= chosen <= len(book.answers):
                raise InputError("round", chosen, f"a round from 1 to {len(book.answers)}", "Hand a model in with ask")
            labels = _secrets(now.folder, now.entries).labels
            entry = next(entry for entry in now.entries if entry.get("round") == chosen)
            errors = _errors(labels, _predictions(now.folder, entry))
            found = Claim.of(book, chosen, errors, now.entries[0])
            return now._append(log, {"claim": found.as_json()}), found

    @contextmanager
    def _current(self, what: str) -> Iterator[tuple[Ledger, IO[bytes]]]:
        """The ledger as it is now, and its log, for this process alone."""
        path = self.folder / LOG
        with _opened(path, "r+b") as log, locked(log, path):
            now = Ledger._of(self.folder, _entries(path, log.read()))
            if now.closed:
                raise InputError(
                    what, "a closed ledger", "an open one", "A count was released: start again with fresh data"
                )
            for entry in now.entries:
                pending, settled = _places(self.folder, entry)
                if "answer" in entry and pending.exists() and not settled.exists():
                    pending.rename(settled)
            yield now, log

    def _append(self, log: IO[bytes], entry: Mapping[str, Any]) -> Ledger:
        previous = self.head if self.entries else ""
        full = {"previous": previous, "time": datetime.now(UTC).isoformat(timespec="seconds"), **entry}
        log.write(json.dumps(full, sort_keys=True).encode() + b"\n")
        log.flush()
        os.fsync(log.fileno())
        return replace(self, entries=(*self.entries, full))


@dataclass(frozen=True)
class Replay:
    """What checking a ledger again found: the claim as logged and as recomputed, and what could not be checked."""

    reported: float | None
    recomputed: float | None
    wrong: tuple[str, ...]
    unchecked: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        return not self.wrong

    def as_json(self) -> dict[str, Any]:
        row = {"id": "holdout.ladder", "reported": self.reported, "recomputed": self.recomputed, "agrees": self.agrees}
        return {
            "rows": [row] if self.reported is not None else [],
            "unchecked": [{"id": "holdout.ladder", "why": why} for why in self.unchecked],
            "wrong": list(self.wrong),
        }


def replay(folder: str | Path, head: str | None = None) -> Replay:
    """Chain, rules, answers, prices and the claim, from the log and, where they are there, labels and predictions.

    `head`, the hash of an entry that was published once, must be in the chain.
    """
    place = Path(folder)
    with _reading(place / LOG) as entries:
        return _replayed(place, entries, head)


def _replayed(place: Path, entries: tuple[Mapping[str, Any], ...], head: str | None) -> Replay:
    wrong = []
    if head is not None and head.lower() not in map(_hash, entries):
        wrong.append(f"the chain has no entry with the hash {head}: entries are missing, or it is another chain")
    claimed = entries[-1].get("claim")
    reported = None if claimed is None else float(claimed["value"])
    if not (place / HOLDOUT).is_file():
        return Replay(reported, None, tuple(wrong), ("the labels are not beside the log",))
    if missing := _without_entry(place, entries):
        wrong.append(missing)
    held = _secrets(place, entries)
    if held.seal != entries[0]["holdout"]:
        wrong.append("the held-out labels are not those that the ledger began with")
    book = _book(entries)
    counts: dict[int, int] = {}
    for entry in entries:
        if "answer" not in entry:
            continue
        turn = entry["round"]
        try:
            counts[turn] = _errors(held.labels, _predictions(place, entry))
        except InputError as error:
            return Replay(reported, None, (*wrong, f"round {turn} cannot be counted again: {error}"), ())
        book = book.after(counts[turn])
        answer = book.answers[-1]
        if answer.says != entry["answer"] or not math.isclose(answer.nats, entry["nats"]):
            wrong.append(f"round {turn} was answered {entry['answer']}; the rules give {answer.says}")
        if _sealed(held.salt, f"{turn}:{counts[turn]}".encode()) != entry["sealed"]:
            wrong.append(f"the sealed count of round {turn} is another one")
    if claimed is None:
        return Replay(None, None, tuple(wrong), ("no claim was made yet",))
    turn = claimed["round"]
    made = Claim.of(book, turn, counts[turn], entries[0]).as_json()
    for name in sorted({*made, *claimed}):
        said, again = claimed.get(name), made.get(name)
        close = isinstance(again, float) and isinstance(said, (int, float)) and math.isclose(said, again, rel_tol=1e-9)
        if said != again and not close:
            wrong.append(f"the claim says {name} {_told(said)}, the ledger gives {_told(again)}")
    return Replay(reported, made["value"], tuple(wrong), ())


def _told(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else json.dumps(value)


def read_log(path: Path) -> tuple[Mapping[str, Any], ...]:
    """The entries of a log; a broken chain is refused."""
    with _reading(path) as entries:
        return entries


@contextmanager
def _reading(path: Path) -> Iterator[tuple[Mapping[str, Any], ...]]:
    """The entries of a log that nobody changes meanwhile, as far as the file system can promise that."""
    with _opened(path, "rb") as log, ExitStack() as held:
        with suppress(NoLocking):
            held.enter_context(locked(log, path, shared=True))
        yield _entries(path, log.read())


def repair(folder: str | Path) -> str:
    """Remove a last line that a crash cut off, and say what it was; "" where there is none.

    The answer to a cut-off entry was never given. Where its predictions say that it was, nothing is removed.
    """
    place = Path(folder)
    path = place / LOG
    with _opened(path, "r+b") as log, locked(log, path):
        text = log.read()
        kept = text.rfind(b"\n") + 1
        torn = text[kept:]
        if not torn:
            return ""
        entries = _entries(path, text[:kept]) if kept else ()
        if entries and (missing := _without_entry(place, entries)):
            raise InputError("ledger", str(path), "a last line whose answer was never given", f"{missing}. {RESTORE}")
        log.truncate(kept)
        os.fsync(log.fileno())
        return torn.decode("utf-8", errors="backslashreplace")


def _opened(path: Path, mode: str) -> IO[bytes]:
    if not path.is_file():
        raise InputError("ledger", str(path.parent), "a folder with a ledger", "Begin with certiformer holdout new")
    try:
        return cast(IO[bytes], path.open(mode))
    except OSError as error:
        raise InputError("ledger", str(path), "a file that can be used", error.strerror or str(error)) from error


def _entries(path: Path, text: bytes) -> tuple[Mapping[str, Any], ...]:
    """The lines of a log: each of the expected shape, and each with the hash of the one before it."""
    lines = text.split(b"\n")
    if lines.pop():
        raise InputError(
            "ledger",
            str(path),
            "complete lines",
            f"The last one is cut off: `certiformer holdout repair {path.parent}` shows and removes it",
        )
    entries: list[Mapping[str, Any]] = []
    previous, rounds = "", 0
    for number, line in enumerate(lines):
        where = f"{path}, entry {number}"
        try:
            entry = parse_json(line)
        except NotJson as error:
            raise InputError("ledger", where, "a line of JSON", str(error)) from None
        if entry.get("previous") != previous:
            raise InputError("ledger", where, "the hash of the entry before it", "The log was changed")
        rounds += "answer" in entry
        if not _sound(entry, number, rounds, number == len(lines) - 1):
            raise InputError("ledger", where, "an entry as `certiformer holdout` writes it", "The log was changed")
        entries.append(entry)
        previous = _hash(entry)
    if not entries:
        raise InputError("ledger", str(path), f"a log that begins with {KIND!r}")
    return tuple(entries)


def _sound(entry: Mapping[str, Any], number: int, rounds: int, last: bool) -> bool:
    """Whether an entry has the fields and types of its kind, at this place of the log."""
    asked = "answer" in entry
    if any(violations(entry, _FIRST if number == 0 else _QUESTION if asked else _CLAIM)):
        return False
    if number == 0:
        return bool(entry["m"] >= 1)
    if asked:
        return entry["round"] == rounds and len(entry["model"]) == 64 and entry["model"].isalnum()
    return last and 1 <= entry["claim"]["round"] <= rounds


def _book(entries: Sequence[Mapping[str, Any]]) -> Book:
    first = entries[0]
    return Book(Rules(*(first[name] for name in ("delta", "feedback", "step", "levels"))), first["m"])


def _places(folder: Path, entry: Mapping[str, Any]) -> tuple[Path, Path]:
    """Where the predictions of an entry are before and after it was written."""
    name = f"{entry.get('round')}-{entry.get('model')}.npy"
    return folder / f"pending-{name}", folder / f"predictions-{name}"


def _without_entry(folder: Path, entries: Sequence[Mapping[str, Any]]) -> str:
    """Predictions that were answered and have no entry in the log: it was cut back. In words; "" if there are none."""
    known = {_places(folder, entry)[1].name for entry in entries}
    lost = sorted(path.name for path in folder.glob("predictions-*.npy") if path.name not in known)
    if not lost:
        return ""
    return f"The log has no entry for {', '.join(lost[:3])}{' ...' if len(lost) > 3 else ''}, which was answered"


def _predictions(folder: Path, entry: Mapping[str, Any]) -> npt.NDArray[Any]:
    """What was handed in, with the hash that the entry names."""
    place = next((path for path in _places(folder, entry)[::-1] if path.is_file()), None)
    if place is None:
        raise InputError(
            "ledger", _places(folder, entry)[1].name, "the predictions of every round", "They stay beside the log"
        )
    content = place.read_bytes()
    if hashlib.sha256(content).hexdigest() != entry["model"]:
        raise InputError("ledger", place.name, "the predictions that were handed in", "The file was changed")
    return whole(rows_of_npy(place.name, lambda: io.BytesIO(content), len(content)))


@dataclass(frozen=True, eq=False)
class _Held:
    """What only the keeper of a held-out set has."""

    labels: Labels
    salt: npt.NDArray[np.uint8]
    ids: list[str] | None

    @property
    def seal(self) -> str:
        """The hash by which the log names the labels, and their ids."""
        return _sealed(self.salt, self.labels.tobytes() + "\n".join(self.ids or ()).encode())

    def ordered(self, predictions: npt.NDArray[Any], ids: npt.ArrayLike | None) -> npt.NDArray[Any]:
        """The predictions in the order of the labels."""
        mine = self.ids or []
        if ids is None:
            fix = "Give the column of ids: --id COLUMN, or an array heldout_ids"
            raise InputError("predictions", "no ids", "the ids of the labels, by which they are matched", fix)
        given = _names("ids of the predictions", ids, len(predictions))
        if missing := sorted(set(mine) - set(given)) or sorted(set(given) - set(mine)):
            of = "no prediction for" if missing[0] in set(mine) else "a prediction for an unknown"
            raise InputError("predictions", f"{of} id {missing[0]!r}", "one for each of the labels")
        places = {name: place for place, name in enumerate(given)}
        return predictions[[places[name] for name in mine]]


def _names(what: str, ids: npt.ArrayLike, n: int) -> list[str]:
    """Different ids, one for each row."""
    found = as_text(np.asarray(ids))
    if len(found) != n or len(set(found)) < n:
        raise InputError(what, f"{len(found)}, {len(set(found))} different", f"a different one for each of {n} rows")
    return found


def _secrets(folder: Path, entries: Sequence[Mapping[str, Any]]) -> _Held:
    """The labels of a held-out set, the salt, and the ids if there are some."""
    arrays = read_npz(folder / HOLDOUT, ("labels", "salt", "ids"))
    if set(arrays) - {"ids"} != {"labels", "salt"} or arrays["salt"].dtype != np.uint8:
        raise InputError("ledger", str(folder / HOLDOUT), "the labels and the salt of a ledger")
    labels = normal("labels", arrays["labels"])
    if len(labels) != entries[0]["m"]:
        raise InputError("ledger", f"{len(labels)} labels in {folder / HOLDOUT}", f"{entries[0]['m']}, as logged")
    return _Held(labels, arrays["salt"], _names("ids", arrays["ids"], len(labels)) if "ids" in arrays else None)


def _hash(entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def _sealed(salt: npt.NDArray[np.uint8], content: bytes) -> str:
    return hashlib.sha256(salt.tobytes() + content).hexdigest()


def _errors(labels: Labels, predictions: npt.NDArray[Any]) -> int:
    """Wrong classes, or logits whose largest is not that of the label alone."""
    if predictions.ndim == 0 or len(predictions) != len(labels):
        raise InputError(
            "predictions", f"shape {predictions.shape}", f"one for each of the {len(labels)} held-out examples"
        )
    if predictions.ndim > 1:
        if labels.dtype.kind == "U" or predictions.dtype.kind not in "fiub" or predictions.ndim > 2:
            expected = "one class per example" + (", by name" if labels.dtype.kind == "U" else ", or logits")
            raise InputError("predictions", f"type {predictions.dtype}, shape {predictions.shape}", expected)
        if not np.all(np.isfinite(predictions)) or labels.max() >= predictions.shape[1] or labels.min() < 0:
            raise InputError("predictions", f"shape {predictions.shape}", "finite logits, a column for every class")
        return margin_errors(predictions, labels, 0.0)
    classes = normal("predictions", predictions)
    if "U" in (labels.dtype.kind, classes.dtype.kind):
        found = decide(set(labels.tolist()), set(classes.tolist()), columns=None, classes=None, abstain=None)
        return int(np.sum(found.code("labels", labels) != found.code("predictions", classes)))
    if classes.min() < 0 <= labels.min():
        raise InputError(
            "predictions", int(classes.min()), "one coding for labels and predictions: the labels are not negative",
            "A model that gives no answer may say any number that is no class, such as 999",
        )  # fmt: skip
    if shifted(set(labels.tolist()), set(classes.tolist())) is not None:
        raise InputError(
            "predictions", f"{classes.min()} to {classes.max()}, beside labels {labels.min()} to {labels.max()}",
            "one coding for labels and predictions", "One counts from 0 and the other from 1: write them alike",
        )  # fmt: skip
    return int(np.sum(classes != labels))
