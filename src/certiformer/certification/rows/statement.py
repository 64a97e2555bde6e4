"""A bound as a statement: its confidence, its verdict, and what would make it say more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from certiformer.theory.core import Bound, Evaluation, Result
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.report import Statement

MOST_EXAMPLES = 1e40


def does_not_apply(
    result: type[Result], bounds: str, reason: str, version: Literal["sound", "printed"] = "sound"
) -> Statement:
    """A row that says why there is no number."""
    return Statement(result.id, version, result.title, bounds, None, None, None, None, "does not apply", reason=reason)


def from_evaluation(
    evaluation: Evaluation,
    *,
    bounds: str,
    trivial: float,
    delta: float | None,
    guarantee: str = "",
    scale_n: str | None = "n",
) -> Statement:
    """The best sound variant as a certificate, with its verdict and the n at which it would be informative."""
    result, name = evaluation.result, evaluation.best
    if name is None:
        failing = [check.requires for bound in evaluation.sound.values() for check in bound.hypotheses if check.blocks]
        return does_not_apply(result, bounds, "; ".join(dict.fromkeys(failing)) or "no variant applies")
    bound = evaluation.sound[name]
    found = verdict(bound, trivial)
    needed = None if found == "informative" or scale_n is None else examples_needed(evaluation, trivial, scale_n)
    return Statement(
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
