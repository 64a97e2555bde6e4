"""Sizes of the parts of a checkpoint, from the cache where the same bytes were measured before."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.parts import Folded, FoldedBias, Part, oriented
from certiformer.checkpoints.sizes import ZERO_SIZES, Sizes, product_norm, sizes
from certiformer.checkpoints.tensors import Tensor
from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.spectral import UNIT

ROWS = 4096
"""So many rows of a large table are in memory at once."""
Progress = Callable[[float, float, str], None]
"""Told the work done, the whole work, and what is being measured."""


@dataclass
class Measurer:
    """Measures parts; remembers by the content of their tensors."""

    cache: Cache
    progress: Progress | None = None
    work: float = 0.0
    done: float = 0.0
    digests: dict[int, str] = field(default_factory=dict)
    arrays: dict[int, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def digest(self, tensor: Tensor) -> str:
        if id(tensor) not in self.digests:
            self.digests[id(tensor)] = tensor.digest()
        return self.digests[id(tensor)]

    def sizes(self, part: Folded, columns: slice | None = None) -> Sizes:
        """Sizes of a part, or of some of its columns."""

        def compute() -> Sizes:
            matrix, error = self._made(part)
            return sizes(_cut(matrix, columns)).widened(error)

        return self._remembered(self._key("sizes", part, columns), part, compute)

    def difference(self, part: Folded, centre: Folded) -> Sizes:
        """Sizes of W - W_ref."""
        if part.shape != centre.shape:
            problem = f"{shown(part.name)} has shape {part.shape}, the reference {centre.shape}"
            raise CheckpointError(shown(part.name), problem)

        here, there = self._key("difference", part, None), self._key("difference", centre, None)
        if here == there:
            return ZERO_SIZES

        def compute() -> Sizes:
            (own, error), (other, more) = self._made(part), self._made(centre)
            moved = np.asarray(_dense(own), np.float64) - _dense(other)
            found = sizes(moved)
            return found.widened(error + more + UNIT * found.norm_11)

        return self._remembered(f"{here} from {there}", part, compute)

    def product(self, first: Part, second: Part) -> float:
        """||A^T B||_2 for a head's W_Q and W_K."""
        key = f"{self._key('product', first, None)} {self._key('with', second, None)}"
        known = self.cache.get(key)
        if isinstance(known, float):
            return known
        found = product_norm(_dense(self._plain(first)), _dense(self._plain(second)))
        self.cache.put(key, found)
        return found

    def _key(self, what: str, part: Folded, columns: slice | None) -> str:
        cut = "" if columns is None else f" columns {columns.start}:{columns.stop}"
        if isinstance(part, FoldedBias):
            added = f"{self._key('plus', part.weight, None)} times {self.digest(part.shift.tensor)}"
            return f"{self._key(what, part.bias, columns)} {added}"
        stored = part.assigned.row.stored
        gain = "" if part.gain is None else f" times {self.digest(part.gain.tensor)}"
        return f"{what} {self.digest(part.assigned.tensor)} {stored} {part.start}:{part.stop} {part.shape}{cut}{gain}"

    def _remembered(self, key: str, part: Folded, compute: Callable[[], Sizes]) -> Sizes:
        known = self.cache.get(key)
        if isinstance(known, dict):
            try:
                return Sizes(**known)
            except TypeError:
                pass
        start = time.perf_counter()
        try:
            found = compute()
        except InputError as error:
            if "finite" in str(error):
                raise CheckpointError(
                    shown(part.assigned.tensor.name), "holds entries that are nan or infinite", "No norm bounds them"
                ) from None
            raise
        self.seconds += time.perf_counter() - start
        self.cache.put(key, found.as_json())
        return found

    def _made(self, part: Folded) -> tuple[Matrix, float]:
        """A part with what is folded into it, and how far rounding can have moved its entries, in sum."""
        if isinstance(part, FoldedBias):
            return self._bias(part)
        found = self._plain(part)
        if part.gain is None:
            return found, 0.0
        gain = part.gain.tensor.array()
        scaled = _Scaled(found, gain.astype(np.float64))
        # Products of two single precision numbers are exact in double precision.
        exact = "F64" not in (part.assigned.tensor.dtype, part.gain.tensor.dtype)
        if exact:
            return scaled, 0.0
        steps = range(0, scaled.shape[0], ROWS)
        return scaled, 4.0 * UNIT * sum(float(np.abs(scaled[start : start + ROWS]).sum()) for start in steps)

    def _bias(self, part: FoldedBias) -> tuple[npt.NDArray[np.float64], float]:
        """c + W b in double precision; a sum of d products is off by at most (d + 2) units of its absolute terms."""
        weight, bias = _dense(self._plain(part.weight)).astype(np.float64), _dense(self._plain(part.bias))
        shift = part.shift.tensor.array().astype(np.float64)
        terms = float((np.abs(weight) @ np.abs(shift)).sum() + np.abs(bias).sum())
        return bias + (weight @ shift)[:, None], 2.0 * (len(shift) + 2) * UNIT * terms

    def _plain(self, part: Part) -> npt.NDArray[Any] | Tensor:
        """A whole table stays on disk; the last other tensors stay in memory while heads are cut out of them."""
        tensor = part.assigned.tensor
        if part.assigned.row.stored == "rows" and len(tensor.shape) == 2 and part.stop - part.start == tensor.shape[0]:
            return tensor
        if id(tensor) not in self.arrays:
            while len(self.arrays) >= 4:
                del self.arrays[next(iter(self.arrays))]
            self.arrays[id(tensor)] = oriented(part.assigned)
        return np.asarray(self.arrays[id(tensor)][part.start : part.stop])

    def tick(self, amount: float, what: str) -> None:
        self.done += amount
        if self.progress is not None:
            self.progress(self.done, self.work, what)


@dataclass(frozen=True, slots=True, eq=False)
class _Scaled:
    """W diag(g), multiplied when its rows are read."""

    matrix: npt.NDArray[Any] | Tensor
    gain: npt.NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.matrix.shape
        return rows, columns

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        found = np.array(self.matrix[rows], np.float64)
        found *= self.gain
        return found


Matrix = npt.NDArray[Any] | Tensor | _Scaled


def _dense(matrix: Matrix) -> npt.NDArray[Any]:
    if isinstance(matrix, _Scaled):
        return matrix[0 : matrix.shape[0]]
    return matrix.array() if isinstance(matrix, Tensor) else matrix


def _cut(matrix: Matrix, columns: slice | None) -> Any:
    return matrix if columns is None else _dense(matrix)[:, columns]
