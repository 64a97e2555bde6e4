"""What any model answers, whichever library it comes from; a model is taken by what it can do.

No library is imported to ask. A torch module is run without gradients, in evaluation mode, batch by batch. An Equinox
module, or `apply(params, x)` with its parameters, takes one example and is mapped with JAX. An object with `predict`,
`predict_proba` or `decision_function` is asked by these, and `classes_` names its classes. Everything else that can be
called is a function: of a batch if that gives one answer per example, else of one example. Of certification, only this
module knows JAX.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.declaration import Declaration
from certiformer.certification.sources.repeats import hashes
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[Any]
BATCH = 512
ALONG = 4096
"""Examples at a time for a model that is asked again and again."""
METHODS = {"labels": "predict", "probabilities": "predict_proba", "logits": "decision_function"}
NAMED_OUTPUTS = {"logits": "logits", "probabilities": "probabilities", "probs": "probabilities", "label": "labels"}
"""What an entry of a dictionary is, by its name."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model said: one row per example, what the numbers are where that is known, and how it was asked."""

    values: Array
    asked: str
    form: str | None = None
    """ "labels", "probabilities" or "logits"; None where nobody said it."""
    classes: Array | None = None
    """The labels of the classes, in the order of the columns."""
    table: Array | None = None
    """Probabilities of these classes, beside labels."""


# Which library


def _from(value: Any, library: str) -> bool:
    return any(base.__module__.split(".")[0] == library for base in type(value).__mro__)


def is_torch(model: Any) -> bool:
    return _from(model, "torch") and hasattr(model, "state_dict")


def is_jax(model: Any) -> bool:
    """An Equinox module (every model of this package is one), or a function with its parameters (`with_params`)."""
    return _from(model, "equinox") or _from(model, "jax")


def is_sklearn(model: Any) -> bool:
    """An estimator of scikit-learn itself, not one of a class that derives from it elsewhere."""
    return type(model).__module__.split(".")[0] == "sklearn"


def is_own(model: Any) -> bool:
    """A model of this package: its outputs are logits, and the papers have something to say about it."""
    models = sys.modules.get("certiformer.lab.models")
    return models is not None and isinstance(model, models.Model)


def is_loader(data: Any) -> bool:
    """An iterable of batches, such as torch's DataLoader."""
    return not isinstance(data, (tuple, list, np.ndarray)) and hasattr(data, "__iter__") and hasattr(data, "batch_size")


def is_dataset(data: Any) -> bool:
    """Single examples by number, such as torch's Dataset."""
    return _from(data, "torch") and hasattr(data, "__getitem__") and hasattr(data, "__len__") and not hasattr(data, "T")


def is_trainer_output(value: Any) -> bool:
    return hasattr(value, "predictions") and hasattr(value, "label_ids")


# Arrays and labels


def array_of(value: Any, name: str = "array") -> Any:
    """Arrays from tensors, series, frames and lists; text and numpy pass, but for masked entries."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        row = int(np.argmax(np.ma.getmaskarray(value).reshape(len(value), -1).any(axis=1)))
        raise InputError(name, "a masked entry", "a value in every row", f"Look at row {row + 1}")
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
    if isinstance(value, (list, tuple)) and any(_from(one, "torch") for one in value):
        value = [array_of(one) for one in value]
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise InputError("array", type(value).__name__, "rows of one length", str(error)) from error
    return found.astype(np.float32) if found.dtype.kind == "V" and "bfloat16" in str(found.dtype) else found


def labels_of(name: str, labels: Any) -> Array:
    """Labels as whole numbers or text: true and false are 1 and 0; a missing one is refused with its row."""
    values = np.asarray(array_of(labels))
    if values.dtype.kind == "O":
        cells = values.reshape(-1).tolist()
        missing = next((row for row, cell in enumerate(cells) if cell is None or cell != cell), None)
        if missing is not None:
            raise InputError(name, cells[missing], "a label for every example", f"Look at example {missing}")
        if all(isinstance(cell, (bool, int, float, np.number, np.bool_)) for cell in cells):
            values = np.array(cells).reshape(values.shape)
        elif all(isinstance(cell, str) for cell in cells):
            values = values.astype(str)
        else:
            raise InputError(name, "objects of several kinds", "names, or whole numbers")
    if values.dtype.kind == "f":
        if np.isnan(values).any():
            row = int(np.flatnonzero(np.isnan(values.reshape(len(values), -1)).any(axis=1))[0])
            raise InputError(name, "nan", "a label for every example", f"Look at example {row}")
        return values.astype(np.int64) if np.all(values == np.round(values)) else values
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def examples_of(data: Any, part: str) -> tuple[Any, Any]:
    """Inputs and labels from a pair, a loader of pairs, or a DMatrix with labels; equally many, at least one."""
    if hasattr(data, "get_label") and hasattr(data, "num_row"):
        inputs, labels = data, np.asarray(data.get_label())
        if labels.size == 0:
            raise InputError(f"{part} labels", "a DMatrix without labels", "DMatrix(x, label=y)")
    elif is_loader(data):
        batches = [(array_of(inputs), array_of(labels)) for inputs, labels in _batches(data, part)]
        if not batches:
            raise InputError(part, "no batches", "at least one example")
        inputs, labels = (np.concatenate(some) for some in zip(*batches, strict=True))
    else:
        inputs, labels = _pair(data, part)
    n = _rows(inputs)
    if n == 0:
        raise InputError(f"{part} inputs", "no examples", "at least one example")
    if n != len(labels):
        raise InputError(f"{part} labels", f"{len(labels)} labels", f"one for each of {n} inputs")
    return inputs, labels


def _pair(data: Any, part: str) -> tuple[Any, Any]:
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise InputError(part, type(data).__name__, "a pair (inputs, labels)")
    return data[0], data[1]


def _rows(inputs: Any) -> int:
    if hasattr(inputs, "num_row"):
        return int(inputs.num_row())
    shape = getattr(inputs, "shape", None)
    if shape is not None and len(shape) == 0:
        return 0
    return int(shape[0]) if shape else len(inputs)


def comparable(inputs: Any) -> Array:
    """The inputs as an array whose rows can be compared; rows of sparse matrices and odd objects by their hash."""
    if hasattr(inputs, "num_row"):
        inputs = inputs.get_data()
    if hasattr(inputs, "tocsr"):
        return np.array([hashes(row.toarray())[0].hex() for row in inputs.tocsr()])
    if isinstance(inputs, (list, tuple)) and any(isinstance(one, Mapping) for one in inputs):
        return np.array([repr(one) for one in inputs])
    return np.asarray(array_of(inputs))


def finite(name: str, inputs: Array) -> Array:
    """The inputs, if they are finite numbers or no numbers at all."""
    if inputs.dtype.kind == "f" and not np.all(np.isfinite(inputs)):
        row = int(np.flatnonzero(~np.isfinite(inputs.reshape(len(inputs), -1)).all(axis=1))[0])
        raise InputError(name, f"nan or infinity in example {row}", "finite numbers", "Remove it")
    return inputs


def checked_outputs(name: str, outputs: npt.ArrayLike, n: int) -> npt.NDArray[np.float64]:
    """Finite numbers, one row per example; a single column becomes a vector."""
    values = np.asarray(outputs)
    if values.dtype.kind not in "fiub":
        raise InputError(name, f"type {values.dtype}", "numbers")
    values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2) or len(values) != n:
        raise InputError(name, f"shape {values.shape}", f"shape ({n},) for one logit or ({n}, classes) for several")
    if not np.all(np.isfinite(values)):
        row = int(np.flatnonzero(~np.isfinite(values.reshape(n, -1)).all(axis=1))[0])
        raise InputError(name, f"nan or infinity at example {row}", "finite numbers", "Look at the weights and inputs")
    return values


# Asking


def answer(model: Any, inputs: Any, reading: Declaration, part: str = "heldout", *, batched: bool = False) -> Answer:
    """What a model says about a batch of inputs."""
    if isinstance(model, type):
        raise InputError("model", model.__name__, "an object, not its class", f"Make one: {model.__name__}(...)")
    if is_jax(model) and not batched:
        return Answer(outputs_of(model, comparable(inputs)), "a function of one example, mapped with JAX")
    if _from(model, "xgboost") and hasattr(model, "save_config"):
        return _booster(model, inputs, reading, part)
    if any(hasattr(model, method) for method in METHODS.values()):
        return _methods(model, inputs, reading, part)
    if callable(model):
        return _function(model, inputs, part, batched=batched)
    raise InputError(
        "model",
        type(model).__name__,
        "something that predicts",
        "An object with predict, predict_proba or decision_function, a torch or Equinox module, or a function",
    )


def _methods(model: Any, inputs: Any, reading: Declaration, part: str) -> Answer:
    """An object is asked by `predict`, else by its probabilities, else by its scores; `outputs` chooses another."""
    wanted = [METHODS[reading.outputs]] if reading.outputs is not None else list(METHODS.values())
    method = next((name for name in wanted if hasattr(model, name)), None)
    if method is None and hasattr(model, "predict") and classes_of(model) is None:
        method = "predict"  # the caller says what it gives
    if method is None:
        can = ", ".join(name for name in METHODS.values() if hasattr(model, name))
        raise InputError("outputs", reading.outputs, f"what {type(model).__name__} has: {can}")
    values, form = _extracted(_asked(model, method, inputs, part))
    classes = classes_of(model)
    if method == "decision_function" and getattr(model, "decision_function_shape", None) == "ovo":
        raise InputError("outputs", "scores of pairs of classes (ovo)", "one score per class", 'Say outputs="labels"')
    if method != "predict":
        form = "probabilities" if method == "predict_proba" else "logits"
        return Answer(np.asarray(values, np.float64), method, form, classes)
    if classes is None:
        return Answer(values, method, form or _predicted(values, reading, type(model).__name__, _kind(model)))
    if values.ndim == 2 and values.shape[1] == 1 and values.dtype.kind in "USOiub":
        values = values[:, 0]
    table = None
    if hasattr(model, "predict_proba") and part == "heldout" and values.ndim == 1:
        table = np.asarray(_asked(model, "predict_proba", inputs, part), dtype=np.float64)
    return Answer(values, method, "labels" if values.ndim == 1 else form, classes, table)


def _asked(model: Any, method: str, inputs: Any, part: str) -> Any:
    quiet = {"verbose": 0} if _from(model, "keras") else {}
    given = inputs if not isinstance(inputs, (list, tuple)) or _is_text(inputs) else np.asarray(array_of(inputs))
    try:
        return getattr(model, method)(given, **quiet)
    except Exception as error:
        if isinstance(error, InputError):
            raise
        if type(error).__name__ == "NotFittedError":
            raise InputError(
                "model", type(model).__name__, "a fitted estimator", "Or give it as fit=, with data=(x, y)"
            ) from error
        raise InputError(
            f"{part} inputs", _shown(inputs), f"what {method} of {type(model).__name__} takes", f"It said: {error}"
        ) from error


def classes_of(model: Any) -> Array | None:
    """`classes_`, true and false as 1 and 0; None for several labels at once."""
    known = getattr(model, "classes_", None)
    if known is None or (isinstance(known, list) and any(np.ndim(one) for one in known)):
        return None
    found = labels_of("classes_", known)
    return found if found.ndim == 1 else None


def _kind(model: Any) -> str:
    """What an estimator says it is, as scikit-learn has it: a classifier, a regressor, a clusterer; or ""."""
    tags = getattr(model, "__sklearn_tags__", None)
    return str(tags().estimator_type if tags is not None else getattr(model, "_estimator_type", "")) or ""


def _predicted(values: Array, reading: Declaration, name: str, kind: str = "") -> str | None:
    """What `predict` of an object without `classes_` gives: labels are whole numbers or names, one per example."""
    single = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
    whole = values.dtype.kind in "USOib" or (values.dtype.kind == "f" and single and np.all(values == np.round(values)))
    if kind == "clusterer" and reading.outputs is None:
        fix = 'If the numbers of its clusters are the labels, say outputs="labels"'
        raise InputError("model", name, "a classifier: clusters have numbers, not names", fix)
    if whole and kind != "regressor":
        return "labels" if single else None
    if not single or reading.outputs is not None or reading.clip is not None:
        return None
    raise InputError(
        "outputs",
        f"predict of {name} gives one number per example, not a class",
        "what it is",
        'Say outputs="probabilities" (of class 1), or outputs="logits". A regressor is certified by its absolute error '
        "with clip=C, or by its losses: certify(predictions={'heldout_losses': ...})",
    )


OBJECTIVES = {
    "binary:logistic": "probabilities",
    "multi:softprob": "probabilities",
    "multi:softmax": "labels",
    "binary:hinge": "labels",
    "binary:logitraw": "logits",
}


def _booster(model: Any, inputs: Any, reading: Declaration, part: str) -> Answer:
    """A booster of XGBoost takes a DMatrix; its objective says what it answers."""
    library = sys.modules[type(model).__module__.split(".")[0]]
    if not hasattr(inputs, "num_row"):
        named = {} if hasattr(inputs, "columns") else {"feature_names": getattr(model, "feature_names", None)}
        inputs = library.DMatrix(comparable(inputs) if isinstance(inputs, (list, tuple)) else inputs, **named)
    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    values = np.asarray(_asked(model, "predict", inputs, part))
    form = OBJECTIVES.get(objective) or _predicted(values, reading, f"a booster for {objective}")
    return Answer(values, f"predict, objective {objective}", form)


def _function(function: Callable[..., Any], inputs: Any, part: str, *, batched: bool) -> Answer:
    """A function of a batch, if it answers one by one and does not look at the other rows; else of one example."""
    n, owner = _rows(inputs), getattr(getattr(function, "func", function), "__self__", None)
    classes, said = classes_of(owner), []
    for batch in _batch_forms(inputs):
        try:
            values, form = _extracted(function(batch))
            if batched:
                return Answer(values, "a function of a batch", form, classes)
            if values.ndim == 0 or len(values) != n:
                said.append(f"of a batch it gave shape {values.shape}")
            elif all(_same(values[k], _extracted(function(_one(batch, k)))[0]) for k in sorted({0, n // 2, n - 1})):
                return Answer(values, "a function of a batch", form, classes)
            else:
                said.append("of a batch it gave another answer to an example than to this example alone")
        except Exception as error:  # whatever a stranger's function raises
            said.append(f"of a batch it said: {error}")
    if not batched:
        rows = inputs if _is_listed(inputs) else comparable(inputs)
        try:
            values, form = _row_by_row(function, rows.tolist() if _is_text(rows) and hasattr(rows, "tolist") else rows)
            return Answer(values, "a function of one example", form, classes)
        except Exception as error:
            said.append(f"of one example it said: {error}")
    raise InputError(
        f"{part} inputs", _shown(inputs), "what the model takes", "; ".join(dict.fromkeys(said))[:600]
    ) from None


def _batch_forms(inputs: Any) -> list[Any]:
    """The batch as it was given, and as an array; texts as a list, which every library reads."""
    if _is_listed(inputs):
        return [list(inputs)]
    if _is_text(inputs):
        return [list(comparable(inputs).tolist())]
    if isinstance(inputs, np.ndarray):
        return [inputs]
    return [comparable(inputs)] if isinstance(inputs, (list, tuple)) else [inputs, comparable(inputs)]


def _is_text(inputs: Any) -> bool:
    if isinstance(inputs, np.ndarray):
        return inputs.ndim == 1 and inputs.dtype.kind in "UO" and isinstance(inputs[0], str)
    return isinstance(inputs, (list, tuple)) and bool(inputs) and isinstance(inputs[0], str)


def _is_listed(inputs: Any) -> bool:
    """Texts, or rows by name, in a list: no array."""
    return isinstance(inputs, (list, tuple)) and bool(inputs) and isinstance(inputs[0], (str, Mapping))


def _one(batch: Any, place: int) -> Any:
    return batch.iloc[place : place + 1] if hasattr(batch, "iloc") else batch[place : place + 1]


def _same(one: Array, other: Array) -> bool:
    """Whether one of many answers is the answer to this one alone, up to the rounding of a batch."""
    mine, theirs = np.atleast_1d(one).reshape(-1), np.atleast_1d(other).reshape(-1)
    if mine.shape != theirs.shape:
        return False
    if mine.dtype.kind in "fc":
        return bool(np.allclose(mine, theirs, rtol=1e-3, atol=1e-5, equal_nan=True))
    return bool(np.all(mine == theirs))


def _row_by_row(function: Callable[..., Any], rows: Any) -> tuple[Array, str | None]:
    first = function(rows[0])
    if _from(first, "jax") or _from(first, "jaxlib"):
        return outputs_of(function, np.asarray(rows)), None
    found = [_extracted(first), *(_extracted(function(row)) for row in rows[1:])]
    return np.asarray([values for values, _ in found]), found[0][1]


def _extracted(given: Any) -> tuple[Array, str | None]:
    """The numbers or names in what a model returns: in a dictionary, a tuple or an object, by what they are called."""
    if hasattr(given, "logits"):
        return np.asarray(array_of(given.logits)), "logits"
    if isinstance(given, Mapping):
        name = next((name for name in NAMED_OUTPUTS if name in given), next(iter(given)) if len(given) == 1 else None)
        if name is None:
            raise InputError("the model's outputs", sorted(map(str, given)), f"one of {', '.join(NAMED_OUTPUTS)}")
        return np.asarray(array_of(given[name])), NAMED_OUTPUTS.get(name)
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, Mapping) for one in given):
        found = [_extracted(one) for one in given]
        return np.asarray([values for values, _ in found]), found[0][1]
    if isinstance(given, tuple) and given and np.ndim(array_of(given[0])) > 0:
        return np.asarray(array_of(given[0])), None
    return np.asarray(array_of(given)), None


# torch


def run_torch(model: Any, data: Any, part: str) -> tuple[Answer, Array, Array | None]:
    """Outputs of a torch module, labels, and the inputs where they can be compared; the module is left as it was."""
    import torch

    device = next((tensor.device for tensor in model.parameters()), torch.device("cpu"))
    if is_dataset(data):
        data = torch.utils.data.DataLoader(data, batch_size=BATCH)
    training = model.training
    model.eval()
    outputs: list[tuple[Array, str | None]] = []
    labels: list[Array] = []
    seen: list[Array | None] = []
    try:
        with torch.no_grad():
            for inputs, truth in _batches(data, part):
                try:
                    outputs.append(_extracted(_called(model, inputs, device)))
                except (RuntimeError, TypeError, ValueError) as error:
                    if isinstance(error, InputError):
                        raise
                    raise InputError(
                        f"{part} inputs", _shown(inputs), "what the model takes", f"It said: {error}"
                    ) from error
                labels.append(np.asarray(array_of(truth)))
                seen.append(None if isinstance(inputs, Mapping) else comparable(inputs))
    finally:
        model.train(training)
    if not outputs:
        raise InputError(part, "no batches", "at least one example")
    known = [one for one in seen if one is not None]
    found = Answer(np.concatenate([values for values, _ in outputs]), "a torch module", outputs[0][1])
    # A module's logits may be anything: what looks like something else is asked about.
    found = replace(found, form=None if found.form == "logits" else found.form)
    return found, np.concatenate(labels), np.concatenate(known) if len(known) == len(seen) else None


def _shown(inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return sorted(map(str, inputs))
    return f"a batch of shape {tuple(getattr(inputs, 'shape', (_rows(inputs),)))}"


def _called(model: Any, inputs: Any, device: Any) -> Any:
    import torch

    if isinstance(inputs, Mapping):
        return model(**{name: value.to(device) for name, value in inputs.items()})
    tensor = inputs if isinstance(inputs, torch.Tensor) else torch.as_tensor(np.asarray(inputs))
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    if parameter is not None and tensor.is_floating_point():
        tensor = tensor.to(parameter.dtype)
    return model(tensor.to(device))


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
    inputs, labels = examples_of(data, part)
    for start in range(0, len(inputs), BATCH):
        yield inputs[start : start + BATCH], labels[start : start + BATCH]


# JAX


def mapped(model: Callable[..., Any]) -> Callable[..., Any]:
    """A model of one example as a function of a batch, compiled as it is now."""
    import jax

    return jax.jit(jax.vmap(model))


def outputs_of(
    model: Callable[..., Any], inputs: npt.ArrayLike, compiled: Callable[..., Any] | None = None
) -> npt.NDArray[np.float64]:
    """Outputs (n,) or (n, classes) of a model of one example in blocks of one shape; `compiled`: its `mapped`."""
    import jax.numpy as jnp

    values = finite("inputs", np.asarray(inputs))
    if len(values) == 0:
        raise InputError("inputs", "no examples", "at least one example")
    compiled = mapped(model) if compiled is None else compiled
    parts = []
    for start in range(0, len(values), BATCH):
        part = values[start : start + BATCH]
        # One compiled shape: the last batch is filled up with its own first example.
        short = min(BATCH, len(values)) - len(part)
        filled = np.concatenate([part, np.repeat(part[:1], short, axis=0)]) if short else part
        try:
            parts.append(np.asarray(compiled(jnp.asarray(filled)))[: len(part)])
        except (TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                "inputs", f"examples of shape {values.shape[1:]}", "what the model takes", f"It said: {error}"
            ) from error
    return checked_outputs("the model's outputs", np.concatenate(parts), len(values))


def with_params(apply: Callable[..., Any], params: Any, *, batched: bool = False) -> Callable[..., Any]:
    """`apply(params, x)` as a model of one example x, whose weights are the leaves of `params`.

    `batched`: it takes a batch, and is given batches of one.
    """
    import jax

    def single(params: Any, x: Any) -> Any:
        return apply(params, x[None])[0]

    bound: Callable[..., Any] = jax.tree_util.Partial(single if batched else apply, params)  # type: ignore[no-untyped-call]
    return bound


def tensors_of(model: Any) -> Mapping[str, Array]:
    """The arrays of an Equinox module or a function with parameters, by name; refuses weights that are not finite."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    from certiformer.lab.models import Model, weights

    if isinstance(model, Model):
        arrays = dict(weights(merged(model)))
    else:
        leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(model, eqx.is_array))
        arrays = {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}
    found = {
        name: np.asarray(array, np.float64) for name, array in arrays.items() if jnp.issubdtype(array.dtype, jnp.number)
    }
    for name, tensor in found.items():
        if not np.all(np.isfinite(tensor)):
            count = int(np.sum(~np.isfinite(tensor)))
            raise InputError(f"weight {name}", f"{count} entries that are nan or infinite", "finite weights")
    return found


def merged(model: Any) -> Any:
    """The model with full matrices in place of low-rank factors."""
    return model.merged() if hasattr(model, "merged") else model


def outputs_along(model: Any, inputs: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """As `outputs_of`, for a model whose weights change between calls: it is compiled once."""
    import jax.numpy as jnp

    values = jnp.asarray(finite("inputs", np.asarray(inputs)))
    parts = [np.asarray(_mapped()(model, values[i : i + ALONG])) for i in range(0, len(values), ALONG)]
    return checked_outputs("the model's outputs", np.concatenate(parts), len(values))


@functools.cache
def _mapped() -> Any:
    import equinox as eqx
    import jax

    return eqx.filter_jit(lambda model, x: jax.vmap(model)(x))
