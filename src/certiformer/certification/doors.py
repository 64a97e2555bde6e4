"""Models of other frameworks at the door: what they answer, in which form, without making any of them a dependency.

A scikit-learn estimator answers with `predict` (its errors are those of `predict`) and, where it has probabilities,
with those of the true labels. A torch module is run without gradients, in evaluation mode, batch by batch; a DataLoader
brings inputs and labels. The output of Hugging Face's `Trainer.predict` is read as it is. Anything else is a function:
of a batch, or of one example for JAX. Frameworks are recognised by their own types, never imported to ask.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.declaration import Declaration
from certiformer.certification.sources.repeats import hashes
from certiformer.core.errors import InputError

BATCH = 256
IGNORED = -100
"""The label of a token that counts for nothing, in Hugging Face's convention."""


def array_of(value: Any) -> Any:
    """Arrays from tensors, series, frames and lists; text and numpy pass."""
    if isinstance(value, (np.ndarray, str, bytes)) or hasattr(value, "blocks"):
        return value
    if _from(value, "torch"):
        found = value.detach().cpu()
        # numpy has no bfloat16.
        return (found.float() if "bfloat16" in str(found.dtype) else found).numpy()
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    if hasattr(value, "toarray"):
        return value.toarray()
    found = np.asarray(value)
    return found.astype(np.float32) if found.dtype.kind == "V" and "bfloat16" in str(found.dtype) else found


def _from(value: Any, library: str) -> bool:
    return any(base.__module__.split(".")[0] == library for base in type(value).__mro__)


def is_estimator(model: Any) -> bool:
    """Something that follows scikit-learn's conventions."""
    return not isinstance(model, type) and hasattr(model, "get_params") and hasattr(model, "predict")


def is_torch(model: Any) -> bool:
    return _from(model, "torch") and hasattr(model, "state_dict")


def is_loader(data: Any) -> bool:
    """An iterable of batches, such as torch's DataLoader."""
    return not isinstance(data, (tuple, list, np.ndarray)) and hasattr(data, "__iter__") and hasattr(data, "batch_size")


def is_dataset(data: Any) -> bool:
    """Single examples by number, such as torch's Dataset."""
    return _from(data, "torch") and hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "T")


def is_trainer_output(value: Any) -> bool:
    return hasattr(value, "predictions") and hasattr(value, "label_ids")


def answers(model: Any, data: Any, part: str, reading: Declaration) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a model of another framework says about `data`: arrays for `of_predictions`, and facts for the report."""
    if is_estimator(model):
        inputs, labels = _pair(data, part)
        return _estimator(model, inputs, labels, part)
    found, labels, digests = _torch(model, data, part)
    arrays = _meant(found, labels, part, reading)
    if digests is not None and arrays:
        arrays[f"{part}_inputs"] = digests
    return arrays, {}


def _form(reading: Declaration) -> str:
    return {"labels": "predictions", None: "logits"}.get(reading.outputs, reading.outputs or "logits")


def _pair(data: Any, part: str) -> tuple[Any, Any]:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise InputError(part, type(data).__name__, "a pair (inputs, labels)")
    return data[0], data[1]


def _estimator(model: Any, inputs: Any, labels: Any, part: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Errors of `predict`; probabilities of the true labels from `predict_proba`."""
    known = getattr(model, "classes_", None)
    if known is None and getattr(model, "_estimator_type", "") != "classifier" and not hasattr(model, "predict_proba"):
        raise InputError(
            "model",
            type(model).__name__,
            "a fitted classifier",
            "Fit it first, or give fit=... and data=...; a regressor is certified by its losses: "
            "certify(predictions={'heldout_losses': ...}, declaration={'range': (low, high)})",
        )
    if known is None:
        raise InputError("model", type(model).__name__, "a fitted estimator", "Or give it as fit=, with data=(x, y)")
    truth = np.asarray(array_of(labels))
    predicted = np.asarray(model.predict(inputs))
    names = [str(name) for name in np.asarray(known).tolist()]
    arrays: dict[str, Any] = {
        f"{part}_labels": truth.astype(str) if truth.dtype.kind in "UO" else truth,
        f"{part}_predictions": predicted.astype(str) if predicted.dtype.kind in "UO" else predicted,
        f"{part}_inputs": digests_of(inputs),
    }
    if hasattr(model, "predict_proba") and part == "heldout":
        table = np.asarray(model.predict_proba(inputs), dtype=np.float64)
        places = {name: place for place, name in enumerate(names)}
        column = np.array([places.get(str(label), -1) for label in truth.tolist()])
        own = table[np.arange(len(table)), np.maximum(column, 0)] / np.sum(table, axis=1)
        # A class that was never seen in training has probability 0.
        arrays["heldout_label_probabilities"] = np.where(column < 0, 0.0, np.clip(own, 0.0, 1.0))
    # Classes that only the held-out examples have count as well.
    more = sorted({str(label) for label in truth.tolist()} - set(names))
    return arrays, {"classes": names + more}


def digests_of(inputs: Any) -> npt.NDArray[Any]:
    """One hash per example, whatever holds the examples."""
    if hasattr(inputs, "tocsr"):
        rows = inputs.tocsr()
        return np.array([hashes(row.toarray())[0].hex() for row in rows])
    values = np.asarray(array_of(inputs))
    if values.dtype.kind == "O":
        values = np.array([str(row) for row in values.tolist()])
    return np.array([digest.hex() for digest in hashes(values)])


def fitted(estimator: Any) -> Callable[..., Any]:
    """`fit(inputs, labels, seed)` for an estimator that is still to be fitted: a fresh copy, seeded where it can be."""

    def fit(inputs: Any, labels: Any, seed: int) -> Any:
        fresh = copy.deepcopy(estimator)
        if "random_state" in fresh.get_params():
            fresh.set_params(random_state=seed)
        return fresh.fit(inputs, labels)

    return fit


def _torch(model: Any, data: Any, part: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Outputs of a torch module, labels, and hashes of the inputs; the module is left as it was found."""
    import torch

    device = next((tensor.device for tensor in model.parameters()), torch.device("cpu"))
    if is_dataset(data):
        data = torch.utils.data.DataLoader(data, batch_size=BATCH)
    training = model.training
    model.eval()
    outputs, labels, digests = [], [], []
    try:
        with torch.no_grad():
            for inputs, truth in _batches(data, part):
                try:
                    outputs.append(array_of(_logits(_called(model, inputs, device))))
                except (RuntimeError, TypeError, ValueError) as error:
                    raise InputError(
                        f"{part} inputs", _shown(inputs), "what the model takes", f"It said: {error}"
                    ) from error
                labels.append(np.asarray(array_of(truth)))
                digests.append(None if isinstance(inputs, Mapping) else digests_of(inputs))
    finally:
        model.train(training)
    if not outputs:
        raise InputError(part, "no batches", "at least one example")
    known = [digest for digest in digests if digest is not None]
    return (
        np.concatenate(outputs),
        np.concatenate(labels),
        np.concatenate(known) if len(known) == len(digests) else None,
    )


def _shown(inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return sorted(map(str, inputs))
    return f"a batch of shape {tuple(getattr(inputs, 'shape', (len(inputs),)))}"


def _called(model: Any, inputs: Any, device: Any) -> Any:
    import torch

    if isinstance(inputs, Mapping):
        return model(**{name: value.to(device) for name, value in inputs.items()})
    tensor = inputs if isinstance(inputs, torch.Tensor) else torch.as_tensor(np.asarray(inputs))
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    if parameter is not None and tensor.is_floating_point():
        tensor = tensor.to(parameter.dtype)
    return model(tensor.to(device))


def _logits(answer: Any) -> Any:
    """The logits in what a module returns: a tensor, a tuple whose first is meant, or an object with `logits`."""
    if hasattr(answer, "logits"):
        return answer.logits
    return answer[0] if isinstance(answer, (tuple, list)) else answer


def _batches(data: Any, part: str) -> Iterator[tuple[Any, Any]]:
    if is_loader(data):
        for batch in data:
            if isinstance(batch, Mapping):
                name = next((key for key in ("labels", "label") if key in batch), None)
                if name is None:
                    raise InputError(part, sorted(batch), "batches with labels")
                yield {key: value for key, value in batch.items() if key != name}, batch[name]
            else:
                yield _pair(batch, f"a batch of {part}")
        return
    inputs, labels = _pair(data, part)
    if len(inputs) != len(labels):
        raise InputError(f"{part} labels", f"{len(labels)} labels", f"one for each of {len(inputs)} inputs")
    for start in range(0, len(inputs), BATCH):
        yield inputs[start : start + BATCH], labels[start : start + BATCH]


def trainer_output(value: Any, reading: Declaration) -> dict[str, Any]:
    """Arrays from `Trainer.predict`; of several predictions the first are the logits."""
    given = value.predictions
    predictions = np.asarray(array_of(given[0] if isinstance(given, (tuple, list)) else given))
    if value.label_ids is None:
        raise InputError("label_ids", None, "labels", "The dataset that was predicted has no column `labels`")
    return _meant(predictions, np.asarray(array_of(value.label_ids)), "heldout", reading)


def _meant(outputs: npt.NDArray[Any], labels: npt.NDArray[Any], part: str, reading: Declaration) -> dict[str, Any]:
    """Outputs with labels, or losses: of tokens by sequence, of several labels at once, of numbers regressed on.

    Losses say nothing about a training part: there they are left out.
    """
    losses: npt.NDArray[Any] | None = None
    if outputs.ndim == 3 and labels.ndim == 2:
        losses = _wrong_tokens(outputs, labels)
    elif outputs.ndim == 2 and labels.shape == outputs.shape and outputs.shape[1] > 1:
        losses = _wrong_labels(outputs, labels, reading)
    elif _regression(outputs, labels):
        if reading.clip is None:
            raise InputError(
                "clip", None, "where to cut off the absolute error", "Regression has no largest error: say clip=C"
            )
        losses = np.abs(outputs.reshape(-1) - labels.reshape(-1))
    if losses is None:
        return {f"{part}_labels": labels, f"{part}_{_form(reading)}": outputs}
    return {"heldout_losses": losses} if part == "heldout" else {}


def _wrong_tokens(outputs: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The fraction of wrong tokens in every sequence."""
    counted = labels != IGNORED
    if outputs.shape[:2] != labels.shape:
        raise InputError("labels", f"shape {labels.shape}", f"shape {outputs.shape[:2]}, a label for every token")
    if not np.all(counted.any(axis=1)):
        raise InputError("labels", "a sequence without labels", "at least one label in every sequence")
    wrong = (np.argmax(outputs, axis=2) != labels) & counted
    return np.asarray(wrong.sum(axis=1) / counted.sum(axis=1))


def _wrong_labels(outputs: npt.NDArray[Any], labels: npt.NDArray[Any], reading: Declaration) -> npt.NDArray[Any]:
    """Several labels at once, 0 or 1 each: the fraction that is wrong (Hamming loss) of every example."""
    if np.any((labels != 0) & (labels != 1)):
        raise InputError("labels", f"shape {labels.shape}", "0 or 1 in every column, or one class per example")
    unit = bool(np.all((outputs >= 0) & (outputs <= 1)))
    if unit and reading.outputs is None:
        raise InputError(
            "outputs", "only numbers in [0, 1]", "logits", 'Say outputs="probabilities" (or outputs="logits")'
        )
    decided = outputs > (0.0 if reading.outputs in (None, "logits") else 0.5)
    return np.asarray(np.mean(decided != (labels == 1), axis=1))


def _regression(outputs: npt.NDArray[Any], labels: npt.NDArray[Any]) -> bool:
    """One number per example beside labels that are no classes."""
    single = outputs.ndim <= 2 and outputs.size == len(outputs) and labels.size == len(labels)
    return single and labels.dtype.kind == "f" and not bool(np.all(labels == np.round(labels)))
