"""Repeats inside the held-out set: exact ones by hash, near ones by their words.

Twenty-five examples forty times each are not a thousand examples. Equal ids are an error. Equal inputs are refused with
their count, grouped (`repeats="group"`: made by oversampling), or declared to be independent draws of a stream that
repeats (`repeats="natural"`). Near repeats are only warned of: no effective number of examples is invented.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from certiformer.certification.split import example_hashes
from certiformer.core.errors import InputError

Repeats = Literal["refuse", "group", "natural"]

SHINGLE = 8
SIMILAR = 0.8
MOST_COMPARED = 20_000


@dataclass(frozen=True, eq=False)
class Found:
    """What repeats: `keys` name the unit of each row if rows are to be grouped; sentences for the reader."""

    keys: npt.NDArray[Any] | None
    facts: dict[str, Any]
    warnings: tuple[str, ...]
    conditions: tuple[str, ...]


def look(ids: npt.NDArray[Any] | None, inputs: npt.NDArray[Any] | None, repeats: Repeats) -> Found:
    """Exact and near repeats among ids and inputs of the held-out examples."""
    if repeats not in ("refuse", "group", "natural"):
        raise InputError("repeats", repeats, '"refuse", "group" or "natural"')
    facts: dict[str, Any] = {}
    warnings: list[str] = []
    conditions: list[str] = []
    keys: npt.NDArray[Any] | None = None
    if ids is not None:
        names = np.array([str(plain(value)) for value in ids.tolist()])
        keys, repeated = _count(names, "ids", repeats, facts)
        if repeated and repeats == "natural":
            raise InputError("heldout_ids", f"{repeated} rows with an id that occurred before", "different ids")
    if inputs is not None:
        digests = np.array([digest.hex() for digest in hashes(inputs)])
        grouped, repeated = _count(digests, "inputs", repeats, facts)
        keys = grouped if keys is None or (repeated and repeats == "group") else keys
        if repeated and repeats == "natural":
            conditions.append(
                f"the {repeated} repeated inputs are independent draws of a stream that really repeats, not copies"
            )
            keys = None
        near = near_repeats(inputs)
        if near:
            facts["near_repeats"] = near
            warnings.append(f"{near} inputs nearly repeat another one (same words): they may not be independent")
    if repeats != "group" or not any(facts.get(f"repeated_{kind}") for kind in ("ids", "inputs")):
        keys = None
    return Found(keys, facts, tuple(warnings), tuple(conditions))


def plain(value: Any) -> Any:
    """Ids in one way: 3, 3.0, "3" and b"3" are the same example."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.strip() if isinstance(value, str) else value


def refuse_repeats(name: str, inputs: npt.NDArray[Any], *, allowed: bool) -> int:
    """How many inputs repeat another one exactly; raise if there are some and nobody vouches for them."""
    repeated = len(inputs) - len(set(hashes(inputs)))
    if repeated and not allowed:
        raise InputError(
            name,
            f"{repeated} of {len(inputs)} inputs repeat another one",
            "independent examples",
            "Copies count as one: leave them out before drawing, or say allow_twins (--allow-twins) if these are "
            "independent draws of a stream that really repeats",
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


def _count(names: npt.NDArray[Any], kind: str, repeats: Repeats, facts: dict[str, Any]) -> tuple[npt.NDArray[Any], int]:
    distinct = len(np.unique(names))
    repeated = len(names) - distinct
    facts[f"repeated_{kind}"] = repeated
    if repeated and repeats == "refuse":
        what = "rows" if kind == "ids" else "inputs"
        raise InputError(
            f"heldout_{kind}",
            f"{repeated} of {len(names)} {what} repeat another one ({distinct} distinct)",
            "independent examples",
            'Copies count as one: say repeats="group" (--repeats group) to take equal rows as one unit'
            + (
                ', or repeats="natural" if the stream really repeats and these are independent draws of it'
                if kind == "inputs"
                else ""
            ),
        )
    return names, repeated


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
