"""An architecture as a value, and the one builder that makes a network of it.

Whoever reads a file (TOML, config.json, a checkpoint) states an `Architecture`: every norm with its kind, eps and
place, every scale, rotation, bias, tie. The builder asks a `Weights` for exactly the matrices that it implies, by role
and shape. So the network does not depend on which tensors happen to be in a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from certiformer.theory.core.errors import InputError
from certiformer.theory.networks import core_attention, joins, maps, outputs, routing, sources
from certiformer.theory.networks.attention_layer import Head, attention
from certiformer.theory.networks.graph import Node
from certiformer.theory.networks.maps import Activation
from certiformer.theory.networks.weights import Weight

_QUICK = Activation("quick_gelu", maps.SILU.lipschitz, 1.0)
ACTIVATIONS: Mapping[str, Activation | None] = {
    "identity": maps.IDENTITY,
    "relu": maps.RELU,
    "relu2": None,
    "tanh": maps.TANH,
    "sigmoid": maps.SIGMOID,
    "gelu": maps.GELU,
    "gelu_tanh": maps.GELU_TANH,
    "gelu_new": maps.GELU_TANH,
    "gelu_fast": maps.GELU_TANH,
    "gelu_pytorch_tanh": maps.GELU_TANH,
    "silu": maps.SILU,
    "swish": maps.SILU,
    "quick_gelu": _QUICK,
}
"""By the names that files use; `relu2`, max(x, 0)^2, is a layer of its own."""


def activate(z: Node, name: str) -> Node:
    """The activation of that name on every coordinate."""
    sigma = ACTIVATIONS[name]
    return maps.squared_relu(z) if sigma is None else maps.activation(z, sigma)


@dataclass(frozen=True, slots=True)
class Norm:
    """A normalisation. `shift` is LayerNorm's; `radius` that of a projection on a ball, which has no weights."""

    kind: Literal["layer_norm", "rms_norm", "projection"] = "layer_norm"
    eps: float = 1e-5
    gain: bool = True
    shift: bool = False
    floor: float = 0.0
    radius: float = 1.0


@dataclass(frozen=True, slots=True)
class Attention:
    """Self-attention. `scale` multiplies the scores, all factors of rotations included; `norm` is on queries and keys.

    `biases`: which of query, key, value, output have one. `alibi`: "fixed" or "trained" slopes, "" for none.
    """

    heads: int
    key_heads: int
    head_dimension: int
    scale: float
    rotary: bool = False
    cap: float = math.inf
    alibi: str = ""
    norm: Norm | None = None
    merged: bool = False
    biases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.heads % self.key_heads:
            raise InputError("key heads", self.key_heads, f"a count that divides the {self.heads} heads")


@dataclass(frozen=True, slots=True)
class FeedForward:
    """Two maps and an activation, or three where it is gated; `experts` of them behind a router."""

    hidden: int
    activation: str
    gated: bool = False
    biases: tuple[str, ...] = ()
    experts: int = 0
    chosen: int = 0
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Half:
    """One map of a block with its norms: `before` it, `inside` the residual connection, `after` the sum."""

    map: Attention | FeedForward
    before: Norm | None = None
    inside: Norm | None = None
    after: Norm | None = None
    layer_scale: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Attention, feed-forward, or both. Blocks with one `label` share their weights.

    `parallel`: both halves read the input of the block; "one norm": the first half's, for both.
    """

    label: str
    halves: tuple[Half, ...]
    residual: bool = True
    residual_scale: float = 1.0
    project: bool = False
    parallel: Literal["", "two norms", "one norm"] = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Fixed inputs."""

    dimension: int
    positions: int
    radius: float
    half_diameter: float = math.inf
    l1: float = math.inf
    sup: float = math.inf


@dataclass(frozen=True, slots=True)
class Tables:
    """Trained tables by role with their entries, added up; then a scale, a norm, a map to the width of the blocks."""

    dimension: int
    positions: int
    entries: Mapping[str, int]
    scale: float = 1.0
    norm: Norm | None = None
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Patches:
    """Patches of an image through one map; trained tokens before them; a trained position for each."""

    dimension: int
    count: int
    radius: float
    bias: bool = True
    tokens: tuple[str, ...] = ("class_token",)

    @property
    def positions(self) -> int:
        return self.count + len(self.tokens)


@dataclass(frozen=True, slots=True)
class Dense:
    """A map between the last block and the output, with its activation and norm."""

    role: str
    outputs: int
    activation: str
    norm: Norm | None = None
    bias: bool = True


@dataclass(frozen=True, slots=True)
class End:
    """Norm, pooling, dense layers, and the output: `role` names its matrix ("word" is the tied table).

    Without a role the output is a readout of unit norm. `loss`: its Lipschitz constant and bound; None for no loss.
    """

    norm: Norm | None = None
    pool: Literal["cls", "last", "mean", "max", "none"] = "cls"
    dense: tuple[Dense, ...] = ()
    role: str = ""
    classes: int = 1
    bias: str = ""
    scale: float = 1.0
    cap: float = math.inf
    loss: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Architecture:
    """Everything about a network but its weights."""

    width: int
    source: Tokens | Tables | Patches
    blocks: tuple[Block, ...]
    end: End

    @property
    def first(self) -> tuple[Attention, FeedForward]:
        """The maps of the first block of a Transformer, for those who describe it."""
        a, f = (half.map for half in self.blocks[0].halves)
        assert isinstance(a, Attention)
        assert isinstance(f, FeedForward)
        return a, f


class Weights(Protocol):
    """Where weights come from: norms that somebody states or assumes, or the tensors of a file."""

    def weight(
        self,
        role: str,
        shape: tuple[int, int],
        block: str = "",
        *,
        head: tuple[int, int] | None = None,
        blocks: int = 0,
        alternatives: int = 1,
    ) -> Weight:
        """The weight of a role: of one head of several, with the norms of so many column blocks, one of so many."""
        ...

    def folds(self, norm: str, block: str, readers: Sequence[tuple[str, bool]], *, shift: bool) -> bool:
        """Whether gain and shift of a norm are part of the weights that read it (role, has a bias)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Traced:
    """One block of the network: the signal before it, between its halves, and after it."""

    before: Node
    middle: Node
    after: Node


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """The network, the signal that enters the first block, and the blocks."""

    output: Node
    embedded: Node
    blocks: tuple[Traced, ...]


def build(architecture: Architecture, weights: Weights, *, fused: bool = False) -> Built:
    """The network of an architecture. `fused`: one weight for the queries (keys, values) of all heads together."""
    builder = _Builder(architecture, weights, fused)
    z = embedded = builder.source()
    blocks = []
    for block in architecture.blocks:
        traced = builder.block(block, z)
        blocks.append(traced)
        z = traced.after
    return Built(builder.end(z), embedded, tuple(blocks))


@dataclass(frozen=True)
class _Builder:
    architecture: Architecture
    weights: Weights
    fused: bool

    @property
    def width(self) -> int:
        return self.architecture.width

    # --- the two ends ----------------------------------------------------------------------------------------------

    def source(self) -> Node:
        given, weight = self.architecture.source, self.weights.weight
        if isinstance(given, Tokens):
            return sources.tokens(
                given.dimension,
                given.radius,
                positions=given.positions,
                half_diameter=given.half_diameter,
                l1=given.l1,
                sup=given.sup,
            )
        if isinstance(given, Tables):
            tables = [
                sources.embedding(weight(role, (entries, given.dimension)), positions=given.positions)
                for role, entries in given.entries.items()
            ]
            z = joins.add(*tables) if len(tables) > 1 else tables[0]
            z = z if given.scale == 1.0 else maps.scale(z, given.scale)
            z = self.norm(z, given.norm, "embedding.norm", given.dimension)
            return self.linear(z, "embedding.map", self.width, given.dimension, bias=True) if given.mapped else z
        z = sources.tokens(given.dimension, given.radius, positions=given.count)
        z = self.linear(z, "patch", self.width, given.dimension, bias=given.bias)
        for token in reversed(given.tokens):
            z = sources.prepend(z, weight(token, (self.width, 1)))
        table = weight("position", (given.positions, self.width))
        return joins.add(z, sources.embedding(table, positions=given.positions))

    def end(self, z: Node) -> Node:
        given = self.architecture.end
        first = given.dense[0].role if given.dense else given.role
        readers = (
            [(first, bool(given.dense or given.bias))] if first not in ("", "word") and given.pool != "max" else []
        )
        z = self.norm(z, given.norm, "final.norm", self.width, readers=readers)
        pools: Mapping[str, Callable[[Node], Node]] = {"mean": joins.mean_pool, "max": joins.max_pool}
        z = z if given.pool == "none" else pools.get(given.pool, joins.pick)(z)
        width = self.width
        for dense in given.dense:
            z = activate(self.linear(z, dense.role, dense.outputs, width, bias=dense.bias), dense.activation)
            width = dense.outputs
            z = self.norm(z, dense.norm, dense.role.replace("dense", "norm"), width)
        z = z if given.scale == 1.0 else maps.scale(z, given.scale)
        if not given.role:
            z = outputs.readout(z, Weight("readout of unit norm", (1, width), frobenius=1.0, spectral=1.0))
        else:
            matrix = self.weights.weight(given.role, (given.classes, width))
            shift = self.weights.weight(given.bias, (given.classes, 1)) if given.bias else None
            if given.classes == 1:
                z = outputs.readout(z, matrix, shift)
            else:
                z = outputs.vocabulary(z, matrix, shift, cap=given.cap)
        z = z if given.loss is None else outputs.loss(z, *given.loss)
        return joins.mean_pool(z) if given.pool == "none" else z

    # --- blocks ----------------------------------------------------------------------------------------------------

    def block(self, block: Block, z: Node) -> Traced:
        if not block.parallel:
            nodes = [z]
            for half in block.halves:
                nodes.append(self.half(block, half, nodes[-1], nodes[-1]))
            return Traced(z, nodes[1], nodes[-1])
        first, second = block.halves
        normed = None
        if block.parallel == "one norm":
            readers = [*_readers(first.map), *_readers(second.map)]
            normed = self.norm(z, first.before, "attention.norm", self.width, block.label, readers)
        middle = self.half(block, first, z, z, normed)
        return Traced(z, middle, self.half(block, second, z, middle, normed))

    def half(self, block: Block, half: Half, z: Node, added: Node, normed: Node | None = None) -> Node:
        """`added` + map(norm(z)), with the norms where they stand; `normed` where another half has made norm(z)."""
        name = "attention" if isinstance(half.map, Attention) else "feedforward"
        if normed is None:
            normed = self.norm(z, half.before, f"{name}.norm", self.width, block.label, _readers(half.map))
        if isinstance(half.map, Attention):
            out = self.attention(normed, half.map, block.label)
        else:
            out = self.feed_forward(normed, half.map, block.label)
        out = self.norm(out, half.inside, f"{name}.norm2", self.width, block.label)
        if half.layer_scale:
            out = maps.gain(out, self.weights.weight(f"{name}.scale", (self.width, 1), block.label))
        out = out if block.residual_scale == 1.0 else maps.scale(out, block.residual_scale)
        out = joins.add(added, out) if block.residual else out
        out = maps.project(out) if block.project else out
        return self.norm(out, half.after, f"{name}.norm", self.width, block.label)

    def norm(
        self,
        z: Node,
        norm: Norm | None,
        role: str,
        width: int,
        block: str = "",
        readers: Sequence[tuple[str, bool]] = (),
    ) -> Node:
        """W(g*u + b) + c = (W diag(g))u + (Wb + c): gain and shift may belong to the `readers`, if all are known."""
        if norm is None:
            return z
        if norm.kind == "projection":
            return maps.project(z, norm.radius)
        gain = shift = None
        if not (norm.gain and readers and self.weights.folds(role, block, readers, shift=norm.shift)):
            gain = self.weights.weight(f"{role}.gain", (width, 1), block) if norm.gain else None
            shift = self.weights.weight(f"{role}.shift", (width, 1), block) if norm.shift else None
        if norm.kind == "rms_norm":
            return maps.rms_norm(z, gain, eps=norm.eps, floor=norm.floor)
        return maps.layer_norm(z, gain, shift, eps=norm.eps, floor=norm.floor)

    def linear(self, z: Node, role: str, rows: int, columns: int, block: str = "", *, bias: bool) -> Node:
        shift = self.weights.weight(f"{role}.bias", (rows, 1), block) if bias else None
        return maps.linear(z, self.weights.weight(role, (rows, columns), block), shift)

    def attention(self, z: Node, given: Attention, block: str) -> Node:
        inner = given.heads * given.head_dimension
        plain = given.norm is None and math.isinf(given.cap) and given.alibi != "trained"
        shift = self.weights.weight("output.bias", (self.width, 1), block) if "output" in given.biases else None
        if given.merged and given.heads == 1:
            return attention(z, self.head(given, 0, block))
        fused = self.fused and plain and not given.merged
        output = self.weights.weight("output", (self.width, inner), block, blocks=0 if fused else given.heads)
        if fused:
            return maps.linear(self.together(z, given, block), output, shift)
        if plain:
            built = [self.head(given, h, block) for h in range(given.heads)]
            return attention(z, built, output=output, output_bias=shift)
        keys = [self.signal(z, "key", given, g, block) for g in range(given.key_heads)]
        values = [self.signal(z, "value", given, g, block) for g in range(given.key_heads)]
        heads = [
            core_attention.attend(
                self.signal(z, "query", given, h, block),
                keys[_group(given, h)],
                values[_group(given, h)],
                scale=given.scale,
                rotary=given.rotary,
                cap=given.cap,
                biased=bool(given.alibi),
                slope=self.weights.weight("slope", (1, 1), block, head=(h, given.heads))
                if given.alibi == "trained"
                else None,
            )
            for h in range(given.heads)
        ]
        return core_attention.join(heads, output, shift)

    def share(self, role: str, given: Attention, h: int, block: str) -> tuple[Weight, Weight | None]:
        """The matrix and the bias of one head."""
        head = (h, given.heads if role == "query" else given.key_heads)
        matrix = self.weights.weight(role, (given.head_dimension, self.width), block, head=head)
        if role not in given.biases:
            return matrix, None
        return matrix, self.weights.weight(f"{role}.bias", (given.head_dimension, 1), block, head=head)

    def signal(self, z: Node, role: str, given: Attention, h: int, block: str) -> Node:
        """Queries, keys or values of one head, with the norm that all heads share."""
        found = maps.linear(z, *self.share(role, given, h, block))
        if role == "value":
            return found
        return self.norm(found, given.norm, f"{role}.norm", given.head_dimension, block)

    def head(self, given: Attention, h: int, block: str) -> Head:
        g = _group(given, h)
        value, value_bias = self.share("value", given, g, block)
        if given.merged:
            score = self.weights.weight("score", (self.width, self.width), block, head=(h, given.heads))
            return Head(value=value, score=score, scale=given.scale)
        query, query_bias = self.share("query", given, h, block)
        key, key_bias = self.share("key", given, g, block)
        return Head(
            value=value,
            query=query,
            key=key,
            scale=given.scale,
            query_bias=query_bias,
            key_bias=key_bias,
            value_bias=value_bias,
            rotary=given.rotary,
        )

    def together(self, z: Node, given: Attention, block: str) -> Node:
        """All heads at once. The bias of keys adds one number to all scores, and drops out, without rotations."""
        signals = []
        for role in ("query", "key", "value"):
            rows = (given.heads if role == "query" else given.key_heads) * given.head_dimension
            shift = self.weights.weight(f"{role}.bias", (rows, 1), block) if role in given.biases else None
            drops = role == "key" and not given.rotary
            signals.append(
                maps.linear(z, self.weights.weight(role, (rows, self.width), block), None if drops else shift)
            )
        return core_attention.fused_attention(
            *signals, heads=given.heads, key_heads=given.key_heads, scale=given.scale, rotary=given.rotary
        )

    def feed_forward(self, z: Node, given: FeedForward, block: str) -> Node:
        if not given.experts:
            return self.perceptron(z, given, block)
        expert = self.perceptron(z, given, block, given.experts)
        router = self.weights.weight("router", (given.experts, self.width), block)
        return routing.route(z, expert, router, chosen=given.chosen, gap=given.gap)

    def perceptron(self, z: Node, given: FeedForward, block: str, alternatives: int = 1) -> Node:
        def mapped(z: Node, role: str, rows: int, columns: int) -> Node:
            def weight(name: str, shape: tuple[int, int]) -> Weight:
                return self.weights.weight(name, shape, block, alternatives=alternatives)

            shift = weight(f"{role}.bias", (rows, 1)) if role in given.biases else None
            return maps.linear(z, weight(role, (rows, columns)), shift)

        up = mapped(z, "up", given.hidden, self.width)
        if given.gated:
            inner = joins.multiply(activate(mapped(z, "gate", given.hidden, self.width), given.activation), up)
        else:
            inner = activate(up, given.activation)
        return mapped(inner, "down", self.width, given.hidden)


def _group(given: Attention, h: int) -> int:
    """The key head that a head reads."""
    return h * given.key_heads // given.heads


def _readers(map: Attention | FeedForward) -> list[tuple[str, bool]]:
    """The weights that read the input of a map, and whether each has a bias (or its bias would drop out)."""
    if isinstance(map, FeedForward):
        if map.experts:
            return []
        return [(role, role in map.biases) for role in (("gate", "up") if map.gated else ("up",))]
    if map.merged:
        return []
    drops = not map.rotary and map.norm is None and math.isinf(map.cap)
    return [(role, role in map.biases or (role == "key" and drops)) for role in ("query", "key", "value")]


Bounds = Mapping[str, Mapping[str, Any]]
"""Norm bounds (fields of `Weight`) by role."""
_TABLES = {"word": "table", "position": "position_table"}


class Stated:
    """Weights whose norms are stated by role, `default` for the roles that are not named; `own` of one block alone."""

    def __init__(self, bounds: Bounds, own: Mapping[str, Bounds] | None = None) -> None:
        self.bounds, self.own = bounds, own or {}
        self.read: set[tuple[str, str]] = set()
        """What was asked for: the block that states it itself ("" for the whole network), and the role."""

    def folds(self, norm: str, block: str, readers: Sequence[tuple[str, bool]], *, shift: bool) -> bool:
        return False

    def weight(
        self,
        role: str,
        shape: tuple[int, int],
        block: str = "",
        *,
        head: tuple[int, int] | None = None,
        blocks: int = 0,
        alternatives: int = 1,
    ) -> Weight:
        *base, last = role.split(".")
        table = last if last in ("gain", "shift", "bias") else _TABLES.get(role, role)
        own = self.own.get(block, {})
        known = {**self.bounds, **own}
        key = table if table in known else "default"
        if key not in known:
            raise InputError(f"weights.{table}", None, "norm bounds", f"Add [weights.{table}] or [weights.default]")
        self.read.add((block if key in own else "", key))
        name = role if head is None else ".".join([*(base or [last]), str(head[0]), *([last] if base else [])])
        name = name.replace("feedforward", "mlp") if block else _TABLES.get(role, role)
        return Weight(f"{block}.{name}" if block else name, shape, alternatives=alternatives, **known[key])
