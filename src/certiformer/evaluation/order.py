"""In which order a path of bets sees the examples: by a rule fixed before their losses were known.

Any order that does not depend on the losses is valid. Ids given when the examples were drawn are sorted by SHA-256 of
(salt, id), where the salt is the hash of all ids in sorted order: re-sorting a file changes nothing, and every sample
has an order of its own. Row numbers are as good only if the rows stand in an order made before scoring; a file sorted
by its losses does not, and is refused. The best of several shuffles is not an order at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import scipy

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_CHANCE = 1e-4


def salt(ids: Sequence[str]) -> str:
    """SHA-256 of all ids in sorted order."""
    digest = hashlib.sha256()
    for id in sorted(ids):
        digest.update(id.encode())
        digest.update(b"\x00")
    return digest.hexdigest()


def hash_order(ids: Sequence[str]) -> Indices:
    """The positions sorted by SHA-256 of (salt, id, occurrence): equal ids are told apart by their count."""
    first = salt(ids).encode()
    seen: dict[str, int] = {}
    keys = []
    for id in ids:
        count = seen.get(id, 0)
        seen[id] = count + 1
        keys.append(hashlib.sha256(first + b"\x00" + id.encode() + b"\x00" + str(count).encode()).digest())
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def refuse_sorted(name: str, losses: Array) -> None:
    """Refuse losses that stand in rising or falling order, if chance would put them so less than once in 10^4."""
    steps = np.diff(losses)
    if len(losses) < 2 or not (np.all(steps >= 0) or np.all(steps <= 0)) or not np.any(steps):
        return
    counts = np.unique(losses, return_counts=True)[1]
    ln_factorial = scipy.special.gammaln
    arrangements = float(ln_factorial(len(losses) + 1.0) - np.sum(ln_factorial(counts + 1.0)))
    if arrangements > np.log(2.0 / _CHANCE):
        raise InputError(
            name,
            "a list sorted by its own values",
            "the order in which the examples were drawn",
            "Give ids (or the examples in an order made before they were scored): the limit depends on the order",
        )
