"""Answer or abstain: a threshold on the confidence of a sample, with the checks and conditions of every verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from certiformer.certification.declaration import Declaration
from certiformer.certification.sample import Sample
from certiformer.evaluation import Selection, choose_threshold
from certiformer.evaluation._given import failure_probability
from certiformer.evaluation.order import hash_order
from certiformer.theory.core.errors import InputError, refuse_unknown_options

CONDITIONS = (
    "the examples are independent draws from the population the claim is about",
    "the model, and its confidence, were fixed before it was scored on these examples",
)


@dataclass(frozen=True)
class Selected:
    """The threshold with what it rests on; `unit` says what was drawn: examples, or one example of each group."""

    selection: Selection
    unit: str
    models: int
    conditions: tuple[str, ...]
    not_checked: tuple[str, ...]
    warnings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        found = asdict(self.selection)
        if self.selection.threshold == float("-inf"):
            found["threshold"] = "-inf"
        more = {name: list(getattr(self, name)) for name in ("conditions", "not_checked", "warnings")}
        return {**found, "unit": self.unit, "models": self.models, **more}


@refuse_unknown_options
def select(
    given: Any,
    *,
    error: float,
    thresholds: Sequence[float] | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    declaration: Declaration | Mapping[str, Any] | None = None,
) -> Selected:
    """When to answer and when to abstain: the error among the answered is at most `error`, with the confidence.

    `given`: answers that are right or wrong, with the model's confidence in each. `thresholds` fixed beforehand are
    tried in their order; without them ten counts are. Of grouped rows one of each group is used, drawn by its id.
    """
    level, declared = failure_probability(delta, confidence), Declaration.of(declaration)
    sample = Sample.of(given, declared)
    declared = sample.declaration
    if declared.two_sided or declared.slices is not None or declared.estimand != "groups":
        raise InputError("declaration", "two_sided, slices or estimand", "what a selection can use")
    outcome = sample.outcome()
    if outcome.kind != "rate":
        raise InputError(
            "file", sample.name, "right or wrong answers", "A loss between has no error rate among answered"
        )
    if sample.scores is None:
        raise InputError(
            "file", sample.name, "confidences", "A column `confidence` (--confidence-column COLUMN), or logits"
        )
    rows, unit, warnings = np.arange(sample.n), "examples", list(sample.warnings)
    if sample.units.groups is not None:
        order = hash_order(sample.ids or [str(row) for row in range(sample.n)])
        first: dict[str, int] = {}
        for row in order.tolist():
            first.setdefault(str(sample.units.groups[row]), row)
        rows, unit = np.array(sorted(first.values())), "groups, one example drawn from each"
        warnings.append(f"{len(rows):,} of {sample.n:,} rows are used: one of each group, drawn by hash")
    found = choose_threshold(sample.scores[rows], outcome.losses[rows], error, level / declared.models, thresholds)
    return Selected(
        found, unit, declared.models, (*CONDITIONS, *sample.conditions), sample.not_checked, tuple(warnings)
    )
