"""Certificates for any model of any framework, from a sample of its outcomes.

Its outcomes and slices become records; the probabilities of the labels, and the other parts that a sample may have, add
certificates of their own: losses of one training pass (V), answers of a final model on unlabelled examples (D), frozen
features (O, K, K1). The names of arrays: docs/sample.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.progressive import Progressive
from certiformer.certificates.progressive_loss import ProgressiveLoss, checked
from certiformer.certificates.progressive_ratio import ProgressiveRatio
from certiformer.certification.declaration import Declaration
from certiformer.certification.losses import LEAST_EXAMPLES, SMOOTHING, betting, enough, records
from certiformer.certification.pipeline import Findings
from certiformer.certification.sample import Sample, class_names, training_errors
from certiformer.certification.sources import repeats
from certiformer.certification.sources.coding import decide, distinct
from certiformer.certification.sources.rows import Rows, whole
from certiformer.certification.split import refuse_overlap, whole_numbers
from certiformer.theory.core.errors import InputError

ENCODER = "whether the encoder behind head_features had seen the labels of these examples"


def of_sample(sample: Sample, *, provenance: Mapping[str, Any] | None = None) -> Findings:
    """The findings that a sample supports: its outcomes and slices as records, and whatever its parts add."""
    declared, units, n = sample.declaration, sample.units, sample.n
    enough("heldout", n)
    sample.refuse_idle_order()
    evidence: list[Evidence] = []
    warnings = list(sample.warnings)
    missing: dict[str, str] = {}
    observed: dict[str, Any] = {}
    for asked in sample.asked():
        outcome = asked.outcome
        if asked.slice and outcome.kind == "log" and declared.clip is None:
            continue
        if asked.slice and asked.units.groups is not None and len(np.unique(asked.units.groups)) < 2:
            warnings.append(f"{asked.slice} has rows in one group only: nothing can be said about it")
            continue
        found, more = records(asked, declared, classes=sample.classes)
        evidence += found
        warnings += [f"{asked.slice}: {text}" if asked.slice else text for text in more]
        if asked.slice:
            continue
        mean = float(np.mean(outcome.losses))
        if outcome.kind == "rate" and not outcome.label:
            observed["heldout_error"] = mean
        else:
            observed[f"mean {outcome.what}" + (f" ({outcome.label})" if outcome.kind == "rate" else "")] = mean
    counted = next((one for one in evidence if isinstance(one, HoldOut) and one.key == "holdout"), None)
    if any(outcome.blocks is not None for outcome in sample.outcomes):
        missing["holdout"] = "human labels and a judge are used together; what humans alone would give stands beside it"
    elif units.groups is not None:
        missing["holdout"] = "rows of one group are not independent draws: the mean over groups is certified"
    elif all(outcome.kind == "rate" for outcome in sample.outcomes):
        missing["mean_loss"] = "no losses and no groups were given; it certifies any loss in a known range"
    evidence += _betting(sample, missing)
    train = training_errors(sample)
    if train is not None:
        observed |= {"train_error": train[0] / train[1], "train_examples": train[1]}
    observed["heldout_examples"] = n
    if units.groups is not None:
        observed["heldout_groups"] = len(np.unique(units.groups))
    evidence += _progressive(sample.parts, declared)
    evidence += _disagreement(sample.parts, counted, declared.allow_twins)
    # Compared models, or seeds of the head, divide these shares as they divide that of the hold-out.
    heads = [replace(record, models=declared.models) for record in _head(sample)]
    evidence += heads
    if not evidence:
        raise InputError(
            "arrays", sorted(sample.hashes), "something that was counted", "Give heldout_losses beside them"
        )
    evidence = [replace(record, of=declared.population) if record.of == "examples" else record for record in evidence]
    warnings = list(dict.fromkeys(warnings))
    hashes = {f"{name}_sha256": digest for name, digest in sample.hashes.items()}
    return Findings(
        title=declared.title or sample.name,
        classes=sample.classes,
        observed=observed,
        evidence=tuple(evidence),
        configuration={
            "flow": "predictions",
            "smoothing": SMOOTHING,
            "models_compared": declared.models,
            "order": declared.order,
            "unit": units.kind,
            **({} if units.groups is None else {"estimand": declared.estimand}),
        },
        seed=declared.draws,
        tried=declared.models,
        missing=missing,
        provenance={
            **hashes,
            **sample.facts,
            **({"warnings": "; ".join(warnings)} if warnings else {}),
            **(provenance or {}),
        },
        declaration=declared.as_json(),
        decisions=sample.decisions,
        not_checked=(*((ENCODER,) if heads else ()), *sample.not_checked),
        conditions=sample.conditions,
        warnings=tuple(warnings),
    )


def _betting(sample: Sample, missing: dict[str, str]) -> list[Evidence]:
    """The smoothed cross-entropy, where the probability of the label is known."""
    if sample.probabilities is None:
        missing["betting"] = (
            "only hard predictions were given; it needs heldout_probabilities, heldout_logits or "
            "heldout_label_probabilities"
        )
        return []
    # The labels that were seen need not be all.
    if not sample.classes or ("heldout_label_probabilities" in sample.hashes and not _classes_said(sample)):
        raise InputError(
            "classes", None, "how many labels there are (the size of the vocabulary)", "Smoothing needs it: classes=K"
        )
    if sample.units.groups is not None:
        missing["betting"] = "rows of one group are not independent; give the loss of each row as heldout_losses"
        return []
    return [betting(sample.probabilities, sample.classes, sample.declaration.models)]


def _classes_said(sample: Sample) -> bool:
    return sample.declaration.classes is not None or "classes" in sample.parts


def _progressive(rows: Mapping[str, Rows], declared: Declaration) -> list[Evidence]:
    if "progressive_losses" not in rows:
        return []
    losses = whole(rows["progressive_losses"])
    if losses.dtype.kind not in "fiub" or losses.ndim != 1 or len(losses) < LEAST_EXAMPLES:
        raise InputError("progressive_losses", f"shape {losses.shape}", f"at least {LEAST_EXAMPLES} losses")
    losses = losses.astype(np.float64)
    told: dict[str, Any] = {"models": declared.models, "subject": "an iterate drawn at random"}
    skip = _single(rows, "progressive_skip")
    if not skip and not np.any((losses != 0) & (losses != 1)):
        return [Progressive(mean_loss=float(np.mean(losses)), n=len(losses), **told)]
    if declared.range is None:
        raise InputError(
            "progressive_losses", float(np.max(losses)), "0 or 1 for every example, or a range",
            "Declare the range that the loss cannot leave: --range A B",
        )  # fmt: skip
    low, high = declared.range
    told |= {"losses": checked(losses, low, high, int(skip or 0)), "low": low, "high": high, "skip": int(skip or 0)}
    if "progressive_bytes" not in rows:
        return [ProgressiveLoss(**told)]
    told["what"] = "bits per byte"
    sizes, largest = whole(rows["progressive_bytes"]).astype(np.float64), _single(rows, "progressive_cut")
    if sizes.shape != losses.shape or largest is None or not np.all((sizes > 0) & (sizes <= largest)):
        raise InputError(
            "progressive_bytes", f"shape {sizes.shape}, the largest of progressive_cut {largest}",
            f"the bytes of {len(losses)} documents, at most progressive_cut, which was fixed beforehand",
        )  # fmt: skip
    found: list[Evidence] = [ProgressiveLoss(**told)]
    return [*found, ProgressiveRatio(**told, sizes=sizes, largest=largest)] if skip else found


def _single(rows: Mapping[str, Rows], name: str) -> float | None:
    """An array of one whole number."""
    if name not in rows:
        return None
    given = whole(rows[name])
    if given.size != 1 or given.dtype.kind not in "iu" or int(given.reshape(())) < 0:
        raise InputError(name, f"shape {given.shape} of {given.dtype}", "one whole number of at least 0")
    return float(given.reshape(()))


def _disagreement(rows: Mapping[str, Rows], counted: HoldOut | None, allow_twins: bool) -> list[Evidence]:
    names = ("unlabelled_predictions", "unlabelled_final_predictions")
    given = [name for name in names if name in rows]
    if not given:
        return []
    if len(given) == 1:
        raise InputError("unlabelled arrays", given, f"both {names[0]} and {names[1]}")
    if counted is None:
        raise InputError("unlabelled arrays", given, "errors on independent held-out examples beside them")
    mine, final = (_decided(name, whole(rows[name])) for name in names)
    if mine.shape != final.shape:
        raise InputError(names[1], f"shape {final.shape}", f"shape {mine.shape}, as {names[0]}")
    enough("unlabelled", len(mine))
    unchecked = "Nobody checked that the unlabelled examples are new: give unlabelled_inputs beside the others."
    if "unlabelled_inputs" in rows:
        repeats.refuse_repeats("unlabelled_inputs", whole(rows["unlabelled_inputs"]), allowed=allow_twins)
        unchecked = "" if {"heldout_inputs", "train_inputs"} & set(rows) else unchecked
        for other in ("heldout_inputs", "train_inputs"):
            if other in rows:
                refuse_overlap(
                    whole(rows["unlabelled_inputs"]),
                    whole(rows[other]),
                    allow_twins=allow_twins,
                    what="unlabelled examples",
                )
    return [
        Disagreement(
            errors=counted.errors,
            n=counted.n,
            disagreements=int(np.sum(mine != final)),
            unlabelled=len(mine),
            note=unchecked,
            models=counted.models,
            subject="the final model",
        )
    ]


def decisions(outputs: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The class a model decides for: the sign of one logit (0 counts as negative), the first largest of several."""
    if outputs.ndim == 1:
        return np.asarray(outputs > 0, np.int64)
    return np.asarray(np.argmax(outputs, axis=1), np.int64)


def _decided(name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One decision per example: names, whole numbers, or the largest of several outputs."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind in "US" and values.ndim == 1:
        return np.char.strip(values.astype(str))
    if values.dtype.kind not in "fiub" or (values.dtype.kind == "f" and not np.all(np.isfinite(values))):
        raise InputError(name, f"type {values.dtype}", "finite numbers, or names")
    if values.ndim == 2:
        return decisions(values.astype(np.float64))
    if values.ndim != 1 or not whole_numbers(values):
        raise InputError(name, f"shape {values.shape}", "one predicted class per example, or a column per class")
    return values.astype(np.int64)


def _head(sample: Sample) -> list[Evidence]:
    rows = sample.parts
    given = [name for name in ("head_features", "head_labels") if name in rows]
    if not given:
        return []
    if len(given) == 1:
        raise InputError("head arrays", given, "both head_features and head_labels")
    from certiformer.certification import linear_head  # it optimises: scipy.optimize is slow to load

    data = head_data(rows, class_names(rows, sample.declaration))
    return list(linear_head.certificates(*data, sample.declaration.draws))


def head_data(
    rows: Mapping[str, Rows], named: int | list[str] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], int]:
    """Frozen features, class indices and the number of classes."""
    features, raw = whole(rows["head_features"]), whole(rows["head_labels"])
    if features.dtype.kind not in "fiub" or (features.dtype.kind == "f" and not np.all(np.isfinite(features))):
        raise InputError("head_features", f"type {features.dtype}", "finite numbers", "Remove these examples")
    if features.ndim != 2 or raw.shape != (len(features),):
        raise InputError("head_features", f"shape {features.shape}", f"({len(raw)}, width), one row per label")
    enough("head_features", len(features))
    coding = decide(distinct("head_labels", rows["head_labels"]), None, columns=None, classes=named, abstain=None)
    return features, coding.code("head_labels", raw), coding.classes
