"""Labelled texts from a CSV file: columns checked, exact duplicates removed and counted, one text per group used."""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from certiformer.core.errors import InputError

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Texts:
    """Distinct texts with class indices; `groups` where a group column was given."""

    texts: tuple[str, ...]
    labels: Labels
    names: tuple[str, ...]
    groups: tuple[str, ...] | None
    duplicates: int
    conflicting: int

    @property
    def hash(self) -> str:
        """SHA-256 of texts, labels and groups."""
        digest = hashlib.sha256()
        for index, text in enumerate(self.texts):
            group = "" if self.groups is None else self.groups[index]
            digest.update(f"{len(text)} {text}\x00{self.labels[index]}\x00{group}\x00".encode())
        return digest.hexdigest()


def read_texts(path: str | Path, *, text: str = "text", label: str = "label", group: str | None = None) -> Texts:
    """The rows of a CSV file with a header. Of equal texts the first is kept, whatever their labels say."""
    rows = rows_of(Path(path), [text, label, *([group] if group else [])])
    seen: dict[str, str] = {}
    kept: list[dict[str, str]] = []
    duplicates = conflicting = 0
    for row in rows:
        known = seen.get(row[text])
        if known is None:
            seen[row[text]] = row[label]
            kept.append(row)
        else:
            duplicates += 1
            conflicting += known != row[label]
    names = tuple(sorted({row[label] for row in kept}))
    if len(names) < 2:
        raise InputError("labels", list(names), "at least two classes", f"In column {label!r} of {path}")
    if len(names) > max(2, len(kept) // 10):
        raise InputError(
            "labels", f"{len(names)} different values in {len(kept)} texts", "classes", "Is this the label column?"
        )
    index = {name: number for number, name in enumerate(names)}
    return Texts(
        tuple(row[text] for row in kept),
        np.array([index[row[label]] for row in kept], np.int64),
        names,
        None if group is None else tuple(row[group] for row in kept),
        duplicates,
        conflicting,
    )


def rows_of(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The named columns of a CSV file with a header; rows with an empty one are left out."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(
                    f"column {missing[0]!r}",
                    "absent",
                    f"one of {', '.join(map(repr, reader.fieldnames or ()))}",
                    f"In {path}; name columns with --text, --label, --group",
                )
            found = [{name: row[name] or "" for name in columns} for row in reader]
    except OSError as error:
        raise InputError("texts", str(path), "a readable CSV file", str(error.strerror)) from error
    except csv.Error as error:
        raise InputError("texts", str(path), "a CSV file with a header", str(error)) from error
    found = [row for row in found if all(value.strip() for value in row.values())]
    if not found:
        raise InputError("texts", f"no rows in {path}", "labelled texts")
    return found


def chosen(data: Texts, most: int | None, seed: int) -> npt.NDArray[np.int64]:
    """Which texts are used, in random order: at most `most`, and one at random of every group.

    Texts of a group are not independent; one of each is a sample of groups, and the certificates speak of new groups.
    """
    order = np.random.default_rng([seed, 7]).permutation(len(data.texts))
    if data.groups is not None:
        first: dict[str, int] = {}
        for index in order:
            first.setdefault(data.groups[index], int(index))
        order = np.array(list(first.values()), np.int64)
    return order if most is None else order[:most]
