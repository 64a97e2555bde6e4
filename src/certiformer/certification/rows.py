"""A bound as a statement, a record at its share of delta as one: confidence, verdict, and what would say more."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

from certiformer.certificates import Evidence
from certiformer.certificates._evidence import OBSERVED
from certiformer.certification.headline import claim
from certiformer.theory.core import Bound, Evaluation, Hypothesis, Result
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.report import Statement

MOST_EXAMPLES = 1e40
MOST_COUNTED = 1e7
"""Beyond this many examples, counts are not projected."""


def does_not_apply(result: type[Result], bounds: str, reason: str) -> Statement:
    """A row that says why there is no number."""
    return Statement(result.id, "sound", result.title, bounds, None, None, None, None, "does not apply", reason=reason)


def from_evaluation(
    evaluation: Evaluation,
    *,
    bounds: str,
    trivial: float,
    delta: float | None,
    guarantee: str = "",
) -> Statement:
    """The best sound variant as a statement, with its verdict."""
    result, name = evaluation.result, evaluation.best
    if name is None:
        failing = [check.requires for bound in evaluation.sound.values() for check in bound.hypotheses if check.blocks]
        return does_not_apply(result, bounds, "; ".join(dict.fromkeys(failing)) or "no variant applies")
    bound = evaluation.sound[name]
    return Statement(
        result.id,
        "sound",
        result.title,
        bounds,
        bound.value,
        bound.log10,
        trivial,
        confidence(delta),
        verdict(bound, trivial),
        dominating=dominating(bound),
        conditions=bound.hypotheses,
        terms=dict(bound.terms),
        guarantee=guarantee,
        variant=name,
    )


def confidence(delta: float | None) -> float | None:
    """1 - delta as a float that does not exceed it; None for a statement without a failure probability."""
    return None if delta is None else min(1.0 - delta, math.nextafter(1.0, 0.0))


def verdict(bound: Bound, trivial: float) -> str:
    """`informative`, or `vacuous by a factor of k`."""
    if bound.value < trivial:
        return "informative"
    log10 = bound.log10
    if log10 is None or math.isinf(log10):
        return "vacuous: infinite"
    power = max(0.0, log10 - math.log10(trivial))
    return f"vacuous by a factor of {10.0**power:.3g}" if power < 5.0 else f"vacuous by a factor of 10^{power:.1f}"


def dominating(bound: Bound) -> str:
    """The largest term of a sum, or the largest named factor."""
    if not bound.terms:
        return ""
    return max(bound.terms, key=lambda name: bound.terms[name])


def size_needed(
    value: Callable[[float], float | None], size: float, trivial: float, most: float = MOST_EXAMPLES
) -> float | None:
    """The least sample size, within four percent, at which `value(n)` falls below the trivial value.

    `value` says what the bound would be at n; None, or an error that is the caller's to mend, means no bound there.
    Bounds fall about like 1/sqrt(n), so the first guess squares the ratio that is missing; where that does not get
    there, as with a bound that has a limit or is the trivial value still, the strides grow.
    """

    def at(n: float) -> float:
        try:
            found = value(float(round(n)))
        except CertiformerError:
            return math.inf
        return math.inf if found is None else found

    low, above = size, at(size)
    if above < trivial:
        return float(round(size))
    high, below, stride = low, above, math.sqrt(2.0)
    while below >= trivial:
        stride = min(stride * stride, 1e12)
        low, above = high, below
        if low >= most:
            return None
        missing = below / trivial if math.isfinite(below) else 10.0
        high = min(low * min(max(stride, 1.2 * missing * missing), 1e12), most)
        below = at(high)
    while high > low * 1.04:
        # Bounds are nearly powers of n: a hair on either side of where a power would cross, then the middle.
        power = 0.0 < below < above < math.inf
        crossing = low * (high / low) ** (math.log(above / trivial) / math.log(above / below)) if power else 0.0
        for guess in (crossing * 1.019, crossing / 1.019, math.sqrt(low * high)):
            if low < guess < high and high > low * 1.04:
                found = at(guess)
                low, above, high, below = (low, above, guess, found) if found < trivial else (guess, found, high, below)
    return float(round(high))


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


def _dominating(evidence: Evidence, row: Statement) -> str:
    """The observed rate, or what is added to it: whichever is larger."""
    if row.value is None:
        return row.dominating
    observed = max(row.terms.get(name, 0.0) for name in OBSERVED)
    return "observed rate" if observed >= 0.5 * row.value else evidence.price(row.terms)
