"""What the answers of a model mean: classes, probabilities or logits beside labels; or losses of what is no class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification import frameworks
from certiformer.certification.declaration import Declaration
from certiformer.certification.frameworks import IGNORED, Answer
from certiformer.certification.sources.coding import decide
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[Any]
WRONG_TOKENS = "fraction of wrong tokens"
"""What is certified where there is a label for every token."""


def arrays_of(
    model: Any, data: Any, part: str, reading: Declaration, *, batched: bool = False
) -> tuple[dict[str, Any], dict[str, Any], Answer]:
    """Arrays for `Sample.of`, what they say about the reading (`classes`), and what the model answered."""
    if frameworks.is_torch(model):
        found, labels, inputs = frameworks.run_torch(model, data, part)
    else:
        given, labels = frameworks.examples_of(data, part)
        found, inputs = frameworks.answer(model, given, reading, part, batched=batched), frameworks.comparable(given)
        frameworks.refuse_own_tokens(given, np.asarray(frameworks.array_of(labels)), found.values)
    arrays, said = _meant(found, frameworks.labels_of(f"{part} labels", labels), part, reading)
    if inputs is not None:
        arrays[f"{part}_inputs"] = inputs
    return arrays, said, found


def _meant(found: Answer, labels: Array, part: str, reading: Declaration) -> tuple[dict[str, Any], dict[str, Any]]:
    """Outputs with labels, or losses: of tokens by sequence, of several labels at once, of numbers regressed on.

    Losses say nothing about a training part: there they are left out.
    """
    values, form = found.values, reading.outputs or found.form
    if found.form in ("logits", "probabilities") and found.form != form:
        raise InputError("outputs", form, f"{found.form}: that is what {found.asked} gives", "Leave it out")
    if values.dtype.kind in "O":
        values = frameworks.labels_of("the model's outputs", values)
    elif values.dtype.kind == "b":
        values = values.astype(np.int64)
    # one number for each place of a sequence is no row of scores of classes
    values, labels = (one[:, :, 0] if one.ndim == 3 and one.shape[2] == 1 else one for one in (values, labels))
    if labels.ndim > 2:
        raise InputError(
            "labels", f"shape {labels.shape}", "a label, or a row of labels, for every example",
            "Of pixels and the like, certify the fraction that is wrong in each example: "
            "certify(predictions={'heldout_losses': ...})",
        )  # fmt: skip
    losses: Array | None = None
    what = ""
    if labels.ndim == 2 and (values.ndim == 3 or _padded(values, labels)):
        losses, what = _wrong_tokens(values, labels), WRONG_TOKENS
    elif labels.ndim == 2 and labels.shape[1] > 1 and not (_simplex(values) and _one_hot(labels)):
        if values.dtype.kind == "f" and form != "labels" and _one_hot(labels) and np.any(values != np.round(values)):
            raise InputError(
                "labels", "a single 1 in every row, beside outputs that do not add up to 1", "one class, or several",
                "If every example has one class, give labels.argmax(axis=1); if several may hold at once, let the "
                "model answer 0 or 1 for each",
            )  # fmt: skip
        losses, what = _wrong_labels(values, labels, form), "fraction of wrong labels"
    elif _regression(values, labels, asked=reading.bounded and found.classes is None and form != "logits"):
        if not reading.bounded:
            raise InputError(
                "clip", None, "where to cut off the absolute error",
                "Regression has no largest error: say clip=C, or range=(0, C) if none can be larger",
            )  # fmt: skip
        losses, what = np.abs(values.reshape(-1) - labels.reshape(-1)), "absolute error"
    if losses is not None:
        return ({f"heldout_losses_{what}": losses} if part == "heldout" else {}), {}
    truth = np.argmax(labels, axis=1) if labels.ndim == 2 and labels.shape[1] > 1 else labels.reshape(-1)
    return _classified(replace(found, values=values, form=form), truth, part, reading)


def _classified(found: Answer, truth: Array, part: str, reading: Declaration) -> tuple[dict[str, Any], dict[str, Any]]:
    """One class per example."""
    found = replace(found, form=found.form or _guessed(found.values, truth))
    arrays: dict[str, Any] = {f"{part}_labels": truth}
    if found.classes is None:
        entry = "predictions" if found.form == "labels" else found.form
        return {**arrays, f"{part}_{entry}": decided(found) if found.form == "labels" else found.values}, {}
    names = tuple(str(name) for name in found.classes.tolist())
    if found.values.ndim == 2 and found.values.shape[1] not in (1, len(names)):
        raise InputError(
            "the model's outputs", f"{found.values.shape[1]} columns", f"one for each of {len(names)} classes"
        )
    table = found.values if found.form == "probabilities" else found.table
    arrays[f"{part}_predictions"] = decided(found)
    if table is not None and part == "heldout":
        full = np.stack([1.0 - table.reshape(-1), table.reshape(-1)], axis=1) if table.size == len(table) else table
        places = {name: place for place, name in enumerate(names)}
        column = np.array([places.get(str(label), -1) for label in truth.tolist()])
        sums = np.sum(full, axis=1)
        if not np.all((sums > 0) & np.isfinite(sums)):
            raise InputError("the model's probabilities", "rows that sum to 0 or to infinity", "a positive sum in each")
        own = full[np.arange(len(full)), np.maximum(column, 0)] / sums
        # A class that was never seen in training has probability 0.
        arrays["heldout_label_probabilities"] = np.where(column < 0, 0.0, np.clip(own, 0.0, 1.0))
    # Classes that only these examples have count as well.
    more = sorted({str(label) for label in truth.tolist()} - set(names))
    if more and all(one.dtype.kind in "iuUS" for one in (truth, found.classes)):  # unless they are another coding
        decide(set(truth.tolist()), set(found.classes.tolist()), columns=None, classes=None, abstain=reading.abstain)
    return arrays, {"classes": (*names, *more)}


def decided(found: Answer) -> Array:
    """The label of every example: the class of the largest column, or by the sign of one logit."""
    if found.form == "labels":
        return frameworks.labels_of("the model's outputs", found.values.reshape(-1))
    values = found.values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] > 1:
        place = np.argmax(values, axis=1)
    else:
        place = (values.reshape(-1) > (0.5 if found.form == "probabilities" else 0.0)).astype(np.int64)
    return np.asarray(place if found.classes is None else found.classes[place])


def _guessed(values: Array, truth: Array) -> str:
    """What can be seen: names and whole numbers are classes, rows that add up to 1 are probabilities, else logits.

    What could be one or the other is asked about where it is counted.
    """
    single = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
    if values.dtype.kind in "US":
        return "labels"
    if values.dtype.kind in "iu" and single:
        known = set(np.unique(truth).tolist())
        if truth.dtype.kind in "iu" and len(known) <= 2 and not set(np.unique(values).tolist()) <= known | {0, 1}:
            raise InputError(
                "outputs",
                f"whole numbers beyond the labels {sorted(known)}",
                "what they are",
                'Say outputs="labels", or outputs="logits"',
            )
        return "labels"
    return "probabilities" if _simplex(values) else "logits"


def _simplex(values: Array) -> bool:
    """Rows of several numbers in [0, 1] that add up to 1."""
    if values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind != "f":
        return False
    inside = np.all((values >= 0.0) & (values <= 1.0))
    return bool(inside and np.all(np.abs(np.sum(values, axis=1, dtype=np.float64) - 1.0) < 1e-3))


def _one_hot(labels: Array) -> bool:
    return labels.dtype.kind in "iuf" and bool(
        np.all((labels == 0) | (labels == 1)) and np.all(labels.sum(axis=1) == 1)
    )


def _padded(values: Array, labels: Array) -> bool:
    """A token for every token, where labels say which count: what a Trainer keeps of logits in many scripts."""
    return values.dtype.kind in "iu" and labels.dtype.kind == "i" and bool(np.any(labels == IGNORED))


def _wrong_tokens(outputs: Array, labels: Array) -> Array:
    """The fraction of wrong tokens in every sequence, from logits or from the tokens themselves."""
    counted = labels != IGNORED
    if outputs.shape[:2] != labels.shape:
        raise InputError("labels", f"shape {labels.shape}", f"shape {outputs.shape[:2]}, a label for every token")
    if outputs.ndim == 3 and outputs.shape[1] == outputs.shape[2]:
        raise InputError(
            "the model's outputs", f"shape {outputs.shape}", "as many places as labels, and another number of classes",
            "Which axis has the classes cannot be seen: answer with the class at every place",
        )  # fmt: skip
    if not np.all(counted.any(axis=1)):
        raise InputError("labels", "a sequence without labels", "at least one label in every sequence")
    answers = np.argmax(outputs, axis=2) if outputs.ndim == 3 else outputs
    wrong = (answers != labels) & counted
    right = 2 * np.sum(counted & ~wrong) + len(labels)  # far more than this is no chance
    if np.sum((answers[:, :-1] == labels[:, 1:]) & counted[:, 1:]) > right:
        raise frameworks.of_the_next("tokens that agree more with the answer one place before")
    if np.sum((answers[:, 1:] == labels[:, :-1]) & counted[:, :-1]) > right:
        raise InputError(
            "labels", "tokens that agree more with the answer one place behind", "labels at the places of answers",
            "What is generated begins with a start token: give predictions[:, 1:] and labels[:, :-1]",
        )  # fmt: skip
    return np.asarray(wrong.sum(axis=1) / counted.sum(axis=1))


def _wrong_labels(outputs: Array, labels: Array, form: str | None) -> Array:
    """Several labels at once: the fraction that is wrong (Hamming loss) of every example."""
    if outputs.shape != labels.shape:
        raise InputError(
            "the model's outputs",
            f"shape {outputs.shape} beside labels of shape {labels.shape}",
            "an answer for every label",
            "For classes give one label per example; for several labels give their predictions: "
            "certify(predictions={'heldout_correct': (predicted == labels).all(axis=1)})",
        )
    if outputs.dtype.kind in "USiu":
        return np.asarray(np.mean(outputs.astype(labels.dtype) != labels, axis=1))
    if np.any((labels != 0) & (labels != 1)):
        raise InputError("labels", f"shape {labels.shape}", "0 or 1 in every column, or one class per example")
    unit = bool(np.all((outputs >= 0) & (outputs <= 1)))
    if form == "labels" or (form is None and unit and bool(np.all(outputs == np.round(outputs)))):
        return np.asarray(np.mean(outputs != labels, axis=1))
    if unit and form is None:
        raise InputError(
            "outputs", "only numbers in [0, 1]", "logits", 'Say outputs="probabilities" (or outputs="logits")'
        )
    decided = outputs > (0.0 if form in (None, "logits") else 0.5)
    return np.asarray(np.mean(decided != (labels == 1), axis=1))


def _regression(outputs: Array, labels: Array, *, asked: bool) -> bool:
    """One number per example beside labels that are no classes; or any, where a cut of the error was `asked` for."""
    single = outputs.ndim <= 2 and outputs.size == len(outputs) and labels.size == len(labels)
    numbers = outputs.dtype.kind in "fiu" and labels.dtype.kind in "fiu"
    return single and numbers and (asked or not bool(np.all(labels == np.round(labels))))


def spent(reading: Declaration, arrays: Mapping[str, Any]) -> Declaration:
    """What outputs are has nothing more to say once they have become classes or losses."""
    kept = {"heldout_logits", "heldout_probabilities"} & set(arrays)
    return reading if kept else replace(reading, outputs=None)


def trainer_output(value: Any, reading: Declaration) -> dict[str, Any]:
    """Arrays from `Trainer.predict`; of several predictions the first are the logits."""
    if value.label_ids is None:
        raise InputError("label_ids", None, "labels", "The dataset that was predicted has no column `labels`")
    given = value.predictions
    predictions = np.asarray(frameworks.array_of(given[0] if isinstance(given, (tuple, list)) else given))
    labels = frameworks.labels_of("label_ids", value.label_ids)
    return _meant(Answer(predictions, "Trainer.predict"), labels, "heldout", reading)[0]
