"""From statements to the report: their order, the headline, the summary, where and when it was made."""

from __future__ import annotations

import functools
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from certiformer._version import __version__
from certiformer.certificates import certificates
from certiformer.certification.findings import Findings
from certiformer.certification.headline import advice, decisive, headline
from certiformer.certification.split import configuration_hash
from certiformer.report.numbers import QUANTITIES, confidence_text
from certiformer.theory.core.report import Report, Statement

if TYPE_CHECKING:
    from certiformer.theory.measure.profile import Profile

LIBRARIES = ("jax", "equinox", "numpy", "scipy", "scikit-learn")
PATHS = ("predictions", "checkpoint", "data", "config", "encoder", "texts")
"""Facts of a run that name places on this machine."""


def report_of(
    findings: Findings,
    delta: float,
    shares: Mapping[str, float],
    rows: Iterable[Statement],
    profile: Profile | None,
    files: Mapping[str, bytes],
) -> Report:
    """Statements in reading order, and what belongs to all of them."""
    ordered = tuple(
        replace(
            row,
            quantity=row.quantity or QUANTITIES.get(row.bounds, row.bounds),
            jointly=row.version == "sound" and row.value is not None and row.key in shares,
        )
        for row in sorted(rows, key=_order)
    )
    chosen = decisive(ordered)
    return Report(
        title=findings.title,
        headline=headline(chosen, delta),
        statements=ordered,
        decisive=None if chosen is None else chosen.key,
        basis="" if chosen is None else chosen.seen,
        summary=summary(ordered, delta, findings.tried),
        advice=advice(chosen),
        conditions=conditions(findings, chosen),
        not_checked=findings.not_checked,
        warnings=findings.warnings,
        observed=findings.observed,
        delta=delta,
        shares=shares,
        classes=findings.classes,
        declaration=findings.declaration,
        decisions=findings.decisions,
        profile=() if profile is None else tuple(profile.rows()),
        provenance=_provenance(findings),
        machine={**_machine(), **{name: findings.provenance[name] for name in PATHS if name in findings.provenance}},
        files=files,
    )


def conditions(findings: Findings, row: Statement | None) -> tuple[str, ...]:
    """What the headline rests on and only a person can know."""
    open_ones = [] if row is None else [check.requires for check in row.conditions if check.state in ("open", "stated")]
    return tuple(dict.fromkeys([*open_ones, *findings.conditions]))


def _order(row: Statement) -> tuple[Any, ...]:
    """Hold-out first, then the other certificates, informative ones first; the papers after them."""
    return (
        row.id != "holdout",
        row.id not in certificates(),
        row.key != row.id,
        row.version == "printed",
        row.value is None,
        row.value if row.value is not None else math.inf,
        row.id,
    )


def summary(rows: Sequence[Statement], delta: float, tried: int) -> str:
    """How many limits hold together, how many are better than guessing, and what is only in the report."""
    joint = [row for row in rows if row.jointly]
    useful = sum(row.informative for row in joint)
    apart = sum(row.version == "sound" and row.value is not None and not row.jointly for row in rows)
    printed = sum(row.version == "printed" and row.says for row in rows)
    silent = len({row.id for row in rows if not row.says})
    held = f"with {confidence_text(delta)} confidence"
    known = sum(row.guessing is not None for row in joint)
    better = "better than guessing" if known else "below the worst possible value"
    better += "" if known in (0, len(joint)) else " (or than the worst possible value, where guessing is not known)"
    how_many = "all are" if useful == len(joint) else f"{useful} of them {'is' if useful == 1 else 'are'}"
    parts = [
        f"All {len(joint)} limits hold at once {held}; {how_many} {better}."
        if len(joint) > 1
        else "No certificate gives a limit for this model and these data."
        if not joint
        else f"It is one limit, {held}{'' if useful else f', and is not {better}'}."
    ]
    if apart:
        parts.append(f"{apart} statements about training have a confidence of their own, not part of the joint one.")
    if printed:
        parts.append(f"{printed} published formulas are listed as printed, without guarantee.")
    if silent:
        parts.append(f"{silent} other results do not apply; the report lists the reasons.")
    if tried > 1:
        parts.append(f"{tried} models or settings were compared, and share the error budget.")
    return " ".join(parts)


def _known(model: Any) -> bool:
    """A model of this package, about which the papers have something to say."""
    models = sys.modules.get("certiformer.lab.models")
    return models is not None and isinstance(model, models.Model)


@functools.cache
def _libraries() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found


def _today() -> str:
    """The day, in UTC; SOURCE_DATE_EPOCH, where it is set, for pages that are to be the same again."""
    stamp = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(stamp), UTC) if stamp else datetime.now(UTC)
    return now.date().isoformat()


def _machine() -> dict[str, Any]:
    """What may differ when the report is made again."""
    found: dict[str, Any] = {"certiformer": __version__, "python": platform.python_version(), **_libraries()}
    return {**found, "processor": platform.machine(), "date": _today()}


def _provenance(findings: Findings) -> dict[str, Any]:
    found: dict[str, Any] = {"seed": findings.seed, "configurations_tried": findings.tried}
    found |= {f"split_{name}": digest for name, digest in findings.splits.items()}
    found["configuration"] = configuration_hash(findings.configuration)
    found |= {name: value for name, value in findings.configuration.items() if isinstance(value, (str, int, float))}
    if findings.model is not None and (findings.sample is None or not _known(findings.model)):
        why = "no training sample was given" if _known(findings.model) else "the model is not of this package"
        found["papers' results"] = f"not listed: {why}"
    return found | {name: value for name, value in findings.provenance.items() if name not in PATHS}
