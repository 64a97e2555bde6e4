"""Labelled texts from a table: columns checked, every row used or refused, one text of each group drawn."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from csv import field_size_limit
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from certiformer.certification.declaration import Repeats
from certiformer.certification.sources import files
from certiformer.certification.sources.repeats import components, hashes
from certiformer.certification.sources.table import NO_VALUES, is_missing
from certiformer.theory.core.errors import InputError

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Texts:
    """All rows of a file: texts, class indices, and what belongs together.

    `groups` are the units of which one text each is used; None where every row is a unit. `of` says what the units are.
    `repeated` rows have a text that occurred before, `conflicting` of them with another label; `natural` repeats are
    independent draws, as the caller says.
    """

    texts: tuple[str, ...]
    labels: Labels
    names: tuple[str, ...]
    groups: tuple[str, ...] | None
    of: str
    repeated: int
    conflicting: int
    natural: int

    @property
    def hash(self) -> str:
        """SHA-256 of texts, labels and groups."""
        digest = hashlib.sha256()
        for index, text in enumerate(self.texts):
            group = "" if self.groups is None else self.groups[index]
            digest.update(f"{len(text)} {text}\x00{self.labels[index]}\x00{group}\x00".encode())
        return digest.hexdigest()

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the caller says of texts that repeat."""
        if not self.natural:
            return ()
        return (f"the {self.natural} repeated texts are independent draws of a stream that really repeats",)


def read_texts(
    path: str | Path,
    *,
    text: str = "text",
    label: str = "label",
    group: str | None = None,
    repeats: Repeats = "refuse",
) -> Texts:
    """The rows of a CSV file with a header, none left out.

    Texts that repeat are refused; with `repeats="group"` rows of one text are one unit, with "natural" they are
    independent draws. A text in two groups joins them.
    """
    columns = _columns(path, [text, label, *([group] if group else [])])
    for name, cells in columns.items():
        empty = [row for row, cell in enumerate(cells, 2) if (not cell.strip() if name == text else is_missing(cell))]
        if empty:
            raise InputError(
                f"column {name!r}",
                f"{len(empty)} of {len(cells)} rows empty, the first in line {empty[0]}",
                "a value in every row",
                f"In {path}. Label these rows, or leave them out and say so: the claim is then about the others",
            )
    texts, labels = columns[text], columns[label]
    for name in (label, *([group] if group else [])):
        if odd := sorted(set(columns[name]) & NO_VALUES):
            fix = f"It is what some programs write where there is none. If it is one, write it out in {path}"
            raise InputError(f"column {name!r}", odd[0], "a value in every row", fix)
    names = tuple(sorted(set(labels)))
    if len(names) < 2:
        raise InputError("labels", list(names), "at least two classes", f"In column {label!r} of {path}")
    if len(names) > max(2, len(texts) // 10):
        raise InputError(
            "labels", f"{len(names)} different values in {len(texts)} texts", "classes", "Is this the label column?"
        )
    keys = [digest.hex() for digest in hashes(np.array(texts, dtype=object))]
    first = {key: row for row, key in reversed(list(enumerate(keys)))}
    repeated = len(keys) - len(first)
    conflicting = sum(labels[first[key]] != labels[row] for row, key in enumerate(keys))
    groups, of, natural = _units(columns[group] if group else None, keys, repeats, repeated, conflicting)
    index = {name: number for number, name in enumerate(names)}
    codes = np.array([index[one] for one in labels], np.int64)
    return Texts(tuple(texts), codes, names, groups, of, repeated, conflicting, natural)


def _units(
    groups: Sequence[str] | None, keys: Sequence[str], repeats: Repeats, repeated: int, conflicting: int
) -> tuple[tuple[str, ...] | None, str, int]:
    """What one text each is drawn from, what the claim is about, and how many repeats are independent draws."""
    if repeats not in ("refuse", "group", "natural"):
        raise InputError("repeats", repeats, '"refuse", "group" or "natural"')
    crossing = repeated if groups is None else len(set(zip(keys, groups, strict=True))) - len(set(keys))
    if crossing and repeats == "refuse":
        raise InputError(
            "texts",
            f"{repeated} of {len(keys)} rows repeat another text, {conflicting} of them with another label"
            if groups is None
            else f"{crossing} texts stand in more than one group",
            "independent texts",
            'Say repeats="group" (--repeats group) to use one row of each text: the claim is then about new distinct '
            'texts; or repeats="natural" (--repeats natural) if these are independent draws of a stream that repeats',
        )
    if groups is None:
        return (tuple(keys), "distinct texts", 0) if repeats == "group" and repeated else (None, "examples", crossing)
    if repeats == "group" and crossing:
        return tuple(components([list(keys), list(groups)]).tolist()), "groups that share no text", 0
    return tuple(groups), "groups", crossing


def _columns(path: str | Path, names: Sequence[str]) -> dict[str, list[str]]:
    if not Path(path).is_file():
        raise InputError("texts", str(path), "an existing CSV file")
    field_size_limit(min(sys.maxsize, 2**31 - 1))  # mails are long
    found = files.read_csv(Path(path)).columns
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(
            f"column {missing[0]!r}",
            "absent",
            f"one of {', '.join(map(repr, found))}",
            f"In {path}; name columns with --text, --label, --group",
        )
    if not found[names[0]]:
        raise InputError("texts", f"no rows in {path}", "labelled texts")
    return {name: [str(cell) for cell in found[name]] for name in names}


def column_of(path: str | Path, name: str) -> list[str]:
    """One column, every row of it."""
    return _columns(path, [name])[name]


def chosen(data: Texts, seed: int) -> npt.NDArray[np.int64]:
    """Which texts are used, in random order: one at random of every group.

    Texts of a group are not independent; one of each is a sample of groups, and the certificates speak of new groups.
    """
    order = np.random.default_rng([seed, 7]).permutation(len(data.texts))
    if data.groups is not None:
        first: dict[str, int] = {}
        for index in order:
            first.setdefault(data.groups[index], int(index))
        order = np.array(list(first.values()), np.int64)
    return order
