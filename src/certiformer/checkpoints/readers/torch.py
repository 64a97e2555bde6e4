"""PyTorch files without PyTorch: the zip format and the legacy one, memory-mapped, nothing executed."""

from __future__ import annotations

import io
import math
import mmap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.readers._pickle import StandIn, StoredTensor, UnsafePickle, load
from certiformer.checkpoints.readers._zip import content, stored_offset
from certiformer.checkpoints.tensors import PLAIN, Checkpoint, Tensor, checked_shape, mapped
from certiformer.theory.core.zip_reader import zip_members

MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_START = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"
LARGEST_PICKLE = 2**27
STATE_KEYS = ("state_dict", "model_state_dict", "model", "module", "net", "weights", "params")
DEEPEST = 8
MOST_SHARED, SMALL = 16, 2**20
"""The tensors together may claim so many times the bytes of the file, and a little."""
_Keys: TypeAlias = "tuple[_Keys, object] | None"


def read_zip(path: Path, archive: zipfile.ZipFile) -> Checkpoint:
    """torch.save since 1.6: data.pkl and one stored member per storage."""
    found = zip_members(path, archive)
    (pickle,) = [name for name in found if name.split("/")[-1] == "data.pkl"][:1] or [""]
    folder = pickle[: -len("data.pkl")]
    order = found.get(folder + "byteorder")
    big = order is not None and content(path, archive, order, 64).strip() == b"big"
    value = _load(path, io.BytesIO(content(path, archive, found[pickle], LARGEST_PICKLE)))

    def place(tensor: StoredTensor) -> tuple[int, int]:
        member = found.get(f"{folder}data/{tensor.storage.key}")
        if member is None:
            raise CheckpointError(path, f"truncated: storage {shown(tensor.storage.key)} is missing")
        offset = stored_offset(path, member)
        if offset is None:
            raise CheckpointError(path, f"storage {shown(tensor.storage.key)} is compressed, which torch never does")
        return offset, member.file_size

    return _checkpoint(path, "torch", value, place, ">" if big else "<")


def read_legacy(path: Path) -> Checkpoint:
    """torch.save before 1.6: four pickles, then every storage as a count and its bytes."""
    size = path.stat().st_size
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        stream = cast(Any, view)
        if _load(path, stream) != MAGIC or _load(path, stream) != 1001:
            raise CheckpointError(path, "no PyTorch file of a known version")
        system = _load(path, stream)
        value = _load(path, stream)
        keys = _load(path, stream)
        start = view.tell()
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
            raise CheckpointError(path, "the list of storages is broken")
        stored = {tensor.storage.key: tensor.storage for tensor in _tensors_in(path, value).values()}
        places: dict[str, tuple[int, int]] = {}
        for key in keys:
            count = int.from_bytes(view[start : start + 8], "little")
            if key not in stored:
                raise CheckpointError(path, f"storage {shown(key)} belongs to no tensor, so its length is unknown")
            length = count * np.dtype(PLAIN[stored[key].dtype]).itemsize
            start += 8
            if count != stored[key].count or start + length > size:
                raise CheckpointError(path, f"truncated: storage {shown(key)} lies outside the file")
            places[key] = (start, length)
            start += length
    little = not isinstance(system, Mapping) or system.get("little_endian", True) is True

    def place(tensor: StoredTensor) -> tuple[int, int]:
        if tensor.storage.key not in places:
            raise CheckpointError(path, f"truncated: storage {shown(tensor.storage.key)} is missing")
        return places[tensor.storage.key]

    return _checkpoint(path, "torch (legacy)", value, place, "<" if little else ">")


def _load(path: Path, file: Any) -> Any:
    try:
        return load(file, path.stat().st_size)
    except UnsafePickle as error:
        raise CheckpointError(path, f"refused: the pickle holds {shown(error)}") from None


def _checkpoint(path: Path, format: str, value: Any, place: Any, order: str) -> Checkpoint:
    value, remarks = _state(value)
    tensors: dict[str, Tensor] = {}
    found = _tensors_in(path, value)
    _checked_total(path, found)
    places: dict[str, tuple[int, int]] = {}
    for name, stored in found.items():
        if stored.storage.key not in places:
            places[stored.storage.key] = place(stored)
        offset, length = places[stored.storage.key]
        tensors[name] = _tensor(path, name, stored, offset, length, order)
    if not tensors and isinstance(value, StandIn):
        problem = f"holds a whole Python object ({shown(value.name)}), which only its own code could rebuild"
        raise CheckpointError(path, problem, "Save model.state_dict() instead")
    if not tensors:
        raise CheckpointError(path, "holds no tensors")
    return Checkpoint(path, format, tensors, {}, remarks)


def _state(value: Any) -> tuple[Any, tuple[str, ...]]:
    """The dictionary of weights inside a training checkpoint."""
    if isinstance(value, Mapping) and not any(isinstance(part, StoredTensor) for part in value.values()):
        for key in STATE_KEYS:
            inner = value.get(key)
            if isinstance(inner, Mapping) and any(isinstance(part, StoredTensor) for part in inner.values()):
                others = [str(name) for name in value if name != key]
                left = f"weights from {key!r}; left aside: {', '.join(map(shown, others[:8]))}" if others else ""
                return inner, (left,) if left else ()
    return value, ()


def _tensors_in(path: Path, value: Any) -> dict[str, StoredTensor]:
    """Tensors by dotted name, in nested dictionaries and lists; every container is visited once.

    A name is put together for a tensor only: on the way there it is the keys.
    """
    found: dict[str, StoredTensor] = {}
    seen: set[int] = set()
    stack: list[tuple[_Keys, Any, int]] = [(None, value, 0)]
    while stack:
        keys, node, depth = stack.pop()
        if isinstance(node, StoredTensor):
            name = _name(keys)
            if name in found:
                raise CheckpointError(path, f"the name {shown(name)} twice")
            found[name] = node
        elif isinstance(node, (dict, list, tuple)) and id(node) not in seen and depth < DEEPEST:
            seen.add(id(node))
            pairs = node.items() if isinstance(node, dict) else enumerate(node)
            parts = [(key, part) for key, part in pairs if isinstance(part, (StoredTensor, dict, list, tuple))]
            stack.extend(((keys, key), part, depth + 1) for key, part in reversed(parts))
    return found


def _name(keys: _Keys) -> str:
    parts = []
    while keys is not None:
        keys, key = keys
        parts.append(str(key))
    return ".".join(reversed(parts))


def _checked_total(path: Path, tensors: dict[str, StoredTensor]) -> None:
    """Tied weights and slices share bytes; the same bytes a thousand times over are nobody's network."""
    views = {(t.storage.key, t.offset, t.shape, t.strides): t for t in tensors.values()}
    total = sum(math.prod(t.shape) * np.dtype(PLAIN[t.storage.dtype]).itemsize for t in views.values())
    size = path.stat().st_size
    if total > MOST_SHARED * size + SMALL:
        raise CheckpointError(path, f"{len(views)} tensors claim {total} bytes of a file of {size}, again and again")


def _tensor(path: Path, name: str, stored: StoredTensor, offset: int, length: int, order: str) -> Tensor:
    shape = checked_shape(path, name, stored.shape)
    width = np.dtype(PLAIN[stored.storage.dtype]).itemsize
    count = math.prod(shape)
    last = sum((axis - 1) * stride for axis, stride in zip(shape, stored.strides, strict=True)) if count else -1
    inside = min(stored.strides, default=0) >= 0 and stored.offset >= 0 and (stored.offset + last + 1) * width <= length
    if stored.storage.count * width > length or not inside:
        raise CheckpointError(path, f"truncated: tensor {shown(name)} reaches outside its storage")
    if count > stored.storage.count:
        raise CheckpointError(
            path, f"tensor {shown(name)} claims {count} entries of a storage of {stored.storage.count}"
        )
    strides = None if stored.strides == _contiguous(shape) else stored.strides
    identity = (str(path), stored.storage.key, stored.offset, shape, stored.strides)
    return mapped(
        path,
        name,
        shape,
        stored.storage.dtype,
        offset + stored.offset * width,
        strides=strides,
        storage=identity,
        byteorder=order,
    )


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
