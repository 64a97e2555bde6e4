r"""The unit is what was drawn independently: a document, a writer, a patient, a template, a conversation.

Mean over groups: x_g = t_g/n_g with weight 1, whatever the sizes. Mean over rows: theta = E t_g / E n_g, with weights
n_g/N for a largest size N declared beforehand; without N there is no bound (a group of 1/eps^2 rows, all wrong, is
unseen with probability (1-eps)^G). A group of more than N rows is refused: to cut it would change the population.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError

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
    sizes: npt.ArrayLike | None = None,
) -> Units:
    """The groups of rows as units for `mean_limits`.

    `sizes` says how many tokens (words, ...) each loss is the mean of: a group's loss is then the mean over these, and
    `max_size` the most of them that a group can have.

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
            _NO_BOUND,
        )
    distinct, index = np.unique(np.array(names), return_inverse=True)
    if len(distinct) < 2:
        raise InputError("groups", f"{len(distinct)} group", "at least 2 groups", "A single group is a single draw")
    tokens = np.ones(len(x)) if sizes is None else _sizes(sizes, len(x))
    rows = np.bincount(index, weights=tokens, minlength=len(distinct))
    totals = np.bincount(index, weights=tokens * x, minlength=len(distinct))
    warnings = []
    if len(distinct) < FEW_GROUPS:
        warnings.append(f"only {len(distinct)} groups: the limit is wide")
    if rows.max() > LARGE_SHARE * rows.sum():
        warnings.append(f"one group holds {100 * rows.max() / rows.sum():.0f} % of the rows")
    return Units(
        losses=np.clip(totals / rows, np.min(x), np.max(x)),  # the mean of equal numbers may round beyond them
        weights=None if estimand == "groups" else shares_of(rows, max_size),
        ids=tuple(distinct.tolist()),
        rows=len(x),
        estimand=estimand,
        warnings=tuple(warnings),
    )


def shares_of(sizes: npt.ArrayLike, max_size: int | None) -> Array:
    """n_g/N: the weights of the mean over rows, for a largest size N declared beforehand."""
    found = _sizes(sizes, len(np.asarray(sizes)))
    if max_size is None:
        raise InputError("max_size", None, "the largest size a unit can have, declared beforehand", _NO_BOUND)
    if np.max(found) > max_size:
        raise InputError(
            "max_size",
            max_size,
            f"at least {np.max(found):g}, the size of unit {int(np.argmax(found))}",
            "A unit beyond the declared size cannot be cut: declare a size that none can exceed",
        )
    return found / max_size


def _sizes(sizes: npt.ArrayLike, n: int) -> Array:
    found = np.asarray(sizes, dtype=np.float64)
    if found.shape != (n,):
        raise InputError("sizes", f"shape {found.shape}", f"one number for each of {n} losses")
    if not np.all(np.isfinite(found) & (found > 0.0)):
        odd = int(np.flatnonzero(~(np.isfinite(found) & (found > 0.0)))[0])
        raise InputError("sizes", float(found[odd]), "numbers above 0", f"Look at entry {odd}")
    return found


_NO_BOUND = "Without it the mean over rows has no bound; or ask for the mean over groups"


def _name(group: Any, row: int) -> str:
    text = "" if group is None or group != group else str(group).strip()
    if not text:
        raise InputError("groups", f"no group in row {row}", "a group for every row")
    return text
