"""Safetensors: eight bytes of length, a JSON header, then the tensors. Read here, since numpy has no BF16."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.tensors import PLAIN, Checkpoint, Tensor, checked_shape, mapped
from certiformer.theory.core.json_reader import NotJson, parse_json

LARGEST = 100_000_000
"""Bytes of a header."""


def read_safetensors(path: Path) -> Checkpoint:
    """All tensors of one file, memory-mapped."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 10 or length > min(size - 8, LARGEST):
            raise CheckpointError(path, f"truncated or no safetensors file: a header of {length} bytes in {size}")
        try:
            header = parse_json(file.read(length), unique=True)
        except NotJson as error:
            raise CheckpointError(path, f"the header cannot be read: {shown(error)}") from None
    start = 8 + length
    tensors: dict[str, Tensor] = {}
    spans: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        tensors[name], span = _tensor(path, name, entry, start, size)
        spans.append((*span, name))
    spans.sort()
    for (_, end, first), (begin, _, second) in pairwise(spans):
        if begin < end:
            raise CheckpointError(path, f"tensors {shown(first)} and {shown(second)} overlap")
    if not tensors:
        raise CheckpointError(path, "holds no tensors")
    return Checkpoint(path, "safetensors", tensors)


def _tensor(path: Path, name: str, entry: Any, start: int, size: int) -> tuple[Tensor, tuple[int, int]]:
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= set(entry):
        raise CheckpointError(path, f"the header's entry {shown(name)} is no tensor")
    dtype, offsets = entry["dtype"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in PLAIN:
        known = ", ".join(PLAIN)
        raise CheckpointError(path, f"tensor {shown(name)} has type {shown(dtype)}; read here: {known}")
    shape = checked_shape(path, name, entry["shape"])
    if not (
        isinstance(offsets, list)
        and len(offsets) == 2
        and all(isinstance(at, int) and not isinstance(at, bool) for at in offsets)
    ):
        raise CheckpointError(path, f"tensor {shown(name)} has no readable offsets")
    begin, end = offsets
    if not 0 <= begin <= end <= size - start:
        raise CheckpointError(path, f"truncated: tensor {shown(name)} lies outside the file")
    wanted = math.prod(shape) * np.dtype(PLAIN[dtype]).itemsize
    if end - begin != wanted:
        raise CheckpointError(path, f"tensor {shown(name)} of shape {shape} needs {wanted} bytes, has {end - begin}")
    return mapped(path, name, shape, dtype, start + begin), (begin, end)
