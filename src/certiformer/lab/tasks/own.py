"""Your own examples as a task: an .npz file with a training and a test part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import PRNGKeyArray

from certiformer.certification.sources.rows import read_npz
from certiformer.lab.tasks._task import Dataset, Task
from certiformer.theory.core.errors import InputError

ARRAYS = ("train_inputs", "train_labels", "heldout_inputs", "heldout_labels")


def own(path: str, key: PRNGKeyArray, *, dtype: Any = jnp.float32) -> Task:
    """The arrays `train_inputs`, `train_labels`, `heldout_inputs`, `heldout_labels` of a file; nothing is drawn.

    Inputs are (n, tokens, d), or (n, d) for examples of one token. Labels -1 and +1 are signs, 0, 1, ... classes, and
    numbers that are not whole are real; other whole numbers are refused, because they could be either.
    """
    arrays = read_npz(path, ARRAYS)
    for name in ARRAYS:
        if name not in arrays:
            raise InputError("task", f"{path} without {name}", f"the arrays {', '.join(ARRAYS)}")
    parts = []
    for name in ("train", "heldout"):
        inputs = arrays[f"{name}_inputs"]
        inputs = inputs[:, None, :] if inputs.ndim == 2 else inputs
        if inputs.ndim != 3 or inputs.dtype.kind not in "fiu" or 0 in inputs.shape:
            raise InputError(f"{name}_inputs", f"type {inputs.dtype}, shape {inputs.shape}", "numbers (n, tokens, d)")
        parts.append((inputs, arrays[f"{name}_labels"]))
    kind = _kind(np.concatenate([labels for _, labels in parts]))
    coded = jnp.int32 if kind == "classes" else dtype
    train, test = (Dataset(jnp.asarray(x, dtype), jnp.asarray(y, coded)) for x, y in parts)
    if train.inputs.shape[1:] != test.inputs.shape[1:]:
        shape = tuple(train.inputs.shape[1:])
        raise InputError("heldout_inputs", tuple(test.inputs.shape[1:]), f"the shape of the training part's, {shape}")
    return Task(Path(path).name, train, test, kind, "squared" if kind == "real" else "zero-one", None)


def _kind(labels: npt.NDArray[Any]) -> str:
    if labels.ndim != 1 or labels.dtype.kind not in "fiub":
        raise InputError("labels", f"type {labels.dtype}, shape {labels.shape}", "one number per example")
    if not np.all(np.isfinite(labels)):
        raise InputError("labels", "nan or infinity", "finite numbers")
    if not np.all(labels == np.round(labels)):
        return "real"
    found = {int(label) for label in np.unique(labels)}
    if found <= {-1, 1}:
        return "signs"
    if min(found) == 0 and found == set(range(len(found))):
        return "classes"
    raise InputError("labels", sorted(found)[:5], "signs -1 and +1, classes 0, 1, ..., or real numbers")
