"""The pipeline, one step per line: findings, profile, shares of delta, predictors, statements, report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from certiformer.certificates import certificates
from certiformer.certification.delta import divide_among
from certiformer.certification.document import report_of
from certiformer.certification.findings import Findings
from certiformer.certification.predictors import files_of
from certiformer.certification.rows import does_not_apply, evidence_row
from certiformer.theory.core import find
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.report import Report, Statement

if TYPE_CHECKING:
    from certiformer.theory.measure.profile import Profile


DELTA = 0.05


def build(findings: Findings, delta: float = DELTA, *, only: str | None = None) -> Report:
    """From what was found out to the report: every certificate and every result of the papers a row.

    `only` one certificate, decided beforehand: it has the whole of delta, and nothing else is looked at.
    """
    findings = replace(findings, declaration=_declared(findings, delta, only))
    if only is not None:
        findings = _only(findings, only)
    profile = None if only is not None else _profile(findings)
    composed = None if only is not None else findings.composed
    paying = ("composition",) if composed is not None and composed.pays else ()
    shares = divide_among(delta, findings.evidence, (*_paying(profile), *paying))
    handed, files = files_of(findings.evidence)
    rows = [
        replace(evidence_row(record, shares[record.key], findings.classes), **handed[record.key])
        for record in findings.evidence
    ]
    rows += _absent(findings)
    rows += _papers(profile, shares)
    if composed is not None:
        rows += composed.rows(shares.get("composition"))
    return report_of(findings, delta, shares, rows, profile, files)


def _declared(findings: Findings, delta: float, only: str | None) -> dict[str, Any]:
    """What was said, where it is not the default: `verify` makes the report again from it."""
    found = dict(findings.declaration)
    if "by" in findings.configuration:
        found["by"] = findings.configuration["by"]
    found |= {"title": findings.title} | ({} if delta == DELTA else {"delta": delta})
    found |= {} if only is None else {"only": only}
    return found | {name: True for name in ("initial", "training") if getattr(findings, name)}


def _profile(findings: Findings) -> Profile | None:
    """The profile of the model on its training sample; None where one of the two is not known."""
    if findings.model is None or findings.sample is None:
        return None
    from certiformer.lab.paper_results.profile import measured

    return measured(findings.model, *findings.sample, initial=findings.initial, training=findings.training)


def _paying(profile: Profile | None) -> tuple[str, ...]:
    """The papers' results that pay for this architecture."""
    if profile is None:
        return ()
    from certiformer.lab.paper_results import paying

    return paying(profile.model)


def _papers(profile: Profile | None, shares: Mapping[str, float]) -> list[Statement]:
    """The papers' results at a model they know."""
    if profile is None:
        return []
    from certiformer.lab.paper_results import applications
    from certiformer.lab.paper_results.rows import paper_rows

    found = applications(profile).items()
    return [row for id, one in found for row in paper_rows(find(id), one, shares.get(id), profile)]


def _only(findings: Findings, id: str) -> Findings:
    if id not in certificates():
        raise UnknownNameError("certificate", id, certificates())
    kept = tuple(record for record in findings.evidence if record.id == id)
    if not kept:
        reason = findings.missing.get(id, certificates()[id].absent)
        raise InputError("only", id, "a certificate for which something was counted", reason)
    missing = {other: f"not asked for: only {id} was" for other in certificates() if other != id}
    return replace(findings, evidence=kept, missing=missing)


def _absent(findings: Findings) -> list[Statement]:
    there = {record.id for record in findings.evidence}
    return [
        does_not_apply(kind.bound, kind.bounds, findings.missing.get(id, kind.absent))
        for id, kind in certificates().items()
        if id not in there
    ]
