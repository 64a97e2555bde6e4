"""From what a run found out to the report: delta divided, every certificate a row, every row with its verdict.

The document is the JSON contract of `certiformer certify --json` and of report.json; the page is drawn from it.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from certiformer._version import __version__
from certiformer.certification.bindings import BINDINGS, Application
from certiformer.certification.certificate import Certificate, does_not_apply
from certiformer.certification.delta import DeltaLedger, divide
from certiformer.certification.evidence import THE_MODEL, Evidence, Findings
from certiformer.certification.guarantees import GUARANTEES, REASONS
from certiformer.certification.profiling import profile_of
from certiformer.certification.rows import bounds_of, evidence_row, paper_rows
from certiformer.certification.split import configuration_hash
from certiformer.core import find
from certiformer.core.errors import InputError
from certiformer.measure.profile import Profile
from certiformer.models import Model
from certiformer.report.numbers import percent_up

WEIGHTS: Mapping[str, float] = {
    "holdout": 4.0,
    "betting": 1.0,
    "occam": 3.0,
    "pacbayes.gibbs": 2.0,
    "pacbayes.single": 3.0,
    "margin": 2.0,
    "disagreement": 2.0,
    "progressive": 2.0,
}
"""How delta is divided among the certificates that are there; decided here, before any data are seen."""
PAPERS_WEIGHT = 1.0
"""The share of all results of the papers together: decades away from saying anything, they do not miss it."""
LIBRARIES = ("jax", "equinox", "numpy", "scipy")


@dataclass(frozen=True, eq=False)
class Report:
    """The certificates and the document they are part of."""

    document: Mapping[str, Any]
    certificates: tuple[Certificate, ...]

    @property
    def headline(self) -> str:
        return str(self.document["headline"])

    def __getitem__(self, id: str) -> Certificate:
        """The sound row of a certificate."""
        for row in self.certificates:
            if row.id == id and row.version == "sound":
                return row
        raise InputError("certificate", id, f"one of {', '.join(dict.fromkeys(row.id for row in self.certificates))}")

    def page(self) -> str:
        """report.html as text."""
        from certiformer.report.page import certificate_page

        return certificate_page(self.document)

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write report.html and report.json into `folder`, each completely or not at all."""
        import json

        from certiformer.core.errors import CertiformerError
        from certiformer.report.page import write_text

        page, text = self.page(), json.dumps(self.document, indent=2, allow_nan=False) + "\n"
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CertiformerError(f"cannot write to {target}: {error.strerror}. Choose another --out") from error
        write_text(target / "report.html", page)
        write_text(target / "report.json", text)
        return target / "report.html", target / "report.json"


def build(findings: Findings, delta: float = 0.05, *, command: str = "") -> Report:
    """Divide delta, evaluate every certificate and every result of the papers, and put the document together."""
    if not 0.0 < delta < 1.0:
        raise InputError("delta", delta, "a number in (0, 1)", "For example --delta 0.05")
    keys = [evidence.key for evidence in findings.evidence]
    if len(set(keys)) < len(keys):
        raise InputError("evidence", keys, "records that differ in id or label")
    profile = _profile(findings)
    bound_to = _applications(profile)
    ledger = _ledger(delta, findings.evidence, bound_to)
    rows = [evidence_row(evidence, ledger.of(evidence.key), findings.classes) for evidence in findings.evidence]
    there = {row.id for row in rows}
    rows += [
        does_not_apply(find(id), bounds_of(id), findings.missing.get(id, REASONS[id]))
        for id in GUARANTEES
        if id not in there
    ]
    for id, application in bound_to.items():
        rows += paper_rows(find(id), application, ledger.shares.get(id), profile)
    ordered = tuple(sorted(rows, key=_order))
    return Report(_document(findings, delta, ledger, ordered, profile, command), ordered)


def _profile(findings: Findings) -> Profile | None:
    if findings.model is None or findings.sample is None:
        return None
    inputs, labels = findings.sample
    return profile_of(findings.model, inputs, labels, initial=findings.initial, training=findings.training)


def _applications(profile: Profile | None) -> dict[str, Application | str]:
    """Every bound result for a model the papers know; none for others, whose summary says so."""
    if profile is None or not profile.model:
        return {}
    return {id: binding(profile) for id, binding in BINDINGS.items()}


def _ledger(delta: float, evidence: tuple[Evidence, ...], bound_to: Mapping[str, Application | str]) -> DeltaLedger:
    paying = [id for id, found in bound_to.items() if isinstance(found, Application) and _pays(found)]
    weights = {record.key: WEIGHTS[record.id] for record in evidence}
    weights |= {id: PAPERS_WEIGHT / len(paying) for id in paying}
    if not weights:
        raise InputError("evidence", "nothing", "held-out examples, predictions or a recipe to certify from")
    return divide(delta, weights)


def _pays(application: Application) -> bool:
    """Statements about the training sample and those in expectation cost no delta."""
    return application.kind == "rademacher" or application.takes_delta


def _order(row: Certificate) -> tuple[Any, ...]:
    """Hold-out first, then the other certificates, informative ones first; the papers after them."""
    own = row.id in GUARANTEES
    return (
        row.id != "holdout",
        not own,
        row.version == "printed",
        row.value is None,
        row.value if row.value is not None else math.inf,
        row.id,
    )


def _document(
    findings: Findings,
    delta: float,
    ledger: DeltaLedger,
    rows: tuple[Certificate, ...],
    profile: Profile | None,
    command: str,
) -> dict[str, Any]:
    return {
        "title": findings.title,
        "headline": headline(rows, delta),
        "summary": _summary(findings, rows, delta),
        "observed": dict(findings.observed),
        "delta": delta,
        "shares": dict(ledger.shares),
        "classes": findings.classes,
        "certificates": [row.as_json() for row in rows],
        "profile": [] if profile is None else profile.rows(),
        "provenance": _provenance(findings, command),
    }


def headline(rows: tuple[Certificate, ...], delta: float) -> str:
    """The best guarantee in one sentence. All hold together with probability 1 - delta, so the best may be chosen."""
    rates = [
        row
        for row in rows
        if row.id in GUARANTEES and row.informative and row.bounds == "risk_01" and row.value is not None
    ]
    own = [row for row in rates if row.subject == THE_MODEL]
    chosen = min(own or rates, key=lambda row: row.value or 0.0, default=None)
    confidence = _confidence(delta)
    if chosen is not None and chosen.value is not None:
        subject = chosen.subject[:1].upper() + chosen.subject[1:]
        return (
            f"{subject} errs on at most {percent_up(chosen.value)} of new examples, with confidence {confidence}, "
            f"by the {_inside_sentence(chosen.title)}."
        )
    first = next((row for row in rows if row.id == "holdout" and row.value is not None), None)
    if first is not None and first.value is not None:
        needed = (
            ""
            if first.n_needed is None
            else f" About {int(first.n_needed):,} held-out examples at this error rate would show more."
        )
        return (
            f"Nothing here is guaranteed to be better than guessing: with confidence {confidence} the error rate is at "
            f"most {percent_up(first.value)}.{needed}"
        )
    return f"No certificate says anything about the error rate on new examples at confidence {confidence}."


def _confidence(delta: float) -> str:
    """1 - delta in percent, rounded down."""
    return f"{math.floor(1e6 * (1.0 - delta) + 1e-9) / 1e4:g} %"


def _inside_sentence(title: str) -> str:
    """A title in the middle of a sentence: lower case, unless it begins with a name like PAC-Bayes."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def _summary(findings: Findings, rows: tuple[Certificate, ...], delta: float) -> str:
    # Statements about the training run have no confidence of their own and are not part of the joint one.
    joint = [row for row in rows if row.version == "sound" and row.value is not None and row.confidence is not None]
    saying = sum(row.informative for row in joint)
    whole = (
        f"All {len(joint)} guarantees with a confidence hold together with probability at least {_confidence(delta)}; "
        f"{saying} of them {'says' if saying == 1 else 'say'} more than guessing."
    )
    parts = [whole]
    if not any(row.id in BINDINGS for row in rows):
        parts.append(
            "The papers' results are about architectures of this package with known weights, so none of them is listed."
            if findings.model is None or not isinstance(findings.model, Model)
            else "No training sample was given, so the papers' results could not be evaluated."
        )
    if findings.tried > 1:
        parts.append(f"{findings.tried} configurations were tried, and are paid for.")
    return " ".join(parts)


def _provenance(findings: Findings, command: str) -> dict[str, Any]:
    found: dict[str, Any] = {"certiformer": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:  # pragma: no cover (all of them are dependencies)
            found[library] = "unknown"
    found |= {"seed": findings.seed, "configurations_tried": findings.tried}
    found |= {f"split_{name}": digest for name, digest in findings.splits.items()}
    found["configuration"] = configuration_hash(findings.configuration)
    found |= {name: value for name, value in findings.configuration.items() if isinstance(value, (str, int, float))}
    found |= dict(findings.provenance)
    if command:
        found["command"] = command
    return found
