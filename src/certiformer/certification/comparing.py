"""Two models, or several, on the same items: the difference of their losses with an interval, and its direction.

All models have to be fixed before any of them was scored on these items. K of them against the first: delta/(K-1) each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.certification import sources
from certiformer.certification.outcomes import Outcomes, outcomes_of
from certiformer.certification.reading import Reading
from certiformer.core.errors import InputError
from certiformer.evaluation import mean_limits, paired_limits, sign_test, units_of


@dataclass(frozen=True)
class Comparison:
    """loss of `a` minus loss of `b`: observed, with its interval at confidence 1 - delta, and how it was found."""

    a: str
    b: str
    difference: float
    interval: tuple[float, float]
    discordant: tuple[int, int] | None
    p: float | None
    items: int
    unit: str
    delta: float
    margin: float | None
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """What the interval says; the sign test, beside it, has a level of its own."""
        low, high = self.interval
        if self.margin is not None:
            holds = -low <= self.margin
            return (
                f"{self.b} is {'at most' if holds else 'not shown to be at most'} {self.margin:g} worse than {self.a}"
            )
        if self.discordant == (0, 0):
            return "no item distinguishes them"
        if low > 0:
            return f"{self.b} is better"
        if high < 0:
            return f"{self.a} is better"
        return "not decided"

    def as_json(self) -> dict[str, Any]:
        return {
            "a": self.a,
            "b": self.b,
            "difference": self.difference,
            "interval": list(self.interval),
            "discordant": None if self.discordant is None else list(self.discordant),
            "verdict": self.verdict,
            "p": self.p,
            "items": self.items,
            "unit": self.unit,
            "delta": self.delta,
            "warnings": list(self.warnings),
        }


def compare_files(
    paths: Sequence[str | Path],
    *,
    delta: float = 0.05,
    columns: sources.Choice | None = None,
    reading: Reading | None = None,
    margin: float | None = None,
) -> list[Comparison]:
    """Every file against the first, which is the declared reference."""
    if len(paths) < 2:
        raise InputError("files", [str(path) for path in paths], "at least two files of predictions")
    chosen = reading or Reading()
    found = [outcomes_of(path, columns, chosen) for path in paths]
    if len({one.name for one in found}) < len(found):
        found = [replace(one, name=str(path)) for one, path in zip(found, paths, strict=True)]
    share = delta / (len(found) - 1)
    return [_compared(found[0], other, share, chosen, margin) for other in found[1:]]


def _compared(a: Outcomes, b: Outcomes, delta: float, reading: Reading, margin: float | None) -> Comparison:
    order_b, warnings = _matched(a, b)
    losses_a, losses_b = a.losses, b.losses[order_b]
    if a.binary != b.binary or (a.low, a.high) != (b.low, b.high):
        raise InputError("files", [a.name, b.name], "the same kind of loss in both")
    discordant = p = None
    if a.binary:
        discordant = int(np.sum(losses_a > losses_b)), int(np.sum(losses_b > losses_a))
    if a.groups is None:
        limits = paired_limits(losses_a, losses_b, delta, a.low, a.high, order=reading.order, ids=a.ids)
        unit = "item"
        p = None if discordant is None else sign_test(*discordant).two_sided
    else:
        # Groups: the mean over groups of the difference, rescaled to [0, 1] inside; no sign test, items are dependent.
        width = a.high - a.low
        scaled = np.clip(0.5 + (losses_a - losses_b) / (2.0 * width), 0.0, 1.0)
        units = units_of(scaled, a.groups.tolist(), estimand=reading.estimand, max_size=reading.max_size, row_ids=a.ids)
        found = mean_limits(
            units.losses, delta, weights=units.weights, order=reading.order, two_sided=True, ids=units.ids
        )
        lower, upper, mean = (width * (2.0 * x - 1.0) for x in (found.lower, found.upper, found.mean))
        limits = replace(found, lower=lower, upper=upper, mean=mean)
        unit = "group"
        warnings += units.warnings
    return Comparison(
        a=a.name,
        b=b.name,
        difference=limits.mean,
        interval=(limits.lower, limits.upper),
        discordant=discordant,
        p=p,
        items=limits.n,
        unit=unit,
        delta=delta,
        margin=margin,
        warnings=tuple(warnings),
    )


def _matched(a: Outcomes, b: Outcomes) -> tuple[Any, list[str]]:
    """The rows of b in the order of a, by ids; without ids the rows have to be the same, one by one."""
    warnings: list[str] = []
    if a.ids is None or b.ids is None:
        if len(a.losses) != len(b.losses):
            raise InputError("files", [len(a.losses), len(b.losses)], "as many rows in both, or ids to match them")
        return np.arange(len(a.losses)), ["rows were matched by their place: no ids were given in both files"]
    if len(set(a.ids)) < len(a.ids) or len(set(b.ids)) < len(b.ids):
        raise InputError("ids", "an id that occurs twice", "different ids in each file")
    places = {id: place for place, id in enumerate(b.ids)}
    missing = [id for id in a.ids if id not in places]
    if missing or len(a.ids) != len(b.ids):
        raise InputError(
            "ids",
            f"{len(missing)} of {a.name} that {b.name} lacks, {len(b.ids)} rows against {len(a.ids)}",
            "the same items in both files",
            "Leaving items out is a selection: score both models on all of them",
        )
    order = np.array([places[id] for id in a.ids], dtype=np.int64)
    if a.prompts is not None and b.prompts is not None:
        differ = int(np.sum(a.prompts != b.prompts[order]))
        if differ:
            warnings.append(f"{differ} items were asked with different prompts")
    return order, warnings
