"""PEFT adapters: LoRA factors on top of a base checkpoint. W = W0 + c B A, c = alpha/r (alpha/sqrt r for rsLoRA)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from certiformer.checkpoints.checkpoint_error import CheckpointError, shown
from certiformer.checkpoints.readers import open_checkpoint
from certiformer.checkpoints.sizes import sizes
from certiformer.checkpoints.tensors import Checkpoint, Tensor, array_tensor
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import read_json

PREFIX = "base_model.model."
CONFIG = "adapter_config.json"


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """One adapted weight: rank r update c B A of the base tensor `name`."""

    name: str
    down: Tensor
    up: Tensor
    scale: float
    transposed: bool

    @property
    def rank(self) -> int:
        return self.down.shape[0]

    @property
    def parameters(self) -> int:
        return self.rank * (self.up.shape[0] + self.down.shape[1])

    def update(self) -> Any:
        """c B A, oriented as the base tensor is stored."""
        product = self.scale * (np.asarray(self.up.array(), np.float64) @ np.asarray(self.down.array(), np.float64))
        return product.T if self.transposed else product


@dataclass(frozen=True, slots=True, eq=False)
class Adapter:
    """The base, the adapted weights, and the network they make together."""

    path: Path
    base: Checkpoint
    merged: Checkpoint
    factors: tuple[Factors, ...]

    @property
    def ranks(self) -> dict[str, int]:
        """The rank of the update, by the name of the adapted tensor."""
        return {one.name: one.rank for one in self.factors}

    def as_json(self, nats: float) -> dict[str, Any]:
        """Rank and size of every update; `nats` is ln N(1/4) of the class of such adapters on this base.

        A certificate by one scale of a cover needs ln N below about n/10 (its deviation alone is then 0.2 to 0.3).
        """
        rows: list[dict[str, Any]] = []
        for one in self.factors:
            size = sizes(one.update())
            rows.append(
                {
                    "name": shown(one.name),
                    "rank": one.rank,
                    "spectral": size.spectral,
                    "frobenius": size.frobenius,
                    "parameters": one.parameters,
                }
            )
        parameters = sum(one.parameters for one in self.factors)
        return {
            "base": str(self.base.path),
            "parameters": parameters,
            "nats": nats,
            "nats_per_parameter": nats / parameters,
            "n_that_would_do": math.ceil(10.0 * nats),
            "certified": False,
            "updates": rows,
        }


def is_adapter(path: Path) -> bool:
    return path.is_dir() and (path / CONFIG).is_file()


def read_adapter(path: Path, base: Path | None) -> Adapter:
    """LoRA factors and their base; other kinds of adapters are named and refused."""
    config = read_json(path / CONFIG, CONFIG, unique=True)
    kind = config.get("peft_type", "LORA")
    if kind != "LORA":
        raise CheckpointError(path, f"an adapter of type {shown(kind)}; read here: LORA")
    for option in ("use_dora", "lora_bias"):
        if config.get(option):
            raise CheckpointError(path, f"{option} is on, which is not read here")
    named = config.get("base_model_name_or_path")
    chosen = base or (Path(str(named)) if named else None)
    if chosen is None or not chosen.exists():
        raise InputError("base", shown(chosen), "the checkpoint that the adapter was trained on", "Give --base PATH")
    ground = open_checkpoint(chosen)
    found = open_checkpoint(path)
    factors, rest = _factors(path, found, config, ground)
    tensors = dict(ground.tensors)
    for one in factors:
        tensor = tensors[one.name]
        update = one.update()
        if update.shape != tensor.shape:
            problem = f"the update of {shown(one.name)} has shape {update.shape}, the weight {tensor.shape}"
            raise CheckpointError(path, problem)
        tensors[one.name] = array_tensor(one.name, np.asarray(tensor.array(), np.float64) + update)
    for name, tensor in rest.items():
        if name in tensors and tensors[name].shape != tensor.shape:
            raise CheckpointError(path, f"{shown(name)} has shape {tensor.shape}, the base {tensors[name].shape}")
        tensors[name] = replace(tensor, name=name)
    remarks = (*ground.remarks, f"{len(factors)} weights adapted by {path.name}")
    merged = Checkpoint(path, f"LoRA on {ground.format}", tensors, ground.config, remarks)
    return Adapter(path, ground, merged, tuple(factors))


def _factors(
    path: Path, found: Checkpoint, config: Mapping[str, Any], ground: Checkpoint
) -> tuple[list[Factors], dict[str, Tensor]]:
    alpha = config.get("lora_alpha")
    if not isinstance(alpha, (int, float)) or isinstance(alpha, bool) or not math.isfinite(alpha):
        raise CheckpointError(path, f"{CONFIG}: lora_alpha is {shown(alpha)}, expected a number")
    transposed = bool(config.get("fan_in_fan_out", False))
    alphas = config.get("alpha_pattern") or {}
    factors: list[Factors] = []
    rest: dict[str, Tensor] = {}
    for name, tensor in found.tensors.items():
        bare = name.removeprefix(PREFIX)
        if ".lora_B." in bare:
            continue
        if ".lora_A." not in bare:
            rest[bare.replace(".modules_to_save", "").replace(".default", "")] = tensor
            continue
        module = bare.split(".lora_A.")[0]
        other = found.tensors.get(name.replace(".lora_A.", ".lora_B."))
        if other is None or len(other.shape) != 2 or len(tensor.shape) != 2 or other.shape[1] != tensor.shape[0]:
            raise CheckpointError(path, f"the factors of {shown(module)} do not fit each other")
        target = _target(ground, module)
        if target is None:
            raise CheckpointError(path, f"adapts {shown(module)}, which the base does not have", "Give --base PATH")
        rank = tensor.shape[0]
        own = next((value for key, value in alphas.items() if module.endswith(key)), alpha)
        scale = float(own) / (math.sqrt(rank) if config.get("use_rslora") else rank)
        factors.append(Factors(target, tensor, other, scale, transposed))
    if not factors:
        raise CheckpointError(path, "holds no LoRA factors")
    return factors, rest


def _target(ground: Checkpoint, module: str) -> str | None:
    """The base tensor of an adapted module; wrappers differ in the prefixes they put before its name."""
    pieces = module.split(".")
    for start in range(min(3, len(pieces))):
        name = ".".join(pieces[start:]) + ".weight"
        if name in ground.tensors:
            return name
    matches = [name for name in ground.tensors if name.endswith(f".{module}.weight")]
    return matches[0] if len(matches) == 1 else None
