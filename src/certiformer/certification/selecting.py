"""Answer or abstain: a threshold on the confidence of a sample, with the checks and conditions of every verb."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from certiformer.certification.declaration import MOVED, Declaration
from certiformer.certification.sample import Sample
from certiformer.evaluation import Selection, choose_threshold
from certiformer.evaluation._given import failure_probability
from certiformer.evaluation.order import hash_order
from certiformer.report.numbers import percent, percent_down, percent_up
from certiformer.theory.core.errors import InputError, refuse_unknown_options
from certiformer.theory.core.report import Report, Reported, Statement, confidence_text

CONDITIONS = (
    "the units (examples or groups) are independent draws from the population the claim is about",
    "the model, and its confidence, were fixed before it was scored on these examples",
)


@dataclass(frozen=True)
class Selected(Reported):
    """The threshold with what it rests on; `unit` says what was drawn: examples, or one example of each group."""

    selection: Selection
    unit: str
    models: int
    conditions: tuple[str, ...]
    not_checked: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def _answered(self) -> str:
        return "examples" if self.unit == "examples" else "examples, one of each group,"

    @property
    def report(self) -> Report:
        """The limit of the error among the answered as a statement; none where nothing may be answered."""
        chosen, level = self.selection, self.selection.delta * self.models
        low, high = chosen.coverage
        said, basis = chosen.threshold is not None, ""
        if chosen.threshold is None:
            headline = f"Answer nothing: no threshold is certified to err on at most {percent(chosen.alpha)}."
        else:
            sign = ">" if chosen.strict else ">="
            where = (
                "always" if chosen.threshold == -math.inf else f"where confidence {sign} {float(chosen.threshold)!r}"
            )
            headline = (
                f"Answer {where}: the error among answered {self._answered} is at most "
                f"{percent_up(chosen.error_upper)}, with confidence {confidence_text(level)}."
            )
            basis = (
                f"{chosen.errors:,} errors among {chosen.answered:,} answered of {chosen.n:,} {self.unit}. "
                f"About {100 * chosen.answered / chosen.n:.1f} % of new examples are answered (between "
                f"{percent_down(low)} and {percent_up(high)}, "
                f"a separate {confidence_text(chosen.delta)} confidence interval)"
            )
        only = Statement(
            id="select",
            title="Error among the answered",
            bounds="risk_01",
            value=chosen.error_upper if said else None,
            trivial=1.0,
            confidence=1.0 - level,
            verdict="informative" if said else "does not apply",
            subject="the model where it answers",
            quantity="error rate among the answered",
            jointly=True,
            claim=headline,
            seen=basis,
            terms={"allowed": chosen.alpha, "least coverage": low, "largest coverage": high},
            reason="" if said else headline,
        )
        return Report(
            title="answer or abstain",
            headline=headline,
            statements=(only,),
            decisive="select" if said else None,
            basis=basis,
            advice="" if said else "More labels, or a larger --error, would help.",
            conditions=self.conditions,
            not_checked=self.not_checked,
            warnings=self.warnings,
            delta=level,
        )

    def as_json(self) -> dict[str, Any]:
        found = asdict(self.selection)
        if self.selection.threshold == float("-inf"):
            found["threshold"] = "-inf"
        more = {name: list(getattr(self, name)) for name in ("conditions", "not_checked", "warnings")}
        return {**found, "unit": self.unit, "models": self.models, **more}


@refuse_unknown_options(moved=MOVED)
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
    level = failure_probability(delta, confidence)
    sample = Sample.of(given, declaration)
    declared = sample.declaration.for_verb("select")
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
    low = int(np.sum((sample.scores >= 0.0) & (sample.scores < 0.5)))
    if (
        sample.coding is not None
        and sample.classes == 2
        and low
        and np.all((sample.scores >= 0.0) & (sample.scores <= 1.0))
    ):
        warnings.append(
            f"{low:,} confidences are below 0.5, with two classes: of the probability p of one class, the "
            "confidence in the answer is the larger of p and 1 - p"
        )
    found = choose_threshold(sample.scores[rows], outcome.losses[rows], error, level / declared.models, thresholds)
    return Selected(
        found, unit, declared.models, (*CONDITIONS, *sample.conditions), sample.not_checked, tuple(warnings)
    )
