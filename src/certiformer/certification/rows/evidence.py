"""A record of what was counted, at its share of delta, as a statement of the report."""

from __future__ import annotations

import re
from dataclasses import replace

from certiformer.certificates import Evidence
from certiformer.certificates._evidence import OBSERVED
from certiformer.certification.headline import claim
from certiformer.certification.rows.statement import does_not_apply, from_evaluation, size_needed
from certiformer.theory.core import Hypothesis
from certiformer.theory.core.report import Statement

MOST_COUNTED = 1e7
"""Beyond this many examples, counts are not projected."""


def evidence_row(evidence: Evidence, share: float, classes: int) -> Statement:
    """The bound at the share divided among the models compared, with its verdict and the n that would say more."""
    trivial, result, paid = evidence.trivial(classes), evidence.bound, share / evidence.models
    if evidence.two_sided:
        paid /= 2.0
    row = from_evaluation(
        result.evaluate(evidence.inputs(paid)),
        bounds=evidence.bounds,
        trivial=trivial,
        delta=share,
        guarantee=evidence.guarantee.format(subject=evidence.about),
        scale_n=None,
    )

    def value(n: float) -> float | None:
        grown = evidence.grown(n / evidence.size)
        if grown is None:
            return None
        again = result.evaluate(grown.inputs(paid))
        return None if again.best is None else again.sound[again.best].value

    # No sample is large enough where the observed rate itself is no better than guessing.
    hopeless = row.informative or max(row.terms.get(name, 0.0) for name in OBSERVED) >= trivial
    terms = {**row.terms, **evidence.terms(paid), "examples": float(evidence.size), "share of delta": share}
    if evidence.models > 1:
        terms["models paid for"] = float(evidence.models)
    row = replace(
        row,
        n_needed=None if hopeless else size_needed(value, float(evidence.size), trivial, MOST_COUNTED),
        lower=evidence.lower(paid) if evidence.two_sided else None,
        subject=evidence.about,
        quantity=evidence.quantity,
        jointly=True,
        seen=evidence.seen() + evidence.beside(paid),
        conditions=(*(_numbered(evidence, one) for one in row.conditions), *evidence.hypotheses()),
        dominating=_dominating(evidence, row),
        reason=evidence.note,
        terms=terms,
        evidence=evidence,
    )
    return replace(row, claim=claim(row))


def _numbered(evidence: Evidence, hypothesis: Hypothesis) -> Hypothesis:
    """A hypothesis of the bound, settled by the record where it can be; n examples are so many here."""
    words = re.sub(r"\bthe n (?=(certified |labelled )?examples)", f"the {evidence.size:,} ", hypothesis.requires)
    return replace(evidence.settled(hypothesis), requires=words)


def absent_row(kind: type[Evidence], reason: str) -> Statement:
    """A certificate for which nothing was counted, with the reason."""
    return does_not_apply(kind.bound, kind.bounds, reason)


def _dominating(evidence: Evidence, row: Statement) -> str:
    """The observed rate, or what is added to it: whichever is larger."""
    if row.value is None:
        return row.dominating
    observed = max(row.terms.get(name, 0.0) for name in OBSERVED)
    return "observed rate" if observed >= 0.5 * row.value else evidence.price(row.terms)
