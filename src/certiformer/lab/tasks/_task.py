"""What a task is: a training sample, a test sample from the same source, and what is known about their distribution."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from certiformer.theory.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Dataset:
    """n examples: `inputs` (n, tokens, d) with tokens in rows, `labels` (n,), and per-example extras in `meta`."""

    inputs: Array
    labels: Array
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.inputs.shape[0] != self.labels.shape[0]:
            raise InputError(
                "labels", f"{self.labels.shape[0]} labels", f"one for each of {self.inputs.shape[0]} inputs"
            )
        check_finite("inputs", self.inputs)
        check_finite("labels", self.labels)

    def __len__(self) -> int:
        return int(self.inputs.shape[0])

    def take(self, rows: Any) -> Dataset:
        """The examples with the given indices."""
        # Through NumPy: JAX would compile a program for every number of rows.
        inputs, labels = (jnp.asarray(np.asarray(part)[rows]) for part in (self.inputs, self.labels))
        return Dataset(inputs, labels, {name: jnp.asarray(np.asarray(part)[rows]) for name, part in self.meta.items()})

    def fingerprint(self) -> str:
        """SHA-256 of shapes, types and values of inputs and labels."""
        digest = hashlib.sha256()
        for array in (np.asarray(self.inputs), np.asarray(self.labels)):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Task:
    """A training and a test sample from one source.

    `labels` says how labels are coded: `signs` (-1, +1), `classes` (0, 1, ...) or `real`. `bayes_risk` is the least
    risk any predictor can have under the loss `risk` names, None where it is not known. `source.sample(key, n)` draws
    n more, independent examples; there is no source where the data are a finite set of files.
    """

    name: str
    train: Dataset
    test: Dataset
    labels: str
    risk: str
    bayes_risk: float | None
    source: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict)


def check_finite(name: str, array: Array) -> None:
    """Refuse nan and infinity, and say where the first one is."""
    if not jnp.issubdtype(array.dtype, jnp.floating):
        return
    finite = np.isfinite(np.asarray(array))
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise InputError(
            name,
            f"{int((~finite).sum())} values that are not finite, the first at index {index}",
            "finite numbers",
            "Remove or impute these examples.",
        )


def check_number(
    name: str, value: object, least: float = 0.0, most: float = float("inf"), *, strict: bool = False
) -> None:
    """Refuse whatever is not a finite number in [least, most], or in (least, most) if `strict`."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)
    inside = number and (least < value < most if strict else least <= value <= most)  # type: ignore[operator]
    if not inside:
        ends = "()" if strict else "[]"
        raise InputError(name, value, f"a number in {ends[0]}{least:g}, {most:g}{ends[1]}")
