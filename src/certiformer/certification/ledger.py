"""A held-out set with a ledger: it answers with the feedback it was told to give, and prices what was learnt from it.

A folder: `log.jsonl`, the chain of hashes that may be published, and what stays with its keeper: `holdout.npz` (labels
and a salt) and the predictions that were handed in. Entry t names the model by the hash of its predictions, holds
the answer and the price that later claims pay, and seals the error count. A claim opens it, and closes the ledger.

The chain shows the order and completeness of what was logged. It cannot show that nobody looked at a private copy of
the labels, nor that a second chain was not dropped: keep the labels here only, and publish the first hash early.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.calculus.ladder import adaptive_upper, next_bit_nats, round_nats, value_nats
from certiformer.certification.sources.npz import read_npz
from certiformer.core.errors import InputError

KIND = "certiformer holdout"
FEEDBACK = ("ladder", "count", "levels", "none")
LOG, HOLDOUT = "log.jsonl", "holdout.npz"
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
    """A folder with a held-out set; every change is one line appended to the log."""

    folder: Path
    entries: tuple[Mapping[str, Any], ...]
    book: Book

    @staticmethod
    def new(
        folder: str | Path, labels: npt.ArrayLike, rules: Rules | None = None, *, not_checked: Sequence[str] = ()
    ) -> Ledger:
        """Take over the labels of a held-out set, in the order in which predictions will come."""
        place, own = Path(folder), rules or Rules()
        values = _whole("heldout_labels", labels)
        if len(values) == 0:
            raise InputError("heldout_labels", "no examples", "at least one held-out example")
        if (place / LOG).exists():
            raise InputError("ledger", str(place), "a new folder", "A ledger is never started again")
        place.mkdir(parents=True, exist_ok=True)
        salt = np.frombuffer(os.urandom(32), np.uint8)
        np.savez(place / HOLDOUT, labels=values, salt=salt)
        first = {
            "kind": KIND,
            "holdout": _sealed(salt, values.tobytes()),
            "m": len(values),
            "decision": "the class handed in, or the largest of the logits; ties are errors",
            "weights": "1/(t(t+1))",
            "delta": own.delta,
            "feedback": own.feedback,
            "step": own.step,
            "levels": own.levels,
            "not_checked": list(not_checked),
        }
        return Ledger(place, (), Book(own, len(values)))._append(first)

    @staticmethod
    def open(folder: str | Path) -> Ledger:
        """The ledger in a folder, its chain checked."""
        place = Path(folder)
        entries = read_log(place / LOG)
        rules = Rules(*(entries[0][name] for name in ("delta", "feedback", "step", "levels")))
        found = Ledger(place, entries, Book(rules, int(entries[0]["m"])))
        book = found.book
        if any("round" in entry and "claim" not in entry for entry in entries[1:]):
            labels, _ = found._secrets()
            for entry in entries[1:]:
                if "answer" in entry:
                    book = book.after(_errors(labels, found._predictions(int(entry["round"]))))
        return replace(found, book=book)

    @property
    def closed(self) -> bool:
        return "claim" in self.entries[-1]

    @property
    def head(self) -> str:
        """The hash of the last entry."""
        return _hash(self.entries[-1])

    def ask(self, predictions: npt.ArrayLike) -> tuple[Ledger, Answer]:
        """Hand in a model's predictions on the whole held-out set; classes (m,) or logits (m, classes)."""
        self._open_for("ask")
        values = np.asarray(predictions)
        labels, salt = self._secrets()
        errors = _errors(labels, values)
        book = self.book.after(errors)
        answer = book.answers[-1]
        np.save(self.folder / f"predictions-{answer.round}.npy", values)
        entry = {
            "round": answer.round,
            "model": hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest(),
            "answer": answer.says,
            "nats": answer.nats,
            "sealed": _sealed(salt, f"{answer.round}:{errors}".encode()),
        }
        return replace(self._append(entry), book=book), answer

    def claim(self, round: int | None = None) -> tuple[Ledger, Claim]:
        """Open the count of one round (the last, if none is named) and certify it. This closes the ledger."""
        self._open_for("claim")
        chosen = len(self.book.answers) if round is None else round
        if not 1 <= chosen <= len(self.book.answers):
            raise InputError("round", chosen, f"a round from 1 to {len(self.book.answers)}", "Hand a model in with ask")
        labels, _ = self._secrets()
        errors = _errors(labels, self._predictions(chosen))
        found = Claim(
            chosen,
            errors,
            self.book.m,
            self.book.price(chosen),
            self.book.limit(chosen, errors),
            self.book.rules.delta,
            tuple(self.entries[0].get("not_checked", ())),
        )
        return self._append({"claim": found.as_json()}), found

    def _open_for(self, what: str) -> None:
        if self.closed:
            raise InputError(
                what, "a closed ledger", "an open one", "A count was released: start again with fresh data"
            )

    def _append(self, entry: Mapping[str, Any]) -> Ledger:
        previous = self.head if self.entries else ""
        full = {"previous": previous, "time": datetime.now(UTC).isoformat(timespec="seconds"), **entry}
        with (self.folder / LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(full, sort_keys=True) + "\n")
            log.flush()
            os.fsync(log.fileno())
        return replace(self, entries=(*self.entries, full))

    def _secrets(self) -> tuple[Labels, npt.NDArray[np.uint8]]:
        arrays = read_npz(self.folder / HOLDOUT, ("labels", "salt"))
        return arrays["labels"], arrays["salt"]

    def _predictions(self, round: int) -> npt.NDArray[Any]:
        place = self.folder / f"predictions-{round}.npy"
        if not place.is_file():
            raise InputError("ledger", str(place), "the predictions of every round", "They stay beside the log")
        return np.asarray(np.load(place, allow_pickle=False))


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


def replay(folder: str | Path) -> Replay:
    """Chain, rules, answers, prices and the claim, from the log and, where they are there, labels and predictions."""
    place = Path(folder)
    entries = read_log(place / LOG)
    book = Book(Rules(*(entries[0][name] for name in ("delta", "feedback", "step", "levels"))), int(entries[0]["m"]))
    claimed = next((entry["claim"] for entry in entries if "claim" in entry), None)
    if not (place / HOLDOUT).is_file():
        return Replay(None if claimed is None else claimed["value"], None, (), ("the labels are not beside the log",))
    arrays = read_npz(place / HOLDOUT, ("labels", "salt"))
    labels, salt = arrays["labels"], arrays["salt"]
    wrong = []
    if _sealed(salt, labels.tobytes()) != entries[0]["holdout"]:
        wrong.append("the held-out labels are not those that the ledger began with")
    counts: dict[int, int] = {}
    for entry in entries[1:]:
        if "answer" not in entry:
            continue
        turn = int(entry["round"])
        values = np.load(place / f"predictions-{turn}.npy", allow_pickle=False)
        if hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest() != entry["model"]:
            wrong.append(f"the predictions of round {turn} are not those that were handed in")
        counts[turn] = _errors(labels, values)
        book = book.after(counts[turn])
        answer = book.answers[-1]
        if answer.round != turn or answer.says != entry["answer"] or not math.isclose(answer.nats, entry["nats"]):
            wrong.append(f"round {turn} was answered {entry['answer']}; the rules give {answer.says}")
        if _sealed(salt, f"{turn}:{counts[turn]}".encode()) != entry["sealed"]:
            wrong.append(f"the sealed count of round {turn} is another one")
    if claimed is None:
        return Replay(None, None, tuple(wrong), ("no claim was made yet",))
    turn = int(claimed["round"])
    value = book.limit(turn, counts[turn])
    if counts[turn] != claimed["errors"] or not math.isclose(value, claimed["value"], rel_tol=1e-9):
        wrong.append(f"the claim says {claimed['value']:.6g}, the ledger gives {value:.6g}")
    return Replay(float(claimed["value"]), value, tuple(wrong), ())


def read_log(path: Path) -> tuple[Mapping[str, Any], ...]:
    """The entries of a log; a broken chain is refused."""
    if not path.is_file():
        raise InputError("ledger", str(path.parent), "a folder with a ledger", "Begin with certiformer holdout new")
    try:
        entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError("ledger", str(path), "lines of JSON", str(error)) from error
    if not entries or entries[0].get("kind") != KIND:
        raise InputError("ledger", str(path), f"a log that begins with {KIND!r}")
    _checked_chain(entries, path)
    return tuple(entries)


def _checked_chain(entries: Sequence[Mapping[str, Any]], path: Path) -> None:
    previous = ""
    for number, entry in enumerate(entries):
        if entry.get("previous") != previous:
            raise InputError(
                "ledger", f"{path}, entry {number}", "the hash of the entry before it", "The log was changed"
            )
        previous = _hash(entry)


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
    if len(predictions) != len(labels):
        raise InputError(
            "predictions", f"{len(predictions)} rows", f"one for each of the {len(labels)} held-out examples"
        )
    if predictions.ndim == 2 and predictions.shape[1] > 1:
        if not np.all(np.isfinite(predictions)) or labels.max() >= predictions.shape[1] or labels.min() < 0:
            raise InputError("predictions", f"shape {predictions.shape}", "finite logits, a column for every class")
        rows = np.arange(len(labels))
        rest = predictions.astype(np.float64).copy()
        rest[rows, labels] = -np.inf
        return int(np.sum(predictions[rows, labels] <= np.max(rest, axis=1)))
    return int(np.sum(_whole("predictions", predictions) != labels))
