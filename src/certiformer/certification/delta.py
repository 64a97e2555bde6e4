"""Delta divided: what is reported as a guarantee pays for it, and the report shows who paid what.

The shares depend on which certificates there are and on the architecture, never on what was counted or measured: a
result of a paper that turns out not to apply to this sample keeps its share, and nobody else gets it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from certiformer.certificates import Evidence
from certiformer.theory.core.errors import InputError

PAPERS_WEIGHT = 1.0
"""The share of all results of the papers together: decades away from saying anything, they do not miss it."""


def divide(total: float, weights: Mapping[str, float]) -> dict[str, float]:
    """Delta in proportion to the weights, fixed before the data are seen; the sum stays below the total."""
    if not 0.0 < total < 1.0:
        raise InputError("delta", total, "a number in (0, 1)", "For example --delta 0.05")
    whole = math.fsum(weights.values())
    # A hair less than the proportional share, so that rounding cannot push the sum above the total.
    return {name: total * weight / whole * (1.0 - 1e-12) for name, weight in weights.items()}


def divide_among(total: float, evidence: Iterable[Evidence], papers: Sequence[str]) -> dict[str, float]:
    """Each record its certificate's weight; `papers`, the results that may have to pay here, one weight together."""
    records = tuple(evidence)
    keys = [record.key for record in records]
    if len(set(keys)) < len(keys):
        raise InputError("evidence", keys, "records that differ in id or label")
    weights = {record.key: record.weight for record in records}
    weights |= {id: PAPERS_WEIGHT / len(papers) for id in papers}
    if not weights:
        raise InputError("evidence", "nothing", "held-out examples, predictions or a recipe to certify from")
    return divide(total, weights)
