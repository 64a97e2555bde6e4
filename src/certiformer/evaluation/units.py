r"""The unit is what was drawn independently: a document, a writer, a patient, a template, a conversation.

Mean over groups: x_g = t_g/n_g with weight 1, whatever the sizes. Mean over rows: theta = E t_g / E n_g, with weights
n_g/N for a largest size N declared beforehand; without N there is no bound (a group of 1/eps^2 rows, all wrong, is
unseen with probability (1-eps)^G). Rows beyond N are left out by the hash of their ids, never by their losses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from certiformer.core.errors import InputError

Array = npt.NDArray[np.float64]
Estimand = Literal["groups", "rows"]

FEW_GROUPS = 30
LARGE_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Units:
    """One loss per group, with its weight (1, or rows/N) and its id; `warnings` are for the reader."""

    losses: Array
    weights: Array | None
    ids: tuple[str, ...]
    rows: int
    estimand: Estimand
    warnings: tuple[str, ...]


def units_of(
    losses: npt.ArrayLike,
    groups: Sequence[Any],
    *,
    estimand: Estimand = "groups",
    max_size: int | None = None,
    row_ids: Sequence[str] | None = None,
) -> Units:
    """The groups of rows as units for `mean_limits`.

    >>> units_of([0.0, 1.0, 0.5], ["a", "a", "b"]).losses.tolist()
    [0.5, 0.5]
    """
    x = np.asarray(losses, dtype=np.float64)
    names = [_name(group, row) for row, group in enumerate(groups)]
    if len(names) != len(x):
        raise InputError("groups", f"{len(names)} groups", f"one for each of {len(x)} rows")
    if estimand not in ("groups", "rows"):
        raise InputError("estimand", estimand, '"groups" or "rows"')
    if estimand == "rows" and max_size is None:
        raise InputError(
            "max_size",
            None,
            "the largest number of rows a group can have, declared beforehand",
            "Without it the mean over rows has no bound; or ask for the mean over groups",
        )
    distinct, index = np.unique(np.array(names), return_inverse=True)
    if len(distinct) < 2:
        raise InputError("groups", f"{len(distinct)} group", "at least 2 groups", "A single group is a single draw")
    kept = np.ones(len(x), dtype=bool)
    if estimand == "rows" and max_size is not None:
        kept = _kept(index, max_size, row_ids)
    sizes = np.bincount(index[kept], minlength=len(distinct)).astype(np.float64)
    totals = np.bincount(index[kept], weights=x[kept], minlength=len(distinct))
    warnings = []
    if len(distinct) < FEW_GROUPS:
        warnings.append(f"only {len(distinct)} groups: the limit is wide")
    if sizes.max() > LARGE_SHARE * sizes.sum():
        warnings.append(f"one group holds {100 * sizes.max() / sizes.sum():.0f} % of the rows")
    if not kept.all():
        warnings.append(f"{int((~kept).sum())} rows beyond {max_size} per group were left out, by hash")
    return Units(
        losses=totals / sizes,
        weights=None if estimand == "groups" or max_size is None else sizes / max_size,
        ids=tuple(distinct.tolist()),
        rows=int(kept.sum()),
        estimand=estimand,
        warnings=tuple(warnings),
    )


def _name(group: Any, row: int) -> str:
    text = "" if group is None or group != group else str(group).strip()
    if not text:
        raise InputError("groups", f"no group in row {row}", "a group for every row")
    return text


def _kept(index: npt.NDArray[np.int64], most: int, row_ids: Sequence[str] | None) -> npt.NDArray[np.bool_]:
    """At most `most` rows of each group: those whose ids (or places in the group) hash smallest."""
    if most < 1:
        raise InputError("max_size", most, "a whole number of at least 1")
    seen: dict[int, int] = {}
    members: dict[int, list[tuple[bytes, int]]] = {}
    for row, group in enumerate(index.tolist()):
        place = seen.get(group, 0)
        seen[group] = place + 1
        name = str(place) if row_ids is None else row_ids[row]
        members.setdefault(group, []).append((hashlib.sha256(f"{group}\x00{name}".encode()).digest(), row))
    kept = np.zeros(len(index), dtype=bool)
    for rows in members.values():
        kept[[row for _, row in sorted(rows)[:most]]] = True
    return kept
