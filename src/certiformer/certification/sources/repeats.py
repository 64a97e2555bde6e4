"""Repeats inside the held-out set: exact ones by hash, near ones by their words.

Twenty-five examples forty times each are not a thousand examples. Equal ids or inputs are refused with their count, or
grouped (`repeats="group"`): the units are then the connected components of equal id, equal input and equal group. Equal
inputs may be declared to be independent draws of a stream that repeats (`repeats="natural"`). Near repeats are only
warned of: no effective number of examples is invented.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.declaration import Repeats
from certiformer.certification.split import example_hashes
from certiformer.theory.core.errors import InputError

_WRITTEN_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})\.0*")
SHINGLE = 8
SIMILAR = 0.8
MOST_COMPARED = 20_000


@dataclass(frozen=True, eq=False)
class Found:
    """What repeats: `groups` name the unit of each row if rows are grouped; sentences for the reader.

    `names` tell the rows apart: their ids, or else digests of their inputs.
    """

    names: list[str] | None
    groups: npt.NDArray[Any] | None
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    conditions: tuple[str, ...]


def look(
    ids: npt.NDArray[Any] | None,
    inputs: npt.NDArray[Any] | None,
    groups: npt.NDArray[Any] | None,
    repeats: Repeats,
) -> Found:
    """Exact and near repeats among ids and inputs of the held-out examples, within and across their groups."""
    facts: dict[str, Any] = {}
    warnings: list[str] = []
    conditions: list[str] = []
    keys: dict[str, list[str]] = {}
    if ids is not None:
        keys["ids"] = as_text(ids)
    if inputs is not None:
        keys["inputs"] = [digest.hex() for digest in hashes(inputs)]
    units = None if groups is None else as_text(groups)
    merged = False
    for kind, names in keys.items():
        if units is None:
            repeated = len(names) - len(set(names))
            facts[f"repeated_{kind}"] = repeated
        else:
            repeated = len(set(zip(names, units, strict=True))) - len(set(names))
            facts[f"{kind}_in_several_groups"] = repeated
        if not repeated:
            continue
        if repeats == "refuse" or (repeats == "natural" and kind == "ids"):
            raise _refused(kind, repeated, names, units is not None)
        merged = merged or repeats == "group"
        if repeats == "natural":
            conditions.append(
                f"the {repeated} repeated inputs are independent draws of a stream that really repeats, not copies"
            )
    if inputs is not None:
        near = near_repeats(inputs)
        if near:
            facts["near_repeats"] = near
            warnings.append(f"{near} inputs nearly repeat another one (same words): they may not be independent")
    if merged:
        groups = components([*keys.values(), *([] if units is None else [units])])
    elif units is not None:
        groups = np.array(units)  # 3 and 3.0 are one group in every format
    return Found(next(iter(keys.values()), None), groups, facts, tuple(warnings), tuple(conditions))


def _refused(kind: str, repeated: int, names: list[str], grouped: bool) -> InputError:
    natural = (
        ', or repeats="natural" (--repeats natural) if these are independent draws of a stream that really repeats'
    )
    fix = "" if kind == "ids" else natural
    if grouped:
        return InputError(
            f"heldout_{kind}", f"{repeated} that stand in more than one group", "groups that share nothing",
            f'Say repeats="group" (--repeats group) to merge these groups{fix}',
        )  # fmt: skip
    what, distinct = "rows" if kind == "ids" else "inputs", len(set(names))
    return InputError(
        f"heldout_{kind}", f"{repeated} of {len(names)} {what} repeat another one ({distinct} distinct)",
        "independent examples",
        "Rows of several models or runs need a file each. Copies count as one: say repeats=\"group\" (--repeats group) "
        f"to take equal rows as one unit{fix}",
    )  # fmt: skip


def components(keys: list[list[str]]) -> npt.NDArray[Any]:
    """The unit of each row: rows that share a key of any kind belong together, and so on from row to row."""
    n = len(keys[0])
    parent = list(range(n))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    for names in keys:
        first: dict[str, int] = {}
        for row, name in enumerate(names):
            a, b = root(first.setdefault(name, row)), root(row)
            parent[max(a, b)] = min(a, b)
    return np.array([f"unit {root(row)}" for row in range(n)])


def as_text(values: npt.NDArray[Any]) -> list[str]:
    """Ids or groups as text in one way, that of `plain`."""
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if values.dtype.kind == "U":  # only 3.0 is written in another way
        return [str(plain(text)) if "." in text else _composed(text) for text in values.tolist()]
    return [str(plain(value)) for value in values.tolist()]


def plain(value: Any) -> Any:
    """Ids in one way: 3, 3.0, "3" and b"3" are the same example."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        text = _composed(value)
        return int(float(text)) if _WRITTEN_WHOLE.fullmatch(text) else text
    return value


def _composed(text: str) -> str:
    """A name without blanks around it, its accents written in one way."""
    return unicodedata.normalize("NFC", text.strip())


def refuse_repeats(name: str, inputs: npt.NDArray[Any], *, allowed: bool) -> int:
    """How many inputs repeat another one exactly; raise if there are some that nobody allowed."""
    repeated = len(inputs) - len(set(hashes(inputs)))
    if repeated and not allowed:
        raise InputError(
            name,
            f"{repeated} of {len(inputs)} inputs repeat another one",
            "independent examples",
            'Copies count as one: leave them out before drawing, or say repeats="natural" (--repeats natural; of a '
            "Surrogate: allow_twins=True) if these are independent draws of a stream that really repeats",
        )
    return repeated


def hashes(inputs: npt.NDArray[Any]) -> list[bytes]:
    """One hash per input; text after Unicode normalisation and without outer white space."""
    if inputs.dtype.kind in "USO" and inputs.ndim == 1:
        return [
            hashlib.sha256(unicodedata.normalize("NFC", str(text)).strip().encode()).digest()[:16]
            for text in inputs.tolist()
        ]
    return example_hashes(inputs)


def near_repeats(inputs: npt.NDArray[Any]) -> int:
    """How many texts equal an earlier one up to case, digits and punctuation, or share most 8-grams of words."""
    if inputs.dtype.kind not in "UO" or inputs.ndim != 1 or not isinstance(inputs[0], str):
        return 0
    texts = [" ".join(re.findall(r"[^\W\d_]+", text.lower())) for text in dict.fromkeys(inputs.tolist())]
    counts = Counter(text for text in texts if len(text.split()) >= 4)
    same = sum(count - 1 for count in counts.values())
    if len(counts) > MOST_COMPARED:
        return same
    return same + _similar(list(counts))


def _similar(texts: list[str]) -> int:
    """Pairs that share more than four fifths of their shingles, found through the rarest shingles."""
    places: dict[str, list[int]] = {}
    shingles: list[set[str]] = []
    near = 0
    for place, text in enumerate(texts):
        words = text.split()
        own = {" ".join(words[k : k + SHINGLE]) for k in range(max(1, len(words) - SHINGLE + 1))}
        shingles.append(own)
        candidates = Counter(other for shingle in own for other in places.get(shingle, [])[:50])
        for other, shared in candidates.most_common(5):
            if shared > SIMILAR * (len(own) + len(shingles[other]) - shared):
                near += 1
                break
        for shingle in own:
            places.setdefault(shingle, []).append(place)
    return near
