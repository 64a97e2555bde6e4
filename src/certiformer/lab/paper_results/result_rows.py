"""The papers' results at this model, through their bindings: sound rows beside printed ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from certiformer.certificates import THE_MODEL
from certiformer.certification.statements import does_not_apply, of_bound, size_needed, verdict
from certiformer.lab.paper_results import Application
from certiformer.theory.calculus.rademacher import gap_uniform
from certiformer.theory.core import Bound, Quantity, Result, Variants, find, upper_bound
from certiformer.theory.core.errors import CertiformerError
from certiformer.theory.core.report import Statement
from certiformer.theory.measure.profile import Profile

GUARANTEES = {
    "gap": (
        "Bounds how much the error rate on new examples can exceed the training ramp loss shown, uniformly over the "
        "class of networks of this architecture with radii up to the rounded ones. It does not look at the training "
        "algorithm. Beyond the trivial value 1 it says nothing."
    ),
    "risk_01": (
        "Bounds the error rate on new examples by the training ramp loss shown plus a term for the whole class of "
        "networks near the initial weights. Beyond the trivial value it says nothing."
    ),
    "excess_risk": (
        "Bounds how much worse than the best possible predictor an exact empirical risk minimiser is on average over "
        "training sets. It does not speak about a given model that was trained by descent."
    ),
    "training_loss": (
        "Bounds the training loss that the training algorithm reaches. It says nothing about new examples."
    ),
}
"""What a row says, by the quantity it bounds, and what it does not."""


def paper_rows(
    result: type[Result],
    application: Application | str,
    share: float | None,
    profile: Profile | None,
    *,
    needed: bool = True,
) -> list[Statement]:
    """The sound row, or why there is none, and the printed one; `needed`: with the n that would be informative."""
    if isinstance(application, str):
        return [does_not_apply(result, paper_quantity(result), application)]
    rows = []
    if application.only_printed:
        rows.append(does_not_apply(result, application.bounds, application.only_printed))
    elif application.kind == "rademacher" and share is not None and profile is not None:
        rows.append(_gap_row(result, application, share, profile.n, needed))
    else:
        rows.append(_number_row(result, application, share, needed))
    printed = _printed_row(result, application, share, profile)
    return rows if printed is None else [*rows, printed]


def paper_quantity(result: type[Result]) -> str:
    """What a row about this result bounds."""
    return {
        Quantity.EXCESS_RISK: "excess_risk",
        Quantity.TRAINING_LOSS: "training_loss",
        Quantity.RISK: "risk_01",
    }.get(result.bounds, "gap")


def _complexity(result: type[Result], inputs: Mapping[str, Any]) -> tuple[str, Bound] | None:
    """The smallest applicable variant that bounds a Rademacher complexity."""
    found = {
        name: bound
        for name, bound in result(**inputs).sound().items()
        if bound.applies and (bound.bounds or result.bounds) is Quantity.RADEMACHER_COMPLEXITY
    }
    return min(found.items(), key=lambda item: (item[1].value, item[1].log10 or 0.0)) if found else None


def _gap_row(result: type[Result], application: Application, share: float, n: int, needed: bool) -> Statement:
    """2 L Rad + sqrt((ln(1/delta) + paid)/2n), not clipped: how far beyond 1 it is, is what the row is for."""

    def inputs_at(size: float) -> Mapping[str, Any]:
        return {**application.inputs, "n": size} if application.at is None else application.at(size)

    def gap(complexity: float, size: float) -> float:
        return gap_uniform(application.scale * complexity, 1.0, application.paid - math.log(share), size)

    found = _complexity(result, inputs_at(n))
    if found is None:
        return does_not_apply(result, application.bounds, "no variant applies")
    name, complexity = found
    deviation = gap(0.0, n)
    bound = upper_bound(
        gap(complexity.value, n),
        terms={"complexity of the class": gap(complexity.value, n) - deviation, "confidence": deviation},
        additive=math.isfinite(complexity.value),
        hypotheses=(*complexity.hypotheses, *application.hypotheses),
    )

    def value(size: float) -> float | None:
        again = _complexity(result, inputs_at(size))
        return None if again is None else gap(again[1].value, size)

    judged = verdict(bound, application.trivial)
    return of_bound(
        result.id,
        result.title,
        bound,
        application.bounds,
        application.trivial,
        share,
        dominating=max(bound.terms, key=lambda term: bound.terms[term]),
        n_needed=size_needed(value, float(n), application.trivial) if needed and judged != "informative" else None,
        terms={
            **bound.terms,
            "Rademacher complexity": complexity.value,
            "paid for radii and margin (nats)": application.paid,
            "share of delta": share,
            **application.terms,
        },
        guarantee=GUARANTEES.get(application.bounds, ""),
        variant=name,
        subject=THE_MODEL,
    )


def _number_row(result: type[Result], application: Application, share: float | None, needed: bool) -> Statement:
    """The result's own number times the scale; what is not a mere ceiling is preferred."""
    given = {**application.inputs, "delta": share} if application.takes_delta else dict(application.inputs)

    def best(inputs: Mapping[str, Any]) -> tuple[str, Bound] | str:
        sound = result(**inputs).sound()
        eligible = {
            name: bound for name, bound in sound.items() if bound.applies and bound.bounds in (None, result.bounds)
        }
        if not eligible:
            failing = [c.requires for b in sound.values() for c in b.hypotheses if c.blocks]
            return "; ".join(dict.fromkeys(failing)) or "no variant applies"
        return min(eligible.items(), key=lambda item: (item[1].clipped, item[1].value))

    found = best(given)
    if isinstance(found, str):
        return does_not_apply(result, application.bounds, found)
    name, bound = found
    scaled = upper_bound(bound.value * application.scale, hypotheses=(*bound.hypotheses, *application.hypotheses))

    def value(size: float) -> float | None:
        again = best({**given, "n": size})
        return None if isinstance(again, str) else again[1].value * application.scale

    judged = verdict(scaled, application.trivial)
    scales = needed and "n" in given and judged != "informative" and application.bounds != "training_loss"
    return of_bound(
        result.id,
        result.title,
        scaled,
        application.bounds,
        application.trivial,
        application.own_delta if share is None else share,
        dominating=max(bound.terms, key=lambda term: bound.terms[term]) if bound.terms else "",
        n_needed=size_needed(value, float(given["n"]), application.trivial) if scales else None,
        terms={
            **bound.terms,
            **({"paid for radii (nats)": application.paid} if application.paid else {}),
            **({"failure probability of its own": application.own_delta} if application.own_delta else {}),
            **application.terms,
        },
        guarantee=GUARANTEES.get(application.bounds, ""),
        reason="holds in expectation over the sample" if application.in_expectation else "",
        variant=name,
        subject=THE_MODEL,
    )


def _printed_row(
    result: type[Result], application: Application, share: float | None, profile: Profile | None
) -> Statement | None:
    """What the printed formula gives at the measured sizes: a number to look at, never a guarantee."""
    if not result.has_printed() or profile is None:
        return None
    given = dict(application.printed_inputs or {})
    if application.printed_bound is not None:
        printed: Variants = {"value": application.printed_bound}
    elif application.printed_inputs is None:
        return None
    else:
        if application.takes_delta:
            given["delta"] = share
        try:
            printed = result(**given).printed()
        except (CertiformerError, ArithmeticError):
            return None  # the printed formula has no value at these sizes (a frozen matrix, a number beyond floats)
    variants = {name: bound for name, bound in printed.items() if bound.bounds in (None, result.bounds)}
    if not variants:
        return None
    name, bound = next(iter(variants.items()))
    number, applies = bound.value, bound.applies
    if application.kind == "rademacher":
        if result.bounds is Quantity.LOG_COVERING_NUMBER:
            number, applies = _printed_dudley(bound, given, application, applies)
        number = gap_uniform(application.scale * number, 1.0, -math.log(share or 0.05), profile.n)
    else:
        number *= application.scale
    shown = Bound(number)
    if number < 0:
        judged = "meaningless: negative"
    elif not applies:
        judged = "outside its own range"
    else:
        judged = verdict(shown, application.trivial)
    return Statement(
        id=result.id,
        version="printed",
        title=result.title,
        bounds=application.bounds,
        value=number,
        log10=shown.log10,
        trivial=application.trivial,
        verdict=judged,
        conditions=bound.hypotheses,
        reason=f"printed statement: {result.status.value} ({result.reason})",
        variant=name,
        subject=THE_MODEL,
    )


def _printed_dudley(
    bound: Bound, given: Mapping[str, Any], application: Application, applies: bool
) -> tuple[float, bool]:
    """A printed covering number C/eps^2 through Dudley's integral as printed."""
    constant = bound.value * float(given["eps"]) ** 2
    if not math.isfinite(constant) or application.printed_radius is None:
        return math.inf, applies
    dudley = find("trauger.dudley").evaluate({"C": constant, "D": application.printed_radius, "n": given["n"]})
    found = next(iter(dudley.printed.values()))
    return found.value, applies and found.applies
