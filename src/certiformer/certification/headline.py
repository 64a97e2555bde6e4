"""What a report says in words: the claim of a statement, and which statement leads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from certiformer.report.numbers import confidence_text, percent_down, percent_up, rounded_up
from certiformer.theory.core.report import Statement, cut, fitting

OWN = ("the model", "the smoothed predictor")
"""Subjects that are the caller's own model: they lead, if their limit is useful."""


def claim(row: Statement, short: Callable[[str], str] = cut) -> str:
    """The limit in words, without its confidence: the model errs on at most 5.18 % of new examples."""
    if row.value is None:
        return ""
    subject = _subject(row.subject, short)
    limit = _between(row, row.value)
    if row.bounds == "mean_loss":
        record = row.evidence
        # Tokens, not documents, and no clipped loss: only then is exp of the limit a perplexity.
        named = getattr(record, "perplexity", False) and "clipped" not in record.what
        tokens = named and record.of.startswith("tokens")
        perplexity = f", a perplexity of at most {rounded_up(math.exp(row.value)):.4g}" if tokens else ""
        what, _, over = row.quantity.partition(" over ")
        return f"the {short(what)} of {subject} over {short(over)} is {limit}{perplexity}"
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
        return fitting(lambda short: f"{_capital(claim(row, short))}, with confidence {confidence}.")
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
    """The statement that leads: an error rate of the caller's model, a mean loss, any other rate, the hold-out."""
    counted = [row for row in rows if row.version == "sound" and row.value is not None and row.evidence is not None]
    rates = [row for row in counted if row.bounds == "risk_01" and row.informative]
    losses = [row for row in counted if row.bounds == "mean_loss"]
    others = [row for row in counted if row.informative]
    holdout = [row for row in counted if row.id == "holdout"]
    for some in ([row for row in rates if row.subject in OWN], [row for row in losses if row.subject in OWN][:1]):
        if some:  # all metrics hold together, so any of them may lead: the first
            return min(some, key=_value)
    for some in (rates, [row for row in others if row.rate], others, holdout):
        if some:
            return min(some, key=_value)
    return None


def _value(row: Statement) -> float:
    return math.inf if row.value is None else row.value


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _subject(subject: str, short: Callable[[str], str]) -> str:
    """In the middle of a sentence: an apposition is closed by a comma."""
    name = short(subject)
    return f"{name}," if ", " in name and not name.endswith(",") else name


def _between(row: Statement, value: float) -> str:
    if row.lower is None:
        return f"at most {_figure(row, value)}"
    return f"at least {_figure(row, row.lower, down=True)} and at most {_figure(row, value)}"


def _figure(row: Statement, value: float, *, down: bool = False) -> str:
    """A limit as people read it: rates in percent, other losses to four digits, rounded outward."""
    if row.rate:
        return percent_down(value) if down else percent_up(value)
    return f"{-rounded_up(-value) if down else rounded_up(value):.4g}"
