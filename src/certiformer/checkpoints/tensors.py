"""Named tensors that stay on disk until their rows are asked for."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown

NDArray = npt.NDArray[Any]

MOST_AXES = 8
MOST_ENTRIES = 2**48


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor of a checkpoint: `tensor[a:b]` reads rows of its first axis (decoded), `array()` all of it.

    `stored` gives the raw bytes in pieces, for hashing. Two tensors with the same `storage` are one (tied weights).
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    rows: Callable[[int, int], NDArray]
    stored: Callable[[], memoryview]
    storage: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def real(self) -> bool:
        """Floating-point numbers, stored as such or quantised; buffers of integers are not weights."""
        return self.dtype[0] in "FBQ" and self.dtype != "BOOL"

    def __getitem__(self, rows: slice) -> NDArray:
        start, stop, step = rows.indices(self.shape[0] if self.shape else 1)
        return self.rows(start, stop)[::step]

    def array(self) -> NDArray:
        """The whole tensor, decoded."""
        if not self.shape:
            return self.rows(0, 1).reshape(())
        return self.rows(0, self.shape[0])

    def digest(self) -> str:
        """SHA-256 of shape, type and stored bytes."""
        found = hashlib.sha256(repr((self.shape, self.dtype)).encode())
        found.update(self.stored())
        return found.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The tensors of a file or folder by name, what it says about its architecture, and remarks for the reader."""

    path: Path
    format: str
    tensors: Mapping[str, Tensor]
    config: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def checked_shape(path: str | Path, name: str, shape: object) -> tuple[int, ...]:
    """A list of counts, or a clear refusal."""
    if not isinstance(shape, (list, tuple)) or len(shape) > MOST_AXES:
        raise CheckpointError(path, f"tensor {shown(name)} has no readable shape (at most {MOST_AXES} axes)")
    for axis in shape:
        if not isinstance(axis, int) or isinstance(axis, bool) or not 0 <= axis < MOST_ENTRIES:
            raise CheckpointError(path, f"tensor {shown(name)} has an axis of length {shown(axis)}")
    if math.prod(shape) >= MOST_ENTRIES:
        raise CheckpointError(path, f"tensor {shown(name)} claims {math.prod(shape)} entries")
    return tuple(shape)


def bfloat16(words: NDArray) -> NDArray:
    """Upper halves of float32 numbers as float32."""
    return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)


PLAIN: Mapping[str, str] = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|b1",
}
"""Types stored entry by entry, as numpy reads their bytes."""


def mapped(
    file: Path,
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    offset: int,
    *,
    strides: tuple[int, ...] | None = None,
    storage: tuple[Any, ...] = (),
    byteorder: str = "<",
) -> Tensor:
    """A tensor of a plain type in `file`, `offset` bytes from its start; strides count entries, C order by default.

    The caller has checked that everything it can reach lies inside the file.
    """
    kind = np.dtype(PLAIN[dtype]).newbyteorder(">" if byteorder == ">" else "<")
    span = math.prod(shape)
    if strides is not None and span:
        span = 1 + sum((axis - 1) * stride for axis, stride in zip(shape, strides, strict=True))

    def flat() -> NDArray:
        if span == 0:
            return np.zeros(0, kind)
        return np.memmap(file, kind, "r", offset, (span,))

    def rows(start: int, stop: int) -> NDArray:
        values = flat()
        if strides is None:
            view = values.reshape(shape or (1,))[start:stop]
        else:
            width = kind.itemsize
            view = np.lib.stride_tricks.as_strided(
                values, shape or (1,), tuple(width * stride for stride in strides) or (width,), writeable=False
            )[start:stop]
        return bfloat16(np.ascontiguousarray(view)) if dtype == "BF16" else np.asarray(view)

    def stored() -> memoryview:
        plain = flat() if strides is None else np.ascontiguousarray(rows(0, shape[0] if shape else 1))
        return np.asarray(plain).view(np.uint8).data if span else memoryview(b"")

    return Tensor(name, shape, dtype, rows, stored, storage)


def array_tensor(name: str, values: NDArray) -> Tensor:
    """A tensor already in memory (merged adapters, tests)."""
    kind = {8: "F64", 4: "F32", 2: "F16"}[values.dtype.itemsize] if values.dtype.kind == "f" else "I64"
    return Tensor(
        name,
        values.shape,
        kind,
        lambda start, stop: values[start:stop] if values.ndim else values.reshape(1),
        lambda: memoryview(np.ascontiguousarray(values).tobytes()),
    )
