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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.certification.declaration import Declaration
from certiformer.certification.sources.repeats import hashes
from certiformer.certification.sources.table import is_missing
from certiformer.certification.split import whole_numbers
from certiformer.theory.core.errors import InputError

Array = npt.NDArray[Any]
BATCH = 512
ALONG = 4096
"""Examples at a time for a model that is asked again and again."""
IGNORED = -100
"""The label of a token that counts for nothing, in Hugging Face's convention."""
AGAIN, ALONE = 32, 8
"""Rows drawn at random that are asked again in a batch of their own, and each by itself."""
UNSEEN_BATCH = "whether the model's answer to an example depends on the others of its batch"
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
    apart: tuple[int, int] | None = None
    """How many rows were asked again in a batch of their own, and alone; None where rows cannot meet each other."""

    @property
    def conditions(self) -> tuple[str, ...]:
        again, alone = self.apart or (0, 0)
        same = f"{again} rows asked again apart, {alone} of them alone, had the same answers"
        return (f"the model answers each example by itself: {same}",) if again else ()

    @property
    def not_checked(self) -> tuple[str, ...]:
        return (UNSEEN_BATCH,) if self.apart == (0, 0) else ()


# Which library


def _from(value: Any, library: str) -> bool:
    return any(base.__module__.split(".")[0] == library for base in type(value).__mro__)


def is_torch(model: Any) -> bool:
    """A module of torch; one of Keras is asked by its own `predict`, whatever computes for it."""
    return _from(model, "torch") and hasattr(model, "state_dict") and not _from(model, "keras")


def is_jax(model: Any) -> bool:
    """An Equinox module (every model of this package is one), or a function with its parameters (`with_params`)."""
    return _from(model, "equinox") or _from(model, "jax")


def is_sklearn(model: Any) -> bool:
    """An estimator of scikit-learn itself, not one of a class that derives from it elsewhere."""
    return type(model).__module__.split(".")[0] == "sklearn"


def _rows_apart(model: Any) -> bool:
    """Scikit-learn with all its parts: its rows do not meet. A function or a step of the caller's may look at all."""

    def harmless(part: Any) -> bool:
        if hasattr(part, "get_params") and not isinstance(part, type):
            return _rows_apart(part)
        return not callable(part) or isinstance(part, type) or is_sklearn(part)

    return is_sklearn(model) and all(map(harmless, model.get_params(deep=True).values()))


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
    if _from(value, "torch") and hasattr(value, "detach"):
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
        missing = next((row for row, cell in enumerate(cells) if is_missing(cell)), None)
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
        return values.astype(np.int64) if whole_numbers(values) else values
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def examples_of(data: Any, part: str) -> tuple[Any, Any]:
    """Inputs and labels from a pair, a loader of pairs, or a DMatrix with labels; equally many, at least one."""
    if hasattr(data, "get_label") and hasattr(data, "num_row"):
        inputs, labels = data, np.asarray(data.get_label())
        if labels.size == 0:
            raise InputError(f"{part} labels", "a DMatrix without labels", "DMatrix(x, label=y)")
    elif is_loader(data):
        batches = list(_batches(data, part))
        if not batches:
            raise InputError(part, "no batches", "at least one example")
        inputs, labels = (_joined(list(some), part) for some in zip(*batches, strict=True))
    else:
        inputs, labels = _pair(data, part)
    labels = labels.toarray() if hasattr(labels, "toarray") else labels
    if hasattr(inputs, "num_row") and not hasattr(inputs, "get_data"):
        fix = "Give what it was made of"
        raise InputError(
            f"{part} inputs", type(inputs).__name__, "rows that can be read: an array or a data frame", fix
        )
    n = _rows(inputs)
    if n == 0:
        raise InputError(f"{part} inputs", "no examples", "at least one example")
    if n != len(labels):
        raise InputError(f"{part} labels", f"{len(labels)} labels", f"one for each of {n} inputs")
    refuse_other_order(part, inputs, labels)
    return inputs, labels


def refuse_other_order(name: str, one: Any, other: Any) -> None:
    """Rows of pandas are paired by their place: an index that names the same rows in another order is asked about."""
    if not (hasattr(one, "iloc") and hasattr(other, "iloc")):
        return
    mine, theirs = (list(thing.index) for thing in (one, other))
    shared = set(mine) & set(theirs)
    if mine == theirs or not shared:
        return
    fix = "Rows are paired by their place: say which order is meant by .loc[...] or .reset_index(drop=True)"
    if len(shared) == len(mine) == len(theirs):
        raise InputError(name, "the same index in another order", "one order", fix)
    counted = list(range(len(mine)))
    if counted not in (mine, theirs):  # one that was reset names no rows
        got = f"{len(shared):,} of {len(mine):,} rows of the index in both, at other places"
        raise InputError(name, got, "one order", fix)


def refuse_other_columns(one: Any, other: Any) -> None:
    """Rows of two frames are compared cell by cell: other columns, or another order of them, would hide equal rows."""
    if hasattr(one, "columns") and hasattr(other, "columns"):
        mine, theirs = ([str(name) for name in frame.columns] for frame in (one, other))
        if mine != theirs:
            got = sorted(set(mine) ^ set(theirs)) or "the same columns in another order"
            fix = "Say train[heldout.columns]: the rows of both are compared"
            raise InputError("heldout, train", got, "the same columns in the same order", fix)


def _pair(data: Any, part: str) -> tuple[Any, Any]:
    if not isinstance(data, (tuple, list)) or len(data) != 2 or any(one is None for one in data):
        raise InputError(part, type(data).__name__, "a pair (inputs, labels), or a loader of such pairs")
    return data[0], data[1]


def _rows(inputs: Any) -> int:
    if hasattr(inputs, "num_row"):
        return int(inputs.num_row())
    shape = getattr(inputs, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return _rows(next(iter(inputs.values()))) if isinstance(inputs, Mapping) and inputs else len(inputs)


def comparable(inputs: Any) -> Array:
    """The inputs as an array whose rows can be compared; rows of sparse matrices and odd objects by their hash."""
    if hasattr(inputs, "num_row"):
        inputs = inputs.get_data()
    if hasattr(inputs, "tocsr"):
        return np.array([hashes(row.toarray().reshape(1, -1))[0].hex() for row in inputs.tocsr()])
    if isinstance(inputs, Mapping):
        return _by_parts(inputs)
    if isinstance(inputs, (list, tuple)) and any(isinstance(one, Mapping) for one in inputs):
        return np.array([repr(one) for one in inputs])
    return np.asarray(array_of(inputs))


def _by_parts(inputs: Mapping[str, Any]) -> Array:
    """One text for each row of several arrays by name; what an attention mask hides is no part of it."""
    n = _rows(inputs)
    parts = {name: np.asarray(array_of(inputs[name])) for name in sorted(inputs)}
    parts = {name: part for name, part in parts.items() if part.ndim and len(part) == n}
    mask = parts.pop("attention_mask", None) if len(parts) > 1 else None
    told = [""] * n
    for name, part in parts.items():
        masked = mask is not None and part.shape == mask.shape
        for row in range(n):
            seen = part[row][mask[row] != 0] if mask is not None and masked else part[row]
            told[row] += f"{name} {hashes(seen[None])[0].hex()} "
    return np.array(told)


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
    if is_torch(model):
        return run_torch(model, (inputs, np.zeros(_rows(inputs))), part)[0]
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
    classes = classes_of(model)
    can = [name for name in METHODS.values() if hasattr(model, name)]
    method = next((name for name in wanted if name in can), "predict" if "predict" in can else None)
    if method is None:
        raise InputError("outputs", reading.outputs, f"what {type(model).__name__} has: {', '.join(can)}")
    given = _asked(model, method, inputs, part)
    if method == "predict_proba" and isinstance(given, list) and np.ndim(given[0]) == 2:
        fix = 'Say outputs="labels" for the fraction of wrong labels'
        raise InputError("outputs", "a table of probabilities for each of several labels", "one table", fix)
    values, form = _extracted(given)
    if method == "predict" and classes is not None and _no_labels(values):
        classes = None  # the caller says what it gives
    if method not in wanted and classes is not None:
        raise InputError("outputs", reading.outputs, f"what {type(model).__name__} has: {', '.join(can)}")
    apart = None
    if not _rows_apart(model) and part == "heldout":
        apart = _asked_again(lambda some: _extracted(_asked(model, method, some, part))[0], inputs, values)
        if apart is None:
            raise _depends(method, f"lambda x: model.{method}([x])[0]")
    if method == "decision_function" and getattr(model, "decision_function_shape", None) == "ovo":
        raise InputError("outputs", "scores of pairs of classes (ovo)", "one score per class", 'Say outputs="labels"')
    if method != "predict":
        form = "probabilities" if method == "predict_proba" else "logits"
        return Answer(np.asarray(values, np.float64), method, form, classes, apart=apart)
    if classes is None:
        form = form or _predicted(values, reading, type(model).__name__, _kind(model))
        return Answer(values, method, form, apart=apart)
    if values.ndim == 2 and values.shape[1] == 1:  # what is no label was sorted out above
        values = values[:, 0]
    table = None
    if hasattr(model, "predict_proba") and part == "heldout" and values.ndim == 1:
        table = np.asarray(_asked(model, "predict_proba", inputs, part), dtype=np.float64)
        if table.ndim == 2 and table.shape[1] not in (1, len(classes)):
            table = None  # a network with outputs for classes that it never saw: which column is whose is not known
    return Answer(values, method, "labels" if values.ndim == 1 else form, classes, table, apart)


def _no_labels(values: Array) -> bool:
    """One number for each example that is not whole: no answer of a classifier."""
    return values.dtype.kind == "f" and values.size == len(values) and bool(np.any(values != np.round(values)))


def _asked(model: Any, method: str, inputs: Any, part: str) -> Any:
    quiet = {"verbose": 0} if _from(model, "keras") and not hasattr(model, "get_params") else {}
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
    return found if found.ndim == 1 and found.size else None


def _kind(model: Any) -> str:
    """What an estimator says it is, as scikit-learn has it: a classifier, a regressor, a clusterer; or ""."""
    tags = getattr(model, "__sklearn_tags__", None)
    return str(tags().estimator_type if tags is not None else getattr(model, "_estimator_type", "")) or ""


def _predicted(values: Array, reading: Declaration, name: str, kind: str = "") -> str | None:
    """What `predict` of an object without `classes_` gives: labels are whole numbers or names, one per example."""
    single = values.ndim == 1 or (values.ndim == 2 and values.shape[1] == 1)
    whole = values.dtype.kind in "USOib" or (values.dtype.kind == "f" and single and np.all(values == np.round(values)))
    if kind in ("clusterer", "density_estimator") and reading.outputs is None:
        fix = 'If the numbers of its clusters are the labels, say outputs="labels"'
        raise InputError("model", name, "a classifier: clusters have numbers, not names", fix)
    if whole and kind != "regressor":
        return "labels" if single else None
    if not single or reading.outputs is not None or reading.bounded:
        return None
    raise InputError(
        "outputs",
        f"predict of {name} gives one number per example, not a class",
        "what it is",
        'Say outputs="probabilities" (of class 1), or outputs="logits". A regressor is certified by its absolute error '
        "with clip=C (or range=(0, C), if none can be larger), or by its losses: "
        "certify(predictions={'heldout_losses': ...})",
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
                return Answer(values, "a function of a batch", form, classes, apart=(0, 0))
            if values.ndim == 0 or len(values) != n:
                said.append(f"of a batch it gave shape {values.shape}")
                continue
            apart = _asked_again(lambda some: _extracted(function(some))[0], batch, values)
            if apart is not None:
                return Answer(values, "a function of a batch", form, classes, apart=apart)
            said.append("of a batch it gave another answer to an example than to this example alone")
        except Exception as error:  # whatever a stranger's function raises
            said.append(f"of a batch it said: {error}")
    if not batched:
        try:
            values, form = _row_by_row(function, _single_rows(inputs))
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
    if isinstance(inputs, Mapping):
        return [inputs]
    if _is_text(inputs):
        return [list(comparable(inputs).tolist())]
    if isinstance(inputs, np.ndarray):
        return [inputs]
    return [comparable(inputs)] if isinstance(inputs, (list, tuple)) else [inputs, comparable(inputs)]


def _single_rows(inputs: Any) -> Any:
    """What a function of one example is given, one after the other."""
    if isinstance(inputs, Mapping):
        return [{name: part[row] for name, part in inputs.items()} for row in range(_rows(inputs))]
    rows = inputs if _is_listed(inputs) else comparable(inputs)
    return rows.tolist() if _is_text(rows) and hasattr(rows, "tolist") else rows


def _is_text(inputs: Any) -> bool:
    if isinstance(inputs, np.ndarray):
        return inputs.ndim == 1 and inputs.dtype.kind in "UO" and isinstance(inputs[0], str)
    return isinstance(inputs, (list, tuple)) and bool(inputs) and isinstance(inputs[0], str)


def _is_listed(inputs: Any) -> bool:
    """Texts, or rows by name, in a list: no array."""
    return isinstance(inputs, (list, tuple)) and bool(inputs) and isinstance(inputs[0], (str, Mapping))


def _asked_again(ask: Callable[[Any], Array], inputs: Any, values: Array) -> tuple[int, int] | None:
    """How many rows were asked again apart from the others, and how many alone; None if an answer was another one.

    The rows are drawn at random, beside the first and the last: what looks at other rows of its batch looks at others.
    """
    n = _rows(inputs)
    if values.ndim == 0 or len(values) != n:
        return 0, 0  # it is refused for that where it is counted
    drawn = np.random.default_rng(0).permutation(n)
    some = np.array(list(dict.fromkeys((n - 1, 0, *drawn[:AGAIN].tolist())))[:AGAIN])
    for places in (some, *(some[k : k + 1] for k in range(min(ALONE, len(some))))):
        again = ask(rows_at(inputs, places))
        if np.ndim(again) == 0 or len(again) != len(places):
            return None
        if not all(_same(values[place], again[k]) for k, place in enumerate(places)):
            return None
    return len(some), min(ALONE, len(some))


def _depends(who: str, instead: str) -> InputError:
    return InputError(
        "model", f"{who} gave another answer to an example than in another batch", "answers to each example by itself",
        f"If it draws at random, give a function of one example: {instead}",
    )  # fmt: skip


def rows_at(inputs: Any, places: Array) -> Any:
    if hasattr(inputs, "tocsr"):
        return inputs.tocsr()[places]
    if isinstance(inputs, Mapping):
        return {name: rows_at(part, places) for name, part in inputs.items()}
    if isinstance(inputs, (list, tuple)):
        return [inputs[place] for place in places]
    return inputs.iloc[places] if hasattr(inputs, "iloc") else inputs[places]


def _same(one: Array, other: Array) -> bool:
    """Whether one of many answers is the answer among others, up to the rounding of half precision."""
    mine, theirs = np.atleast_1d(one).reshape(-1), np.atleast_1d(other).reshape(-1)
    if mine.shape != theirs.shape:
        return False
    if mine.dtype.kind in "fc":
        size = np.max(np.abs(np.where(np.isfinite(mine), mine, 0.0)), initial=0.0)
        return bool(np.allclose(mine, theirs, rtol=1e-2, atol=1e-2 * size + 1e-5, equal_nan=True))
    return bool(np.all(mine == theirs))


def _row_by_row(function: Callable[..., Any], rows: Any) -> tuple[Array, str | None]:
    first = function(rows[0])
    if _from(first, "jax") or _from(first, "jaxlib"):
        return outputs_of(function, np.asarray(rows)), None
    if isinstance(first, (list, tuple)) and all(np.ndim(one) == 0 for one in first) and not _are_scores(first):
        raise InputError(
            "the model's outputs", repr(first)[:60], "one label, or a list of scores",
            "It may be a label with its confidence: return the label alone, or the scores of all classes as floats",
        )  # fmt: skip
    found = [_extracted(first), *(_extracted(function(row)) for row in rows[1:])]
    return np.asarray([values for values, _ in found]), found[0][1]


def _length(one: Any) -> int | None:
    """How many numbers a vector or a list has; None for anything else."""
    shape = getattr(one, "shape", None)
    if shape is None:
        return len(one) if isinstance(one, list) else None
    return int(shape[0]) if len(shape) == 1 else None


def _places(one: Any, shape: tuple[int, ...]) -> bool:
    """Whole numbers, one for each of the other numbers: what topk and sort give beside the values."""
    found = array_of(one) if getattr(one, "shape", None) is not None else None
    return isinstance(found, np.ndarray) and found.shape == shape and found.dtype.kind in "iu"


def _are_scores(row: Sequence[Any]) -> bool:
    """Whether what a function of one example returns is a list of numbers of one kind; a tuple holds several things."""
    return isinstance(row, list) and len({np.asarray(one).dtype.kind for one in row}) == 1


def _extracted(given: Any) -> tuple[Array, str | None]:
    """The numbers or names in what a model returns: in a dictionary, a tuple or an object, by what they are called."""
    if hasattr(given, "logits"):
        return np.asarray(array_of(given.logits)), "logits"
    if isinstance(given, Mapping):
        name = next((name for name in NAMED_OUTPUTS if name in given), next(iter(given)) if len(given) == 1 else None)
        if name is None or ("label" in given and name != "label"):
            expected = f"one of {', '.join(NAMED_OUTPUTS)}"
            raise InputError("the model's outputs", sorted(map(str, given)), expected, "Return what decides, alone")
        return np.asarray(array_of(given[name])), NAMED_OUTPUTS.get(name)
    if isinstance(given, (list, tuple)) and given and all(isinstance(one, Mapping) for one in given):
        found = [_extracted(one) for one in given]
        return np.asarray([values for values, _ in found]), found[0][1]
    shapes = [getattr(one, "shape", None) for one in given] if isinstance(given, (list, tuple)) else []
    if len({*shapes} - {None}) > 1 and (isinstance(given, list) or shapes[0] == ()):
        told = ", ".join(str(tuple(shape or ())) for shape in shapes)
        raise InputError("the model's outputs", f"arrays of shapes {told}", "one array", "Return what decides, alone")
    if isinstance(given, tuple) and given and np.ndim(array_of(given[0])) > 0:
        first = np.asarray(array_of(given[0]))
        beside = first.ndim == 1 and any(_length(one) == len(first) for one in given[1:])
        if first.dtype.kind == "f" and (beside or any(_places(one, first.shape) for one in given[1:])):
            raise InputError(
                "the model's outputs", "a tuple of several numbers for each example", "one answer to each example",
                "Is the first the answer, or a confidence? Return the labels alone, or the scores of all classes",
            )  # fmt: skip
        return first, None
    return np.asarray(array_of(given)), None


# torch


def run_torch(model: Any, data: Any, part: str) -> tuple[Answer, Array, Array | None]:
    """Outputs of a torch module, labels, and the inputs where they can be compared; the module is left as it was."""
    import torch

    device = next((tensor.device for tensor in model.parameters()), torch.device("cpu"))
    if is_dataset(data):
        data = torch.utils.data.DataLoader(data, batch_size=BATCH)
    modes = {module: module.training for module in model.modules()}
    model.eval()
    outputs: list[tuple[Array, str | None]] = []
    labels: list[Array] = []
    seen: list[Array] = []
    apart: tuple[int, int] | None = None

    def ask(some: Any) -> tuple[Array, str | None]:
        return _extracted(_called(model, some, device))

    try:
        with torch.no_grad():
            for inputs, truth in _batches(data, part):
                try:
                    outputs.append(ask(inputs))
                    if apart is None:  # the first batch stands for the others
                        apart = _asked_again(lambda some: ask(some)[0], inputs, outputs[0][0])
                        if apart is None:
                            raise _depends(type(model).__name__, "lambda x: model(x[None])[0]")
                except InputError:
                    raise
                except Exception as error:  # whatever a stranger's module raises
                    raise InputError(
                        f"{part} inputs", _shown(inputs), "what the model takes", f"It said: {error}"
                    ) from error
                labels.append(np.asarray(array_of(truth)))
                refuse_own_tokens(inputs, labels[-1], outputs[-1][0])
                seen.append(comparable(inputs))
    finally:
        for module, training in modes.items():
            module.training = training
    if not outputs:
        raise InputError(part, "no batches", "at least one example")
    answered = [values for values, _ in outputs]
    tokens = answered[0].ndim == 3 and labels[0].ndim == 2
    if tokens and getattr(model, "can_generate", bool)() and not model.config.is_encoder_decoder:
        raise of_the_next(f"labels beside answers of {type(model).__name__}, which are about the next token")
    padded = seen[0].ndim == 2 and len({one.shape[1] for one in seen}) > 1
    alike = not padded or any(np.any(one[:, -1] == 0) for one in seen)  # filled with 0, as here
    values = _stacked(answered, "the model's outputs", 0 if tokens else None)
    found = Answer(values, "a torch module", outputs[0][1], apart=apart)
    # A module's logits may be anything: what looks like something else is asked about.
    found = replace(found, form=None if found.form == "logits" else found.form)
    truth = _stacked(labels, f"{part} labels", IGNORED if tokens else None)
    return found, truth, _stacked(seen, f"{part} inputs", 0 if padded else None) if alike else None


def _joined(batches: list[Any], name: str) -> Any:
    if isinstance(batches[0], Mapping):
        return {key: _joined([one[key] for one in batches], key) for key in batches[0]}
    return _stacked([np.asarray(array_of(one)) for one in batches], name, None)


def _stacked(batches: list[Array], name: str, fill: int | None) -> Array:
    """Batches below one another; sequences that were padded batch by batch are padded with `fill` to the longest."""
    if fill is not None:
        longest = max(one.shape[1] for one in batches)
        more = [((0, 0), (0, longest - one.shape[1]), *[(0, 0)] * (one.ndim - 2)) for one in batches]
        batches = [np.pad(one, pad, constant_values=fill) for one, pad in zip(batches, more, strict=True)]
    try:
        return np.concatenate(batches)
    except ValueError as error:
        raise InputError(name, "batches of different shapes", "one shape of example", f"It said: {error}") from error


def refuse_own_tokens(inputs: Any, labels: Array, outputs: Array) -> None:
    """Labels that are the tokens of the input itself: what a causal language model is trained with."""
    if outputs.ndim != 3 or labels.ndim != 2:
        return
    given = inputs.get("input_ids") if isinstance(inputs, Mapping) else inputs
    if given is None or tuple(np.shape(given)) != labels.shape:
        return
    tokens, counted = np.asarray(array_of(given)), labels != IGNORED
    if tokens.dtype.kind in "iu" and np.any(counted[:, 1:]) and np.all(tokens[counted] == labels[counted]):
        raise of_the_next(
            "the tokens of the input, at their own places", "; if the task is to copy, answer with tokens"
        )


def of_the_next(got: str, otherwise: str = "") -> InputError:
    return InputError(
        "labels", got, "each label at the place of its answer",
        f"A causal language model answers with the next token: give logits[:, :-1] and labels[:, 1:]{otherwise}",
    )  # fmt: skip


def _shown(inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return sorted(map(str, inputs))
    return f"a batch of shape {tuple(getattr(inputs, 'shape', (_rows(inputs),)))}"


def _called(model: Any, inputs: Any, device: Any) -> Any:
    import torch

    if isinstance(inputs, Mapping):
        tensors = {
            name: part if hasattr(part, "to") else torch.as_tensor(array_of(part)) for name, part in inputs.items()
        }
        return model(**{name: tensor.to(device) for name, tensor in tensors.items()})
    tensor = inputs if isinstance(inputs, torch.Tensor) else torch.as_tensor(np.asarray(inputs))
    parameter = next((p for p in model.parameters() if p.is_floating_point()), None)
    if parameter is not None and tensor.is_floating_point():
        tensor = tensor.to(parameter.dtype)
    return model(tensor.to(device))


def _batches(data: Any, part: str) -> Iterator[tuple[Any, Any]]:
    if is_loader(data):
        if any(getattr(one, "drop_last", False) for one in (data, getattr(data, "batch_sampler", None))):
            raise InputError(part, "a loader with drop_last=True", "one that drops no example", "Say drop_last=False")
        for batch in _each(data, part):
            if isinstance(batch, Mapping):
                name = next((key for key in ("labels", "label") if key in batch), None)
                if name is None:
                    raise InputError(part, sorted(batch), "batches with labels")
                yield {key: value for key, value in batch.items() if key != name}, batch[name]
            else:
                yield _pair(batch, f"a batch of {part}")
        return
    inputs, labels = examples_of(data, part)
    n = _rows(inputs)
    for start in range(0, n, BATCH):
        places = np.arange(start, min(start + BATCH, n))
        yield rows_at(inputs, places), rows_at(labels, places)


def _each(data: Any, part: str) -> Iterator[Any]:
    try:
        yield from data
    except RuntimeError as error:  # what the library says of examples that make no batch
        expected = "examples of one shape, or a loader that pads them"
        raise InputError(part, type(data).__name__, expected, f"It said: {error}") from error


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
        except InputError:
            raise
        except Exception as error:  # whatever a stranger's function raises
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
