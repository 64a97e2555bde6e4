"""From a model and data to what a report is made of: counts on held-out examples that are shown to be new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certificates.betting import Betting
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.holdout import HoldOut
from certiformer.certification.evidence import Findings
from certiformer.certification.handover.model import predictor_of
from certiformer.certification.predictors import coded_labels, outputs_of, probability_of_label, tensors_of
from certiformer.certification.split import Split, data_hash, refuse_overlap, split
from certiformer.core.errors import InputError
from certiformer.measure.losses import smoothed_cross_entropy
from certiformer.measure.margins import margins

Array = npt.NDArray[np.float64]
Pair = tuple[npt.ArrayLike, npt.ArrayLike]

LEAST_EXAMPLES = 10
SMOOTHING = 0.01
ORDER_SEED = 20_000
CERTIFY_FRACTION = 0.25


def enough(name: str, n: int) -> None:
    """Refuse a held-out set from which nothing can follow."""
    if n < LEAST_EXAMPLES:
        raise InputError(
            name, f"{n} examples", f"at least {LEAST_EXAMPLES}", "With fewer no certificate can say anything"
        )


def pair(name: str, data: Pair) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Inputs and labels as arrays of equal length, inputs finite."""
    inputs, labels = np.asarray(data[0]), np.asarray(data[1])
    if inputs.ndim == 0 or len(inputs) == 0:
        raise InputError(f"{name} inputs", "no examples", "at least one example")
    if len(inputs) != len(labels):
        raise InputError(f"{name} labels", f"{len(labels)} labels", f"one for each of {len(inputs)} inputs")
    if inputs.dtype.kind == "f" and not np.all(np.isfinite(inputs)):
        row = int(np.flatnonzero(~np.isfinite(inputs.reshape(len(inputs), -1)).all(axis=1))[0])
        raise InputError(f"{name} inputs", f"nan or infinity in example {row}", "finite numbers", "Remove it")
    return inputs, labels


def scored(outputs: Array, labels: npt.NDArray[np.int64], models: int) -> tuple[HoldOut, Betting]:
    """The hold-out and the betting record of outputs on held-out examples; a tie is an error."""
    classes = outputs.shape[1] if outputs.ndim == 2 else 2
    errors = int(np.sum(margins(outputs, labels) <= 0))
    return (
        HoldOut(errors=errors, n=len(labels), models=models),
        betting(probability_of_label(outputs, labels), classes, models),
    )


def betting(probabilities: Array, classes: int, models: int) -> Betting:
    """Smoothed cross-entropies from the probabilities of the true classes, in a random order fixed beforehand.

    Betting needs exchangeable losses. A file sorted by class is not, until it is shuffled without looking at it.
    """
    low, high = float(-np.log(1.0 - SMOOTHING + SMOOTHING / classes)), float(np.log(classes / SMOOTHING))
    # Rounding may leave the interval by one unit in the last place.
    losses = np.clip(smoothed_cross_entropy(probabilities, SMOOTHING, classes), low, high)
    losses = losses[np.random.default_rng(ORDER_SEED).permutation(len(losses))]
    return Betting(
        losses=tuple(losses.tolist()), low=low, high=high, smoothing=SMOOTHING, classes=classes, models=models
    )


def of_model(
    model: Callable[..., Any],
    heldout: Pair,
    train: Pair | None = None,
    *,
    batched: bool = False,
    initial: Any = None,
    final: Callable[..., Any] | None = None,
    unlabelled: npt.ArrayLike | None = None,
    models: int = 1,
    allow_twins: bool = False,
    seed: int = 0,
    title: str = "",
    training: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Findings:
    """Certify a trained model on held-out examples.

    `train` is what it was trained on: it gives the training error, the profile and the papers' bounds, and is compared
    with the held-out examples. `final` and `unlabelled` carry the certificate over to another model.
    """
    if models < 1:
        raise InputError("models", models, "the number of models compared on the held-out examples, at least 1")
    x, y = pair("heldout", heldout)
    enough("heldout", len(x))
    if not batched:
        tensors_of(model)  # refuses weights that are not finite
    outputs = outputs_of(model, x, batched=batched)
    scalar, classes = outputs.ndim == 1, 2 if outputs.ndim == 1 else outputs.shape[1]
    counted, bet = scored(outputs, coded_labels("heldout labels", y, classes, scalar=scalar), models)
    handed = None if batched else predictor_of(model)
    evidence: list[Evidence] = [replace(record, predictor=handed) for record in (counted, bet)]
    observed: dict[str, Any] = {"train_error": None, "heldout_error": counted.errors / counted.n}
    facts: dict[str, Any] = {"heldout_data": data_hash(x, y)}
    if train is not None:
        seen, seen_labels = pair("train", train)
        twins = refuse_overlap(x, seen, allow_twins=allow_twins)
        answers = outputs_of(model, seen, batched=batched)
        coded = coded_labels("train labels", seen_labels, classes, scalar=scalar)
        observed |= {"train_error": float(np.mean(margins(answers, coded) <= 0)), "train_examples": len(seen)}
        facts |= {"train_data": data_hash(seen, seen_labels), "heldout_inputs_seen_in_training": twins}
    else:
        facts["overlap_with_training"] = "not checked: the training examples were not given"
    observed["heldout_examples"] = len(x)
    if (final is None) != (unlabelled is None):
        raise InputError("final, unlabelled", "one of the two", "both: a second model and examples new to both")
    if final is not None and unlabelled is not None:
        fresh = np.asarray(unlabelled)
        enough("unlabelled", len(fresh))
        for name, other in (("heldout", x), ("train", None if train is None else np.asarray(train[0]))):
            if other is not None:
                refuse_overlap(fresh, other, allow_twins=allow_twins, what=f"unlabelled examples ({name})")
        mine = decisions(outputs_of(model, fresh, batched=batched))
        others = decisions(outputs_of(final, fresh, batched=batched))
        evidence.append(
            Disagreement(
                errors=counted.errors,
                n=counted.n,
                disagreements=int(np.sum(mine != others)),
                unlabelled=len(fresh),
                models=models,
                subject="the final model",
                predictor=None if batched else predictor_of(final),
            )
        )
    return Findings(
        title=title or _name(model),
        classes=classes,
        observed=observed,
        evidence=tuple(evidence),
        configuration={"flow": "model", "smoothing": SMOOTHING, "models_compared": models},
        splits={},
        seed=seed,
        tried=models,
        model=None if batched else model,
        sample=None if train is None else (seen, seen_labels),
        initial=initial,
        training=dict(training or {}),
        provenance={**facts, **(provenance or {})},
    )


def of_training(
    fit: Callable[..., Callable[..., Any]],
    data: Pair,
    *,
    batched: bool = False,
    models: int = 1,
    allow_twins: bool = False,
    seed: int = 0,
    title: str = "",
    fraction: float = CERTIFY_FRACTION,
) -> Findings:
    """Plan the data, train on one part with `fit(inputs, labels, seed) -> model`, certify on the other."""
    if not 0.0 < fraction < 1.0:
        raise InputError("fraction", fraction, "a number in (0, 1)")
    x, y = pair("data", data)
    parts = division(len(x), fraction, seed)
    train, certify = parts["train"], parts["certify"]
    refuse_overlap(x[certify], x[train], allow_twins=allow_twins)
    model = fit(x[train], y[train], seed)
    found = of_model(
        model,
        (x[certify], y[certify]),
        (x[train], y[train]),
        batched=batched,
        models=models,
        allow_twins=allow_twins,
        seed=seed,
        title=title or f"a model trained on {len(train)} of {len(x)} examples",
    )
    configuration = {**found.configuration, "flow": "training", "fraction": fraction}
    return replace(found, splits={"data": parts.hash}, configuration=configuration)


def division(n: int, fraction: float, seed: int) -> Split:
    """Which of n examples train, and which certify."""
    size = max(LEAST_EXAMPLES, round(fraction * n))
    if n - size < 1:
        raise InputError("data", f"{n} examples", f"more than {LEAST_EXAMPLES}: some to train, some to certify")
    return split(n, {"train": n - size, "certify": size}, seed)


def decisions(outputs: Array) -> npt.NDArray[np.int64]:
    """The class a model decides for: the sign of one logit (0 counts as negative), the first largest of several."""
    if outputs.ndim == 1:
        return np.asarray(outputs > 0, np.int64)
    return np.asarray(np.argmax(outputs, axis=1), np.int64)


def _name(model: Any) -> str:
    from certiformer.models import Model

    if isinstance(model, Model):
        return model.name
    return str(getattr(getattr(model, "func", model), "__name__", type(model).__name__))
