"""Losses of rows as records: per row or per group, clipped or in a range, in an order made without looking at them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
from certiformer.evaluation.units import shares_of, units_of

Array = npt.NDArray[np.float64]

SMOOTHING = 0.01
"""The part of the uniform distribution in a smoothed predictor: fixed here, not an option."""
MOST_UNITS = 100_000
"""Beyond this many units consecutive ones are averaged: their means are independent, bounded, of the same mean."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows: their ids in text, where there are some, their groups, and how many tokens (words, ...) each has."""

    n: int
    ids: list[str] | None = None
    groups: npt.NDArray[Any] | None = None
    sizes: Array | None = None

    def part(self, rows: npt.NDArray[np.bool_]) -> Sample:
        """Some of the rows, chosen without looking at their losses."""
        return Sample(
            int(rows.sum()),
            None if self.ids is None else [id for id, kept in zip(self.ids, rows.tolist(), strict=True) if kept],
            None if self.groups is None else self.groups[rows],
            None if self.sizes is None else self.sizes[rows],
        )


def log_losses(
    name: str, values: Array, sample: Sample, reading: Reading, classes: int
) -> tuple[list[Evidence], list[str]]:
    r"""Records of -ln p per token, one number per document: clipped, or smoothed by the vocabulary.

    The predictor (1-a) p + a/V has a loss of at most min(-ln p - ln(1-a), ln(V/a)) at every token, so that of a
    document of mean l is at most min(l - ln(1-a), ln(V/a)): an upper limit of the mean of these speaks about it, a
    lower limit does not.
    """
    x = np.asarray(values, dtype=np.float64)
    if reading.clip is None and not classes:
        raise InputError(
            "classes",
            None,
            "how many tokens (words, bytes) there are to choose from, or a clip",
            f"{name} has no largest value: classes=V (--classes V) certifies the predictor smoothed with 1 % of the "
            "uniform one, clip=C (--clip C) the loss cut off at C",
        )
    if np.any(x < 0.0):
        raise InputError(name, float(np.min(x)), "-ln p of at least 0", f"Look at example {int(np.argmin(x))}")
    if reading.clip is not None:
        return records(name, x, sample, reading, what="log-loss")
    low, high = -math.log1p(-SMOOTHING), math.log(classes / SMOOTHING)
    smoothed = np.clip(x - math.log1p(-SMOOTHING), low, high)
    declared = replace(reading, low=low, high=high, two_sided=False)
    found, warnings = records(name, smoothed, sample, declared, what="smoothed log-loss")
    if reading.two_sided:
        warnings.append("of a smoothed log-loss only the upper limit is known from means of documents")
    return [replace(record, guess=math.log(classes)) for record in found if isinstance(record, MeanLoss)], warnings


def records(
    name: str,
    values: Array,
    sample: Sample,
    reading: Reading,
    *,
    what: str = "loss",
    label: str = "",
    subject: str = THE_MODEL,
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
                    subject=f"{subject}, counting a {what} beyond {high:g} as an error,",
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
    found.insert(
        0,
        MeanLoss(
            **units,
            low=reading.low,
            high=high,
            what=shown,
            perplexity=what.endswith("log-loss"),
            models=reading.models,
            two_sided=reading.two_sided,
            label=label,
            subject=subject,
        ),
    )
    return found, warnings


def _units(name: str, x: Array, sample: Sample, reading: Reading, high: float) -> tuple[dict[str, Any], list[str]]:
    """Losses, weights and order of the units."""
    warnings: list[str] = []
    weights: Array | None = None
    ids, unit, of = sample.ids, "example", "examples"
    if sample.groups is not None:
        units = units_of(
            x,
            sample.groups.tolist(),
            estimand=reading.estimand,
            max_size=reading.max_size,
            row_ids=sample.ids,
            sizes=sample.sizes,
        )
        x, weights, ids, unit = units.losses, units.weights, list(units.ids), "group"
        of = "groups" if units.estimand == "groups" else f"rows (at most {reading.max_size:,} in a group)"
        warnings += units.warnings
    elif sample.sizes is not None and reading.estimand == "rows":
        weights = shares_of(sample.sizes, reading.max_size)
        of = f"tokens (at most {reading.max_size:,} in an example)"
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
