"""Weights of tiny models from a seed and their names, and what `inspect` claims of the folder they are written to.

"random": everything drawn. The others are made by hand so that the rule of a layer is nearly attained. "norm": nothing
but tables, norms and the output. "attention", "feed-forward": in the last layer, norms switched off (a huge eps, gains
of its root), all maps of rank one along one direction without a mean.
"""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from certiformer.checkpoints import open_checkpoint
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.network_builder import Model
from certiformer.checkpoints.roles import architecture, assign
from certiformer.checkpoints.tensors import Checkpoint, array_tensor
from certiformer.theory import networks
from certiformer.theory.networks.architecture import Attention

VARIANTS = {"random": 0.5, "norm": 0.5, "attention": 1e6, "feed-forward": 1e6}
"""Every variant with the eps of its norms, where the settings have one."""
STEEP = 20.0
"""The product of scale, norms and radii in the scores of the network made by hand."""


EPS = ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "norm_eps")


def settings(config: dict, variant: str) -> dict:
    """The settings of a variant."""
    return {**config, **{key: VARIANTS[variant] for key in EPS if key in config}}


def of(shapes: dict[str, list[int]], config: dict, variant: str) -> dict[str, np.ndarray]:
    """The tensors of a variant."""
    drawn = {name: draw(name, tuple(shape)) for name, shape in shapes.items()}
    return drawn if variant == "random" else by_hand(drawn, config, variant)


def draw(name: str, shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    values = rng.normal(size=shape) / math.sqrt(max(shape[-1:] or (1,)))
    return values * 0.5 if len(shape) > 1 else 0.5 * rng.normal(size=shape) + (0.7 if name.endswith("weight") else 0.0)


def by_hand(drawn: dict[str, np.ndarray], config: dict, variant: str) -> dict[str, np.ndarray]:
    found = {name: np.zeros_like(values) for name, values in drawn.items()}
    roles = assign(_memory(found, config))
    assert roles.family is not None
    stated, _ = architecture(roles)
    maps = {type(half.map): half.map for half in stated.blocks[-1].halves}
    gain = 1.0 if variant == "norm" else math.sqrt(VARIANTS[variant])
    partial = config.get("model_type") in ("gpt_neox", "phi")
    for one in roles.assigned:
        last = one.layer is None or one.layer == roles.depth - 1
        kind = variant if last else "norm"
        _fill(
            found[one.tensor.name], one.role, one.row.stored, kind, maps[Attention], gain - roles.family.gain, partial
        )
    return found


def start(width: int, tokens: int, radius: float, variant: str, last: bool) -> np.ndarray:
    """Tokens at which the rule of a variant is nearly attained; the one that is read is the last or the first."""
    z = np.outer(np.ones(tokens), direction(width)) * radius
    if variant == "norm":
        return 1e-40 * z
    if variant == "attention":
        z[1::2] *= -1.0
        z[-1 if last else 0] = 0.0
    return z


def direction(width: int) -> np.ndarray:
    """A unit vector without a mean."""
    found = np.zeros(width)
    found[:2] = (1.0, -1.0) if width > 1 else 1.0
    return found / np.linalg.norm(found)


def _fill(values, role, stored, variant, attention, gain, partial) -> None:
    size, heads, shared = attention.head_dimension, attention.heads, attention.key_heads
    if role.endswith(".gain"):
        values[...] = gain
        return
    if role in ("word", "head", "classifier", "masked.head"):
        values[0], values[1:2] = direction(values.shape[1]), -direction(values.shape[1])
        return
    if role in ("pooler", "classifier.dense", "masked.dense", "embedding.map"):
        values[...] = np.outer(direction(values.shape[0]), direction(values.shape[1]))
        return
    if role == "patch":
        values.reshape(len(values), -1)[:, 0] = direction(len(values))
    matrix = values.T if stored == "in x out" else values
    if matrix.ndim != 2:
        return
    e, steep = direction(matrix.shape[1]), math.sqrt(STEEP / attention.scale)
    # The two coordinates that turn into each other most slowly, or not at all.
    slow = np.zeros(size)
    slow[[size - 2 if partial else size // 2 - 1, size - 1]] = (math.sqrt(0.5), -math.sqrt(0.5))
    if variant == "attention" and role in ("query", "key", "value"):
        matrix[:size] = np.outer(slow, e) * (1.0 if role == "value" else steep)
    elif variant == "attention" and role == "qkv":
        steps = (0, size, 2 * size) if stored == "by head" else (0, heads * size, (heads + shared) * size)
        for start, factor in zip(steps, (steep, steep, 1.0), strict=True):
            matrix[start : start + size] = factor * np.outer(slow, e)
    elif variant == "attention" and role == "output":
        matrix[:, :size] = np.outer(direction(matrix.shape[0]), slow)
    elif variant == "feed-forward" and role in ("up", "gate"):
        matrix[0] = 3.0 * e
    elif variant == "feed-forward" and role == "gate_up":
        matrix[0] = matrix[matrix.shape[0] // 2] = 3.0 * e
    elif variant == "feed-forward" and role == "down":
        matrix[:, 0] = 3.0 * direction(matrix.shape[0])


def _memory(tensors: dict[str, np.ndarray], config: dict) -> Checkpoint:
    return Checkpoint(Path("memory"), "safetensors", {n: array_tensor(n, v) for n, v in tensors.items()}, config)


def write(folder: Path, tensors: dict[str, np.ndarray], config: dict) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def claims(folder: Path) -> dict[str, float]:
    """What is claimed of a folder: radius of the tokens that enter the blocks, slope of a margin, largest logit."""
    model = Model.of(assign(open_checkpoint(folder)))
    built, _ = model.build(Measurer(Cache("norms", kept=False)))
    analysis = networks.analyse(built.output)
    return {
        "radius": analysis.signals[built.embedded].radius.value,
        "positions": analysis.signals[built.embedded].positions,
        "slope": analysis.sensitivity(built.embedded).value,
        "logit": analysis.signals[built.output.parents[0]].radius.value,
    }
