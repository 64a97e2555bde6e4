"""Which tensor is what: a checkpoint read with the table of its family, and the architecture that the family states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from certiformer.checkpoints.checkpoint_error import CheckpointError, NoNetwork, shown
from certiformer.checkpoints.families import COMMON_PREFIXES, FAMILIES, REFUSED, Family, Row
from certiformer.checkpoints.keys import Keys
from certiformer.checkpoints.tensors import Checkpoint, Tensor
from certiformer.theory.networks.architecture import Architecture


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """A tensor with its role: the layer it belongs to (None outside layers) and how it is stored."""

    tensor: Tensor
    role: str
    layer: int | None
    row: Row


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """A recognised checkpoint. `unknown` holds what no row of the table matches: listed, never ignored."""

    checkpoint: Checkpoint
    family: Family | None
    assigned: tuple[Assigned, ...]
    unknown: tuple[Tensor, ...]
    reason: str = ""
    """Why there is no family."""

    def get(self, role: str, layer: int | None = None) -> Assigned | None:
        for one in self.assigned:
            if one.role == role and one.layer == layer:
                return one
        return None

    def without(self, unused: Sequence[str]) -> Roles:
        """The same without the tensors that play no part: names or patterns."""

        def stays(tensor: Tensor) -> bool:
            return not any(fnmatchcase(tensor.name, pattern) for pattern in unused)

        assigned = tuple(one for one in self.assigned if stays(one.tensor))
        return replace(self, assigned=assigned, unknown=tuple(tensor for tensor in self.unknown if stays(tensor)))

    @property
    def depth(self) -> int:
        """The number of different layers in the file."""
        return 1 + max((one.layer for one in self.assigned if one.layer is not None), default=-1)


def oriented_shape(assigned: Assigned) -> tuple[int, int]:
    """(outputs, inputs) of a tensor; vectors are columns, convolutions maps on flattened patches."""
    shape = assigned.tensor.shape
    if assigned.role == "position" and len(shape) == 3:
        return shape[1], shape[2]
    if assigned.role in ("class_token", "distillation_token"):
        return math.prod(shape), 1
    if len(shape) <= 1:
        return (shape[0] if shape else 1), 1
    if len(shape) == 2:
        return (shape[1], shape[0]) if assigned.row.stored == "in x out" else (shape[0], shape[1])
    return shape[0], math.prod(shape[1:])


def assign(checkpoint: Checkpoint) -> Roles:
    """The family that config.json names; where it names none, the one whose table knows most tensors.

    A model type that stands in no table is measured but not read with another's: equal names may compute other things.
    """
    named = str(checkpoint.config.get("model_type", checkpoint.config.get("general.architecture", "")))
    everything = tuple(checkpoint.tensors.values())
    candidates = [family for family in FAMILIES if named in family.model_types]
    if checkpoint.format == "gguf":
        candidates = [family for family in candidates if named in family.gguf]
    if named and not candidates:
        why = REFUSED.get(named, "stands in no table: what it computes with these tensors is not known")
        return Roles(checkpoint, None, (), everything, f"model type {shown(named)} {why}")
    candidates = candidates or list(FAMILIES)
    best: Roles | None = None
    for family in candidates:
        found = _with(checkpoint, family)
        whole = {one.role.split(".")[0] for one in found.assigned if one.layer is not None}
        scores = {"qkv"} <= whole or {"query", "key", "value"} <= whole
        if not (scores and {"output", "down"} <= whole and whole & {"up", "gate_up"}):
            continue
        if best is None or len(found.unknown) < len(best.unknown):
            best = found
    return best or Roles(checkpoint, None, (), everything, "no family's table fits these names")


def _with(checkpoint: Checkpoint, family: Family) -> Roles:
    patterns = family.patterns()
    told = checkpoint.config.get("inner_group_num", 1)
    inner = told if isinstance(told, int) and 0 < told < 10_000 else 1
    prefixes = (*family.prefixes, *COMMON_PREFIXES)
    assigned: list[Assigned] = []
    unknown: list[Tensor] = []
    taken: dict[tuple[str, int | None], str] = {}
    for name, tensor in checkpoint.tensors.items():
        found = None
        for form in _forms(name, prefixes):
            found = next(
                ((match, role, row) for pattern, role, row in patterns if (match := pattern.fullmatch(form))), None
            )
            if found:
                break
        if found is None:
            unknown.append(tensor)
            continue
        match, role, row = found
        layer = int(match["layer"]) if "layer" in match.re.groupindex else None
        if layer is not None and "inner" in match.re.groupindex:
            layer = layer * inner + int(match["inner"])
        if role != "buffer":
            other = taken.setdefault((role, layer), name)
            if other != name:
                raise CheckpointError(
                    checkpoint.path,
                    f"tensors {shown(other)} and {shown(name)} both claim to be {role} of layer {layer}",
                )
        assigned.append(Assigned(tensor, role, layer, row))
    return Roles(checkpoint, family, tuple(assigned), tuple(unknown))


def _forms(name: str, prefixes: tuple[str, ...]) -> list[str]:
    """The name, and the name without the prefixes that wrappers put before it."""
    forms = [name]
    for _ in range(3):
        prefix = next((prefix for prefix in prefixes if forms[-1].startswith(prefix)), None)
        if prefix is None:
            break
        forms.append(forms[-1][len(prefix) :])
    return forms


def architecture(
    roles: Roles, given: Mapping[str, Any] | None = None, unused: Sequence[str] = ()
) -> tuple[Architecture, Keys]:
    """What the file computes, as its family states it; what nobody says is asked for, what nobody reads is refused."""
    if roles.family is None:
        raise NoNetwork(roles.checkpoint.path, roles.reason)

    def shape(role: str) -> tuple[int, int] | None:
        found = roles.get(role) or roles.get(role, 0) or roles.get(role, 1)
        return None if found is None else oriented_shape(found)

    keys = Keys(roles.checkpoint.path, roles.checkpoint.config, shape, given, unused)
    found = roles.family.architecture(keys, roles.depth)
    keys.finish()
    return found, keys
