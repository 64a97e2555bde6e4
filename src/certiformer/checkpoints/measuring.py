"""Sizes of the parts of a checkpoint, from the cache where the same bytes were measured before."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.errors import CheckpointError, shown
from certiformer.checkpoints.parts import Part, oriented
from certiformer.checkpoints.sizes import Sizes, product_norm, sizes
from certiformer.checkpoints.tensors import Tensor
from certiformer.core.errors import InputError

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

    def sizes(self, part: Part, columns: slice | None = None) -> Sizes:
        """Sizes of a part, or of some of its columns."""
        key = self._key("sizes", part, columns)
        return self._remembered(key, part, lambda: sizes(_cut(self._matrix(part), columns)))

    def difference(self, part: Part, centre: Part, columns: slice | None = None) -> Sizes:
        """Sizes of W - W_ref."""
        if part.shape != centre.shape:
            problem = f"{shown(part.name)} has shape {part.shape}, the reference {centre.shape}"
            raise CheckpointError(shown(part.name), problem)

        def compute() -> Sizes:
            moved = np.asarray(_dense(self._matrix(part)), np.float64) - _dense(self._matrix(centre))
            return sizes(_cut(moved, columns))

        key = f"{self._key('difference', part, columns)} {self._key('from', centre, columns)}"
        return self._remembered(key, part, compute)

    def product(self, first: Part, second: Part) -> float:
        """||A^T B||_2 for a head's W_Q and W_K."""
        key = f"{self._key('product', first, None)} {self._key('with', second, None)}"
        known = self.cache.get(key)
        if isinstance(known, float):
            return known
        found = product_norm(_dense(self._matrix(first)), _dense(self._matrix(second)))
        self.cache.put(key, found)
        return found

    def _key(self, what: str, part: Part, columns: slice | None) -> str:
        cut = "" if columns is None else f" columns {columns.start}:{columns.stop}"
        stored = part.assigned.row.stored
        gain = "" if part.gain is None else f" times {self.digest(part.gain.tensor)}"
        return f"{what} {self.digest(part.assigned.tensor)} {stored} {part.start}:{part.stop} {part.shape}{cut}{gain}"

    def _remembered(self, key: str, part: Part, compute: Callable[[], Sizes]) -> Sizes:
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

    def _matrix(self, part: Part) -> Matrix:
        """The matrix of a part, its columns times the gain it is folded with."""
        found = self._plain(part)
        return found if part.gain is None else _Scaled(found, part.gain.tensor.array().astype(np.float64))

    def _plain(self, part: Part) -> npt.NDArray[Any] | Tensor:
        """The last tensors stay in memory while heads are cut out of them."""
        key = id(part.assigned.tensor)
        if key not in self.arrays or part.assigned.row.stored == "rows":
            if part.assigned.row.stored == "rows":
                return part.matrix()
            while len(self.arrays) >= 4:
                del self.arrays[next(iter(self.arrays))]
            self.arrays[key] = oriented(part.assigned)
        return np.asarray(self.arrays[key][part.start : part.stop])

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
        return np.asarray(self.matrix[rows], np.float64) * self.gain


Matrix = npt.NDArray[Any] | Tensor | _Scaled


def _dense(matrix: Matrix) -> npt.NDArray[Any]:
    if isinstance(matrix, _Scaled):
        return matrix[0 : matrix.shape[0]]
    return matrix.array() if isinstance(matrix, Tensor) else matrix


def _cut(matrix: Matrix, columns: slice | None) -> Any:
    return matrix if columns is None else _dense(matrix)[:, columns]
