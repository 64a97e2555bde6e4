"""GGUF: plain and block-quantised tensors. The network *is* the dequantised one; dimensions are listed input first."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.tensors import PLAIN, Checkpoint, NDArray, Tensor, checked_shape, mapped

BLOCK = 32
MOST_KEYS, MOST_TENSORS, MOST_TEXT, MOST_VALUES = 100_000, 1_000_000, 2**24, 2**24
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
TEXT, LIST = 8, 9
NAMES: Mapping[int, str] = dict(
    enumerate(
        [
            "F32",
            "F16",
            "Q4_0",
            "Q4_1",
            "Q4_2",
            "Q4_3",
            "Q5_0",
            "Q5_1",
            "Q8_0",
            "Q8_1",
            "Q2_K",
            "Q3_K",
            "Q4_K",
            "Q5_K",
            "Q6_K",
            "Q8_K",
            "IQ2_XXS",
            "IQ2_XS",
            "IQ3_XXS",
            "IQ1_S",
            "IQ4_NL",
            "IQ3_S",
            "IQ2_S",
            "IQ4_XS",
            "I8",
            "I16",
            "I32",
            "I64",
            "F64",
            "IQ1_M",
            "BF16",
        ]
    )
)


@dataclass(frozen=True, slots=True)
class Quantised:
    """A block format: bytes per 32 entries, and how they become numbers."""

    width: int
    decode: Callable[[NDArray], NDArray]


def _half(blocks: NDArray, at: int) -> NDArray:
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _nibbles(blocks: NDArray, at: int) -> NDArray:
    packed = blocks[:, at : at + 16]
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)


FORMATS: Mapping[str, Quantised] = {
    "Q8_0": Quantised(34, lambda blocks: _half(blocks, 0) * np.ascontiguousarray(blocks[:, 2:]).view(np.int8)),
    "Q4_0": Quantised(18, lambda blocks: _half(blocks, 0) * (_nibbles(blocks, 2) - 8)),
    "Q4_1": Quantised(20, lambda blocks: _half(blocks, 0) * _nibbles(blocks, 4) + _half(blocks, 2)),
}
PLAIN_TYPES = ("F64", "F32", "F16", "BF16", "I8", "I16", "I32", "I64")


class _Stream:
    """Little-endian values from a file that may end too soon."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.path, self.file, self.size = path, file, size

    def take(self, count: int) -> bytes:
        found = self.file.read(count) if count <= self.size else b""
        if len(found) != count:
            raise CheckpointError(self.path, "truncated: the header goes on beyond the end of the file")
        return found

    def scalar(self, code: str) -> Any:
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def text(self) -> str:
        length = self.scalar("<Q")
        if length > MOST_TEXT:
            raise CheckpointError(self.path, f"a text of {length} bytes in the header")
        return self.take(length).decode("utf-8", errors="replace")

    def value(self, kind: int) -> Any:
        if kind in SCALARS:
            return self.scalar(SCALARS[kind])
        if kind == TEXT:
            return self.text()
        if kind != LIST:
            raise CheckpointError(self.path, f"a header value of unknown type {kind}")
        inner, count = self.scalar("<I"), self.scalar("<Q")
        if inner == LIST or count > MOST_VALUES:
            raise CheckpointError(self.path, f"a header list of {count} values of type {inner}")
        if inner in SCALARS:
            width = struct.calcsize(SCALARS[inner])
            return np.frombuffer(self.take(width * count), np.dtype(SCALARS[inner].replace("?", "b1"))).tolist()
        return [self.value(inner) for _ in range(count)]


def read_gguf(path: Path) -> Checkpoint:
    """Version 2 or 3; types that are not read are named."""
    size = path.stat().st_size
    with path.open("rb") as file:
        stream = _Stream(path, file, size)
        stream.take(4)
        version, count, keys = stream.scalar("<I"), stream.scalar("<Q"), stream.scalar("<Q")
        if version not in (2, 3) or keys > MOST_KEYS or count > MOST_TENSORS:
            raise CheckpointError(path, f"GGUF version {version} with {count} tensors and {keys} keys: not readable")
        config: dict[str, Any] = {}
        for _ in range(keys):
            key = stream.text()
            if key in config:
                raise CheckpointError(path, f"the header has the key {shown(key)} twice")
            config[key] = stream.value(stream.scalar("<I"))
        entries = [_entry(stream) for _ in range(count)]
        alignment = config.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 2**20:
            raise CheckpointError(path, f"alignment {shown(alignment)}")
        start = -(-file.tell() // alignment) * alignment
    tensors: dict[str, Tensor] = {}
    places: list[tuple[int, int, str]] = []
    for name, shape, kind, offset in entries:
        if name in tensors:
            raise CheckpointError(path, f"the tensor {shown(name)} twice")
        places.append((offset, offset + _length(shape, kind), name))
        tensors[name] = _tensor(path, name, checked_shape(path, name, shape), kind, start + offset, size)
    if not tensors:
        raise CheckpointError(path, "holds no tensors")
    places = sorted(place for place in places if place[1] > place[0])
    for (_, end, one), (begin, _, other) in itertools.pairwise(places):
        if begin < end:
            raise CheckpointError(path, f"the tensors {shown(one)} and {shown(other)} overlap")
    return Checkpoint(path, "gguf", tensors, config)


def _entry(stream: _Stream) -> tuple[str, tuple[int, ...], int, int]:
    name, axes = stream.text(), stream.scalar("<I")
    if axes > 4:
        raise CheckpointError(stream.path, f"tensor {shown(name)} with {axes} axes")
    shape = tuple(stream.scalar("<Q") for _ in range(axes))[::-1]
    return name, shape, stream.scalar("<I"), stream.scalar("<Q")


def _length(shape: tuple[int, ...], kind: int) -> int:
    """The bytes of a tensor; 0 for a type that is refused anyway."""
    dtype, count = NAMES.get(kind, ""), math.prod(shape)
    if dtype in FORMATS:
        return -(-count // BLOCK) * FORMATS[dtype].width
    return count * np.dtype(PLAIN[dtype]).itemsize if dtype in PLAIN_TYPES else 0


def _tensor(path: Path, name: str, shape: tuple[int, ...], kind: int, offset: int, size: int) -> Tensor:
    dtype = NAMES.get(kind, f"type {kind}")
    if dtype in PLAIN_TYPES:
        if offset + math.prod(shape) * np.dtype(PLAIN[dtype]).itemsize > size:
            raise CheckpointError(path, f"truncated: tensor {shown(name)} lies outside the file")
        return mapped(path, name, shape, dtype, offset)
    if dtype not in FORMATS:
        read = ", ".join(["F32", "F16", "BF16", *FORMATS])
        raise CheckpointError(path, f"tensor {shown(name)} is stored as {dtype}; read here: {read}")
    return _quantised(path, name, shape, dtype, offset, size)


def _quantised(path: Path, name: str, shape: tuple[int, ...], dtype: str, offset: int, size: int) -> Tensor:
    format = FORMATS[dtype]
    if not shape or shape[-1] % BLOCK:
        raise CheckpointError(path, f"tensor {shown(name)} of shape {shape} is no multiple of {BLOCK} wide")
    inner = math.prod(shape[1:]) if len(shape) > 1 else shape[0]
    per_row = inner // BLOCK * format.width
    count = shape[0] if len(shape) > 1 else 1
    if offset + per_row * count > size:
        raise CheckpointError(path, f"truncated: tensor {shown(name)} lies outside the file")

    def raw(start: int, stop: int) -> NDArray:
        if per_row * (stop - start) <= 0:
            return np.zeros((0, format.width), np.uint8)
        length = per_row * (stop - start)
        return np.memmap(path, np.uint8, "r", offset + start * per_row, (length,)).reshape(-1, format.width)

    def rows(start: int, stop: int) -> NDArray:
        if len(shape) == 1:
            return format.decode(raw(0, 1)).reshape(shape)[start:stop]
        return format.decode(raw(start, stop)).reshape(max(0, stop - start), *shape[1:])

    return Tensor(name, shape, dtype, rows, lambda: np.asarray(raw(0, count)).ravel().data)
