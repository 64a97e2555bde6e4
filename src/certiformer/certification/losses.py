"""Losses of rows as records: per row or per group, clipped or in a range, in an order made without looking at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import THE_MODEL, Evidence
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.mean_loss import MeanLoss
from certiformer.certification.reading import Reading
from certiformer.core.errors import InputError
from certiformer.evaluation.mean import MOST_AVERAGED
from certiformer.evaluation.order import hash_order, refuse_sorted
from certiformer.evaluation.units import units_of

Array = npt.NDArray[np.float64]

MOST_UNITS = 100_000
"""Beyond this many units consecutive ones are averaged: their means are independent, bounded, of the same mean."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows: their ids in text, where there are some, and their groups."""

    n: int
    ids: list[str] | None = None
    groups: npt.NDArray[Any] | None = None


def records(
    name: str, values: Array, sample: Sample, reading: Reading, *, what: str = "loss", label: str = ""
) -> tuple[list[Evidence], list[str]]:
    """The record of one loss (and of the rate beyond its clip), and warnings for the reader."""
    x = np.asarray(values, dtype=np.float64)
    if x.shape != (sample.n,):
        raise InputError(name, f"shape {x.shape}", f"one number for each of {sample.n} examples")
    if not np.all(np.isfinite(x)):
        raise InputError(name, f"nan or infinity at example {int(np.flatnonzero(~np.isfinite(x))[0])}", "numbers")
    found: list[Evidence] = []
    high = reading.high
    if reading.clip is not None:
        high = reading.clip
        if not high > reading.low:
            raise InputError("clip", reading.clip, f"a number above low = {reading.low:g}")
        if sample.groups is None:
            found.append(
                HoldOut(
                    errors=int(np.sum(x > high)),
                    n=sample.n,
                    models=reading.models,
                    two_sided=reading.two_sided,
                    label=f"{label or 'loss'} beyond {high:g}",
                    subject=f"{THE_MODEL}, counting a {what} beyond {high:g} as an error,",
                )
            )
        x = np.minimum(x, high)
    elif high is None:
        high = 1.0
    outside = (x < reading.low) | (x > high)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise InputError(
            name,
            float(x[row]),
            f"losses in [{reading.low:g}, {high:g}]",
            f"Example {row} (and {int(outside.sum()) - 1} others): declare the range that the loss cannot leave with "
            "low and high (--range A B), or clip it at a value chosen beforehand (clip, --clip C)",
        )
    units, warnings = _units(name, x, sample, reading, high)
    shown = f"clipped {what}" if reading.clip is not None else what
    found.insert(0, MeanLoss(**units, low=reading.low, high=high, what=shown, **_common(reading, label)))
    return found, warnings


def _common(reading: Reading, label: str) -> dict[str, Any]:
    return {"models": reading.models, "two_sided": reading.two_sided, "label": label}


def _units(name: str, x: Array, sample: Sample, reading: Reading, high: float) -> tuple[dict[str, Any], list[str]]:
    """Losses, weights and order of the units."""
    warnings: list[str] = []
    weights: Array | None = None
    ids, unit, of = sample.ids, "example", "examples"
    if sample.groups is not None:
        units = units_of(
            x, sample.groups.tolist(), estimand=reading.estimand, max_size=reading.max_size, row_ids=sample.ids
        )
        x, weights, ids, unit = units.losses, units.weights, list(units.ids), "group"
        of = "groups" if units.estimand == "groups" else f"rows, at most {reading.max_size} in a group"
        warnings += units.warnings
    if ids is None:
        refuse_sorted(name, x)
    elif len(ids) == len(x):
        base = hash_order(ids)
        x, weights = x[base], None if weights is None else weights[base]
    averaged = reading.order == "average" and len(x) <= MOST_AVERAGED
    if not averaged and ids is None:
        base = hash_order([str(row) for row in range(len(x))]) if len(x) <= MOST_UNITS else _shuffled(len(x))
        x, weights = x[base], None if weights is None else weights[base]
    if weights is None and len(x) > MOST_UNITS:
        x = averaged_blocks(x)
    order = "average" if averaged else "given"
    return {"losses": x, "weights": weights, "order": order, "unit": unit, "of": of}, warnings


def _shuffled(n: int) -> npt.NDArray[np.int64]:
    """An order fixed beforehand for more rows than one likes to hash."""
    return np.random.default_rng(0).permutation(n)


def averaged_blocks(x: Array, most: int = MOST_UNITS // 2) -> Array:
    """Means of equally many consecutive losses, at most `most` of them; the last that fill no block are left out."""
    size = -(-len(x) // most)
    return np.asarray(x[: len(x) // size * size].reshape(-1, size).mean(axis=1))
