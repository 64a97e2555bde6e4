"""From a recognised checkpoint to a network of the engine: the class of its architecture with its own norms.

Every weight's class is the set of matrices with the norms measured here (or, with a reference, with the measured
distances from the reference). The output is one bounded loss per example: 1-Lipschitz in a scalar readout of unit
norm for bare encoders, 2-Lipschitz in the largest logit error for classifiers and language models (margin 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from certiformer import networks
from certiformer.checkpoints.errors import CheckpointError, shown
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.parts import Folded, FoldedBias, Part, Parts
from certiformer.checkpoints.roles import Roles, Settings
from certiformer.networks import Activation, Head, Node, Reference, Weight

Pay = Callable[[str, float], float]
"""A measured norm by its name to the radius that was paid for."""
QKV = ("query", "key", "value")
READERS = {
    "attention.norm": QKV,
    "feedforward.norm": ("gate", "up"),
    "final.norm": ("classifier.dense", "pooler", "classifier", "head"),
}
"""What reads a norm that stands before it. Behind the last norm stands the first of these that the output uses."""
ACTIVATIONS: Mapping[str, Activation] = {
    "gelu": networks.GELU,
    "gelu_new": networks.GELU_TANH,
    "gelu_fast": networks.GELU_TANH,
    "gelu_pytorch_tanh": networks.GELU_TANH,
    "relu": networks.RELU,
    "silu": networks.SILU,
    "swish": networks.SILU,
    "quick_gelu": Activation("quick_gelu", networks.SILU.lipschitz, 1.0),
    "tanh": networks.TANH,
}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One layer of the network: the signal before it, between its halves, and after it."""

    index: int
    before: Node
    middle: Node
    after: Node


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """The network, its layers, the per-head norms of W_QK by layer, and what had to be taken for granted."""

    output: Node
    embedded: Node
    blocks: tuple[Block, ...]
    heads: tuple[tuple[float, ...], ...]
    notes: tuple[str, ...]
    roles: Mapping[str, str]
    """The role of the tensor behind each weight of the network."""
    logits: int
    """How many the file's own head has; 0 where there is none."""


class Builder:
    """Weights from parts, layers from weights. `centre` holds the parts of a reference checkpoint.

    `ranks`: the tensors whose distance from the reference has bounded rank (LoRA). `fused`: one cover for W_Q, W_K, W_V
    of all heads together, instead of one per head. `margin` is that of the ramp loss at the end. `pay` rounds a norm up
    to a grid and keeps the account: then every weight has one norm, the one its rule reads, and pays for that alone.
    """

    def __init__(
        self,
        roles: Roles,
        settings: Settings,
        measurer: Measurer,
        *,
        centre: Parts | None = None,
        input_radius: float | None = None,
        ranks: Mapping[str, int] | None = None,
        fused: bool = False,
        margin: float = 1.0,
        pay: Pay | None = None,
    ) -> None:
        assert roles.family is not None
        self.roles, self.settings, self.family, self.measurer = roles, settings, roles.family, measurer
        self.parts, self.centre, self.input_radius = Parts(roles, settings), centre, input_radius
        self.ranks, self.fused, self.margin, self.pay = ranks or {}, fused, margin, pay
        self.logits = 0
        if settings.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise CheckpointError(
                roles.checkpoint.path, f"activation {shown(settings.activation)} has no rule; known: {known}"
            )
        self.sigma = ACTIVATIONS[settings.activation]
        self.notes: list[str] = []
        self.known: dict[str, Weight] = {}
        self.played: dict[str, str] = {}

    # --- weights ---------------------------------------------------------------------------------------------------

    def weight(self, part: Folded, role: str, layer: int | None, *, blocks: int = 0) -> Weight:
        """The class of one weight, measured once; `blocks` adds the norms of that many column blocks."""
        name = part.name
        if name not in self.known:
            self.known[name] = self._weight(name, part, role, layer, blocks)
            self.played[name] = part.assigned.role
        return self.known[name]

    def _weight(self, name: str, part: Folded, role: str, layer: int | None, blocks: int) -> Weight:
        own = self.measurer.sizes(part)
        if self.pay is not None:
            by_rows = part.assigned.row.stored == "rows" or role.endswith(".gain") or role == "classifier"
            if by_rows:
                return Weight(name, part.shape, max_row=self.pay(f"largest row of {name}", own.max_row))
            return Weight(name, part.shape, spectral=self.pay(f"spectral norm of {name}", own.spectral))
        width = part.shape[1] // blocks if blocks else 0
        cuts = [slice(h * width, (h + 1) * width) for h in range(blocks)]
        block_norms = tuple(self.measurer.sizes(part, cut).spectral for cut in cuts)
        centre = None if self.centre is None else self.part(role, layer, of=self.centre)
        if centre is None:
            return Weight(
                name,
                part.shape,
                l1=own.norm_11,
                frobenius=own.frobenius,
                spectral=own.spectral,
                max_row=own.max_row,
                blocks=block_norms,
            )
        whole = self.parts.need(role, layer)
        centre = centre.rows(part.start - whole.start, part.stop - whole.start)
        moved, there = self.measurer.difference(part, centre), self.measurer.sizes(centre)
        rank = self.ranks.get(part.assigned.tensor.name)
        if rank is not None and self._same_gain(part, centre):
            # Nothing but rank, spectral and Frobenius distance: the low-rank cover stays in this class.
            return Weight(
                name,
                part.shape,
                frobenius=moved.frobenius,
                spectral_distance=moved.spectral,
                reference=Reference(there.spectral, there.max_row),
                rank=rank,
            )
        return Weight(
            name,
            part.shape,
            l1=moved.norm_11,
            frobenius=moved.frobenius,
            spectral_distance=moved.spectral,
            max_row_distance=moved.max_row,
            spectral=own.spectral,
            max_row=own.max_row,
            blocks=block_norms,
            reference=Reference(
                there.spectral, there.max_row, tuple(self.measurer.sizes(centre, cut).spectral for cut in cuts)
            ),
        )

    def _same_gain(self, part: Folded, centre: Folded) -> bool:
        """Whether what is folded into two weights is the same."""
        gains = [one.gain if isinstance(one, Part) else None for one in (part, centre)]
        digests = [None if gain is None else self.measurer.digest(gain.tensor) for gain in gains]
        return digests[0] == digests[1]

    def folds(self, norm: str, layer: int | None) -> bool:
        """Whether the gain and the shift of a norm belong to the weights that read it.

        W(g*u + b) + c = (W diag(g))u + (Wb + c), where nothing but such weights reads the norm: not behind the halves
        of a layer, where the residual reads it, too. ||W diag(g)|| <= ||W|| max|g| and ||Wb + c|| <= ||W|| ||b|| +
        ||c||, so no sensitivity and no reach grows. A shift wants a reader with a bias: else there would be more
        weights than before. The same with LoRA, whose update of W would move a bias that stands still.
        """
        if not self.settings.norm_first or self.parts.get(f"{norm}.gain", layer) is None:
            return False
        readers = self._readers(norm, layer)
        if self.parts.get(f"{norm}.shift", layer) is None:
            return bool(readers)
        biased = all(self.parts.get(f"{role}.bias", layer) is not None or self._drops(role) for role in readers)
        return bool(readers) and biased and not self.ranks

    def _readers(self, norm: str, layer: int | None) -> list[str]:
        """The weights that read a norm; none where a table is tied, or a readout is not in the file."""
        found = [role for role in READERS[norm] if self.parts.get(role, layer) is not None]
        if norm != "final.norm":
            return found
        return [role for role in self._behind_the_end() if role in found][:1]

    def _behind_the_end(self) -> tuple[str, ...]:
        """What stands behind the last layer, in this order; empty for a tied head and a readout that is not there."""
        classifier = self.parts.get("classifier")
        if classifier is not None and classifier.shape[1] == self.width:
            return ("classifier.dense", "pooler", "classifier")
        return ("head",) if self.parts.get("head") is not None else ()

    def _norm_of(self, role: str, layer: int | None) -> str | None:
        """The norm that is folded into a weight or its bias."""
        base = role.removesuffix(".bias")
        for norm in READERS:
            at = None if norm == "final.norm" else layer
            if at == layer and base in self._readers(norm, at) and self.folds(norm, at):
                return norm
        return None

    def part(self, role: str, layer: int | None = None, *, of: Parts | None = None) -> Folded | None:
        """A weight or bias, the gain or shift of the norm it reads folded in where the architecture allows it."""
        parts = self.parts if of is None else of
        found, norm = parts.get(role, layer), self._norm_of(role, layer)
        if found is None or norm is None:
            return found
        weight = parts.need(role.removesuffix(".bias"), layer)
        for name in ("gain", "shift"):
            vector = parts.get(f"{norm}.{name}", layer)
            if vector is not None and vector.shape != (weight.shape[1], 1):
                problem = (
                    f"{shown(vector.name)} has {vector.shape[0]} entries, {shown(weight.name)} reads {weight.shape[1]}"
                )
                raise CheckpointError(self.roles.checkpoint.path, problem)
        if not role.endswith(".bias"):
            return replace(found, gain=parts.need(f"{norm}.gain", layer).assigned)
        shift = parts.get(f"{norm}.shift", layer)
        return found if shift is None else FoldedBias(found, weight, shift.assigned)

    def find(self, role: str, layer: int | None = None, **options: Any) -> Weight | None:
        part = self.part(role, layer)
        return None if part is None else self.weight(part, role, layer, **options)

    def need(self, role: str, layer: int | None = None, **options: Any) -> Weight:
        found = self.find(role, layer, **options)
        return self.weight(self.parts.need(role, layer), role, layer, **options) if found is None else found

    # --- layers ----------------------------------------------------------------------------------------------------

    def norm(self, z: Node, role: str, layer: int | None = None) -> Node:
        gain, shift = None, None
        if not self.folds(role, layer):
            gain, shift = self.find(f"{role}.gain", layer), self.find(f"{role}.shift", layer)
        if self.family.norm == "rms":
            return networks.rms_norm(z, gain, eps=self.settings.eps)
        return networks.layer_norm(z, gain, shift, eps=self.settings.eps)

    def head_rows(self, role: str, layer: int, head: int, count: int) -> Folded | None:
        part = self.part(role, layer)
        return None if part is None else part.rows(*self._span(part, head, count))

    def _span(self, part: Folded, head: int, count: int) -> tuple[int, int]:
        """The rows of one of `count` heads."""
        if part.shape[0] % count:
            problem = f"{shown(part.name)} has {part.shape[0]} rows, which {count} heads cannot share"
            raise CheckpointError(self.roles.checkpoint.path, problem)
        width = part.shape[0] // count
        return head * width, (head + 1) * width

    def heads(self, layer: int) -> tuple[tuple[Head, ...], tuple[float, ...]]:
        count, shared = self.settings.heads, self.settings.kv_heads

        def cut(role: str, head: int, of: int) -> Weight | None:
            part = self.head_rows(role, layer, head, of)
            return None if part is None else self.weight(part, role, layer)

        found, products = [], []
        for h in range(count):
            g = h * shared // count
            query, key, value = cut("query", h, count), cut("key", g, shared), cut("value", g, shared)
            if query is None or key is None or value is None:
                raise CheckpointError(self.roles.checkpoint.path, f"layer {layer} lacks query, key or value")
            found.append(
                Head(
                    value=value,
                    query=query,
                    key=key,
                    scale=1.0 / math.sqrt(query.shape[0]),
                    query_bias=cut("query.bias", h, count),
                    key_bias=cut("key.bias", g, shared),
                    value_bias=cut("value.bias", g, shared),
                    rotary=self.family.rotary,
                )
            )
            first, second = self.parts.need("query", layer), self.parts.need("key", layer)
            first, second = first.rows(*self._span(first, h, count)), second.rows(*self._span(second, g, shared))
            products.append(self.measurer.product(first, second))
        return tuple(found), tuple(products)

    def attention(self, z: Node, layer: int) -> tuple[Node, tuple[float, ...]]:
        heads, products = self.heads(layer)
        output = self.need("output", layer, blocks=0 if self.fused else len(heads))
        shift = self.find("output.bias", layer)
        if self.fused:
            return networks.linear(self._together(z, layer), output, shift), products
        if self.parts.get("query.norm.gain", layer) is not None:
            return networks.join(self._normalised(z, layer), output, shift), products
        return networks.attention(z, heads, output=output, output_bias=shift), products

    def _normalised(self, z: Node, layer: int) -> list[Node]:
        """QK-norm: queries and keys of every head pass a norm with gains that all heads share."""
        count, shared = self.settings.heads, self.settings.kv_heads

        def cut(role: str, head: int, of: int) -> Node:
            part, shift = self.head_rows(role, layer, head, of), self.head_rows(f"{role}.bias", layer, head, of)
            assert part is not None
            bias = None if shift is None else self.weight(shift, f"{role}.bias", layer)
            return networks.linear(z, self.weight(part, role, layer), bias)

        def normed(node: Node, role: str, width: int) -> Node:
            gain = self.need(f"{role}.norm.gain", layer)
            if gain.shape[0] != width:
                problem = f"normalises {gain.shape[0]} coordinates of its {role} at once, not the {width} of a head"
                raise CheckpointError(self.roles.checkpoint.path, f"layer {layer} {problem}: there is no rule for that")
            return networks.rms_norm(node, gain, eps=self.settings.eps)

        width = self.parts.need("query", layer).shape[0] // count
        keys = [normed(cut("key", g, shared), "key", width) for g in range(shared)]
        values = [cut("value", g, shared) for g in range(shared)]
        return [
            networks.attend(
                normed(cut("query", h, count), "query", width),
                keys[h * shared // count],
                values[h * shared // count],
                scale=1.0 / math.sqrt(width),
                rotary=self.family.rotary,
            )
            for h in range(count)
        ]

    def _together(self, z: Node, layer: int) -> Node:
        """All heads at once."""
        if self.parts.get("query.norm.gain", layer) is not None:
            raise CheckpointError(self.roles.checkpoint.path, "normalises queries head by head: heads stay apart")
        signals = [networks.linear(z, self.need(role, layer), self._shift(role, layer)) for role in QKV]
        return networks.fused_attention(
            signals[0],
            signals[1],
            signals[2],
            heads=self.settings.heads,
            key_heads=self.settings.kv_heads,
            scale=1.0 / math.sqrt(self.parts.need("query", layer).shape[0] // self.settings.heads),
            rotary=self.family.rotary,
        )

    def _shift(self, role: str, layer: int) -> Weight | None:
        """A bias; that of the keys adds one number to all scores, and drops out, unless there are rotations."""
        return None if self._drops(role) else self.find(f"{role}.bias", layer)

    def _drops(self, role: str) -> bool:
        """Whether a bias of this weight would drop out."""
        return role == "key" and not self.family.rotary and self.parts.get("key.norm.gain", 0) is None

    def feed_forward(self, z: Node, layer: int) -> Node:
        up, down = self.need("up", layer), self.need("down", layer)
        shifts = {"up_shift": self.find("up.bias", layer), "down_shift": self.find("down.bias", layer)}
        gate = self.find("gate", layer)
        if gate is None:
            return networks.feed_forward(z, up, down, self.sigma, **shifts)
        return networks.gated_feed_forward(
            z, gate, up, down, self.sigma, gate_shift=self.find("gate.bias", layer), **shifts
        )

    def embedded(self) -> Node:
        """The signal that enters the first layer."""
        settings, positions = self.settings, self.settings.positions
        if self.family.inputs == "tokens":
            width = self.parts.need("query", 0).shape[1]
            radius = math.sqrt(width) if self.input_radius is None else self.input_radius
            self.notes.append(f"input tokens of norm at most {radius:g} (not in the file; --input-radius changes it)")
            return networks.tokens(width, radius, positions=positions)
        if self.family.inputs == "patches":
            return self._patches()
        tables = [self.find(role) for role in ("word", "position", "type")]
        nodes = [networks.embedding(table, positions=positions) for table in tables if table is not None]
        if not nodes:
            raise CheckpointError(self.roles.checkpoint.path, "the weights lack an embedding table")
        z = networks.add(*nodes) if len(nodes) > 1 else nodes[0]
        if self.parts.get("embedding.norm.gain") is not None:
            z = networks.layer_norm(
                z, self.find("embedding.norm.gain"), self.find("embedding.norm.shift"), eps=settings.eps
            )
        mapping = self.find("embedding.map")
        return z if mapping is None else networks.linear(z, mapping, self.find("embedding.map.bias"))

    def _patches(self) -> Node:
        patch = self.need("patch")
        radius = math.sqrt(patch.shape[1]) if self.input_radius is None else self.input_radius
        self.notes.append(f"patches of norm at most {radius:g}: pixels in [-1, 1] (--input-radius changes it)")
        token = self.find("class_token")
        count = self.settings.positions - (0 if token is None else 1)
        z = networks.linear(
            networks.tokens(patch.shape[1], radius, positions=max(1, count)), patch, self.find("patch.bias")
        )
        if token is not None:
            z = networks.prepend(z, token)
        table = self.find("position")
        return z if table is None else networks.add(z, networks.embedding(table, positions=self.settings.positions))

    def end(self, z: Node) -> Node:
        """One bounded loss per example."""
        z = networks.pick(z)
        word = self.find("word")
        classifier = self.find("classifier")
        head = self.find("head") or (word if self.family.ties_head else None)
        said = f"ramp loss of margin {self.margin:g}"
        if classifier is not None and classifier.shape[1] == self.width:
            z, between = self._before_the_classifier(z)
            self.notes.append(f"output: the classifier on one token (or the mean){between}; {said}")
            self.logits = classifier.shape[0]
            z = networks.vocabulary(z, classifier, self.find("classifier.bias"))
            return networks.loss(z, (1.0 if self.logits == 1 else 2.0) / self.margin, 1.0)
        if head is not None:
            self.notes.append(f"output: the logits of the next token at one position; {said}")
            self.logits = head.shape[0]
            return networks.loss(networks.vocabulary(z, head), 2.0 / self.margin, 1.0)
        self.notes.append(f"output: a readout of unit norm on one token or the mean; {said}")
        readout = Weight("readout of unit norm", (1, self.width), frobenius=1.0, spectral=1.0)
        return networks.loss(networks.readout(z, readout), 1.0 / self.margin, 1.0)

    def _before_the_classifier(self, z: Node) -> tuple[Node, str]:
        """A dense layer of its own, or the pooler: where the file has it beside a classifier, it is used."""
        if (dense := self.find("classifier.dense")) is not None:
            kind = "gelu" if self.roles.checkpoint.config.get("model_type") == "electra" else self.family.dense
            z = networks.activation(networks.linear(z, dense, self.find("classifier.dense.bias")), ACTIVATIONS[kind])
            return z, f" behind its dense layer ({kind})"
        if (pooler := self.find("pooler")) is not None:
            z = networks.activation(networks.linear(z, pooler, self.find("pooler.bias")), networks.TANH)
            return z, " behind the pooler (tanh)"
        return z, ""

    @property
    def width(self) -> int:
        """The number of coordinates of the tokens in the layers: what the queries read."""
        return self.parts.need("query", 0).shape[1]

    def build(self) -> Built:
        z = first = self.embedded()
        blocks, products = [], []
        seen: dict[int, tuple[float, ...]] = {}
        distinct = self.roles.depth
        for index in range(self.settings.layers):
            layer = index * distinct // self.settings.layers if self.family.shared_layers else index
            before = z
            if self.settings.norm_first:
                attended, norms = self.attention(self.norm(z, "attention.norm", layer), layer)
                middle = networks.add(z, attended)
                z = networks.add(middle, self.feed_forward(self.norm(middle, "feedforward.norm", layer), layer))
            else:
                attended, norms = self.attention(z, layer)
                middle = self.norm(networks.add(z, attended), "attention.norm", layer)
                z = self.norm(networks.add(middle, self.feed_forward(middle, layer)), "feedforward.norm", layer)
            blocks.append(Block(index, before, middle, z))
            if layer not in seen:
                products.append(norms)
            seen[layer] = norms
        if self.parts.get("final.norm.gain") is not None:
            z = self.norm(z, "final.norm")
        return Built(self.end(z), first, tuple(blocks), tuple(products), tuple(self.notes), self.played, self.logits)
