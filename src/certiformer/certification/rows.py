"""Rows of the report: evidence at its share of delta, and the papers' results through their bindings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from certiformer.calculus.rademacher import gap_uniform
from certiformer.certification.bindings import Application
from certiformer.certification.certificate import (
    Certificate,
    does_not_apply,
    from_evaluation,
    size_needed,
    verdict,
)
from certiformer.certification.evidence import THE_MODEL, Betting, Evidence, Margin, Occam
from certiformer.certification.guarantees import guarantee
from certiformer.core import Bound, Quantity, Result, find, upper_bound
from certiformer.core.errors import CertiformerError
from certiformer.measure.profile import Profile


def bounds_of(id: str) -> str:
    return {
        "pacbayes.gibbs": "gibbs_risk_01",
        "progressive": "mean_iterate_risk_01",
        "betting": "smoothed_cross_entropy",
    }.get(id, "risk_01")


def _trivial(evidence: Evidence, classes: int) -> float:
    """Guessing uniformly: error 1 - 1/K, cross-entropy ln K."""
    return math.log(classes) if isinstance(evidence, Betting) else 1.0 - 1.0 / classes


def evidence_row(evidence: Evidence, share: float, classes: int) -> Certificate:
    trivial = _trivial(evidence, classes)
    result = find(evidence.id)
    paid = share / evidence.configurations
    row = from_evaluation(
        result.evaluate(evidence.inputs(paid)),
        bounds=evidence.bounds,
        trivial=trivial,
        delta=share,
        guarantee=guarantee(evidence.id, evidence.subject, evidence.bounds),
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
    needed = None if hopeless else size_needed(value, float(evidence.size), trivial, MOST_COUNTED)
    return replace(
        row,
        n_needed=needed,
        subject=evidence.subject,
        dominating=_dominating(evidence, row),
        reason=evidence.note,
        terms={**row.terms, **_own_terms(evidence, share)},
    )


def _own_terms(evidence: Evidence, share: float) -> dict[str, float]:
    own: dict[str, float] = {"examples": float(evidence.size), "share of delta": share}
    if evidence.configurations > 1:
        own |= {"configurations paid for": float(evidence.configurations)}
    if isinstance(evidence, Betting):
        own |= {"smoothing": evidence.smoothing}
    if isinstance(evidence, Margin):
        own |= {
            "margin": evidence.best(share / evidence.configurations).gamma,
            "margins on the grid": float(len(evidence.scales)),
        }
    if isinstance(evidence, Occam):
        own |= {f"nats for {name}": nats for name, nats in evidence.parts.items()}
    return own


COSTS = {
    "holdout": "confidence: few examples",
    "betting": "confidence: few examples",
    "occam": "code length",
    "pacbayes.gibbs": "KL divergence",
    "pacbayes.single": "log ratio of posterior and prior",
    "margin": "covering number",
    "progressive": "confidence: few examples",
}
MOST_COUNTED = 1e7
"""Beyond this many examples, counts are not projected."""
OBSERVED = ("observed", "empirical error of Q")


def _dominating(evidence: Evidence, row: Certificate) -> str:
    """The observed rate, or what is added to it: whichever is larger."""
    if evidence.id not in COSTS or row.value is None:
        return row.dominating
    observed = max(row.terms.get(name, 0.0) for name in OBSERVED)
    if observed >= 0.5 * row.value:
        return "observed rate"
    terms = row.terms
    cheap = {
        "pacbayes.gibbs": terms.get("KL/n", 0.0) < terms.get("ln(2 sqrt(n)/delta)/n", 0.0),
        "pacbayes.single": terms.get("log ratio/n", 0.0) < 0.5 * terms.get("budget", 0.0),
    }
    return COSTS["holdout"] if cheap.get(evidence.id) else COSTS[evidence.id]


def paper_rows(
    result: Result, application: Application | str, share: float | None, profile: Profile | None
) -> list[Certificate]:
    if isinstance(application, str):
        return [does_not_apply(result, _paper_quantity(result), application)]
    rows = []
    if application.only_printed:
        rows.append(does_not_apply(result, application.bounds, application.only_printed))
    elif application.kind == "rademacher" and share is not None and profile is not None:
        rows.append(_gap_row(result, application, share, profile.n))
    else:
        rows.append(_number_row(result, application, share))
    printed = _printed_row(result, application, share, profile)
    return rows if printed is None else [*rows, printed]


def _paper_quantity(result: Result) -> str:
    return {
        Quantity.EXCESS_RISK: "excess_risk",
        Quantity.TRAINING_LOSS: "training_loss",
        Quantity.RISK: "risk_01",
    }.get(result.bounds, "gap")


def _complexity(result: Result, inputs: Mapping[str, Any]) -> tuple[str, Bound] | None:
    """The smallest applicable variant that bounds a Rademacher complexity."""
    found = {
        name: bound
        for name, bound in result.sound(**result.check_inputs(inputs)).items()
        if bound.applies and (bound.bounds or result.bounds) is Quantity.RADEMACHER_COMPLEXITY
    }
    return min(found.items(), key=lambda item: (item[1].value, item[1].log10 or 0.0)) if found else None


def _gap_row(result: Result, application: Application, share: float, n: int) -> Certificate:
    """2 L Rad + sqrt((ln(1/delta) + paid)/2n), not clipped: how far beyond 1 it is, is what the row is for."""

    def inputs_at(size: float) -> Mapping[str, Any]:
        return {**application.inputs, "n": size} if application.at is None else application.at(size)

    def gap(complexity: float, size: float) -> float:
        return gap_uniform(application.scale * complexity, 1.0, application.paid - math.log(share), size)

    found = _complexity(result, inputs_at(n))
    if found is None:
        return does_not_apply(result, application.bounds, "no variant applies")
    name, complexity = found
    confidence = gap(0.0, n)
    bound = upper_bound(
        gap(complexity.value, n),
        terms={"complexity of the class": gap(complexity.value, n) - confidence, "confidence": confidence},
        additive=math.isfinite(complexity.value),
        checks=(*complexity.checks, *application.checks),
    )

    def value(size: float) -> float | None:
        again = _complexity(result, inputs_at(size))
        return None if again is None else gap(again[1].value, size)

    judged = verdict(bound, application.trivial)
    return Certificate(
        result.id,
        "sound",
        result.title,
        application.bounds,
        bound.value,
        bound.log10,
        application.trivial,
        1.0 - share,
        judged,
        dominating=max(bound.terms, key=lambda term: bound.terms[term]),
        n_needed=None if judged == "informative" else size_needed(value, float(n), application.trivial),
        checks=bound.checks,
        terms={
            **bound.terms,
            "Rademacher complexity": complexity.value,
            "paid for radii and margin (nats)": application.paid,
            "share of delta": share,
            **application.terms,
        },
        guarantee=guarantee(result.id, THE_MODEL, application.bounds),
        variant=name,
        subject=THE_MODEL,
    )


def _number_row(result: Result, application: Application, share: float | None) -> Certificate:
    """The result's own number times the scale; what is not a mere ceiling is preferred."""
    given = {**application.inputs, "delta": share} if application.takes_delta else dict(application.inputs)

    def best(inputs: Mapping[str, Any]) -> tuple[str, Bound] | str:
        sound = result.sound(**result.check_inputs(inputs))
        eligible = {
            name: bound for name, bound in sound.items() if bound.applies and bound.bounds in (None, result.bounds)
        }
        if not eligible:
            failing = [c.requires for b in sound.values() for c in b.checks if c.holds is False]
            return "; ".join(dict.fromkeys(failing)) or "no variant applies"
        return min(eligible.items(), key=lambda item: (item[1].clipped, item[1].value))

    found = best(given)
    if isinstance(found, str):
        return does_not_apply(result, application.bounds, found)
    name, bound = found
    scaled = upper_bound(bound.value * application.scale, checks=(*bound.checks, *application.checks))

    def value(size: float) -> float | None:
        again = best({**given, "n": size})
        return None if isinstance(again, str) else again[1].value * application.scale

    judged = verdict(scaled, application.trivial)
    scales = "n" in given and judged != "informative" and application.bounds != "training_loss"
    return Certificate(
        result.id,
        "sound",
        result.title,
        application.bounds,
        scaled.value,
        scaled.log10,
        application.trivial,
        None if share is None else 1.0 - share,
        judged,
        dominating=max(bound.terms, key=lambda term: bound.terms[term]) if bound.terms else "",
        n_needed=size_needed(value, float(given["n"]), application.trivial) if scales else None,
        checks=scaled.checks,
        terms={
            **bound.terms,
            **({"paid for radii (nats)": application.paid} if application.paid else {}),
            **application.terms,
        },
        guarantee=guarantee(result.id, THE_MODEL, application.bounds),
        reason="holds in expectation over the sample" if application.in_expectation else "",
        variant=name,
        subject=THE_MODEL,
    )


def _printed_row(
    result: Result, application: Application, share: float | None, profile: Profile | None
) -> Certificate | None:
    """What the printed formula gives at the measured sizes: a number to look at, never a guarantee."""
    if result.printed is None or application.printed_inputs is None or profile is None:
        return None
    given = dict(application.printed_inputs)
    if application.takes_delta:
        given["delta"] = share
    try:
        printed = result.printed(**result.check_inputs(given))
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
    return Certificate(
        result.id,
        "printed",
        result.title,
        application.bounds,
        number,
        shown.log10,
        application.trivial,
        None,
        judged,
        checks=bound.checks,
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
