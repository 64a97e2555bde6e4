"""Which examples train, which select, which certify; and the refusal to certify on what was seen before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from certiformer.theory.core.errors import InputError

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Disjoint index sets by role, and the hash of the choice."""

    parts: Mapping[str, Indices]
    seed: int

    @property
    def hash(self) -> str:
        """SHA-256 of the roles, their indices and the seed."""
        digest = hashlib.sha256(str(self.seed).encode())
        for name in sorted(self.parts):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(self.parts[name], dtype="<i8").tobytes())
        return digest.hexdigest()

    def __getitem__(self, role: str) -> Indices:
        return self.parts[role]


def split(n: int, sizes: Mapping[str, int], seed: int) -> Split:
    """A uniformly random division of n examples into the given sizes; what is left over belongs to nobody."""
    wanted = sum(sizes.values())
    if wanted > n or any(size < 1 for size in sizes.values()):
        described = ", ".join(f"{role} {size}" for role, size in sizes.items())
        raise InputError(
            "split", described, f"positive sizes that add up to at most {n}", "Use more data or fewer parts"
        )
    order = np.random.default_rng(seed).permutation(n)
    parts, start = {}, 0
    for role, size in sizes.items():
        parts[role] = np.sort(order[start : start + size]).astype(np.int64)
        start += size
    return Split(parts, seed)


def example_hashes(inputs: NDArray[Any]) -> list[bytes]:
    """One hash per example, labels left out: a seen input is seen whatever its label.

    Precision, width and sign of zero do not matter: numbers are compared as float32, names as text.
    """
    array = np.asarray(inputs)
    rows = array.reshape(len(array), -1)
    if array.dtype.kind in "US":
        return [hashlib.sha256("\x00".join(map(str, row.astype(str))).encode()).digest()[:16] for row in rows]
    if array.dtype.hasobject:
        return [hashlib.sha256(_object_bytes(row)).digest()[:16] for row in rows]
    return [hashlib.sha256(_number_bytes(row)).digest()[:16] for row in rows]


def whole_numbers(values: NDArray[Any]) -> bool:
    """Whether all of them are whole, and so small that float64 tells them apart."""
    if values.dtype.kind != "f":
        return values.dtype.kind in "iub"
    wide = values.astype(np.float64, copy=False)  # float16 has no 2^53
    return bool(np.all((wide == np.round(wide)) & (np.abs(wide) < 2**53)))


def _number_bytes(row: NDArray[Any]) -> bytes:
    """A row of numbers in one form: whole numbers as integers, others as float32 with zero positive."""
    if whole_numbers(row):
        return b"whole" + row.astype(np.int64).tobytes()
    return b"float" + (row.astype(np.float32) + np.float32(0.0)).tobytes()


def _object_bytes(row: NDArray[Any]) -> bytes:
    """A row of a table: numbers alone as any other numbers; names among them as text, each number in its own form."""
    numeric = [isinstance(cell, (bool, int, float, np.number, np.bool_)) for cell in row]
    if all(numeric):
        return _number_bytes(row.astype(np.float64))
    cells = zip(row, numeric, strict=True)
    return b"\x00".join(
        _number_bytes(np.array([cell], dtype=np.float64)) if is_number else str(cell).encode()
        for cell, is_number in cells
    )


def refuse_overlap(
    certified: NDArray[Any], seen: NDArray[Any], *, allow_twins: bool = False, what: str = "certified examples"
) -> int:
    """Raise if an example to certify on was used for training or selection. Returns the number of twins if allowed.

    With `allow_twins` equal inputs are only counted: two independent draws of a small discrete input space may
    coincide, and then the caller states that the draws were independent.
    """
    one, other = np.asarray(certified), np.asarray(seen)
    if not one.dtype.hasobject and not other.dtype.hasobject and (one.dtype.kind in "US") != (other.dtype.kind in "US"):
        fix = "Rows of a sparse matrix are compared with rows of another: give both in one form"
        raise InputError(what, "numbers beside texts, or beside rows of a sparse matrix", "inputs of one kind", fix)
    if one.shape[1:] != other.shape[1:]:
        if one.ndim != 2 or other.ndim != 2 or one.dtype.kind not in "iu" or other.dtype.kind not in "iu":
            got = f"shapes {one.shape[1:]} and {other.shape[1:]}"
            raise InputError(what, got, "inputs of one shape", "They are compared row by row: give both in one form")
        # tokens that were filled up with 0, each part to its own longest
        width = max(one.shape[1], other.shape[1])
        one, other = (np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (one, other))
    known = set(example_hashes(other))
    twins = sum(digest in known for digest in example_hashes(one))
    if twins and not allow_twins:
        raise InputError(
            what,
            f"{twins} of {len(certified)} that were also used for training or selection",
            "examples that played no part in choosing the model",
            "A certificate on seen examples guarantees nothing; hold others out. If equal inputs are independent "
            "draws from a small input space, say so with --repeats natural.",
        )
    return twins


def data_hash(*arrays: npt.ArrayLike) -> str:
    """SHA-256 of shapes, dtypes and bytes: which data were certified with. Objects count as their text."""
    digest = hashlib.sha256()
    for value in arrays:
        array = np.asarray(value, order="C")
        # the bytes of objects are where they stand in memory
        array = array.astype(str) if array.dtype.hasobject else array
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def configuration_hash(configuration: Mapping[str, Any]) -> str:
    """SHA-256 of a JSON-able configuration in canonical form."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
