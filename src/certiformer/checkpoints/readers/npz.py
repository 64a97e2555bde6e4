"""Arrays saved by numpy: `.npz` archives. Python objects inside are refused, never unpickled."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from tokenize import TokenError

import numpy as np

from certiformer.checkpoints.errors import CheckpointError, shown
from certiformer.checkpoints.readers._zip import content, members, stored_offset
from certiformer.checkpoints.tensors import PLAIN, Checkpoint, NDArray, Tensor, checked_shape, mapped
from certiformer.theory.core.zip_reader import BROKEN

HEADER = 16_384
UNREADABLE = (KeyError, ValueError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError, TokenError)
NAMES = {np.dtype(code): name for name, code in PLAIN.items() if name != "BF16"}


def read_npz(path: Path, archive: zipfile.ZipFile) -> Checkpoint:
    """Every array of the archive: stored ones memory-mapped, compressed ones decompressed when they are read."""
    tensors = {}
    for member, info in members(path, archive).items():
        if not member.endswith(".npy"):
            raise CheckpointError(path, f"member {shown(member)} is no array (.npy)")
        tensors[member[:-4]] = _tensor(path, archive, info, member[:-4])
    if not tensors:
        raise CheckpointError(path, "holds no arrays")
    return Checkpoint(path, "npz", tensors)


def _tensor(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Tensor:
    try:
        with archive.open(info) as file:
            head = file.read(HEADER)
    except BROKEN as error:
        raise CheckpointError(path, f"member {shown(name)} is broken ({shown(error)})") from None
    shape, fortran, kind, begin = _header(path, name, head)
    shape = checked_shape(path, name, shape)
    if kind.newbyteorder("<") not in NAMES:
        raise CheckpointError(path, f"array {shown(name)} has type {kind}; numbers are read, Python objects are not")
    dtype = NAMES[kind.newbyteorder("<")]
    order = ">" if kind.byteorder == ">" else "<"
    count = int(np.prod(shape, dtype=object))
    if info.file_size != begin + count * kind.itemsize:
        raise CheckpointError(path, f"truncated: array {shown(name)} of shape {shape} in {info.file_size} bytes")
    strides = tuple(int(np.prod(shape[:axis], dtype=object)) for axis in range(len(shape))) if fortran else None
    offset = stored_offset(path, info)
    if offset is not None:
        return mapped(path, name, shape, dtype, offset + begin, strides=strides, byteorder=order)

    def whole() -> NDArray:
        with zipfile.ZipFile(path) as again:
            data = content(path, again, info, info.file_size)
        return np.frombuffer(data, kind, count, begin).reshape(shape, order="F" if fortran else "C")

    return Tensor(
        name,
        shape,
        dtype,
        lambda start, stop: whole()[start:stop] if shape else whole().reshape(1),
        lambda: memoryview(whole().tobytes()),
    )


def _header(path: Path, name: str, head: bytes) -> tuple[tuple[int, ...], bool, np.dtype[np.generic], int]:
    file = io.BytesIO(head)
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, kind = read(file, max_header_size=HEADER)
    except UNREADABLE as error:
        raise CheckpointError(path, f"array {shown(name)} has no readable header ({shown(error)})") from None
    return shape, fortran, kind, file.tell()
