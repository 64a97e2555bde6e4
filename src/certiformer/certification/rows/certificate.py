"""A certificate: a bound with its confidence, its verdict, and what would make it say more."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from certiformer.certificates import Evidence
from certiformer.core import Bound, Evaluation, Hypothesis, Result
from certiformer.core.bound import json_number
from certiformer.core.errors import CertiformerError

MOST_EXAMPLES = 1e40


@dataclass(frozen=True, slots=True)
class Certificate:
    """One row of the report. `value` None means that the result does not apply; `reason` then says why."""

    id: str
    version: Literal["sound", "printed"]
    title: str
    bounds: str
    value: float | None
    log10: float | None
    trivial: float | None
    confidence: float | None
    verdict: str
    dominating: str = ""
    n_needed: float | None = None
    hypotheses: tuple[Hypothesis, ...] = ()
    terms: Mapping[str, float] = field(default_factory=dict)
    guarantee: str = ""
    reason: str = ""
    variant: str = ""
    subject: str = ""
    lower: float | None = None
    """The lower limit, where both were asked for."""
    evidence: Evidence | None = None
    """The record behind a certificate of our own; a paper's row has none."""
    predictor: Mapping[str, str] | None = None
    """Where the certified predictor was written: `file` beside the report, and its `sha256`."""
    through: Mapping[str, str] | None = None
    """The same for the certified sibling that a transfer goes through."""
    trace: Mapping[str, str] | None = None
    """The same for what was recorded while counting."""

    @property
    def informative(self) -> bool:
        """A guarantee (not a printed formula) below the trivial value."""
        return self.version == "sound" and self.verdict == "informative"

    @property
    def _overflowed(self) -> bool:
        """Finite, but too large for a float: the logarithm tells."""
        return self.value == math.inf and self.log10 is not None and math.isfinite(self.log10)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "version": self.version,
            "title": self.title,
            "bounds": self.bounds,
            "subject": self.subject,
            "variant": self.variant,
            "value": None if self.value is None or self._overflowed else json_number(self.value),
            "log10": None if self.log10 is None else json_number(self.log10),
            **({} if self.lower is None else {"lower": json_number(self.lower)}),
            "trivial": self.trivial,
            "verdict": self.verdict,
            "confidence": self.confidence,
            "dominating": self.dominating,
            "n_needed": None if self.n_needed is None else json_number(self.n_needed),
            "hypotheses": [one.as_json() for one in self.hypotheses],
            "terms": {name: json_number(term) for name, term in self.terms.items()},
            "guarantee": self.guarantee,
            "reason": self.reason,
            "evidence": None if self.evidence is None else {"key": self.evidence.key, **self.evidence.record()},
            "predictor": None if self.predictor is None else dict(self.predictor),
            "through": None if self.through is None else dict(self.through),
            "trace": None if self.trace is None else dict(self.trace),
        }


def does_not_apply(
    result: type[Result], bounds: str, reason: str, version: Literal["sound", "printed"] = "sound"
) -> Certificate:
    """A row that says why there is no number."""
    return Certificate(
        result.id, version, result.title, bounds, None, None, None, None, f"does not apply: {reason}", reason=reason
    )


def from_evaluation(
    evaluation: Evaluation,
    *,
    bounds: str,
    trivial: float,
    delta: float | None,
    guarantee: str = "",
    scale_n: str | None = "n",
) -> Certificate:
    """The best sound variant as a certificate, with its verdict and the n at which it would be informative."""
    result, name = evaluation.result, evaluation.best
    if name is None:
        failing = [check.requires for bound in evaluation.sound.values() for check in bound.hypotheses if check.blocks]
        return does_not_apply(result, bounds, "; ".join(dict.fromkeys(failing)) or "no variant applies")
    bound = evaluation.sound[name]
    found = verdict(bound, trivial)
    needed = None if found == "informative" or scale_n is None else examples_needed(evaluation, trivial, scale_n)
    return Certificate(
        result.id,
        "sound",
        result.title,
        bounds,
        bound.value,
        bound.log10,
        trivial,
        confidence(delta),
        found,
        dominating=dominating(bound),
        n_needed=needed,
        hypotheses=bound.hypotheses,
        terms=dict(bound.terms),
        guarantee=guarantee,
        variant=name,
    )


def confidence(delta: float | None) -> float | None:
    """1 - delta as a float that does not exceed it; None for a statement without a failure probability."""
    return None if delta is None else min(1.0 - delta, math.nextafter(1.0, 0.0))


def verdict(bound: Bound, trivial: float) -> str:
    """`informative`, or `vacuous by k decades`."""
    if bound.value < trivial:
        return "informative"
    log10 = bound.log10
    if log10 is None or math.isinf(log10):
        return "vacuous: infinite"
    decades = max(0.0, log10 - math.log10(trivial))
    return f"vacuous by {decades:.1f} decades"


def dominating(bound: Bound) -> str:
    """The largest term of a sum, or the largest named factor."""
    if not bound.terms:
        return ""
    return max(bound.terms, key=lambda name: bound.terms[name])


def examples_needed(evaluation: Evaluation, trivial: float, name: str) -> float | None:
    """The sample size at which the same inputs would give a bound below the trivial value; None if there is none.

    Everything else is held fixed, so this is what the formula asks for, not a prediction about training.
    """
    result = evaluation.result
    if name not in evaluation.inputs:
        return None
    given = {key: value for key, value in evaluation.inputs.items() if value is not None}

    def value(n: float) -> float | None:
        again = result.evaluate({**given, name: n})
        return None if again.best is None else again.sound[again.best].value

    return size_needed(value, float(given[name]), trivial)


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
