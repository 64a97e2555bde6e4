"""Two models, or several, on the same items: the difference of their losses with an interval, and its direction.

All models have to be fixed before any of them was scored on these items. K of them against the first: delta/(K-1) each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.declaration import MOVED, Declaration
from certiformer.certification.losses import Units, clipped, means_of, range_said
from certiformer.certification.sample import Sample
from certiformer.certification.sources.repeats import as_text, components
from certiformer.certification.sources.rows import whole
from certiformer.certification.sources.table import Outcome
from certiformer.certification.statements import capitalized
from certiformer.certification.statements import confidence as sure
from certiformer.evaluation import paired_limits, sign_test
from certiformer.evaluation._given import failure_probability
from certiformer.evaluation.planning import items_about
from certiformer.report.numbers import rounded_down, rounded_up
from certiformer.theory.core.errors import InputError, refuse_unknown_options
from certiformer.theory.core.report import Report, Reported, Statement, confidence_text, fitting, visible

CONDITIONS = (
    "both models were fixed before either was scored on these items",
    "the units (items or groups) are independent draws from the population the claim is about",
)


WRITTEN = (
    *("a", "b", "what", "difference", "interval", "discordant", "verdict", "p", "p_adjusted", "items", "unit", "delta"),
    *("over", "needed", "conditions", "not_checked", "warnings"),
)
"""What is written of a comparison as JSON."""


def would_decide(needed: int, units: str = "items") -> str:
    """New ones: to test again with the old ones among them would be another test."""
    return f"About {needed:,} new {units} would decide with a chance of 80 %, the old ones not counted again."


@dataclass(frozen=True)
class Comparison:
    """loss of `a` minus loss of `b`: observed, with its interval at confidence 1 - delta, and how it was found."""

    a: str
    b: str
    what: str
    """What is compared: the error rate, or the mean of a loss."""
    difference: float
    interval: tuple[float, float]
    discordant: tuple[int, int] | None
    p: float | None
    """Of the exact sign test; no part of the interval's confidence."""
    items: int
    unit: str
    delta: float
    margin: float | None
    comparisons: int = 1
    """How many models are compared with the first one: they divide the sign test too."""
    needed: int | None = None
    """About how many items would decide with a chance of 80 %, if the models differ as they do here."""
    over: str = ""
    """What the mean is taken over, where that is not the items: groups, their rows, tokens."""
    conditions: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def p_adjusted(self) -> float | None:
        """The p-value for all comparisons together."""
        return None if self.p is None else min(1.0, self.comparisons * self.p)

    @property
    def verdict(self) -> str:
        """What the interval says; the sign test, beside it, has a level of its own."""
        low, high = self.interval
        if self.margin is not None:
            holds = -low <= self.margin
            shown = "at most" if holds else "not shown to be at most"
            return f"{self.b} is {shown} {self.margin:.12g} worse than {self.a}"
        if self.discordant == (0, 0):
            return "both got the same items right"
        if low > 0:
            return f"{self.b} is better"
        if high < 0:
            return f"{self.a} is better"
        return "not decided"

    def as_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in WRITTEN}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


class Comparisons(Reported, tuple[Comparison, ...]):
    """Every model against the first, in order, and the report about all of them together."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the comparisons rest on."""
        return tuple(dict.fromkeys(text for one in self for text in one.conditions))

    @property
    def report(self) -> Report:
        """The intervals of the differences as statements; the first of them leads."""
        first, more = self[0], len(self) - 1
        low, high = first.interval
        joint = self[0].delta * len(self)

        def sentence(short: Callable[[str], str]) -> str:
            one = replace(first, a=short(first.a), b=short(first.b))
            head = one.verdict if one.margin is not None or low > 0 or high < 0 else capitalized(one.verdict)
            words = f"{head}: the {short(_measured(one))} of {one.a} minus that of {one.b} is between"
            return f"{words} {_floor(low)} and {_ceiling(high)}, with confidence {confidence_text(joint)}."

        return Report(
            title=f"{first.a} against {', '.join(one.b for one in self)}",
            headline=fitting(sentence),
            statements=tuple(_statement(one) for one in self),
            decisive=_id(first),
            basis=_seen(first),
            summary=f"{more} more compared with {first.a}; all hold together." if more else "",
            advice="" if first.needed is None else would_decide(first.needed),
            conditions=self.conditions,
            not_checked=tuple(dict.fromkeys(text for one in self for text in one.not_checked)),
            warnings=tuple(dict.fromkeys(text for one in self for text in one.warnings)),
            delta=joint,
            shares={_id(one): one.delta for one in self},
        )


def apart_from_rows(units: Units, declared: Declaration) -> str:
    """What a mean is taken over, where that is not plain rows; how large a unit may be stands in the declaration."""
    over = units.over(declared)
    return "" if over == declared.population else over.partition(" (")[0]


def measured(what: str, over: str) -> str:
    """What is compared: the error rate, or the mean of a loss, and of what else than items it is the mean."""
    return (what if what == "error rate" else f"mean {what}") + (f" over {over}" if over else "")


def _measured(one: Comparison) -> str:
    return measured(one.what, one.over)


def _id(one: Comparison) -> str:
    return f"compare ({one.b})"


def _ceiling(value: float) -> str:
    return f"{rounded_up(value):+.4g}"


def _floor(value: float) -> str:
    return f"{rounded_down(value):+.4g}"


def _seen(one: Comparison) -> str:
    """The difference on these items, the items on which one alone is wrong, and the sign test."""
    text = f"the {_measured(one)} of {one.a} minus that of {one.b} is {one.difference:+.4g}"
    text += f" over {one.items:,} {one.unit}s"
    if one.discordant is None:
        return text
    a, b = one.discordant
    text += f"; {a:,} items only {one.a} got wrong, {b:,} only {one.b}"
    if one.p_adjusted is None:
        return text
    return f"{text}; sign test p = {one.p_adjusted:.3g} (a test of its own, not part of the interval)"


def _statement(one: Comparison) -> Statement:
    low, high = one.interval
    return Statement(
        id=_id(one),
        title="Difference on the same items",
        bounds="difference",
        value=high,
        confidence=sure(one.delta),
        verdict=one.verdict,
        subject=f"{one.a} minus {one.b}",
        quantity=f"difference in the {_measured(one)}",
        lower=low,
        jointly=True,
        claim=f"the difference is between {_floor(low)} and {_ceiling(high)} on new {one.unit}s",
        seen=_seen(one),
        n_needed=None if one.needed is None else float(one.needed),
        terms={"observed": one.difference, "items": float(one.items)},
    )


@refuse_unknown_options(moved=MOVED)
def compare(
    first: Any,
    *others: Any,
    margin: float | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    declaration: Declaration | Mapping[str, Any] | None = None,
) -> Comparisons:
    """Every model against the first, the declared reference, on the same items.

    A model is a file of predictions, losses or scores, or whatever else `Sample.of` takes. `margin` asks whether the
    other is at most that much worse. All comparisons hold together with the confidence.
    """
    level = failure_probability(delta, confidence)
    paths = (first, *others)
    if not others:
        fix = "Two models in one table are two files, each with the labels and its own predictions"
        raise InputError("files", [str(first)], "at least two files of predictions", fix)
    found = [Sample.of(path, declaration) for path in paths]
    for one in found:
        one.declaration.for_verb("compare")
    if len({one.name for one in found}) < len(found):
        files = all(isinstance(path, (str, Path)) for path in paths)
        names = [str(path) if files else f"model {place}" for place, path in enumerate(paths, 1)]
        found = [replace(one, name=name) for one, name in zip(found, names, strict=True)]
    found = [replace(one, name=visible(one.name)) for one in found]
    return Comparisons(_compared(found[0], other, level / len(others), len(others), margin) for other in found[1:])


@dataclass(frozen=True, eq=False)
class Pairs:
    """Losses of two models on the same units (items, or groups of them), in the order of the first, and their outcome.

    `discordant` counts the items that only one of them got wrong; `over` says what a mean over units is taken over,
    where that is not plain rows.
    """

    first: npt.NDArray[np.float64]
    second: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64] | None
    units: Units
    outcome: Outcome
    discordant: tuple[int, int] | None
    over: str
    warnings: tuple[str, ...]

    @property
    def high(self) -> float:
        high = self.outcome.high
        assert high is not None
        return high


def paired(a: Sample, b: Sample) -> Pairs:
    """The units of two samples matched, by ids where both have them."""
    order_b, warnings = _matched(a, b)
    declared = a.declaration
    mine, other = (clipped(one.outcome(), declared.clip) for one in (a, b))
    first, second = mine.losses, other.losses[order_b]
    if (mine.kind, mine.what, mine.low, mine.high) != (other.kind, other.what, other.low, other.high):
        raise InputError("files", [a.name, b.name], "the same kind of loss in both", f"{mine.what} and {other.what}")
    if mine.high is None:
        raise InputError("clip", None, f"where to cut {mine.what} off", "For example --clip 5")
    discordant = (int(np.sum(first > second)), int(np.sum(second > first))) if mine.kind == "rate" else None
    units = _units(a, b, order_b)
    means, others = (means_of(x, units, declared) for x in (first, second))
    over, named = apart_from_rows(units, declared), replace(units, ids=means.ids)
    warnings += means.warnings
    return Pairs(means.losses, others.losses, means.weights, named, mine, discordant, over, tuple(warnings))


def _compared(a: Sample, b: Sample, delta: float, comparisons: int, margin: float | None) -> Comparison:
    pairs = paired(a, b)
    p = needed = None
    said: Any = {"weights": pairs.weights, "order": a.declaration.order, "ids": pairs.units.ids}
    limits = paired_limits(pairs.first, pairs.second, delta, pairs.outcome.low, pairs.high, **said)
    grouped = pairs.units.groups is not None
    if pairs.discordant is not None and not grouped:  # items of one group are dependent: no sign test
        p = sign_test(*pairs.discordant).two_sided
        more, fewer = max(pairs.discordant) / limits.n, min(pairs.discordant) / limits.n
        needed = items_about(more + fewer, more - fewer, delta / 2.0)
    decided = limits.lower > 0.0 or limits.upper < 0.0
    return Comparison(
        a=a.name,
        b=b.name,
        what=pairs.outcome.what,
        difference=limits.mean,
        interval=(limits.lower, limits.upper),
        discordant=pairs.discordant,
        p=p,
        items=limits.n,
        unit="group" if grouped else "item",
        delta=delta,
        margin=margin,
        comparisons=comparisons,
        needed=None if decided or margin is not None else needed,
        over=pairs.over,
        conditions=tuple(dict.fromkeys((*CONDITIONS, *range_said(pairs.outcome), *a.conditions, *b.conditions))),
        not_checked=tuple(dict.fromkeys((*a.not_checked, *b.not_checked))),
        warnings=tuple(dict.fromkeys((*pairs.warnings, *a.warnings, *b.warnings))),
    )


def _units(a: Sample, b: Sample, order: npt.NDArray[np.int64]) -> Units:
    """The units of the pairs: items that one of the files groups together belong together."""
    mine, other = a.units.groups, b.units.groups
    if mine is None or other is None:
        return a.units if other is None else Units(a.n, a.ids, other[order], a.weights)
    both = components([list(map(str, mine)), list(map(str, other[order]))])
    return replace(a.units, groups=mine if len(set(both)) == len(set(mine.tolist())) else both)


def _matched(a: Sample, b: Sample) -> tuple[npt.NDArray[np.int64], list[str]]:
    """The rows of b in the order of a, by ids, or else one by one; the same items, with the same true labels."""
    order, warnings = _order(a, b)
    if a.items is not None and b.items is not None and (other := int(np.sum(a.items != b.items[order]))):
        raise InputError(
            "files", f"{other} items of {a.name} and {b.name} with the same id and another content",
            "the same items in both files", "These are different tasks, or different versions of one",
        )  # fmt: skip
    labels = [one.parts.get("heldout_labels") for one in (a, b)]
    if labels[0] is not None and labels[1] is not None:
        mine, others = (np.array(as_text(whole(part))) for part in labels if part is not None)
        differ = int(np.sum(mine != others[order]))
        if differ and not set(mine.tolist()).isdisjoint(others.tolist()):  # else another coding: nothing is known
            raise InputError(
                "files", f"{differ} items of {a.name} and {b.name} with another true label", "the same items in both",
                "Are the rows of one file in another order? Give ids; or these are different versions of the labels",
            )  # fmt: skip
    if a.prompts is not None and b.prompts is not None and (differ := int(np.sum(a.prompts != b.prompts[order]))):
        warnings.append(f"{differ} items were asked with different prompts")
    return order, warnings


def _order(a: Sample, b: Sample) -> tuple[npt.NDArray[np.int64], list[str]]:
    if a.ids is None or b.ids is None:
        if a.n != b.n:
            raise InputError("files", [a.n, b.n], "as many rows in both, or ids to match them")
        return np.arange(a.n), ["rows were matched by their place: no ids were given in both files"]
    if len(set(a.ids)) < len(a.ids) or len(set(b.ids)) < len(b.ids):
        raise InputError(
            "ids", "an id that occurs twice", "different ids in each file", "Groups have a column: --group"
        )
    places = {id: place for place, id in enumerate(b.ids)}
    missing = sum(id not in places for id in a.ids)
    more = len(b.ids) - (len(a.ids) - missing)
    if missing or more:
        raise InputError(
            "ids",
            f"{missing:,} items of {a.name} that {b.name} lacks, and {more:,} the other way round",
            "the same items in both files",
            "Leaving items out is a selection: score both models on all of them",
        )
    return np.array([places[id] for id in a.ids], dtype=np.int64), []
