"""The document: the JSON contract of `certiformer certify --json` and of report.json; the page is drawn from it."""

from __future__ import annotations

import functools
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from certiformer._version import __version__
from certiformer.certificates import certificates
from certiformer.certification.delta import DeltaLedger
from certiformer.certification.evidence import Findings
from certiformer.certification.headline import basis, confidence_text, decisive, headline
from certiformer.certification.rows.certificate import Certificate
from certiformer.certification.split import configuration_hash
from certiformer.core import notebook
from certiformer.core.errors import CertiformerError, InputError

if TYPE_CHECKING:
    from certiformer.measure.profile import Profile

LIBRARIES = ("jax", "equinox", "numpy", "scipy")


@dataclass(frozen=True, eq=False)
class Report:
    """The certificates, the document they are part of, and the files of the certified predictors."""

    document: Mapping[str, Any]
    certificates: tuple[Certificate, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """The best guarantee in one sentence."""
        return str(self.document["headline"])

    def __getitem__(self, id: str) -> Certificate:
        """The sound row of a certificate, by its id or, for one of several, by its key: "holdout (slice 3)"."""
        for row in self.certificates:
            if row.version == "sound" and (row.id == id or (row.evidence is not None and row.evidence.key == id)):
                return row
        raise InputError("certificate", id, f"one of {', '.join(dict.fromkeys(row.id for row in self.certificates))}")

    def _repr_html_(self) -> str:
        rows = [
            (row.id, row.version, row.bounds, row.value, row.verdict, row.subject)
            for row in self.certificates
            if row.value is not None
        ]
        unchecked = "; ".join(self.document["not_checked"])
        note = f"NOT CHECKED: {unchecked}" if unchecked else ""
        return notebook.table(self.headline, ("certificate", "side", "bounds", "value", "verdict", "about"), rows, note)

    def page(self) -> str:
        """report.html as text."""
        from certiformer.report.page import certificate_page

        return certificate_page(self.document)

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write report.html, report.json, model-card.md, badge.svg and the predictors, each whole or not at all."""
        from certiformer.report.card import badge, model_card
        from certiformer.report.page import write_bytes, write_text

        page, text = self.page(), json.dumps(self.document, indent=2, allow_nan=False) + "\n"
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CertiformerError(f"cannot write to {target}: {error.strerror}. Choose another --out") from error
        write_text(target / "report.html", page)
        for name, content in self.files.items():
            write_bytes(target / name, content)
        write_text(target / "report.json", text)
        write_text(target / "model-card.md", model_card(self.document))
        write_text(target / "badge.svg", badge(self.document))
        return target / "report.html", target / "report.json"


def report_of(
    findings: Findings,
    ledger: DeltaLedger,
    rows: Iterable[Certificate],
    profile: Profile | None,
    files: Mapping[str, bytes],
    command: str,
) -> Report:
    """Rows in reading order, and the document around them."""
    ordered = tuple(sorted(rows, key=_order))
    written = [row.as_json() for row in ordered]
    place = decisive(written)
    chosen = None if place is None else ordered[place]
    document = {
        "title": findings.title,
        "headline": headline(written, ledger.total),
        "basis": basis(written),
        "decisive": None if chosen is None or chosen.evidence is None else chosen.evidence.key,
        "summary": summary(findings, ordered, ledger),
        "not_checked": list(findings.not_checked),
        "warnings": list(findings.warnings),
        "conditions": _conditions(findings, chosen),
        "observed": dict(findings.observed),
        "delta": ledger.total,
        "shares": dict(ledger.shares),
        "classes": findings.classes,
        "certificates": written,
        "profile": [] if profile is None else profile.rows(),
        "provenance": _provenance(findings, command),
    }
    return Report(document, ordered, files)


def _conditions(findings: Findings, row: Certificate | None) -> list[str]:
    """What the headline rests on and only a person can vouch for."""
    open_ones = (
        [] if row is None else [check.requires for check in row.hypotheses if check.state in ("open", "vouched")]
    )
    return list(dict.fromkeys([*open_ones, *findings.conditions]))


def _order(row: Certificate) -> tuple[Any, ...]:
    """Hold-out first, then the other certificates, informative ones first; the papers after them."""
    return (
        row.id != "holdout",
        row.id not in certificates(),
        row.evidence is not None and bool(row.evidence.label),
        row.version == "printed",
        row.value is None,
        row.value if row.value is not None else math.inf,
        row.id,
    )


def summary(findings: Findings, rows: tuple[Certificate, ...], ledger: DeltaLedger) -> str:
    """How many guarantees hold together, which papers were asked, and what was compared."""
    sound = [row for row in rows if row.version == "sound" and row.value is not None and row.confidence is not None]
    joint = [row for row in sound if row.evidence is not None or row.id in ledger.shares]
    saying = sum(row.informative for row in joint)
    parts = [
        f"All {len(joint)} guarantees with a share of delta hold together with probability at least "
        f"{confidence_text(ledger.total)}; {saying} of them {'says' if saying == 1 else 'say'} more than guessing."
        if len(joint) != 1
        else f"The one guarantee holds with probability at least {confidence_text(ledger.total)}"
        + ("." if saying else "; it does not say more than guessing.")
    ]
    if len(sound) > len(joint):
        parts.append(
            f"{len(sound) - len(joint)} statements about training hold with a confidence of their own, shown with "
            "them, that is no part of the joint one."
        )
    parts += _papers_missing(findings, rows)
    if findings.tried > 1:
        parts.append(
            f"{findings.tried} configurations were compared on these examples, and are paid for if all of them were "
            "fixed before any was scored there; what was made after a look at a score is not."
        )
    return " ".join(parts)


def _papers_missing(findings: Findings, rows: tuple[Certificate, ...]) -> list[str]:
    if any(row.id not in certificates() for row in rows):
        return []
    if findings.model is None or not _known(findings.model):
        return [
            "The papers' results are about architectures of this package with known weights, so none of them is listed."
        ]
    return ["No training sample was given, so the papers' results could not be evaluated."]


def _known(model: Any) -> bool:
    from certiformer.models import Model

    return isinstance(model, Model)


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


def _provenance(findings: Findings, command: str) -> dict[str, Any]:
    found: dict[str, Any] = {"certiformer": __version__, "python": platform.python_version(), **_libraries()}
    found["date"] = _today()
    found |= {"seed": findings.seed, "configurations_tried": findings.tried}
    found |= {f"split_{name}": digest for name, digest in findings.splits.items()}
    found["configuration"] = configuration_hash(findings.configuration)
    found |= {name: value for name, value in findings.configuration.items() if isinstance(value, (str, int, float))}
    found |= dict(findings.provenance)
    if command:
        found["command"] = command
    return found
