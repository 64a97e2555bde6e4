"""The matrices inside tensors: oriented outputs x inputs, fused ones taken apart, heads cut out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.checkpoints.errors import CheckpointError, shown
from certiformer.checkpoints.roles import Assigned, Roles, Settings
from certiformer.checkpoints.tensors import Tensor

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

    def matrix(self) -> Matrix | Tensor:
        """The rows as an array in the stored precision; a whole table stays on disk."""
        tensor = self.assigned.tensor
        if len(tensor.shape) == 2 and self.assigned.row.stored != "in x out":
            if (self.start, self.stop) == (0, tensor.shape[0]):
                return tensor if self.assigned.row.stored == "rows" else tensor.array()
            return tensor[self.start : self.stop]
        return oriented(self.assigned)[self.start : self.stop]

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


def oriented_shape(assigned: Assigned) -> tuple[int, int]:
    """(outputs, inputs) of a tensor; vectors are columns, convolutions maps on flattened patches."""
    shape = assigned.tensor.shape
    if assigned.role == "position" and len(shape) == 3:
        return shape[1], shape[2]
    if assigned.role == "class_token":
        return int(np.prod(shape)), 1
    if len(shape) <= 1:
        return (shape[0] if shape else 1), 1
    if len(shape) == 2:
        return (shape[1], shape[0]) if assigned.row.stored == "in x out" else (shape[0], shape[1])
    return shape[0], int(np.prod(shape[1:]))


def oriented(assigned: Assigned) -> Matrix:
    """The tensor as the matrix that acts on columns."""
    values = assigned.tensor.array()
    if values.ndim == 2 and assigned.row.stored == "in x out":
        return values.T
    return values.reshape(oriented_shape(assigned))


def whole(assigned: Assigned) -> Part:
    return Part(assigned, 0, oriented_shape(assigned)[0])


class Parts:
    """Weights by role: fused tensors answer for their shares."""

    def __init__(self, roles: Roles, settings: Settings) -> None:
        self.roles, self.settings = roles, settings
        # One lookup table: a role is asked for once per layer.
        self._known = {(one.role, one.layer): one for one in roles.assigned}

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
            raise CheckpointError(self.roles.checkpoint.path, f"the weights lack the {role}{where}")
        return found

    def _share(self, fused: Assigned, base: str) -> Part:
        rows = oriented_shape(fused)[0]
        heads, kv = self.settings.heads, self.settings.kv_heads
        if rows % (heads + 2 * kv):
            problem = f"{shown(fused.tensor.name)} has {rows} rows, which {heads} + 2 x {kv} heads cannot share"
            raise CheckpointError(self.roles.checkpoint.path, problem)
        width = rows // (heads + 2 * kv)
        edges = {"query": (0, heads), "key": (heads, heads + kv), "value": (heads + kv, heads + 2 * kv)}
        first, last = edges[base]
        return Part(fused, first * width, last * width)
