"""Certificates for any model of any framework, from a file of its predictions.

heldout_labels and one of heldout_logits, heldout_probabilities, heldout_predictions are required; the rest is optional
and each part adds a certificate or a check:

    train_labels with train_logits, ...      the training error
    heldout_inputs, train_inputs             to see that no held-out example was trained on (or *_ids instead)
    progressive_losses                       0-1 losses of one training pass, each before it was learnt: V
    unlabelled_predictions, unlabelled_final_predictions    of this model and of the final one, on new examples: D
    head_features, head_labels               frozen features of labelled examples the encoder has not seen: O, K, K1
    classes                                  their number, where it cannot be told from the shape
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
from certiformer.certification.evidence import Findings
from certiformer.certification.files import finite
from certiformer.certification.flows import LEAST_EXAMPLES, SMOOTHING, betting, decisions, enough
from certiformer.certification.predictors import checked_outputs, coded_labels, probability_of_label
from certiformer.certification.split import data_hash, refuse_overlap
from certiformer.core.errors import InputError
from certiformer.measure.margins import margins

Arrays = Mapping[str, npt.NDArray[Any]]

FORMS = ("logits", "probabilities", "predictions")
KNOWN = (
    *(f"{part}_{form}" for part in ("heldout", "train") for form in (*FORMS, "labels", "inputs", "ids")),
    "progressive_losses",
    "unlabelled_predictions",
    "unlabelled_final_predictions",
    "unlabelled_inputs",
    "head_features",
    "head_labels",
    "classes",
)


def of_predictions(
    arrays: Arrays,
    *,
    models: int = 1,
    allow_twins: bool = False,
    seed: int = 0,
    title: str = "",
    provenance: Mapping[str, Any] | None = None,
) -> Findings:
    """The findings that the arrays of a predictions file support."""
    if models < 1:
        raise InputError("models", models, "the number of models compared on the held-out examples, at least 1")
    classes = _classes(arrays)
    errors, n, probabilities = _answers("heldout", arrays, classes)
    enough("heldout", n)
    counted = HoldOut(errors=errors, n=n, models=models)
    evidence: list[Evidence] = [counted]
    missing: dict[str, str] = {}
    if probabilities is None:
        missing["betting"] = "only hard predictions were given; it needs heldout_probabilities or heldout_logits"
    else:
        evidence.append(betting(probabilities, classes, models))
    observed: dict[str, Any] = {"train_error": None, "heldout_error": errors / n}
    if "train_labels" in arrays:
        train_errors, train_n, _ = _answers("train", arrays, classes)
        observed |= {"train_error": train_errors / train_n, "train_examples": train_n}
    observed["heldout_examples"] = n
    facts = _overlap(arrays, n, allow_twins)
    evidence += _progressive(arrays, models)
    evidence += _disagreement(arrays, counted, allow_twins)
    # Compared models, or seeds of the head, divide these shares as they divide that of the hold-out.
    evidence += [replace(record, models=models) for record in _head(arrays, seed)]
    return Findings(
        title=title or "predictions",
        classes=classes,
        observed=observed,
        evidence=tuple(evidence),
        configuration={"flow": "predictions", "smoothing": SMOOTHING, "models_compared": models},
        splits={},
        seed=seed,
        tried=models,
        missing=missing,
        provenance={**facts, **(provenance or {})},
    )


def _classes(arrays: Arrays) -> int:
    """From the shape of logits or probabilities, from `classes`, or from the largest label."""
    if "classes" in arrays:
        value = np.asarray(arrays["classes"])
        if value.size != 1 or value.dtype.kind not in "iuf" or int(value.item()) < 2:
            raise InputError("classes", value.tolist(), "a whole number of at least 2")
        return int(value.item())
    for form in ("logits", "probabilities"):
        found = arrays.get(f"heldout_{form}")
        if found is not None:
            return found.shape[1] if found.ndim == 2 and found.shape[1] > 1 else 2
    labels = np.asarray(arrays.get("heldout_labels", np.zeros(1)))
    return max(2, int(np.max(labels)) + 1) if labels.size and labels.dtype.kind in "iuf" else 2


def _answers(part: str, arrays: Arrays, classes: int) -> tuple[int, int, npt.NDArray[np.float64] | None]:
    """Errors, examples, and the probabilities of the true classes where they are known."""
    given = [form for form in FORMS if f"{part}_{form}" in arrays]
    if f"{part}_labels" not in arrays or len(given) != 1:
        raise InputError(
            f"{part} arrays",
            sorted(name for name in arrays if name.startswith(part)),
            f"{part}_labels and exactly one of {', '.join(f'{part}_{form}' for form in FORMS)}",
        )
    form, labels = given[0], np.asarray(arrays[f"{part}_labels"])
    name, values = f"{part}_{form}", np.asarray(arrays[f"{part}_{form}"])
    if labels.ndim != 1 or len(labels) == 0:
        raise InputError(f"{part}_labels", f"shape {labels.shape}", "one label per example, at least one")
    if form == "predictions":
        coded = coded_labels(f"{part}_labels", labels, classes, scalar=False)
        answers = coded_labels(name, values, classes, scalar=False)
        if answers.shape != coded.shape:
            raise InputError(name, f"{len(answers)} predictions", f"one for each of {len(coded)} labels")
        return int(np.sum(answers != coded)), len(coded), None
    outputs = checked_outputs(name, values, len(labels))
    if form == "probabilities":
        if outputs.ndim == 2 and outputs.shape[1] != classes:
            raise InputError(name, f"{outputs.shape[1]} columns", f"{classes} columns, one per class")
        return _from_probabilities(name, outputs, coded_labels(f"{part}_labels", labels, classes, scalar=False))
    if outputs.ndim == 2 and outputs.shape[1] != classes:
        raise InputError(name, f"{outputs.shape[1]} columns", f"{classes} columns, one per class")
    coded = coded_labels(f"{part}_labels", labels, classes, scalar=outputs.ndim == 1)
    return int(np.sum(margins(outputs, coded) <= 0)), len(coded), probability_of_label(outputs, coded)


def _from_probabilities(
    name: str, values: npt.NDArray[np.float64], labels: npt.NDArray[np.int64]
) -> tuple[int, int, npt.NDArray[np.float64]]:
    """A vector holds the probability of class 1; rows of a matrix have to sum to one."""
    full = np.stack([1.0 - values, values], axis=1) if values.ndim == 1 else values
    if np.any(full < 0) or np.any(full > 1) or np.any(np.abs(np.sum(full, axis=1) - 1.0) > 1e-3):
        row = int(np.argmax(np.abs(np.sum(full, axis=1) - 1.0)))
        raise InputError(name, full[row].tolist(), "probabilities that add up to 1", f"Look at example {row}")
    if np.max(labels) >= full.shape[1]:
        raise InputError(name, f"{full.shape[1]} columns", "one column per class")
    rows = np.arange(len(labels))
    return int(np.sum(margins(full, labels) <= 0)), len(labels), full[rows, labels]


def _overlap(arrays: Arrays, n: int, allow_twins: bool) -> dict[str, Any]:
    """Compare held-out with training examples by inputs or by ids, where both are given."""
    facts: dict[str, Any] = {"heldout_labels_sha256": data_hash(arrays["heldout_labels"])}
    for kind in ("inputs", "ids"):
        heldout, train = arrays.get(f"heldout_{kind}"), arrays.get(f"train_{kind}")
        if heldout is not None and len(heldout) != n:
            raise InputError(f"heldout_{kind}", f"{len(heldout)} rows", f"one for each of {n} labels")
        if heldout is not None and train is not None:
            twins = refuse_overlap(heldout, train, allow_twins=allow_twins and kind == "inputs")
            facts[f"heldout_{kind}_seen_in_training"] = twins
    if not any(name.endswith("_seen_in_training") for name in facts):
        facts["overlap_with_training"] = "not checked: give heldout_inputs and train_inputs, or ids"
    return facts


def _progressive(arrays: Arrays, models: int) -> list[Evidence]:
    if "progressive_losses" not in arrays:
        return []
    losses = finite("progressive_losses", np.asarray(arrays["progressive_losses"]))
    if losses.ndim != 1 or len(losses) < LEAST_EXAMPLES:
        raise InputError("progressive_losses", f"shape {losses.shape}", f"at least {LEAST_EXAMPLES} losses")
    if np.any((losses != 0) & (losses != 1)):
        raise InputError("progressive_losses", float(np.max(losses)), "0 or 1 for every example")
    mean = float(np.mean(losses.astype(np.float64)))
    return [Progressive(mean_loss=mean, n=len(losses), models=models, subject="an iterate drawn at random")]


def _disagreement(arrays: Arrays, counted: HoldOut, allow_twins: bool) -> list[Evidence]:
    names = ("unlabelled_predictions", "unlabelled_final_predictions")
    given = [name for name in names if name in arrays]
    if not given:
        return []
    if len(given) == 1:
        raise InputError("unlabelled arrays", given, f"both {names[0]} and {names[1]}")
    mine, final = (_decided(name, np.asarray(arrays[name])) for name in names)
    if mine.shape != final.shape:
        raise InputError(names[1], f"shape {final.shape}", f"shape {mine.shape}, as {names[0]}")
    enough("unlabelled", len(mine))
    unchecked = "Nobody checked that the unlabelled examples are new: give unlabelled_inputs beside the others."
    if "unlabelled_inputs" in arrays:
        unchecked = "" if {"heldout_inputs", "train_inputs"} & set(arrays) else unchecked
        for other in ("heldout_inputs", "train_inputs"):
            if other in arrays:
                refuse_overlap(
                    arrays["unlabelled_inputs"], arrays[other], allow_twins=allow_twins, what="unlabelled examples"
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


def _decided(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    finite(name, values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2:
        return decisions(values.astype(np.float64))
    if values.ndim != 1 or np.any(values != np.round(values)):
        raise InputError(name, f"shape {values.shape}", "one predicted class per example, or a column per class")
    return values.astype(np.int64)


def _head(arrays: Arrays, seed: int) -> list[Evidence]:
    given = [name for name in ("head_features", "head_labels") if name in arrays]
    if not given:
        return []
    if len(given) == 1:
        raise InputError("head arrays", given, "both head_features and head_labels")
    from certiformer.certification import linear_head

    features, labels, classes = head_data(arrays)
    return list(linear_head.certificates(linear_head.prepare(features, labels, classes), seed))


def head_data(arrays: Arrays) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], int]:
    """Frozen features, class indices and the number of classes."""
    features = finite("head_features", np.asarray(arrays["head_features"]))
    raw = np.asarray(arrays["head_labels"])
    if features.ndim != 2 or raw.shape != (len(features),):
        raise InputError("head_features", f"shape {features.shape}", f"({len(raw)}, width), one row per label")
    enough("head_features", len(features))
    classes = _classes({"heldout_labels": raw, **({"classes": arrays["classes"]} if "classes" in arrays else {})})
    return features, coded_labels("head_labels", raw, classes, scalar=False), classes
