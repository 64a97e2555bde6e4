"""Statements: a bound, or a record at its share of delta, with confidence, verdict and words; and which one leads."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from certiformer.certificates import THE_MODEL, Evidence
from certiformer.certificates._evidence import OBSERVED
from certiformer.report.numbers import percent_down, percent_up, rounded_down, rounded_up
from certiformer.theory.core import Bound, Evaluation, Hypothesis, Result
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.report import Statement, confidence_text, cut, fitting

MOST_EXAMPLES = 1e40
MOST_COUNTED = 1e7
"""Beyond this many examples, counts are not projected."""


def does_not_apply(result: type[Result], bounds: str, reason: str) -> Statement:
    """A row that says why there is no number."""
    return Statement(id=result.id, title=result.title, bounds=bounds, reason=reason)


def of_bound(
    id: str, title: str, bound: Bound, bounds: str, trivial: float, delta: float | None, **more: Any
) -> Statement:
    """A bound as a statement, with its confidence and verdict."""
    own = {"verdict": verdict(bound, trivial), "conditions": bound.hypotheses, "terms": dict(bound.terms)}
    return Statement(
        id=id,
        title=title,
        bounds=bounds,
        value=bound.value,
        log10=bound.log10,
        trivial=trivial,
        confidence=confidence(delta),
        **{**own, **more},
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
    row = _best_variant(evidence, result.evaluate(evidence.inputs(paid)), share, trivial)

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


def _best_variant(evidence: Evidence, evaluation: Evaluation, share: float, trivial: float) -> Statement:
    """The best sound variant as a statement, with its verdict."""
    result, name = evaluation.result, evaluation.best
    if name is None:
        failing = [check.requires for bound in evaluation.sound.values() for check in bound.hypotheses if check.blocks]
        return does_not_apply(result, evidence.bounds, "; ".join(dict.fromkeys(failing)) or "no variant applies")
    bound = evaluation.sound[name]
    words = evidence.guarantee.format(subject=evidence.about)
    return of_bound(result.id, result.title, bound, evidence.bounds, trivial, share, guarantee=words, variant=name)


def _numbered(evidence: Evidence, hypothesis: Hypothesis) -> Hypothesis:
    """A hypothesis of the bound, settled by the record where it can be; n examples are so many here."""
    found = evidence.settled(hypothesis)
    words = re.sub(r"\bthe n (?=(certified |labelled )?examples)", f"the {evidence.size:,} ", found.requires)
    return replace(found, requires=words)


def _dominating(evidence: Evidence, row: Statement) -> str:
    """The observed rate, or what is added to it: whichever is larger."""
    if row.value is None:
        return row.dominating
    observed = max(row.terms.get(name, 0.0) for name in OBSERVED)
    return "observed rate" if observed >= 0.5 * row.value else evidence.price(row.terms)


PIECES = ("tokens", "words", "bytes")
"""What a text consists of: only of these a perplexity is stated."""
OWN = (THE_MODEL, "the smoothed predictor")
"""Subjects that are the caller's own model: they lead, if their limit is useful."""
JUDGED_BY = f"{THE_MODEL}, judged by "
"""The model by one of several metrics that are right or wrong."""


def claim(row: Statement, short: Callable[[str], str] = cut) -> str:
    """The limit in words, without its confidence: the model errs on at most 5.18 % of new examples."""
    if row.value is None:
        return ""
    subject = closed(short(row.subject))
    limit = _between(row, row.value)
    if row.bounds == "mean_loss":
        record = row.evidence
        # Tokens (words, bytes), not documents, and no clipped loss: only then is exp of the limit a perplexity.
        named = getattr(record, "perplexity", False) and "clipped" not in record.what
        tokens = named and record.of.startswith(PIECES)
        perplexity = f", a perplexity of at most {rounded_up(math.exp(row.value)):.4g}" if tokens else ""
        what, _, over = row.quantity.partition(" over ")
        if short(over) != over:  # how large a unit may be stands in the report
            over = short(over.partition(" (")[0])
        return f"the {short(what)} of {subject} over {over} is {limit}{perplexity}"
    if row.bounds == "gibbs_risk_01":
        return f"{subject} errs on {limit} of new examples, averaged over its random weights"
    if row.bounds == "mean_iterate_risk_01":
        return f"the models of one training pass err on {limit} of new examples on average (not the last one alone)"
    if row.bounds in ("mean_iterate_loss", "ratio_of_iterates"):
        return f"the {row.quantity} (not the last model alone), is {limit}"
    if row.bounds == "smoothed_cross_entropy":
        return f"the cross-entropy of {subject} on new examples is {limit} nats"
    return f"{subject} errs on {limit} of new {short(getattr(row.evidence, 'of', 'examples'))}"


def headline(row: Statement | None, delta: float) -> str:
    """The leading claim as a sentence. All hold together with probability 1 - delta, so the best may be chosen."""
    confidence = confidence_text(delta)
    if row is None or row.value is None:
        return f"No certificate says anything about new examples at confidence {confidence}."
    if row.informative or row.bounds == "mean_loss":
        return fitting(lambda short: f"{capitalized(claim(row, short))}, with confidence {confidence}.")
    limit = percent_up(row.value) if row.rate else f"{rounded_up(row.value):.4g}"
    return (
        f"Nothing here is guaranteed to be better than guessing: with confidence {confidence} the error rate is at "
        f"most {limit}."
    )


def advice(row: Statement | None) -> str:
    """What would make the leading statement say more."""
    if row is None or row.informative or row.n_needed is None:
        return ""
    return f"About {int(row.n_needed):,} held-out examples at this rate would show more than guessing."


def decisive(rows: Sequence[Statement]) -> Statement | None:
    """The statement that leads: an error rate of the caller's model, a mean loss, any other rate, the hold-out.

    All hold together, so that any may lead; of several metrics, whose limits cannot be compared, the first declared.
    """
    counted = [row for row in rows if row.version == "sound" and row.value is not None and row.evidence is not None]
    rates = [row for row in counted if row.bounds == "risk_01" and row.informative]
    whole = [row for row in counted if row.subject in OWN or row.subject.startswith(JUDGED_BY)]
    metrics = [row for row in whole if row.bounds == "mean_loss" or (row.bounds == "risk_01" and row.informative)]
    others = [row for row in counted if row.informative]
    holdout = [row for row in counted if row.id == "holdout"]
    own, of_rates = [row for row in rates if row.subject in OWN], [row for row in others if row.rate]
    for some in (own, metrics[:1], rates, of_rates, others, holdout):
        if some:
            return min(some, key=_value)
    return None


def _value(row: Statement) -> float:
    return math.inf if row.value is None else row.value


def capitalized(text: str) -> str:
    """As a sentence begins."""
    return f"{text[:1].upper()}{text[1:]}"


def closed(name: str) -> str:
    """In the middle of a sentence: an apposition is closed by a comma."""
    return f"{name}," if ", " in name and not name.endswith(",") else name


def _between(row: Statement, value: float) -> str:
    if row.lower is None:
        return f"at most {figure(row, value)}"
    return f"at least {figure(row, row.lower, down=True)} and at most {figure(row, value)}"


def figure(row: Statement, value: float, *, down: bool = False) -> str:
    """A limit as people read it: rates in percent, other losses to four digits, rounded outward."""
    if row.rate:
        return percent_down(value) if down else percent_up(value)
    return f"{rounded_down(value) if down else rounded_up(value):.4g}"
