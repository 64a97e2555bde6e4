"""A model and a sample in numbers: every entry says how it was obtained.

Norms of weights are properties of the model and certified; what concerns tokens, outputs and losses is a property of
this sample and nothing more. Whether a number may enter a bound is for the certificates to decide, not for the profile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.bound import json_number
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up
from certiformer.theory.measure.example_losses import cross_entropy, ramp, smoothed_cross_entropy
from certiformer.theory.measure.margins import margins
from certiformer.theory.measure.measured import Measured
from certiformer.theory.measure.norms import finite_matrix, frobenius_norm, norms
from certiformer.theory.measure.spectral import spectral_norm, spectral_norm_below
from certiformer.theory.measure.tokens import half_diameter, token_norm

Array = npt.NDArray[np.float64]

RANK_TOLERANCE = 1e-6
SMOOTHING = 0.01
CLIP = 10.0
MOST_MATRICES = 24
"""Beyond this many matrices in one stack only the largest value of each norm is kept."""


@dataclass(frozen=True, eq=False)
class Profile:
    """What was measured. `entries` are scalars by name; `margins` belong to the sample, one per example.

    `model` and `config` name an architecture of this package, or are empty; `training` is what the caller recorded
    about the training run (step size, number of steps, ...).
    """

    n: int
    classes: int
    entries: Mapping[str, Measured]
    margins: Array
    model: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    tokens: int = 0
    initial_known: bool = False
    training: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        if name not in self.entries:
            raise InputError("profile entry", name, "a measured quantity", f"There are {', '.join(self.entries)}")
        return self.entries[name].value

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def largest(self, weight: str, norm: str) -> float:
        """The largest `norm` over all matrices stacked in `weight`: W_c[0,1] and W_c[1,0] are both W_c."""
        found = [self.entries[name].value for name in self._of(weight, norm)]
        if not found:
            raise InputError("profile entry", f"{weight} {norm}", "a measured norm")
        return max(found)

    def each(self, weight: str, norm: str) -> list[float]:
        """The norms of the matrices stacked in `weight`, in order."""
        return [self.entries[name].value for name in self._of(weight, norm)]

    def _of(self, weight: str, norm: str) -> Iterator[str]:
        for name in self.entries:
            matrix, _, kind = name.partition(" ")
            if kind == norm and matrix.partition("[")[0] == weight:
                yield name

    def rows(self) -> list[dict[str, Any]]:
        """One row per entry, as the report shows them."""
        return [
            {"name": name, "value": json_number(entry.value), "how": _described(entry)}
            for name, entry in self.entries.items()
        ]


def measure(
    tensors: Mapping[str, npt.ArrayLike],
    inputs: npt.ArrayLike | None,
    outputs: npt.ArrayLike,
    labels: npt.ArrayLike | None,
    *,
    initial: Mapping[str, npt.ArrayLike] | None = None,
    features: npt.ArrayLike | None = None,
    brief: bool = False,
    **description: Any,
) -> Profile:
    """Measure weights (by name, leading axes stack matrices), a sample, and the model's outputs on it.

    Outputs are scalars with labels +-1, or logits with class indices; without labels there are no margins.
    `initial` holds the weights before training; `features` (n, width) what the readout sees; `brief` leaves out ranks
    and what depends on the initial weights alone. `description` fills the other fields of `Profile`.
    """
    values = np.asarray(outputs, np.float64)
    entries: dict[str, Measured] = {}
    for name, tensor in tensors.items():
        before = None if initial is None else initial.get(name)
        found = {
            label: matrix_entries(matrix, start, brief=brief)
            for label, matrix, start in _matrices(name, tensor, before)
        }
        if len(found) > MOST_MATRICES:
            found = {name: _largest_of_stack(list(found.values()))}
        entries.update({f"{label} {key}": value for label, part in found.items() for key, value in part.items()})
    if initial is not None:
        squares = [np.sum((np.asarray(tensors[name], np.float64) - np.asarray(initial[name])) ** 2) for name in tensors]
        total = up(math.sqrt(math.fsum(float(square) for square in squares)))
        entries["all weights distance from start F"] = Measured(total, "certified", "by direct summation", "upper")
    if inputs is not None:
        entries.update(token_entries(inputs))
    if features is not None:
        entries["sigma_min of the features"] = Measured(
            float(np.linalg.svd(np.asarray(features, np.float64), compute_uv=False)[-1]),
            "estimate",
            "singular value decomposition in float64",
        )
    if labels is not None:
        entries.update(output_entries(values, np.asarray(labels)))
    count = values.shape[1] if values.ndim == 2 else 2
    return Profile(
        len(values),
        count,
        entries,
        np.empty(0) if labels is None else margins(values, np.asarray(labels)),
        initial_known=initial is not None,
        tokens=0 if inputs is None else int(np.shape(inputs)[-2]) if np.ndim(inputs) == 3 else 1,
        **description,
    )


def matrix_entries(matrix: Array, start: Array | None = None, *, brief: bool = False) -> dict[str, Measured]:
    """Norms in both orientations, spectral norm, ranks, and the distance from where training began."""
    values = finite_matrix(matrix)
    found = dict(norms(values))
    found["spectral"] = spectral_norm(values)
    if not brief:
        found["rank"] = numerical_rank(values)
        found["stable rank"] = stable_rank(values)
    if start is not None:
        found["distance from start F"] = frobenius_norm(values - finite_matrix(start))
    if start is not None and not brief:
        found["start F"] = frobenius_norm(start)
        found["start spectral"] = spectral_norm(start)
    return found


def numerical_rank(matrix: Array) -> Measured:
    """The number of singular values above a millionth of the largest: not the rank of the matrix itself."""
    singular = np.linalg.svd(matrix, compute_uv=False)
    count = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if singular[0] > 0 else 0
    return Measured(float(count), "estimate", f"singular values above {RANK_TOLERANCE:g} of the largest")


def stable_rank(matrix: Array) -> Measured:
    """||W||_F^2/||W||_2^2, from above; 0 for the zero matrix."""
    below = spectral_norm_below(matrix).value
    if below == 0.0:
        return Measured(0.0, "certified", "the zero matrix", "upper")
    ratio = frobenius_norm(matrix).value / below
    return Measured(up(ratio * ratio), "certified", "upper Frobenius over lower spectral norm", "upper")


def token_entries(inputs: npt.ArrayLike) -> dict[str, Measured]:
    """Sizes of the tokens of this sample; examples without a token axis are read as one token each."""
    values = np.asarray(inputs, np.float64)
    if values.ndim == 2:
        values = values[:, None, :]
    if values.ndim != 3:
        return {}
    return {
        "tokens l2 norm": token_norm(values),
        "tokens l1 norm": token_norm(values, 1),
        "tokens sup norm": token_norm(values, math.inf),
        "tokens half-diameter": half_diameter(values),
    }


def output_entries(outputs: Array, labels: npt.NDArray[Any]) -> dict[str, Measured]:
    """Range of the outputs, margins and losses on the sample."""
    gaps = margins(outputs, labels)
    crossed = cross_entropy(outputs, labels)
    count = outputs.shape[1] if outputs.ndim == 2 else 2
    return {
        "smallest output": _exact(np.min(outputs), "on the sample"),
        "largest output": _exact(np.max(outputs), "on the sample"),
        "smallest margin": _exact(np.min(gaps), "on the sample"),
        "median margin": _exact(np.median(gaps), "on the sample"),
        "0-1 loss": _exact(np.mean(gaps <= 0), "on the sample; ties are errors"),
        "ramp loss at margin 1": _exact(np.mean(ramp(gaps, 1.0)), "on the sample"),
        "cross-entropy": _exact(np.mean(crossed), "on the sample"),
        f"cross-entropy clipped at {CLIP:g}": _exact(np.mean(np.minimum(crossed, CLIP)), "on the sample"),
        f"cross-entropy smoothed by {SMOOTHING:g}": _exact(
            np.mean(smoothed_cross_entropy(np.exp(-crossed), SMOOTHING, count)), "on the sample"
        ),
    }


def _matrices(
    name: str, tensor: npt.ArrayLike, start: npt.ArrayLike | None
) -> Iterator[tuple[str, Array, Array | None]]:
    """The matrices stacked in a tensor; vectors are columns, scalars are left out."""
    values = np.asarray(tensor, np.float64)
    before = None if start is None else np.asarray(start, np.float64)
    if values.ndim == 0 or values.size == 0:
        return
    if values.ndim <= 2:
        yield name, values, before
        return
    for index in np.ndindex(values.shape[:-2]):
        label = f"{name}[{','.join(map(str, index))}]"
        yield label, values[index], None if before is None else before[index]


def _largest_of_stack(parts: list[dict[str, Measured]]) -> dict[str, Measured]:
    return {key: max((part[key] for part in parts), key=lambda entry: entry.value) for key in parts[0]}


def _exact(value: Any, by: str) -> Measured:
    return Measured(float(value), "exact", by)


def _described(entry: Measured) -> str:
    kind = {"exact": "exact", "estimate": "estimate", "certified": f"certified {entry.side} bound"}[entry.how]
    return f"{kind}: {entry.by}"
