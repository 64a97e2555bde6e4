"""The pipeline, one step per line: findings, profile, shares of delta, predictors, rows, document."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from certiformer.certificates import certificates
from certiformer.certification.delta import DeltaLedger, divide_among
from certiformer.certification.document import Report, report_of
from certiformer.certification.evidence import Findings
from certiformer.certification.handover import files_of
from certiformer.certification.profile import profile_of
from certiformer.certification.rows.certificate import Certificate
from certiformer.certification.rows.evidence import absent_row, evidence_row
from certiformer.core import find
from certiformer.core.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from certiformer.measure.profile import Profile


def build(findings: Findings, delta: float = 0.05, *, only: str | None = None, command: str = "") -> Report:
    """From what was found out to the report: every certificate and every result of the papers a row.

    `only` one certificate, decided beforehand: it has the whole of delta, and nothing else is looked at.
    """
    if only is not None:
        findings = _only(findings, only)
    profile = None if only is not None else profile_of(findings)
    composed = None if only is not None else findings.composed
    paying = ("composition",) if composed is not None and composed.pays else ()
    ledger = divide_among(delta, findings.evidence, (*_paying(profile), *paying))
    handed, files = files_of(findings.evidence)
    rows = [
        replace(evidence_row(record, ledger.of(record.key), findings.classes), **handed[record.key])
        for record in findings.evidence
    ]
    rows += _absent(findings)
    rows += _papers(profile, ledger)
    if composed is not None:
        rows += composed.rows(ledger.shares.get("composition"))
    return report_of(findings, ledger, rows, profile, files, command)


def _paying(profile: Profile | None) -> tuple[str, ...]:
    """The papers' results that pay for this architecture."""
    if profile is None:
        return ()
    from certiformer.certification.bindings import paying

    return paying(profile.model)


def _papers(profile: Profile | None, ledger: DeltaLedger) -> list[Certificate]:
    """The papers' results at a model they know."""
    if profile is None:
        return []
    from certiformer.certification.bindings import applications
    from certiformer.certification.rows.papers import paper_rows

    found = applications(profile).items()
    return [row for id, one in found for row in paper_rows(find(id), one, ledger.shares.get(id), profile)]


def _only(findings: Findings, id: str) -> Findings:
    if id not in certificates():
        raise UnknownNameError("certificate", id, certificates())
    kept = tuple(record for record in findings.evidence if record.id == id)
    if not kept:
        reason = findings.missing.get(id, certificates()[id].absent)
        raise InputError("only", id, "a certificate for which something was counted", reason)
    missing = {other: f"not asked for: only {id} was" for other in certificates() if other != id}
    return replace(findings, evidence=kept, missing=missing)


def _absent(findings: Findings) -> list[Certificate]:
    there = {record.id for record in findings.evidence}
    return [
        absent_row(kind, findings.missing.get(id, kind.absent))
        for id, kind in certificates().items()
        if id not in there
    ]
