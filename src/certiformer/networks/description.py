"""From a description (TOML, or a dictionary of the same shape) to a `Network`. The schema is in docs/compose.md."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from certiformer.core.errors import InputError
from certiformer.networks import core_attention, joins, maps, outputs, routing, sources
from certiformer.networks.attention import Head, attention
from certiformer.networks.graph import Node
from certiformer.networks.maps import Activation
from certiformer.networks.network import Network, require
from certiformer.networks.weights import Reference, Weight

ACTIVATIONS: dict[str, Activation] = {
    "identity": maps.IDENTITY,
    "relu": maps.RELU,
    "tanh": maps.TANH,
    "gelu": maps.GELU,
    "gelu_tanh": maps.GELU_TANH,
    "silu": maps.SILU,
    "quick_gelu": Activation("quick_gelu", maps.SILU.lipschitz, 1.0),
}
NOT_LIPSCHITZ = {
    "moe": "top-k routing is not continuous at ties, so no weight error is small enough: two experts +-c jump by 2c; "
    "give the block `experts`, `chosen` and a `gap` to be counted, or no `chosen` for soft routing",
    "hard_attention": "an argmax over scores is not continuous at ties",
    "batch_norm": "statistics of the batch make one example's output depend on the others",
    "l2_norm": "x/||x|| is not Lipschitz at 0: use `unit` with a positive `least`",
}
_BOUNDS = tuple(
    field.name for field in fields(Weight) if field.name not in ("name", "shape", "reference", "proper_only", "cover")
)
_EXPERT = ("default", "up", "gate", "down", "bias")
_TOP = ("name", "samples", "radii", "origin", "tokens", "embedding", "weights", "blocks", "readout", "loss")
_BLOCK = (
    "kind",
    "repeat",
    "heads",
    "key_heads",
    "head_dimension",
    "scale",
    "rotary",
    "cap",
    "alibi",
    "qk_norm",
    "merged",
    "activation",
    "hidden",
    "gated",
    "experts",
    "chosen",
    "gap",
    "norm",
    "normalisation",
    "biases",
    "residual",
    "project",
    "tied",
    "weights",
)
_NORM = ("kind", "eps", "trained", "floor", "radius", "shift")


def load(path: str | Path) -> Network:
    """A network from a TOML file."""
    path = Path(path)
    try:
        description = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError("file", str(path), f"TOML ({error})") from error
    return build({"name": path.stem, **description})


def build(description: Mapping[str, Any]) -> Network:
    """A network from a description."""
    require(description, _TOP, "network")
    weights = description.get("weights", {})
    z = _source(description, weights)
    number = 0
    for index, block in enumerate(description.get("blocks", [])):
        _refuse(block.get("kind", "transformer"))
        require(block, _BLOCK, f"blocks[{index}]")
        for _ in range(_count(block, "repeat", 1)):
            name = f"tied{index}" if block.get("tied") else str(number)
            z = _Block(block, {**weights, **block.get("weights", {})}, name, _dimension(description, {}))(z)
            number += 1
    z = _end(description, weights, z)
    samples = description.get("samples")
    return Network(
        str(description.get("name", "network")),
        z,
        None if samples is None else int(samples),
        tuple(float(eps) for eps in description.get("radii", (1.0, 0.1, 0.01))),
        str(description.get("origin", "stated")),
    )


def _refuse(kind: str) -> None:
    if kind in NOT_LIPSCHITZ:
        raise InputError("kind", kind, "a layer that is Lipschitz", NOT_LIPSCHITZ[kind])


def _weight(bounds: Mapping[str, Any], role: str, name: str, shape: tuple[int, int]) -> Weight:
    """The weight `name` with the bounds of its role, else those given for `default`."""
    own = bounds.get(role, bounds.get("default"))
    if own is None:
        raise InputError(f"weights.{role}", None, "norm bounds", f"Add [weights.{role}] or [weights.default]")
    require(own, (*_BOUNDS, "reference"), f"weights.{role}")
    values: dict[str, Any] = {
        key: tuple(value) if key == "blocks" else value for key, value in own.items() if key != "reference"
    }
    reference = Reference(**own["reference"]) if "reference" in own else None
    return Weight(name, shape, reference=reference, **values)


def _source(description: Mapping[str, Any], weights: Mapping[str, Any]) -> Node:
    if ("tokens" in description) == ("embedding" in description):
        raise InputError("network", "its source", "either [tokens] (fixed) or [embedding] (a trained table)")
    if "tokens" in description:
        given = dict(description["tokens"])
        require(given, ("dimension", "positions", "radius", "half_diameter", "l1", "sup"), "tokens")
        return sources.tokens(given.pop("dimension"), given.pop("radius", math.inf), **given)
    given = description["embedding"]
    require(given, ("dimension", "positions", "entries", "learned_positions", "scale", "normalisation"), "embedding")
    dimension, positions = _count(given, "dimension"), _count(given, "positions")
    z = sources.embedding(
        _weight(weights, "table", "table", (_count(given, "entries"), dimension)), positions=positions
    )
    if given.get("learned_positions", False):
        table = _weight(weights, "position_table", "position_table", (positions, dimension))
        z = joins.add(z, sources.embedding(table, positions=positions))
    if "scale" in given:
        z = maps.scale(z, given["scale"])
    if "normalisation" in given:
        z = _normalise(z, given["normalisation"], weights, "embedding.norm", dimension)
    return z


def _end(description: Mapping[str, Any], weights: Mapping[str, Any], z: Node) -> Node:
    given = description.get("readout", {})
    require(given, ("pool", "classes", "bias", "cap", "dimension", "normalisation", "tied"), "readout")
    dimension = _dimension(description, given)
    if "normalisation" in given:
        z = _normalise(z, given["normalisation"], weights, "final.norm", dimension)
    pools = {"cls": joins.pick, "last": joins.pick, "mean": joins.mean_pool, "max": joins.max_pool, "none": None}
    pool = given.get("pool", "cls")
    if pool not in pools:
        raise InputError("readout.pool", pool, f"one of {', '.join(pools)}")
    chosen = pools[pool]
    z = z if chosen is None else chosen(z)
    classes = _count(given, "classes", 1)
    name = "table" if given.get("tied", False) else "readout"
    weight = _weight(weights, name, name, (classes, dimension))
    shift = _weight(weights, "bias", "readout.bias", (classes, 1)) if given.get("bias", False) else None
    if classes == 1:
        z = outputs.readout(z, weight, shift)
    else:
        z = outputs.vocabulary(z, weight, shift, cap=float(given.get("cap", math.inf)))
    if "loss" in description:
        loss = description["loss"]
        require(loss, ("lipschitz", "bound"), "loss")
        z = outputs.loss(z, float(loss.get("lipschitz", 1.0)), float(loss.get("bound", math.inf)))
    elif classes > 1:
        raise InputError("loss", None, "a loss for several classes", "Add [loss] with lipschitz and bound")
    return joins.mean_pool(z) if pool == "none" else z


def _dimension(description: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    source = description.get("tokens", description.get("embedding", {}))
    return int(given.get("dimension", source.get("dimension", 0)))


def _normalise(z: Node, given: Mapping[str, Any], weights: Mapping[str, Any], name: str, dimension: int) -> Node:
    require(given, _NORM, "normalisation")
    kind = given.get("kind", "layer_norm")
    _refuse(kind)
    if kind == "projection":
        return maps.project(z, float(given.get("radius", 1.0)))
    gain = _weight(weights, "gain", f"{name}.gain", (dimension, 1)) if given.get("trained", True) else None
    eps, floor = float(given.get("eps", 1e-5)), float(given.get("floor", 0.0))
    if kind == "rms_norm":
        return maps.rms_norm(z, gain, eps=eps, floor=floor)
    if kind == "layer_norm":
        shifted = given.get("trained", True) and given.get("shift", True)
        shift = _weight(weights, "shift", f"{name}.shift", (dimension, 1)) if shifted else None
        return maps.layer_norm(z, gain, shift, eps=eps, floor=floor)
    raise InputError("normalisation.kind", kind, "layer_norm, rms_norm or projection")


def _count(given: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = given.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(key, value, "a count, at least 1")
    return value


@dataclass(frozen=True)
class _Block:
    """One block: attention, feed-forward, or both with residuals and normalisations."""

    given: Mapping[str, Any]
    weights: Mapping[str, Any]
    name: str
    width: int

    def __call__(self, z: Node) -> Node:
        kind = self.given.get("kind", "transformer")
        if kind == "transformer":
            return self._sublayer(self._sublayer(z, self._attention, "attention"), self._feed_forward, "mlp")
        if kind == "attention":
            return self._sublayer(z, self._attention, "attention")
        if kind == "feed_forward":
            return self._sublayer(z, self._feed_forward, "mlp")
        raise InputError("blocks.kind", kind, "transformer, attention or feed_forward")

    def _sublayer(self, z: Node, inner: Callable[[Node, int], Node], part: str) -> Node:
        where = self.given.get("norm", "none")
        if where not in ("pre", "post", "both", "none"):
            raise InputError("blocks.norm", where, "pre, post, both or none")
        norm, label = self.given.get("normalisation", {}), f"{self.name}.{part}.norm"
        width = self.width
        out = inner(_normalise(z, norm, self.weights, label, width) if where in ("pre", "both") else z, width)
        if where == "both":
            out = _normalise(out, norm, self.weights, f"{label}2", width)
        if self.given.get("residual", True):
            out = joins.add(z, out)
        if self.given.get("project", False):
            out = maps.project(out)
        return _normalise(out, norm, self.weights, label, width) if where == "post" else out

    def _attention(self, z: Node, width: int) -> Node:
        given = self.given
        heads = _count(given, "heads", 1)
        key_heads = _count(given, "key_heads", heads)
        size = _count(given, "head_dimension", max(1, width // heads))
        if given.get("alibi", "fixed") not in ("fixed", "trained"):
            raise InputError("blocks.alibi", given["alibi"], "fixed (changes nothing) or trained (a slope per head)")
        plain = not (given.get("qk_norm", False) or "cap" in given or given.get("alibi") == "trained")
        scale = float(given.get("scale", 1.0 / math.sqrt(size)))
        built = [self._head(z, width, size, h, h * key_heads // heads, scale, plain) for h in range(heads)]
        output = self._weight("output", (width, heads * size)) if heads > 1 or not given.get("merged", False) else None
        shift = self._weight("bias", (width, 1), "output.bias") if given.get("biases", False) and output else None
        if plain:
            return attention(z, [one for one in built if isinstance(one, Head)], output=output, output_bias=shift)
        if output is None:
            raise InputError("blocks.merged", True, "separate matrices with qk_norm, cap or trained slopes")
        return core_attention.join([one for one in built if isinstance(one, Node)], output, shift)

    def _head(self, z: Node, width: int, size: int, h: int, group: int, scale: float, plain: bool) -> Head | Node:
        given, biases = self.given, self.given.get("biases", False)
        if given.get("merged", False):
            value = self._weight("value", (size, width), f"value.{group}")
            return Head(value=value, score=self._weight("score", (width, width), f"score.{h}"), scale=scale)
        query, key, value = (
            self._weight(role, (size, width), f"{role}.{index}")
            for role, index in (("query", h), ("key", group), ("value", group))
        )
        shifts = {
            role: self._weight("bias", (size, 1), f"{role}.{index}.bias") if biases else None
            for role, index in (("query", h), ("key", group), ("value", group))
        }
        if plain:
            return Head(
                value=value,
                query=query,
                key=key,
                scale=scale,
                query_bias=shifts["query"],
                key_bias=shifts["key"],
                value_bias=shifts["value"],
                rotary=bool(given.get("rotary", False)),
            )
        q, k = maps.linear(z, query, shifts["query"]), maps.linear(z, key, shifts["key"])
        if given.get("qk_norm", False):
            norm = {"kind": "rms_norm", "eps": given.get("normalisation", {}).get("eps", 1e-6)}
            q = _normalise(q, norm, self.weights, f"{self.name}.query.norm", size)
            k = _normalise(k, norm, self.weights, f"{self.name}.key.norm", size)
        return core_attention.attend(
            q,
            k,
            maps.linear(z, value, shifts["value"]),
            scale=scale,
            rotary=bool(given.get("rotary", False)),
            cap=float(given.get("cap", math.inf)),
            biased="alibi" in given,
            slope=self._weight("slope", (1, 1), f"slope.{h}") if given.get("alibi") == "trained" else None,
        )

    def _feed_forward(self, z: Node, width: int) -> Node:
        given = self.given
        if "experts" not in given:
            return self._perceptron(z, width)
        experts = _count(given, "experts")
        alternatives = {
            role: {**bounds, "alternatives": experts} for role, bounds in self.weights.items() if role in _EXPERT
        }
        expert = replace(self, weights={**self.weights, **alternatives})
        router = self._weight("router", (experts, width))
        chosen, gap = _count(given, "chosen", experts), float(given.get("gap", 0.0))
        return routing.route(z, expert._perceptron(z, width), router, chosen=chosen, gap=gap)

    def _perceptron(self, z: Node, width: int) -> Node:
        given = self.given
        hidden = _count(given, "hidden", 4 * width)
        name = given.get("activation", "gelu")
        if name != "relu2" and name not in ACTIVATIONS:
            raise InputError("blocks.activation", name, f"one of {', '.join(sorted([*ACTIVATIONS, 'relu2']))}")
        up, down = self._weight("up", (hidden, width)), self._weight("down", (width, hidden))
        up_shift = self._weight("bias", (hidden, 1), "up.bias") if given.get("biases", False) else None
        down_shift = self._weight("bias", (width, 1), "down.bias") if given.get("biases", False) else None
        if given.get("gated", False):
            gate = self._weight("gate", (hidden, width))
            return joins.gated_feed_forward(z, gate, up, down, ACTIVATIONS[name])
        if name == "relu2":
            return maps.linear(maps.squared_relu(maps.linear(z, up, up_shift)), down, down_shift)
        return joins.feed_forward(z, up, down, ACTIVATIONS[name], up_shift=up_shift, down_shift=down_shift)

    def _weight(self, role: str, shape: tuple[int, int], name: str | None = None) -> Weight:
        return _weight(self.weights, role, f"{self.name}.{name or role}", shape)
