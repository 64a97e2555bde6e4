"""Losses of rows as records: per row or per group, clipped or in a range, in an order made without looking at them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import THE_MODEL, Evidence
from certiformer.certificates.betting import Betting
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.mean_loss import MeanLoss, range_needed
from certiformer.certification.declaration import Declaration
from certiformer.certification.sources.table import Outcome
from certiformer.certification.statements import JUDGED_BY, PIECES
from certiformer.evaluation.mean import MOST_AVERAGED
from certiformer.evaluation.order import hash_order, refuse_sorted
from certiformer.evaluation.units import shares_of, units_of
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[np.float64]

SMOOTHING = 0.01
"""The part of the uniform distribution in a smoothed predictor: fixed here, not an option."""
LEAST_EXAMPLES = 10
ORDER_SEED = 20_000
MOST_UNITS = 100_000
"""Beyond this many units consecutive ones are averaged: their means are independent, bounded, of the same mean."""


@dataclass(frozen=True, eq=False)
class Units:
    """What was drawn independently: rows, or groups of them; ids of rows in text, and how many words each is about."""

    n: int
    ids: list[str] | None = None
    groups: npt.NDArray[Any] | None = None
    sizes: Array | None = None
    row: str = "example"
    piece: str = "token"
    """What `sizes` counts."""

    @property
    def kind(self) -> str:
        """What one unit is called."""
        return self.row if self.groups is None else "group"

    @property
    def called(self) -> str:
        """What several units are called where more of them are asked for."""
        return "items" if self.kind == "example" else f"{self.kind}s"

    def over(self, declared: Declaration) -> str:
        """What a mean is taken over: the population of rows, groups of them, or rows or tokens inside of units."""
        rows = "rows" if declared.population == Declaration().population else declared.population
        if self.groups is not None and declared.estimand == "groups":
            return "groups" if rows == "rows" else f"groups of {rows}"
        if declared.estimand == "rows" and (self.groups is not None or self.sizes is not None):
            one = rows if self.sizes is None else f"{self.piece}s"
            return f"{one} (at most {declared.max_size or 0:,} in {'an example' if self.groups is None else 'a group'})"
        return declared.population

    def part(self, rows: npt.NDArray[np.bool_]) -> Units:
        """Some of the rows, chosen without looking at their losses."""
        return Units(
            int(rows.sum()),
            None if self.ids is None else [id for id, kept in zip(self.ids, rows.tolist(), strict=True) if kept],
            None if self.groups is None else self.groups[rows],
            None if self.sizes is None else self.sizes[rows],
            piece=self.piece,
        )


@dataclass(frozen=True, eq=False)
class Asked:
    """One mean that is asked about: an outcome of all rows, or of those of a slice, such as "label cat"."""

    outcome: Outcome
    units: Units
    slice: str = ""

    @property
    def label(self) -> str:
        """What it is called among several."""
        return ", ".join(filter(None, (self.outcome.label, self.slice)))

    @property
    def subject(self) -> str:
        """Whom it is about."""
        where = f"{THE_MODEL} on {self.slice}" if self.slice else THE_MODEL
        judged = self.outcome.label and self.outcome.kind == "rate"
        return f"{where}{JUDGED_BY.removeprefix(THE_MODEL)}{self.outcome.label}" if judged else where


@dataclass(frozen=True, eq=False)
class Means:
    """One loss for every unit, with its weight (None: all alike) and id."""

    losses: Array
    weights: Array | None
    ids: list[str] | None
    warnings: tuple[str, ...] = ()


def means_of(x: Array, units: Units, declared: Declaration) -> Means:
    """The losses of rows as those of units: what was drawn independently, weighted as the estimand says."""
    if units.groups is not None:
        grouped = units_of(
            x, units.groups.tolist(), estimand=declared.estimand, max_size=declared.max_size, sizes=units.sizes
        )
        return Means(grouped.losses, grouped.weights, list(grouped.ids), grouped.warnings)
    weights = None
    if units.sizes is not None and declared.estimand == "rows":
        weights = shares_of(units.sizes, declared.max_size)
    return Means(x, weights, units.ids)


def clipped(outcome: Outcome, clip: float | None) -> Outcome:
    """The outcome cut off where it was declared, which its words say; right and wrong have no tail."""
    if clip is None or outcome.kind == "rate":
        return outcome
    below = np.flatnonzero(outcome.losses < outcome.low)
    if len(below):
        fix = "A clip cuts off above only. Of an error with a sign, give its size; or say --range A B instead"
        others = f"Example {below[0]} (and {len(below) - 1} others)"
        expected = f"losses of at least {outcome.low:g}"
        raise InputError(outcome.name, float(outcome.losses[below[0]]), expected, f"{others}: {fix}")
    losses, what = np.minimum(outcome.losses, clip), f"clipped {outcome.what}"
    return replace(outcome, losses=losses, high=clip, kind="number", what=what)


def range_said(outcome: Outcome) -> tuple[str, ...]:
    """The condition on the range of a loss; right and wrong have no other values."""
    if outcome.kind == "rate" or outcome.high is None:
        return ()
    return (range_needed(outcome.low, outcome.high, outcome.what),)


def records(asked: Asked, declared: Declaration, *, classes: int = 0) -> tuple[list[Evidence], list[str]]:
    """The records of one outcome (the rate beyond a clip, too), and warnings for the reader.

    Right or wrong, of independent rows, is a count: the exact binomial. Everything else is a mean of bounded losses.
    """
    outcome, units, own, subject = asked.outcome, asked.units, asked.label, asked.subject
    if outcome.blocks is not None:
        human = outcome.blocks
        told: Any = {"models": declared.models, "two_sided": declared.two_sided, "of": declared.population}
        told |= {"judge": human.judge, "blocks": human.means, "block": human.size}
        return [MeanLoss(losses=human.human, what=outcome.what, label=own, subject=subject, **told)], []
    if outcome.kind == "rate" and units.groups is None:
        errors = int(np.count_nonzero(outcome.losses))
        return [_count(errors, units.n, declared, own, subject)], []
    x, low, high, what = outcome.losses, outcome.low, outcome.high, outcome.what
    guess, warnings, smoothed = None, list[str](), False
    if outcome.kind == "log":
        if np.any(x < 0.0):
            raise InputError(outcome.name, float(np.min(x)), "-ln p of at least 0", f"Row {int(np.argmin(x)) + 1}")
        if declared.clip is None:
            x, low, high, guess = _smoothed(outcome, classes)
            smoothed = True
            if declared.two_sided:
                warnings.append("of a smoothed log-loss only the upper limit is known from means of documents")
            if subject == THE_MODEL:
                subject = SMOOTHED
    found: list[Evidence] = []
    if declared.clip is not None and outcome.kind != "rate":
        cut = clipped(outcome, declared.clip)
        if units.groups is None:
            beyond = f"{subject}, counting a {what.removeprefix('of ')} beyond {cut.high:g} as an error"
            many = int(np.sum(x > declared.clip))
            found.append(_count(many, units.n, declared, f"{own or 'loss'} beyond {cut.high:g}", beyond))
        x, high, what = cut.losses, cut.high, cut.what
    assert high is not None
    outside = (x < low) | (x > high)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        fix = "declare the range that the loss cannot leave (--range A B), or clip it, chosen beforehand (--clip C)"
        raise InputError(
            outcome.name, float(x[row]), f"losses in [{low:g}, {high:g}]",
            f"Example {row} (and {int(outside.sum()) - 1} others): {fix}",
        )  # fmt: skip
    walked, more = _units(outcome.name, x, units, declared)
    tokens = outcome.kind == "log" and (walked["of"].startswith(PIECES) or outcome.name == "perplexity")
    found.insert(
        0,
        MeanLoss(
            **walked, low=low, high=high, what=what, guess=guess, models=declared.models, label=own, subject=subject,
            perplexity=tokens and smoothed and outcome.name != "bits_per_byte",
            two_sided=declared.two_sided and not smoothed,
        ),
    )  # fmt: skip
    return found, warnings + more


SMOOTHED = "the smoothed predictor"


def _count(errors: int, n: int, declared: Declaration, label: str, subject: str) -> HoldOut:
    return HoldOut(
        errors=errors,
        n=n,
        of=declared.population,
        models=declared.models,
        two_sided=declared.two_sided,
        label=label,
        subject=subject,
    )


def _smoothed(outcome: Outcome, classes: int) -> tuple[Array, float, float, float]:
    r"""Losses, range and guess of the predictor (1-a) p + a/V, from -ln p per token, one number per document.

    Its loss is at most min(-ln p - ln(1-a), ln(V/a)) at every token, so that of a document of mean l is at most
    min(l - ln(1-a), ln(V/a)): an upper limit of the mean of these speaks about it, a lower limit does not.
    """
    if not classes:
        raise InputError(
            "classes", None, "how many tokens (words, bytes) there are to choose from, or a clip",
            f"{outcome.name} has no largest value: classes=V (--classes V) certifies the predictor smoothed with 1 % "
            "of the uniform one, clip=C (--clip C) the loss cut off at C",
        )  # fmt: skip
    unit = math.log(2.0) if outcome.name == "bits_per_byte" else 1.0
    low, high = -math.log1p(-SMOOTHING) / unit, math.log(classes / SMOOTHING) / unit
    return np.clip(outcome.losses + low, low, high), low, high, math.log(classes) / unit


def _units(name: str, x: Array, units: Units, declared: Declaration) -> tuple[dict[str, Any], list[str]]:
    """Losses, weights and order of the units."""
    means = means_of(x, units, declared)
    x, weights, ids = means.losses, means.weights, means.ids
    if ids is None:
        refuse_sorted(name, x)
    elif len(ids) == len(x):
        base = hash_order(ids)
        x, weights = x[base], None if weights is None else weights[base]
    averaged = declared.order == "average" and len(x) <= MOST_AVERAGED
    if not averaged and ids is None:
        # More rows than one likes to hash have an order that is fixed here.
        few = len(x) <= MOST_UNITS
        base = hash_order([str(row) for row in range(len(x))]) if few else np.random.default_rng(0).permutation(len(x))
        x, weights = x[base], None if weights is None else weights[base]
    merged = 1
    if weights is None and len(x) > MOST_UNITS:
        merged, x = in_block(len(x)), averaged_blocks(x)
    order = "average" if averaged else "given"
    told = {"unit": units.kind, "of": units.over(declared), "merged": merged}
    return {"losses": x, "weights": weights, "order": order, **told}, list(means.warnings)


def in_block(n: int) -> int:
    """How many of n consecutive losses are averaged into one."""
    return -(-n // (MOST_UNITS // 2))


def averaged_blocks(x: Array) -> Array:
    """Means of equally many consecutive losses, at most MOST_UNITS/2; the last that fill no block are left out."""
    size = in_block(len(x))
    return np.asarray(x[: len(x) // size * size].reshape(-1, size).mean(axis=1))


def enough(name: str, n: int) -> None:
    """Refuse a held-out set from which nothing can follow."""
    if n < LEAST_EXAMPLES:
        raise InputError(name, f"{n} examples", f"at least {LEAST_EXAMPLES}", "Certify on more examples")


def betting(probabilities: Array, classes: int, models: int) -> Betting:
    """Smoothed cross-entropies -ln((1-a) p + a/K), in a random order fixed beforehand.

    Betting needs exchangeable losses. A file sorted by class is not, until it is shuffled without looking at it. Of
    more than 100,000 losses consecutive ones are averaged: their means are independent and have the same mean.
    """
    low, high = float(-np.log(1.0 - SMOOTHING + SMOOTHING / classes)), float(np.log(classes / SMOOTHING))
    losses = np.multiply(probabilities, 1.0 - SMOOTHING)
    losses += SMOOTHING / classes
    np.log(losses, out=losses)
    np.negative(losses, out=losses)
    # Rounding may leave the interval by one unit in the last place.
    np.clip(losses, low, high, out=losses)
    np.random.default_rng(ORDER_SEED).shuffle(losses)
    merged = 1
    if len(losses) > MOST_UNITS:
        merged, losses = in_block(len(losses)), averaged_blocks(losses)
    said: dict[str, Any] = {"smoothing": SMOOTHING, "classes": classes, "models": models, "merged": merged}
    return Betting(losses=losses, low=low, high=high, **said)
