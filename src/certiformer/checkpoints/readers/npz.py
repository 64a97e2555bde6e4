"""Arrays saved by numpy: `.npz` archives. Python objects inside are refused, never unpickled."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.readers._zip import content, stored_offset
from certiformer.checkpoints.tensors import PLAIN, Checkpoint, NDArray, Tensor, checked_shape, mapped
from certiformer.theory.core.npy_reader import LONGEST, npy_header
from certiformer.theory.core.zip_reader import BROKEN, zip_members

NAMES = {np.dtype(code): name for name, code in PLAIN.items() if name != "BF16"}


def read_npz(path: Path, archive: zipfile.ZipFile) -> Checkpoint:
    """Every array of the archive: stored ones memory-mapped, compressed ones decompressed when they are read."""
    tensors = {}
    for member, info in zip_members(path, archive).items():
        if not member.endswith(".npy"):
            raise CheckpointError(path, f"member {shown(member)} is no array (.npy)")
        tensors[member[:-4]] = _tensor(path, archive, info, member[:-4])
    if not tensors:
        raise CheckpointError(path, "holds no arrays")
    return Checkpoint(path, "npz", tensors)


def _tensor(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Tensor:
    try:
        with archive.open(info) as file:
            head = io.BytesIO(file.read(LONGEST))
    except BROKEN as error:
        raise CheckpointError(path, f"member {shown(name)} is broken ({shown(error)})") from None
    try:
        shape, fortran, kind = npy_header(head)
    except ValueError as error:
        raise CheckpointError(path, f"array {shown(name)} has no readable header ({shown(error)})") from None
    begin = head.tell()
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
