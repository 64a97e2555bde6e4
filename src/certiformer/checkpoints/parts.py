"""The matrices inside tensors: oriented outputs x inputs, fused ones taken apart, heads cut out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.roles import Assigned, Roles, oriented_shape
from certiformer.checkpoints.tensors import Tensor, array_tensor
from certiformer.theory.networks.architecture import Architecture

Matrix = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows `start` to `stop` of an oriented tensor: a weight, a head, or the share of q, k or v in a fused tensor.

    `gain`: W diag(g) instead of W, for the gain of a norm that the weight reads.
    """

    assigned: Assigned
    start: int
    stop: int
    gain: Assigned | None = None

    @property
    def name(self) -> str:
        whole = (self.start, self.stop) == (0, oriented_shape(self.assigned)[0])
        own = self.assigned.tensor.name if whole else f"{self.assigned.tensor.name}[{self.start}:{self.stop}]"
        return own if self.gain is None else f"{own} x {self.gain.tensor.name}"

    @property
    def shape(self) -> tuple[int, int]:
        return self.stop - self.start, oriented_shape(self.assigned)[1]

    def rows(self, start: int, stop: int) -> Part:
        return replace(self, start=self.start + start, stop=self.start + stop)


@dataclass(frozen=True, slots=True, eq=False)
class FoldedBias:
    """c + W b: the bias of a weight that reads a norm with shift b, the shift folded in."""

    bias: Part
    weight: Part
    shift: Assigned

    @property
    def assigned(self) -> Assigned:
        return self.bias.assigned

    @property
    def start(self) -> int:
        return self.bias.start

    @property
    def stop(self) -> int:
        return self.bias.stop

    @property
    def name(self) -> str:
        return f"{self.bias.name} + {self.weight.name} x {self.shift.tensor.name}"

    @property
    def shape(self) -> tuple[int, int]:
        return self.bias.shape

    def rows(self, start: int, stop: int) -> FoldedBias:
        return replace(self, bias=self.bias.rows(start, stop), weight=self.weight.rows(start, stop))


Folded = Part | FoldedBias
"""A matrix of the network: as it is stored, or with the gain or shift of a norm in it."""


def oriented(assigned: Assigned) -> Matrix:
    """The tensor as the matrix that acts on columns."""
    values = assigned.tensor.array()
    if values.ndim == 2 and assigned.row.stored == "in x out":
        return values.T
    return values.reshape(oriented_shape(assigned))


def whole(assigned: Assigned) -> Part:
    return Part(assigned, 0, oriented_shape(assigned)[0])


class Parts:
    """Weights by role: fused tensors answer for their shares, and tensors are as the family means them."""

    def __init__(self, roles: Roles, architecture: Architecture) -> None:
        self.path = roles.checkpoint.path
        first, _ = architecture.first
        self.heads, self.key_heads = first.heads, first.key_heads
        assert roles.family is not None
        gain, self._known = roles.family.gain, {}
        for one in roles.assigned:
            if one.row.stored == "by head":
                one = replace(one, tensor=self._regrouped(one.tensor))
            elif gain and one.role.endswith(".gain"):
                one = replace(one, tensor=_added(one.tensor, gain))
            self._known[one.role, one.layer] = one

    def get(self, role: str, layer: int | None = None) -> Part | None:
        found = self._known.get((role, layer))
        if found is not None:
            return whole(found)
        base, _, ending = role.partition(".")
        suffix = f".{ending}" if ending else ""
        if base in ("query", "key", "value"):
            fused = self._known.get((f"qkv{suffix}", layer))
            return None if fused is None else self._share(fused, base)
        if base in ("gate", "up"):
            fused = self._known.get((f"gate_up{suffix}", layer))
            if fused is not None:
                half = oriented_shape(fused)[0] // 2
                return Part(fused, 0, half) if base == "gate" else Part(fused, half, 2 * half)
        return None

    def need(self, role: str, layer: int | None = None) -> Part:
        found = self.get(role, layer)
        if found is None:
            where = "" if layer is None else f" of layer {layer}"
            raise CheckpointError(self.path, f"the weights lack the {role}{where}")
        return found

    def _share(self, fused: Assigned, base: str) -> Part:
        rows = oriented_shape(fused)[0]
        heads, kv = self.heads, self.key_heads
        if rows % (heads + 2 * kv):
            problem = f"{shown(fused.tensor.name)} has {rows} rows, which {heads} + 2 x {kv} heads cannot share"
            raise CheckpointError(self.path, problem)
        width = rows // (heads + 2 * kv)
        edges = {"query": (0, heads), "key": (heads, heads + kv), "value": (heads + kv, heads + 2 * kv)}
        first, last = edges[base]
        return Part(fused, first * width, last * width)

    def _regrouped(self, tensor: Tensor) -> Tensor:
        """Queries, keys and values of one head after the other: all queries first, then all keys, then all values."""
        rows = tensor.shape[0] if tensor.shape else 0
        if rows == 0 or rows % (3 * self.heads):
            problem = f"{shown(tensor.name)} has {rows} rows, which 3 x {self.heads} heads cannot share"
            raise CheckpointError(self.path, problem)

        def all_of() -> Matrix:
            values = tensor.array().reshape(self.heads, 3, rows // (3 * self.heads), -1)
            return np.ascontiguousarray(values.swapaxes(0, 1)).reshape(tensor.shape)

        return replace(
            tensor, rows=lambda start, stop: all_of()[start:stop], stored=lambda: memoryview(all_of().tobytes())
        )


def _added(tensor: Tensor, number: float) -> Tensor:
    """A gain that the file stores without the number that is added to it."""
    found = array_tensor(tensor.name, np.asarray(tensor.array(), np.float64) + number)
    return replace(found, storage=tensor.storage)
