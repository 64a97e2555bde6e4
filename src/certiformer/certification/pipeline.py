"""From what was found out to the report: shares of delta, predictors, statements in their order, provenance.

The shares depend on which certificates there are and on the architecture, never on what was counted or measured: a
result of a paper that turns out not to apply to this sample keeps its share, and nobody else gets it.
"""

from __future__ import annotations

import functools
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from certiformer._version import __version__
from certiformer.certificates import Evidence, certificates
from certiformer.certification.frameworks import is_own
from certiformer.certification.predictors import files_of
from certiformer.certification.split import configuration_hash
from certiformer.certification.statements import advice, decisive, does_not_apply, evidence_row, headline
from certiformer.report.numbers import QUANTITIES
from certiformer.theory.core import find
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.report import Decision, Report, Statement, confidence_text

if TYPE_CHECKING:
    from certiformer.certification.composition import Composed
    from certiformer.theory.measure.profile import Profile

DELTA = 0.05
LIBRARIES = ("jax", "equinox", "numpy", "scipy", "scikit-learn")
PATHS = ("predictions", "checkpoint", "data", "config", "encoder", "texts")
"""Facts of a run that name places on this machine."""
PAPERS_WEIGHT = 1.0
"""The share of all results of the papers together: decades away from saying anything, they do not miss it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Findings:
    """Everything a run found out: what a recipe or another source returns and what the pipeline reads.

    `observed` holds `train_error` and `heldout_error`, None where they are not known, and the numbers of examples.
    `configuration` is all that was fixed before the certified examples were read (JSON-able; it is hashed), `splits`
    the hashes of the divisions of the data by name, `tried` the number of configurations ever compared on them.
    """

    title: str
    classes: int
    observed: Mapping[str, float | int | None] = field(default_factory=dict)
    evidence: tuple[Evidence, ...]
    configuration: Mapping[str, Any]
    splits: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    tried: int = 1
    model: Any = None
    """The model that is profiled; one of `certiformer.lab.models` also meets the papers' results."""
    sample: tuple[Any, Any] | None = None
    """Inputs and labels the model was trained on, for the profile and the papers' results."""
    initial: Any = None
    """The same model before training, for the distance from initialisation."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """What is known about the run: optimiser, step_size, steps, start_loss, ..."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a certificate has no evidence, by id; ids in neither place get a general reason."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the provenance table: hashes of the data, files, the command."""
    not_checked: tuple[str, ...] = ()
    """What nobody looked at because it was not given: it stands beside the headline."""
    conditions: tuple[str, ...] = ()
    """What the caller states beside the hypotheses of the certificates."""
    declaration: Mapping[str, Any] = field(default_factory=dict)
    """What the caller declared, where it is not the default, as JSON: with the data it gives the findings again."""
    decisions: tuple[Decision, ...] = ()
    """What was decided while the data were read: columns, codings, directions, repeats."""
    warnings: tuple[str, ...] = ()
    composed: Composed | None = None
    """The class of a checkpoint of another framework, where one was given beside its predictions."""


def divide(total: float, weights: Mapping[str, float]) -> dict[str, float]:
    """Delta in proportion to the weights, fixed before the data are seen; the sum stays below the total."""
    if not 0.0 < total < 1.0:
        raise InputError("delta", total, "a number in (0, 1)", "For example --delta 0.05")
    whole = math.fsum(weights.values())
    # A hair less than the proportional share, so that rounding cannot push the sum above the total.
    return {name: total * weight / whole * (1.0 - 1e-12) for name, weight in weights.items()}


def divide_among(total: float, evidence: Iterable[Evidence], papers: Sequence[str]) -> dict[str, float]:
    """Each record its certificate's weight; `papers`, the results that may have to pay here, one weight together."""
    records = tuple(evidence)
    keys = [record.key for record in records]
    if len(set(keys)) < len(keys):
        raise InputError("evidence", keys, "records that differ in id or label")
    weights = {record.key: record.weight for record in records}
    weights |= {id: PAPERS_WEIGHT / len(papers) for id in papers}
    if not weights:
        raise InputError("evidence", "nothing", "held-out examples, predictions or a recipe to certify from")
    return divide(total, weights)


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
        statements=ordered,
        **words(ordered, delta, findings.tried),
        conditions=_conditions(findings, chosen),
        not_checked=findings.not_checked,
        warnings=findings.warnings,
        observed={"train_error": None, "heldout_error": None, **findings.observed},
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
    from certiformer.lab.paper_results.model_profile import measured

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
    from certiformer.lab.paper_results.result_rows import paper_rows

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


def _conditions(findings: Findings, row: Statement | None) -> tuple[str, ...]:
    """What the headline rests on and only a person can know: first what is peculiar to this run."""
    open_ones = [] if row is None else [check.requires for check in row.conditions if check.state in ("open", "stated")]
    return tuple(dict.fromkeys([*findings.conditions, *open_ones]))


def _order(row: Statement) -> tuple[Any, ...]:
    """Outcomes as they were declared, then the other certificates, informative ones first; the papers after them."""
    if row.version == "sound" and row.value is not None and row.id in ("holdout", "mean_loss"):
        return (False,)
    return (
        True,
        row.id not in certificates(),
        row.key != row.id,
        row.version == "printed",
        row.value is None,
        row.value if row.value is not None else math.inf,
        row.id,
    )


def words(rows: Sequence[Statement], delta: float, tried: int) -> dict[str, Any]:
    """What a report says of its statements: the one that leads, in a sentence, and how many more there are."""
    chosen = decisive(rows)
    return {
        "headline": headline(chosen, delta),
        "decisive": None if chosen is None else chosen.key,
        "basis": "" if chosen is None else chosen.seen,
        "advice": advice(chosen),
        "summary": summary(rows, delta, tried),
    }


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
    how_many = "all are" if useful == len(joint) else f"{useful or 'none'} of them {'are' if useful > 1 else 'is'}"
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
    own = is_own(findings.model)
    if findings.model is not None and (findings.sample is None or not own):
        why = "no training sample was given" if own else "the model is not of this package"
        found["papers' results"] = f"not listed: {why}"
    return found | {name: value for name, value in findings.provenance.items() if name not in PATHS}
