"""A held-out set with a ledger: it answers with the feedback it was told to give, and prices what was learnt from it.

A folder: `log.jsonl`, the chain of hashes that may be published, and what stays with its keeper: `holdout.npz` (labels
and a salt) and the predictions that were handed in. Entry t names the model by the hash of its predictions, holds
the answer and the price that later claims pay, and seals the error count. A claim opens it, and closes the ledger.

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

from certiformer.certification.sources.rows import read_npz, rows_of_npy, whole
from certiformer.theory.calculus.ladder import adaptive_upper, next_bit_nats, round_nats, value_nats
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import NotJson, parse_json
from certiformer.theory.core.locks import NoLocking, locked
from certiformer.theory.core.whole_files import write_bytes
from certiformer.theory.measure.margins import margin_errors

KIND = "certiformer holdout"
FEEDBACK = ("ladder", "count", "levels", "none")
LOG, HOLDOUT = "log.jsonl", "holdout.npz"
ANSWERS = (bool, int, float, type(None))
RESTORE = "It was cut back: take it from a copy (a published head shows which is whole)"
Types = Mapping[str, type | tuple[type, ...]]
Labels = npt.NDArray[np.int64]


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
        folder: str | Path, labels: npt.ArrayLike, rules: Rules | None = None, *, not_checked: Sequence[str] = ()
    ) -> Ledger:
        """Keep the labels of a held-out set from now on, in the order in which predictions will come."""
        place, own = Path(folder), rules or Rules()
        values = _whole("heldout_labels", labels)
        if len(values) == 0:
            raise InputError("heldout_labels", "no examples", "at least one held-out example")
        place.mkdir(parents=True, exist_ok=True)
        with (place / LOG).open("ab") as log, locked(log, place / LOG):
            if log.tell() > 0:
                raise InputError("ledger", str(place), "a new folder", "A ledger is never started again")
            salt = np.frombuffer(os.urandom(32), np.uint8)
            content = io.BytesIO()
            np.savez(content, labels=values, salt=salt)
            write_bytes(place / HOLDOUT, content.getvalue())
            first = {
                "kind": KIND,
                "holdout": _sealed(salt, values.tobytes()),
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
            labels, _ = _secrets(place, entries)
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

    def ask(self, predictions: npt.ArrayLike) -> tuple[Ledger, Answer]:
        """Hand in a model's predictions on the whole held-out set; classes (m,) or logits (m, classes)."""
        values = np.asarray(predictions)
        with self._current("ask") as (now, log):
            labels, salt = _secrets(now.folder, now.entries)
            errors = _errors(labels, values)
            book = now.book.after(errors)
            answer = book.answers[-1]
            content = io.BytesIO()
            np.save(content, values, allow_pickle=False)
            entry = {
                "round": answer.round,
                "model": hashlib.sha256(content.getvalue()).hexdigest(),
                "answer": answer.says,
                "nats": answer.nats,
                "sealed": _sealed(salt, f"{answer.round}:{errors}".encode()),
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
            labels, _ = _secrets(now.folder, now.entries)
            entry = next(entry for entry in now.entries if entry.get("round") == chosen)
            errors = _errors(labels, _predictions(now.folder, entry))
            found = Claim(
                chosen,
                errors,
                book.m,
                book.price(chosen),
                book.limit(chosen, errors),
                book.rules.delta,
                tuple(now.entries[0]["not_checked"]),
            )
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
    labels, salt = _secrets(place, entries)
    if _sealed(salt, labels.tobytes()) != entries[0]["holdout"]:
        wrong.append("the held-out labels are not those that the ledger began with")
    book = _book(entries)
    counts: dict[int, int] = {}
    for entry in entries:
        if "answer" not in entry:
            continue
        turn = entry["round"]
        try:
            counts[turn] = _errors(labels, _predictions(place, entry))
        except InputError as error:
            return Replay(reported, None, (*wrong, f"round {turn} cannot be counted again: {error}"), ())
        book = book.after(counts[turn])
        answer = book.answers[-1]
        if answer.says != entry["answer"] or not math.isclose(answer.nats, entry["nats"]):
            wrong.append(f"round {turn} was answered {entry['answer']}; the rules give {answer.says}")
        if _sealed(salt, f"{turn}:{counts[turn]}".encode()) != entry["sealed"]:
            wrong.append(f"the sealed count of round {turn} is another one")
    if claimed is None:
        return Replay(None, None, tuple(wrong), ("no claim was made yet",))
    turn = claimed["round"]
    value = book.limit(turn, counts[turn])
    if counts[turn] != claimed["errors"] or not math.isclose(value, claimed["value"], rel_tol=1e-9):
        wrong.append(f"the claim says {claimed['value']:.6g}, the ledger gives {value:.6g}")
    return Replay(reported, value, tuple(wrong), ())


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

    def has(types: Types, fields: Mapping[str, Any] = entry) -> bool:
        return all(
            name in fields and isinstance(fields[name], kind) and (isinstance(fields[name], bool) <= (kind is ANSWERS))
            for name, kind in types.items()
        )

    if not has({"time": str}):
        return False
    if number == 0:
        fields: dict[str, type] = {
            "kind": str,
            "holdout": str,
            "m": int,
            "delta": float,
            "feedback": str,
            "step": int,
            "levels": int,
        }
        fields["not_checked"] = list
        return has(fields) and entry["kind"] == KIND and entry["m"] >= 1
    if "answer" in entry:
        kinds: Types = {"round": int, "model": str, "answer": ANSWERS, "nats": (int, float), "sealed": str}
        return has(kinds) and entry["round"] == rounds and len(entry["model"]) == 64 and entry["model"].isalnum()
    claim = entry.get("claim")
    numbers: Types = {"round": int, "errors": int, "n": int, "nats": (int, float), "value": (int, float)}
    return last and isinstance(claim, Mapping) and has(numbers, claim) and 1 <= claim["round"] <= rounds


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


def _secrets(folder: Path, entries: Sequence[Mapping[str, Any]]) -> tuple[Labels, npt.NDArray[np.uint8]]:
    """The labels and the salt of a held-out set."""
    arrays = read_npz(folder / HOLDOUT, ("labels", "salt"))
    if set(arrays) != {"labels", "salt"} or arrays["salt"].dtype != np.uint8:
        raise InputError("ledger", str(folder / HOLDOUT), "the labels and the salt of a ledger")
    labels = _whole("labels", arrays["labels"])
    if len(labels) != entries[0]["m"]:
        raise InputError("ledger", f"{len(labels)} labels in {folder / HOLDOUT}", f"{entries[0]['m']}, as logged")
    return labels, arrays["salt"]


def _hash(entry: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def _sealed(salt: npt.NDArray[np.uint8], content: bytes) -> str:
    return hashlib.sha256(salt.tobytes() + content).hexdigest()


def _whole(name: str, values: npt.ArrayLike) -> Labels:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "fiub" or not np.all(array == np.round(array)):
        raise InputError(name, f"type {array.dtype}, shape {array.shape}", "one whole number (a class) per example")
    return array.astype(np.int64)


def _errors(labels: Labels, predictions: npt.NDArray[Any]) -> int:
    """Wrong classes, or logits whose largest is not that of the label alone."""
    if predictions.dtype.kind not in "fiub" or predictions.ndim == 0:
        raise InputError("predictions", f"type {predictions.dtype}", "classes or logits, one row per example")
    if len(predictions) != len(labels):
        raise InputError(
            "predictions", f"{len(predictions)} rows", f"one for each of the {len(labels)} held-out examples"
        )
    if predictions.ndim == 2 and predictions.shape[1] > 1:
        if not np.all(np.isfinite(predictions)) or labels.max() >= predictions.shape[1] or labels.min() < 0:
            raise InputError("predictions", f"shape {predictions.shape}", "finite logits, a column for every class")
        return margin_errors(predictions, labels, 0.0)
    classes = _whole("predictions", predictions)
    if classes.min() < 0 <= labels.min():
        raise InputError(
            "predictions", int(classes.min()), "one coding for labels and predictions: the labels are not negative",
            "A model that gives no answer may say any number that is no class, such as 999",
        )  # fmt: skip
    return int(np.sum(classes != labels))
