"""Which tensor is what: a checkpoint read with the table of its family, and the settings no tensor shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certiformer.checkpoints.errors import CheckpointError, shown
from certiformer.checkpoints.families import COMMON_PREFIXES, FAMILIES, REFUSED, Family, Row
from certiformer.checkpoints.tensors import Checkpoint, Tensor
from certiformer.core.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """A tensor with its role: the layer it belongs to (None outside layers) and how it is stored."""

    tensor: Tensor
    role: str
    layer: int | None
    row: Row


@dataclass(frozen=True, slots=True)
class Settings:
    """What config.json, the GGUF header or the caller says about the architecture."""

    heads: int
    kv_heads: int
    layers: int
    eps: float
    activation: str
    positions: int
    norm_first: bool
    head_dimension: int | None = None


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

    @property
    def depth(self) -> int:
        """The number of different layers in the file."""
        return 1 + max((one.layer for one in self.assigned if one.layer is not None), default=-1)


def assign(checkpoint: Checkpoint) -> Roles:
    """The family that config.json names; where it names none, the one whose table knows most tensors.

    A model type that stands in no table is measured but not read with another's: equal names may compute other things.
    """
    named = str(checkpoint.config.get("model_type", checkpoint.config.get("general.architecture", "")))
    everything = tuple(checkpoint.tensors.values())
    candidates = [family for family in FAMILIES if named in family.model_types]
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


def settings(roles: Roles, given: Mapping[str, Any] | None = None) -> Settings:
    """Settings from the caller first, then the file's own, then the family's; what nobody says is asked for."""
    family, config = roles.family, roles.checkpoint.config
    assert family is not None
    architecture = str(config.get("general.architecture", ""))
    flat = {key.removeprefix(f"{architecture}."): value for key, value in config.items()} if architecture else config

    def find(name: str, kind: type, fallback: Any = None) -> Any:
        if given and given.get(name) is not None:
            return given[name]
        for key in family.config.get(name, ()):
            if flat.get(key) is not None:
                return _checked(roles, key, flat[key], kind)
        return family.defaults.get(name, fallback)

    def asked(name: str, option: str) -> InputError:
        return InputError(
            name,
            "nothing",
            f"a value: it is not in {shown(roles.checkpoint.path.name)}",
            f"Give {option}, or put config.json beside the weights",
        )

    heads = find("heads", int)
    if heads is None:
        raise asked("heads", "--heads")
    activation = find("activation", str)
    if activation is None:
        raise asked("activation", "--activation relu or gelu")
    norm_first = find("norm_first", bool, None if family.inputs == "tokens" else family.normalisation == "pre")
    if norm_first is None:
        raise asked("norm_first", "--norm-first or --norm-last")
    position = roles.get("position")
    positions = find("positions", int, position.tensor.shape[-2] if position and position.tensor.shape else 512)
    if position is not None and len(position.tensor.shape) >= 2:
        positions = position.tensor.shape[-2]
    layers = find("layers", int, roles.depth)
    if not family.shared_layers and layers != roles.depth:
        raise CheckpointError(
            roles.checkpoint.path, f"config.json says {layers} layers, the weights have {roles.depth}"
        )
    if not 1 <= layers <= 10_000 or not 1 <= heads <= 10_000:
        raise CheckpointError(roles.checkpoint.path, f"{layers} layers with {heads} heads")
    eps = float(find("eps", float))
    if not 0 < eps < math.inf:
        raise CheckpointError(roles.checkpoint.path, f"a normalisation with eps = {eps}")
    kv = find("kv_heads", int, heads)
    if kv < 1 or heads % kv:
        raise CheckpointError(roles.checkpoint.path, f"{heads} heads cannot share {kv} key heads")
    return Settings(
        heads=heads,
        kv_heads=kv,
        layers=layers,
        eps=eps,
        activation=str(activation),
        positions=max(1, positions),
        norm_first=bool(norm_first),
        head_dimension=find("head_dimension", int),
    )


def _checked(roles: Roles, key: str, value: Any, kind: type) -> Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise CheckpointError(roles.checkpoint.path, f"config.json: {key} is {shown(value)}, expected {kind.__name__}")
    return value
