"""One coding for labels and predictions, decided from both together.

Class indices 0..K-1, signs, indices 1..K and names are understood; a mixture (labels 0/1, predictions -1/+1) is
refused, because 100 abstentions once counted as 100 right answers. What was decided is said in the report.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.sources.rows import Rows, block_rows
from certiformer.certification.split import whole_numbers
from certiformer.theory.core.errors import InputError

Value = int | str
MOST_NAMED = 10
"""More classes than these are not listed in an option to paste."""


@dataclass(frozen=True)
class Coding:
    """`codes` sends a label as given to its class; `abstain` is the prediction that is no answer, always an error."""

    codes: dict[Value, int]
    classes: int
    said: str
    abstain: Value | None = None

    def code(self, name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Classes of the values; -1 for an abstention."""
        distinct, index = np.unique(normal(name, values), return_inverse=True)
        codes = np.empty(len(distinct), np.int64)
        for place, value in enumerate(distinct.tolist()):
            if value in self.codes:
                codes[place] = self.codes[value]
            elif self.abstain is not None and value == self.abstain:
                codes[place] = -1
            else:
                raise InputError(name, value, f"one of the classes {preview(self.codes)}")
        return codes[index]


def normal(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole numbers as int64, names as text without outer blanks."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(name, f"shape {values.shape}", "one value per example")
    if values.dtype.kind in "US":
        return np.char.strip(values.astype(str))
    if values.dtype.kind == "O":
        cells = values.tolist()
        if all(isinstance(cell, str) for cell in cells):
            return np.char.strip(np.array(cells, dtype=str))
        raise InputError(name, "objects of several kinds", "names, or whole numbers")
    if not whole_numbers(values):
        raise InputError(
            name,
            f"type {values.dtype}, shape {values.shape}",
            "one whole number or name per example",
            "A number to regress on is certified by its losses: heldout_losses, with low and high, or clip",
        )
    return values.astype(np.int64)


def distinct(name: str, rows: Rows) -> set[Value]:
    """The distinct values of a column, read in blocks."""
    found: set[Value] = set()
    for block in rows.blocks(block_rows(rows)):
        found |= set(np.unique(normal(name, block)).tolist())
        if len(found) > 100_000:
            raise InputError(name, "more than 100,000 different values", "classes", "Is it a number to regress on?")
    return found


def preview(values: Iterable[Any]) -> str:
    shown = [repr(value) for value in list(values)[:8]]
    return ", ".join(shown) + (", ..." if len(list(values)) > 8 else "")


def decide(
    labels: set[Value],
    predictions: set[Value] | None,
    *,
    columns: int | None,
    classes: int | Sequence[str] | None,
    abstain: Value | None,
) -> Coding:
    """The coding of labels (of all parts) and of hard predictions, or of `columns` of outputs."""
    if classes is not None and not isinstance(classes, int):
        sides = (labels, (predictions or set()) - {abstain})
        return _named([str(name) for name in classes], columns, abstain, sides)
    if abstain is not None and abstain in labels:
        raise InputError(
            "abstain", abstain, "an answer that is no true label",
            "Where it is the label, it would be right and no answer at once",
        )  # fmt: skip
    together = labels | ((predictions or set()) - {abstain})
    texts = {value for value in together if isinstance(value, str)}
    if predictions is not None:
        _refuse_names_beside_numbers(labels, predictions - {abstain})
    if texts and len(texts) < len(together):
        if labels and len({type(value) for value in labels}) == 1 and predictions:
            raise InputError(
                "labels, predictions", f"text {preview(sorted(texts))} beside numbers", "one coding for both",
                "Use numbers for both",
            )  # fmt: skip
        raise InputError("labels", preview(sorted(map(str, together))), "names, or numbers, not both")
    if texts:
        return _texts(sorted(map(str, together)), labels, predictions, columns, classes, abstain)
    numbers = sorted(int(value) for value in together)
    if columns is not None or (classes is not None and predictions is None):
        count = columns if columns is not None else int(classes or 2)
        return _columns(numbers, count, abstain)
    return _hard({int(v) for v in labels}, {int(v) for v in (predictions or set()) - {abstain}}, classes, abstain)


def _refuse_names_beside_numbers(labels: set[Value], predictions: set[Value]) -> None:
    """Numbers on one side and names on the other: the caller says which number is which name."""
    numbers, named = (
        (labels, predictions) if all(_place(value) is not None for value in labels) else (predictions, labels)
    )
    places = [_place(value) for value in numbers]
    if None in places or any(_place(value) is not None for value in named) or not named:
        return
    names = sorted(map(str, named), key=lambda name: (len(name), name))
    last = max(place or 0 for place in places)
    if all(re.fullmatch(r"LABEL_[0-9]+", name) for name in names):  # as pipelines of Hugging Face call class k
        names = [f"LABEL_{k}" for k in range(max(last, *(int(name[6:]) for name in names)) + 1)]
    named_all = len(names) == last + 1 <= MOST_NAMED
    order, first, second = (
        (",".join(names), *[*names, "the next"][:2]) if named_all else ("NAME,NAME,...", "NAME", "the next")
    )
    raise InputError(
        "labels, predictions", f"names {preview(names)} beside numbers", "one coding for both",
        f"Use names for both, or numbers for both; or, if 0 means {first}, 1 {second} and so on, say --classes "
        f"{quote(order)}",
    )  # fmt: skip


def _place(value: Value) -> int | None:
    """The whole number from 0 on that a value is, also as text; None for a name."""
    text = str(value)
    return int(text.partition(".")[0]) if re.fullmatch(r"[0-9]{1,9}(\.0*)?", text) else None


def _named(names: list[str], columns: int | None, abstain: Value | None, sides: Sequence[set[Value]]) -> Coding:
    if len(set(names)) < len(names) or len(names) < 2:
        raise InputError("classes", names, "at least two different names")
    if columns is not None and columns != len(names):
        raise InputError("classes", f"{len(names)} names", f"one for each of {columns} columns")
    codes: dict[Value, int] = {name: place for place, name in enumerate(names)}
    if all(name.lstrip("+-").isdigit() for name in names):
        codes |= {int(name): place for place, name in enumerate(names)}
    elif set(names) == {"False", "True"}:
        codes |= {0: names.index("False"), 1: names.index("True")}
    elif all(_place(name) is None for name in names):
        # Numbers that begin with 0 are places in the order of the names; what begins with 1 may be another coding.
        for side in sides:
            places = {value: _place(value) for value in side}
            if None not in places.values() and 0 in places.values():
                codes |= {value: place for value, place in places.items() if place is not None and place < len(names)}
    return Coding(codes, len(names), f"classes by name: {', '.join(names[:8])}", abstain)


def _texts(
    names: list[str],
    labels: set[Value],
    predictions: set[Value] | None,
    columns: int | None,
    classes: int | None,
    abstain: Value | None,
) -> Coding:
    if columns is not None:
        raise InputError(
            "labels",
            f"names ({preview(names)}) beside columns of numbers",
            "the names of the columns in order",
            "Say classes=[...] (--classes ham,spam)",
        )
    if predictions is not None and not labels & predictions:
        raise InputError(
            "predictions",
            preview(sorted(map(str, predictions))),
            f"some of the labels {preview(sorted(map(str, labels)))}",
            "Use the same names, or the same numbers, for both; of probabilities or scores, the class that they choose",
        )
    if predictions is not None:
        _refuse_spellings(set(map(str, labels)), set(map(str, predictions)))
    count = max(2, len(labels), classes or 0)
    return Coding({name: place for place, name in enumerate(names)}, count, f"{len(names)} names", abstain)


def _refuse_spellings(labels: set[str], predictions: set[str]) -> None:
    """A prediction that is no label, but would be one in other letters: nobody says whether it is right."""
    alike = {_spelling(name): name for name in labels}
    for name in sorted(predictions - labels):
        if _spelling(name) in alike:
            raise InputError(
                "predictions", f"{name!r} beside the label {alike[_spelling(name)]!r}", "one spelling for both",
                "Write them alike; or say yourself what is right, in a column `correct`",
            )  # fmt: skip


def _spelling(name: str) -> str:
    """A name whatever its capitals, its accents' form and what stands between its words; a number without zeros."""
    if name.isdecimal():
        return "".join(str(int(digit)) for digit in name).lstrip("0") or "0"
    return " ".join(re.split(r"[\s_-]+", unicodedata.normalize("NFKC", name).casefold()))


def _columns(numbers: list[int], count: int, abstain: Value | None) -> Coding:
    """Labels beside columns: indices from 0, from 1 if the last index occurs and 0 does not, or signs."""
    if count == 2 and -1 in numbers and set(numbers) <= {-1, 1}:
        return Coding({-1: 0, 1: 1}, 2, "signs -1 and +1", abstain)
    if all(0 <= k < count for k in numbers):
        return Coding({k: k for k in numbers}, count, f"classes 0 to {count - 1}", abstain)
    if all(1 <= k <= count for k in numbers):
        return Coding({k: k - 1 for k in numbers}, count, f"classes 1 to {count}", abstain)
    odd = sorted({k for k in numbers if not 0 <= k < count})
    allowed = f"class indices 0 to {count - 1} (or 1 to {count})" + (" or signs -1 and +1" if count == 2 else "")
    raise InputError("labels", odd[:5], allowed)


def _hard(labels: set[int], predictions: set[int], classes: int | None, abstain: Value | None) -> Coding:
    together = labels | predictions
    if together <= {-1, 1}:
        return Coding({-1: 0, 1: 1}, 2, "signs -1 and +1", abstain)
    if any(value < 0 for value in together):
        negative = sorted(value for value in together if value < 0)
        raise InputError(
            "labels, predictions",
            f"{negative[0]} beside labels {preview(sorted(labels))}",
            "one coding for both: class indices, or signs for both",
            f"If {negative[0]} means that the model abstained, say abstain={negative[0]} (--abstain {negative[0]}): it "
            "is then counted as an error",
        )
    _refuse_shifted(labels, predictions, classes)
    count = max(2, len(labels))  # an answer that is no label is no better guess
    if classes is not None:
        if max(together, default=0) > classes:
            raise InputError("labels", max(together), f"class indices 0 to {classes - 1} (or 1 to {classes})")
        count = max(classes, 2)
    codes: dict[Value, int] = {value: place for place, value in enumerate(sorted(together))}
    return Coding(codes, count, f"{len(together)} classes, {min(together)} to {max(together)}", abstain)


def shifted(labels: set[int], predictions: set[int]) -> int | None:
    """The last index of labels 0..K-1 beside predictions 1..K, or the reverse: two codings, or one more class."""
    for mine, other in ((labels, predictions), (predictions, labels)):
        last = max(mine, default=0)
        from_zero = last >= 1 and len(mine) == last + 1 and min(mine) == 0
        if from_zero and 0 not in other and max(other, default=0) == last + 1:
            return last
    return None


def _refuse_shifted(labels: set[int], predictions: set[int], classes: int | None) -> None:
    last = shifted(labels, predictions)
    if last is not None and classes != last + 2:
        raise InputError(
            "labels, predictions",
            f"labels {min(labels)} to {max(labels)} beside predictions {min(predictions)} to {max(predictions)}",
            "one coding for both",
            f"One counts from 0 and the other from 1? If there are {last + 2} classes, say classes={last + 2} "
            f"(--classes {last + 2})",
        )
