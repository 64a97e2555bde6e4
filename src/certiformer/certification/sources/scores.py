"""From outputs and labels, in one pass over blocks: right or wrong, and the probability of the label.

Eight bytes are kept per example. A tie is an error. Masked classes (a logit of -inf) are allowed; probabilities are
normalised before anything is said about them. Outputs that look like something else than what they were called are
asked about: integers or numbers in [0, 1] called logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certiformer.certification.sources.coding import Coding
from certiformer.certification.sources.rows import Rows, block_rows
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Scored:
    """Per example: an error or not, and the probability of the label where it is known."""

    wrong: npt.NDArray[np.bool_]
    probability: Array | None
    note: str = ""

    @property
    def errors(self) -> int:
        return int(np.count_nonzero(self.wrong))


def of_outputs(
    name: str, outputs: Rows, labels_name: str, labels: Rows, coding: Coding, *, form: str, declared: bool
) -> Scored:
    """`form` is "logits" or "probabilities"; `declared` logits are not asked about."""
    n = labels.shape[0]
    if len(outputs.shape) not in (1, 2) or outputs.shape[0] != n:
        raise InputError(name, f"shape {outputs.shape}", f"shape ({n},) for one logit or ({n}, classes) for several")
    if outputs.dtype.kind not in "fiub":
        raise InputError(name, f"type {outputs.dtype}", "numbers")
    scalar = len(outputs.shape) == 1 or outputs.shape[1] == 1
    if not scalar and outputs.shape[1] != coding.classes:
        raise InputError(name, f"{outputs.shape[1]} columns", f"{coding.classes} columns, one per class")
    wrong, probability = np.empty(n, np.bool_), np.empty(n, np.float64)
    whole, unit, start, off = True, True, 0, 0.0
    least, most = np.inf, -np.inf
    size = block_rows(outputs, outputs, labels)
    for block, names in zip(outputs.blocks(size), labels.blocks(size), strict=True):
        values = block.astype(np.float64).reshape(len(block), -1)
        _refuse_not_finite(name, values, start, masked=form == "logits" and not scalar)
        code = coding.code(labels_name, names)
        if form == "logits":
            unit = unit and bool(np.all((values >= 0.0) & (values <= 1.0)))
            least, most = min(least, float(values.min())), max(most, float(values.max()))
            whole = whole and scalar and bool(np.all(values == np.round(values)))
        else:
            off = max(off, _refuse_improper(name, values, start, scalar))
        full = _both(values[:, 0], form) if scalar else values
        part = slice(start, start + len(block))
        if form == "logits":
            wrong[part], probability[part] = _softmax(full, code)
        else:
            wrong[part], probability[part] = _normalised(full, code)
        start += len(block)
    # A constant is no probability and no class: it is a model that ties everywhere.
    if form == "logits" and not declared and least < most and (unit or whole):
        _ask(name, unit, whole)
    note = f"{name} added up to 1 within {off:.1g}; they were normalised" if off > 1e-6 else ""
    return Scored(wrong, probability, note)


def _both(values: Array, form: str) -> Array:
    """One number per example as two columns: (0, logit), or (1 - p, p)."""
    return np.stack([np.zeros_like(values) if form == "logits" else 1.0 - values, values], axis=1)


def _softmax(values: Array, code: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.bool_], Array]:
    rows = np.arange(len(values))
    own = values[rows, code]
    values[rows, code] = -np.inf
    rest = np.max(values, axis=1)
    top = np.maximum(own, rest)
    np.subtract(values, top[:, None], out=values)
    others = np.sum(np.exp(values, out=values), axis=1)
    mine = np.exp(own - top)
    return own <= rest, mine / (mine + others)


def _normalised(values: Array, code: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.bool_], Array]:
    rows = np.arange(len(values))
    own, total = values[rows, code], np.sum(values, axis=1)
    values = values.copy()
    values[rows, code] = -np.inf
    return own <= np.max(values, axis=1), np.clip(own / total, 0.0, 1.0)


def of_predictions(name: str, predictions: Rows, labels_name: str, labels: Rows, coding: Coding) -> Scored:
    """Hard predictions against labels; an abstention is an error."""
    n = labels.shape[0]
    if predictions.shape[0] != n:
        raise InputError(name, f"{predictions.shape[0]} predictions", f"one for each of {n} labels")
    wrong, start, abstained = np.empty(n, np.bool_), 0, 0
    size = block_rows(predictions, labels)
    for block, names in zip(predictions.blocks(size), labels.blocks(size), strict=True):
        answers = coding.code(name, block)
        abstained += int(np.count_nonzero(answers == -1))
        wrong[start : start + len(block)] = answers != coding.code(labels_name, names)
        start += len(block)
    return Scored(wrong, None, f"{abstained} abstentions counted as errors" if coding.abstain is not None else "")


def of_correct(name: str, correct: Rows) -> Scored:
    """Right or wrong, as somebody else found it."""
    if len(correct.shape) != 1:
        raise InputError(name, f"shape {correct.shape}", "true or false for every example")
    wrong, start = np.empty(correct.shape[0], np.bool_), 0
    for block in correct.blocks(block_rows(correct)):
        if block.dtype.kind not in "biuf" or (block.dtype.kind != "b" and np.any((block != 0) & (block != 1))):
            odd = block[(block != 0) & (block != 1)][:1].tolist() if block.dtype.kind in "iuf" else str(block.dtype)
            raise InputError(
                name, odd, "true or false (1 or 0)", "A score between is a loss: heldout_losses = 1 - score"
            )
        wrong[start : start + len(block)] = block == 0
        start += len(block)
    return Scored(wrong, None)


def label_probabilities(name: str, rows: Rows) -> Array:
    """The probability the model gave the true label, in [0, 1]."""
    if len(rows.shape) != 1 or rows.dtype.kind not in "fiu":
        raise InputError(name, f"type {rows.dtype}, shape {rows.shape}", "one probability per example")
    found, start = np.empty(rows.shape[0]), 0
    for block in rows.blocks(block_rows(rows)):
        bad = ~((block >= 0.0) & (block <= 1.0))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise InputError(name, float(block[row]), "a probability in [0, 1]", f"Look at example {start + row}")
        found[start : start + len(block)] = block
        start += len(block)
    return found


def largest_probability(outputs: Rows, form: str) -> Array:
    """The probability of the class that the model decides for."""
    found, start = np.empty(outputs.shape[0]), 0
    for block in outputs.blocks(block_rows(outputs, outputs)):
        values = block.astype(np.float64).reshape(len(block), -1)
        full = _both(values[:, 0], form) if values.shape[1] == 1 else values
        if form == "logits":
            top = np.max(full, axis=1, keepdims=True)
            found[start : start + len(block)] = 1.0 / np.sum(np.exp(full - top), axis=1)
        else:
            found[start : start + len(block)] = np.max(full, axis=1) / np.sum(full, axis=1)
        start += len(block)
    return found


def _refuse_not_finite(name: str, values: Array, start: int, *, masked: bool) -> None:
    bad = ~np.isfinite(values)
    if masked and bad.any():
        bad &= ~(np.isneginf(values) & np.any(np.isfinite(values), axis=1)[:, None])
    if bad.any():
        row = int(np.flatnonzero(bad.any(axis=1))[0])
        raise InputError(name, f"nan or infinity at example {start + row}", "finite numbers", "Look at the inputs")


def _refuse_improper(name: str, values: Array, start: int, scalar: bool) -> float:
    """Probabilities have to lie in [0, 1] and add up to 1 within 1e-3; how far off they are at most."""
    off = np.zeros(len(values)) if scalar else np.abs(np.sum(values, axis=1) - 1.0)
    bad = np.any((values < 0.0) | (values > 1.0), axis=1) | (off > 1e-3)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        shown = values[row].tolist()[:6]
        raise InputError(name, shown, "probabilities that add up to 1", f"Look at example {start + row}")
    return float(off.max(initial=0.0))


def _ask(name: str, unit: bool, whole: bool) -> None:
    """Numbers in [0, 1], or whole numbers, may be logits, but hardly ever are."""
    seen = "only numbers in [0, 1]" if unit and not whole else "only whole numbers"
    kinds = {"probabilities": ("probabilities", unit), "predicted classes": ("labels", whole)}
    likely = {kind: output for kind, (output, seems) in kinds.items() if seems}
    arrays = {"probabilities": "probabilities", "labels": "predictions"}
    names = " or ".join(name.replace("logits", arrays[output]) for output in likely.values())
    said = " or ".join(f'outputs="{output}"' for output in likely.values())
    raise InputError(
        name,
        seen,
        "logits",
        f"They look like {' or '.join(likely)}: give them as {names} (of a model say {said}), or say that they "
        'are logits with outputs="logits" (--outputs logits)',
    )
