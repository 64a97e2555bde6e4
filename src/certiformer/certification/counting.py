"""From a model and data to what a report is made of: counts on held-out examples that are shown to be new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certificates import Evidence
from certiformer.certificates.disagreement import Disagreement
from certiformer.certification import doors
from certiformer.certification.betting import LEAST_EXAMPLES, enough
from certiformer.certification.declaration import Declaration
from certiformer.certification.evidence import Findings
from certiformer.certification.handover.model import predictor_of
from certiformer.certification.outputs import outputs_of, tensors_of
from certiformer.certification.predictions import decisions, of_predictions
from certiformer.certification.sources.coding import decide, distinct
from certiformer.certification.sources.rows import rows_of
from certiformer.certification.split import Split, data_hash, refuse_overlap, split
from certiformer.core.errors import InputError

Array = npt.NDArray[np.float64]
Pair = tuple[npt.ArrayLike, npt.ArrayLike]

CERTIFY_FRACTION = 0.25


def pair(name: str, data: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Inputs and labels as arrays of equal length, inputs finite."""
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise InputError(name, type(data).__name__, "a pair (inputs, labels)")
    inputs, labels = np.asarray(doors.array_of(data[0])), np.asarray(doors.array_of(data[1]))
    if inputs.ndim == 0 or len(inputs) == 0:
        raise InputError(f"{name} inputs", "no examples", "at least one example")
    if len(inputs) != len(labels):
        raise InputError(f"{name} labels", f"{len(labels)} labels", f"one for each of {len(inputs)} inputs")
    if inputs.dtype.kind == "f" and not np.all(np.isfinite(inputs)):
        row = int(np.flatnonzero(~np.isfinite(inputs.reshape(len(inputs), -1)).all(axis=1))[0])
        raise InputError(f"{name} inputs", f"nan or infinity in example {row}", "finite numbers", "Remove it")
    return inputs, labels


def of_foreign(model: Any, heldout: Any, train: Any, reading: Declaration) -> Findings:
    """Certify a scikit-learn estimator or a torch module on held-out examples."""
    arrays, said = doors.answers(model, heldout, "heldout", reading)
    if train is not None:
        arrays |= doors.answers(model, train, "train", reading)[0]
    chosen = reading if reading.classes is not None else replace(reading, **said)
    found = of_predictions(arrays, replace(chosen, title=reading.title or type(model).__name__))
    return replace(found, configuration={**found.configuration, "flow": "model"})


def of_model(
    model: Callable[..., Any],
    heldout: Pair,
    train: Pair | None = None,
    *,
    reading: Declaration,
    batched: bool = False,
    initial: Any = None,
    final: Callable[..., Any] | None = None,
    unlabelled: npt.ArrayLike | None = None,
    training: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Findings:
    """Certify a trained model on held-out examples.

    `train` is what it was trained on: it gives the training error, the profile and the papers' bounds, and is compared
    with the held-out examples. `final` and `unlabelled` carry the certificate over to another model.
    """
    x, y = pair("heldout", heldout)
    enough("heldout", len(x))
    own = _own(model)
    if not batched:
        tensors_of(model)  # refuses weights that are not finite
    if own and reading.outputs is None:
        reading = replace(reading, outputs="logits")  # known, not guessed
    arrays = _answers(model, x, y, "heldout", reading, batched)
    facts: dict[str, Any] = {"heldout_data": data_hash(x, y)}
    sample = None
    if train is not None:
        seen, seen_labels = pair("train", train)
        arrays |= _answers(model, seen, seen_labels, "train", reading, batched)
        facts["train_data"] = data_hash(seen, seen_labels)
        sample = (seen, seen_labels)
    if (final is None) != (unlabelled is None):
        raise InputError("final, unlabelled", "one of the two", "both: a second model and examples new to both")
    if final is not None and unlabelled is not None:
        fresh = np.asarray(unlabelled)
        arrays |= {
            "unlabelled_predictions": decisions(outputs_of(model, fresh, batched=batched)),
            "unlabelled_final_predictions": decisions(outputs_of(final, fresh, batched=batched)),
            "unlabelled_inputs": fresh,
        }
    found = of_predictions(arrays, replace(reading, title=reading.title or _name(model)))
    return replace(
        found,
        evidence=found.evidence if batched else _handed(found.evidence, model, final),
        configuration={**found.configuration, "flow": "model"},
        model=None if batched else model,
        sample=None if sample is None else (sample[0], _coded(arrays, sample[1], reading)),
        initial=initial,
        training=dict(training or {}),
        provenance={**found.provenance, **facts, **(provenance or {})},
    )


def _answers(
    model: Callable[..., Any], x: npt.NDArray[Any], y: npt.NDArray[Any], part: str, reading: Declaration, batched: bool
) -> dict[str, Any]:
    if reading.outputs == "labels":
        answers = np.asarray(doors.array_of(model(x))) if batched else outputs_of(model, x)
        return {f"{part}_labels": y, f"{part}_predictions": answers, f"{part}_inputs": x}
    form = reading.outputs or "logits"
    return {f"{part}_labels": y, f"{part}_{form}": outputs_of(model, x, batched=batched), f"{part}_inputs": x}


def _coded(arrays: Mapping[str, Any], labels: npt.NDArray[Any], reading: Declaration) -> npt.NDArray[np.int64]:
    """The training labels as classes from 0, in the coding of the report: what is profiled."""
    outputs = next(
        (arrays[f"heldout_{form}"] for form in ("logits", "probabilities") if f"heldout_{form}" in arrays), None
    )
    columns = None if outputs is None else outputs.shape[1] if outputs.ndim == 2 and outputs.shape[1] > 1 else 2
    values = distinct("labels", rows_of(labels)) | distinct("labels", rows_of(arrays["heldout_labels"]))
    named = reading.classes if isinstance(reading.classes, int) or reading.classes is None else list(reading.classes)
    return decide(values, None, columns=columns, classes=named, abstain=None).code("train labels", labels)


def of_training(
    fit: Callable[..., Callable[..., Any]],
    data: Pair,
    *,
    reading: Declaration,
    batched: bool = False,
    fraction: float = CERTIFY_FRACTION,
) -> Findings:
    """Plan the data, train on one part with `fit(inputs, labels, seed) -> model`, certify on the other.

    `fit` may be a scikit-learn estimator, or a function that returns one, or a torch module.
    """
    if not 0.0 < fraction < 1.0:
        raise InputError("fraction", fraction, "a number in (0, 1)")
    x, y = pair("data", data)
    parts = division(len(x), fraction, reading.draws)
    train, certify = parts["train"], parts["certify"]
    refuse_overlap(x[certify], x[train], allow_twins=reading.allow_twins)
    seen, heldout = ((_taken(data[0], x, part), y[part]) for part in (train, certify))
    model = (doors.fitted(fit) if doors.is_estimator(fit) else fit)(*seen, reading.draws)
    named = replace(reading, title=reading.title or f"a model trained on {len(train)} of {len(x)} examples")
    if doors.is_estimator(model) or doors.is_torch(model):
        found = of_foreign(model, heldout, seen, named)
    else:
        found = of_model(model, heldout, seen, reading=named, batched=batched)
    configuration = {**found.configuration, "flow": "training", "fraction": fraction}
    return replace(found, splits={"data": parts.hash}, configuration=configuration)


def _taken(given: Any, array: npt.NDArray[Any], part: npt.NDArray[Any]) -> Any:
    """Some of the rows; a data frame stays one, for its columns have names."""
    return given.iloc[part] if hasattr(given, "iloc") else array[part]


def division(n: int, fraction: float, seed: int) -> Split:
    """Which of n examples train, and which certify."""
    size = max(LEAST_EXAMPLES, round(fraction * n))
    if n - size < 1:
        raise InputError("data", f"{n} examples", f"more than {LEAST_EXAMPLES}: some to train, some to certify")
    return split(n, {"train": n - size, "certify": size}, seed)


def _handed(evidence: tuple[Evidence, ...], model: Any, final: Any) -> tuple[Evidence, ...]:
    """The records with the predictor they are about, where that can be written."""
    mine, other = predictor_of(model), None if final is None else predictor_of(final)
    return tuple(
        replace(record, predictor=other, through=mine)
        if isinstance(record, Disagreement)
        else replace(record, predictor=mine)
        for record in evidence
    )


def _own(model: Any) -> bool:
    """A model of this package, whose outputs are known to be logits."""
    import sys

    models = sys.modules.get("certiformer.models")
    return models is not None and isinstance(model, models.Model)


def _name(model: Any) -> str:
    if _own(model):
        return str(model.name)
    return str(getattr(getattr(model, "func", model), "__name__", type(model).__name__))
