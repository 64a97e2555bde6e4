"""Any network of the engine: two members of its class on two inputs, against sum of sensitivity times error.

A graph is interpreted in numpy, layer by layer, all tokens at once. The claim is |f(x) - g(x')| <= sum_i beta_i e_i +
S max_t ||x_t - x'_t||, e_i the error of weight i at the inputs it has in the second network where a layer is linear in
it, ||W_i - W'_i|| times their radius otherwise. One search serves every graph: weights and tokens in their balls,
everything free. What it finds is measured again token by token (`auditing.walk`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certiformer.auditing import walk
from certiformer.auditing.attack import Attack, Data, Instance, Version
from certiformer.auditing.plain_numpy import array, softmax
from certiformer.auditing.search import Built, explore
from certiformer.theory import networks
from certiformer.theory.networks import (
    Analysis,
    Contribution,
    Geometry,
    Head,
    Node,
    Weight,
    core_attention,
    joins,
    maps,
    routing,
    sources,
)
from certiformer.theory.networks.attention_layer import Attention
from certiformer.theory.networks.graph import Layer

Array = NDArray[np.float64]
Params = Mapping[str, Array]

_ELEMENTWISE: dict[str, Callable[[Array], Array]] = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "sigma": lambda z: np.maximum(z, 0.0),
}
_ANGLE = 2.0
"""Radians by which a key is rotated per position."""


@dataclass(frozen=True)
class Graph:
    """A network whose rules are attacked. Norms: every weight in the ball of its class around zero.

    `both`: whether conditions (floors) hold in both networks, as the rules ask, or in the first only.
    """

    output: Node
    both: bool = True
    moved: tuple[str, ...] = ()
    """Names of weights that differ; all by default. "tokens" are the inputs."""
    pooled: bool = False
    """Whether pooling is the mean of the tokens; otherwise it is the first."""
    centres: Mapping[str, Array] = field(default_factory=dict)
    """The references of weights that have one; the others are centred at zero."""

    @cached_property
    def analysis(self) -> Analysis:
        return networks.analyse(self.output)

    @cached_property
    def weights(self) -> dict[str, Weight]:
        return {weight.name: weight for node in self.analysis.signals for weight in node.layer.weights}

    @cached_property
    def alternatives(self) -> int:
        """How many experts there are behind the router; 1 where there is none."""
        return max((weight.alternatives for weight in self.weights.values()), default=1)

    @cached_property
    def matrices(self) -> dict[str, Weight]:
        """Every matrix by its name in the data: `W`, or `W@0`, `W@1`, ... for the experts."""
        return {name: weight for weight in self.weights.values() for name in names(weight)}

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        return tuple(node for node in self.analysis.signals if isinstance(node.layer, sources.Tokens))

    @cached_property
    def biases(self) -> int:
        """Scores that get a fixed bias inside a cap: one number per key."""
        return max((self.analysis.signals[n.parents[1]].positions for n in self._capped), default=0)

    @property
    def _capped(self) -> list[Node]:
        layers = [n for n in self.analysis.signals if isinstance(n.layer, core_attention.CoreAttention)]
        return [node for node in layers if node.layer.biased]  # type: ignore[attr-defined]

    @cached_property
    def size(self) -> int:
        matrices = sum(math.prod(weight.shape) for weight in self.matrices.values())
        tokens = sum(self._tokens(node)[0] * self._tokens(node)[1] + self._tokens(node)[1] for node in self.inputs)
        return 2 * (matrices + tokens) + self.biases + len(self.matrices) + len(self.inputs)

    def _tokens(self, node: Node) -> tuple[int, int]:
        signal = self.analysis.signals[node]
        return signal.positions, signal.dimension

    def unpack(self, z: Array) -> dict[str, Array]:
        """Two networks and two inputs in their balls; a switch says whether a part differs at all."""
        place = 0

        def take(*shape: int) -> Array:
            nonlocal place
            count = math.prod(shape)
            place += count
            return z[place - count : place].reshape(shape)

        data: dict[str, Array] = {}
        parts = [*self.matrices, *(f"tokens{i}" for i in range(len(self.inputs)))]
        switches = dict(zip(parts, take(len(parts)) > 0.0, strict=True))
        for name, weight in self.matrices.items():
            first, change = take(*weight.shape), take(*weight.shape)
            first, centre = _member(first, weight), self.centres.get(name, 0.0)
            data[name] = centre + first
            moves = self._may_move(weight.name) and bool(switches[name])
            data[f"{name}_hat"] = centre + _member(first + moves * change, weight)
        for i, node in enumerate(self.inputs):
            signal = self.analysis.signals[node]
            radius, rho = (
                signal.radius.value,
                signal.half_diameter.value if signal.positions > 1 else signal.radius.value,
            )
            first, change = take(*self._tokens(node)), take(*self._tokens(node))
            centre, shift = take(self._tokens(node)[1]), take(self._tokens(node)[1])
            moves = self._may_move("tokens") and bool(switches[f"tokens{i}"])
            data[f"tokens{i}"] = _cloud(first, centre, radius, rho)
            data[f"tokens{i}_hat"] = _cloud(first + moves * change, centre + moves * shift, radius, rho)
        if self.biases:
            data["biases"] = 20.0 * take(self.biases)
        return data

    def _may_move(self, name: str) -> bool:
        return not self.moved or name in self.moved

    def run(self, data: Params, hat: str) -> tuple[dict[Node, list[Array]], float]:
        """Every signal, expert by expert, and by how much the worst condition is missed (at most 0 if all hold)."""
        values: dict[Node, list[Array]] = {}
        missed = -math.inf
        experts = range(self.alternatives)
        for node in self.analysis.signals:
            layer, of = node.layer, [lookup(data, hat, e) for e in experts]
            if node in self.inputs:
                values[node] = [data[f"tokens{self.inputs.index(node)}{hat}"]] * self.alternatives
                continue
            parents = [[values[parent][e] for parent in node.parents] for e in experts]
            if layer.floor > 0.0:
                missed = max(missed, layer.floor - float(np.min(_condition(layer, parents[0][0], of[0]))))
            if isinstance(layer, routing.Routing):
                values[node] = [_routed(layer, parents[0][0], [each[1] for each in parents], of[0])] * self.alternatives
            elif isinstance(layer, joins.Pooling):
                values[node] = [z.mean(axis=0, keepdims=True) if self.pooled else z[:1] for (z,) in parents]
            else:
                values[node] = [_apply(layer, parents[e], of[e], data.get("biases")) for e in experts]
        return values, missed

    def measure(self, data: Params) -> tuple[float, float] | None:
        """What is attained and what is allowed; None where a condition fails or nothing moves."""
        first, missed = self.run(data, "")
        second, missed_hat = self.run(data, "_hat")
        if missed > 0.0 or (self.both and missed_hat > 0.0) or self._choices_differ(data, first, second):
            return None
        allowed = 0.0
        for part in self.analysis.contributions:
            errors = []
            for e, name in enumerate(names(part.use.weight)):
                change, seen = data[name] - data[f"{name}_hat"], self.seen(part)
                if seen is not None:
                    errors.append(np.max(np.linalg.norm(second[seen][e] @ change.T, axis=1)))
                else:
                    rows = part.use.geometry is not Geometry.OPERATOR
                    size = np.max(np.linalg.norm(change, axis=1)) if rows else np.linalg.norm(change, 2)
                    errors.append(part.use.radius.value * size)
            allowed += part.beta.value * float(max(errors))
        for i, node in enumerate(self.inputs):
            change = data[f"tokens{i}"] - data[f"tokens{i}_hat"]
            allowed += self.analysis.sensitivity(node).value * float(np.max(np.linalg.norm(change, axis=1)))
        if allowed < 1e-6:
            return None
        return float(np.max(np.linalg.norm(first[self.output][0] - second[self.output][0], axis=1))), allowed

    def _choices_differ(
        self, data: Params, first: Mapping[Node, list[Array]], second: Mapping[Node, list[Array]]
    ) -> bool:
        """Whether logits of a router with a gap are off by twice its floor: the rule asks for less."""
        for node in self.analysis.conditional:
            if isinstance(node.layer, routing.Routing):
                router, z = node.layer.router.name, node.parents[0]
                off = first[z][0] @ data[router].T - second[z][0] @ data[f"{router}_hat"].T
                if float(np.max(np.abs(off))) >= 2.0 * node.layer.floor:
                    return True
        return False

    def seen(self, part: Contribution) -> Node | None:
        """The node whose tokens a weight multiplies there, where its error is felt at these tokens and nowhere else."""
        layer = part.node.layer
        if isinstance(layer, maps.Linear):
            return part.node.parents[0]
        if isinstance(layer, Attention) and layer.projection is None:
            head = layer.heads[0]
            if part.use.weight is head.value:
                return part.node.parents[-1]
            if part.use.weight is head.score:
                return part.node.parents[0]
        return None

    def build(self, z: Array, version: Version) -> Built:
        data = self.unpack(z)
        found = self.measure(data)
        return None if found is None or found[0] < 1e-4 else (data, Instance(found[0], {}, found[1]))

    def instance(self, data: Data, version: Version) -> Instance:
        """The same claim by the second path."""
        return walk.instance(self, {name: array(value) for name, value in data.items()})


def names(weight: Weight) -> list[str]:
    """The matrices a weight stands for, by name: itself, or one per expert."""
    return [weight.name] if weight.alternatives == 1 else [f"{weight.name}@{e}" for e in range(weight.alternatives)]


def lookup(data: Params, hat: str, expert: int) -> Callable[[Weight], Array]:
    """The matrix of a weight, of the given expert where there are several."""
    return lambda weight: data[f"{names(weight)[expert if weight.alternatives > 1 else 0]}{hat}"]


def worst_ratio(graph: Graph, rng: np.random.Generator, points: int) -> float:
    """The largest attained/allowed of a search: random starts, then steps from the best that shrink and grow."""
    best, start, step = 0.0, None, 1.0
    for number in range(points):
        fresh = start is None or number < points // 4
        z = rng.normal(size=graph.size) * float(rng.choice([0.3, 1.0, 3.0])) if fresh or start is None else start
        if not fresh:
            mask = rng.random(graph.size) < rng.choice([0.05, 0.3, 1.0])
            z = z + step * mask * rng.normal(size=graph.size)
        found = graph.measure(graph.unpack(z))
        if found is not None and found[0] / found[1] > best:
            best, start = found[0] / found[1], z
            step = min(2.0, 1.3 * step)
        elif not fresh:
            step = max(1e-4, 0.97 * step) if number % 50 else 0.5
    return best


def _member(value: Array, weight: Weight) -> Array:
    """Scaled into the class: spectral distance, and the largest row where that is bounded."""
    norm = max(
        float(np.linalg.norm(value, 2)) / weight.spectral_radius,
        float(np.max(np.linalg.norm(value, axis=1))) / weight.row_radius,
    )
    return value * ((1.0 - 1e-14) / norm) if norm > 1.0 else value


def _rows(value: Array, radius: float) -> Array:
    norms = np.linalg.norm(value, axis=1, keepdims=True)
    return np.where(norms > radius, value * (radius * (1.0 - 1e-14)) / np.maximum(norms, 1e-300), value)


def _cloud(value: Array, centre: Array, radius: float, rho: float) -> Array:
    """Tokens of norm at most `radius`, any two at most 2 rho apart."""
    if rho >= radius:
        return _rows(value, radius)
    return _rows(centre[None], radius - rho) + _rows(value, rho)


def _condition(layer: Layer, z: Array, of: Callable[[Weight], Array]) -> Array:
    """What a floor is a bound on: the deviation of every token, or half the gap of a router's logits."""
    if isinstance(layer, maps.Normalisation):
        return _deviation(layer, z)
    if isinstance(layer, routing.Routing):
        logits = np.sort(z @ of(layer.router).T, axis=1)[:, ::-1]
        return np.asarray((logits[:, layer.chosen - 1] - logits[:, layer.chosen]) / 2.0)
    raise TypeError(f"{type(layer).__name__} has no condition")


def _deviation(layer: maps.Normalisation, z: Array) -> Array:
    centred = z - z.mean(axis=1, keepdims=True) if layer.centred else z
    return np.asarray(np.sqrt(np.mean(centred**2, axis=1) + layer.eps))


def _rotated(keys: Array) -> Array:
    """Key s turned by s times a fixed angle, pair of coordinates by pair."""
    out = keys.copy()
    for s in range(len(keys)):
        c, d = math.cos(_ANGLE * s), math.sin(_ANGLE * s)
        for i in range(0, keys.shape[1] - 1, 2):
            out[s, i], out[s, i + 1] = c * keys[s, i] - d * keys[s, i + 1], d * keys[s, i] + c * keys[s, i + 1]
    return out


def _core(
    layer: core_attention.CoreAttention,
    q: Array,
    k: Array,
    v: Array,
    biases: Array | None,
    of: Callable[[Weight], Array],
) -> Array:
    scores = layer.scale * q @ (_rotated(k) if layer.positional else k).T
    if layer.slope is not None:
        scores = scores - of(layer.slope)[0, 0] * np.abs(np.arange(len(q))[:, None] - np.arange(len(k)))
    if layer.score_bias is not None:
        scores = scores + of(layer.score_bias)[: len(k), 0]
    if layer.biased and biases is not None:
        scores = scores + biases[: scores.shape[1]]
    if math.isfinite(layer.cap):
        scores = layer.cap * np.tanh(scores / layer.cap)
    return np.asarray(softmax(scores) @ v)


def _fused(layer: core_attention.FusedAttention, q: Array, k: Array, v: Array) -> Array:
    shared = layer.heads // layer.key_heads
    queries = np.split(q, layer.heads, axis=1)
    keys, values = np.split(k, layer.key_heads, axis=1), np.split(v, layer.key_heads, axis=1)
    heads = [softmax(layer.scale * one @ keys[h // shared].T) @ values[h // shared] for h, one in enumerate(queries)]
    return np.concatenate(heads, axis=1)


def _head(head: Head, x: Array, y: Array, of: Callable[[Weight], Array]) -> Array:
    if head.score is not None:
        scores = head.scale * (x @ of(head.score).T) @ y.T
    elif head.query is not None and head.key is not None:
        scores = head.scale * (x @ of(head.query).T) @ (y @ of(head.key).T).T
    else:
        raise TypeError("a head without scores")
    mixed = softmax(scores) @ y
    return np.asarray(mixed if head.value is None else mixed @ of(head.value).T)


def _routed(layer: routing.Routing, z: Array, experts: Sequence[Array], of: Callable[[Weight], Array]) -> Array:
    """Gates over the chosen experts."""
    logits = z @ of(layer.router).T
    least = np.sort(logits, axis=1)[:, -layer.chosen][:, None]
    gates = softmax(np.where(logits >= least, logits, -np.inf))
    return np.asarray(np.einsum("te,etd->td", gates, np.stack(experts)))


def _apply(layer: Any, z: Sequence[Array], of: Callable[[Weight], Array], biases: Array | None) -> Array:
    match layer:
        case maps.Linear():
            return z[0] @ of(layer.weight).T
        case maps.Bias():
            return z[0] + of(layer.shift)[:, 0]
        case maps.Elementwise():
            return _ELEMENTWISE[layer.sigma.name](z[0])
        case maps.Scale():
            return layer.factor * z[0]
        case maps.Projection():
            return _rows(z[0], layer.radius)
        case maps.Normalisation():
            centred = z[0] - z[0].mean(axis=1, keepdims=True) if layer.centred else z[0]
            out = centred / _deviation(layer, z[0])[:, None]
            out = out if layer.gain is None else out * of(layer.gain)[:, 0]
            return out if layer.shift is None else out + of(layer.shift)[:, 0]
        case maps.Unit():
            return np.asarray(z[0] / np.maximum(np.linalg.norm(z[0], axis=1, keepdims=True), layer.least))
        case maps.SquaredRelu():
            return np.asarray(np.maximum(z[0], 0.0) ** 2)
        case joins.Sum():
            return np.asarray(sum(z))
        case joins.Product():
            return z[0] * z[1]
        case joins.MaxPooling():
            return np.asarray(z[0].max(axis=0, keepdims=True))
        case Attention():
            heads = np.concatenate([_head(head, z[0], z[-1], of) for head in layer.heads], axis=1)
            return heads if layer.projection is None else heads @ of(layer.projection).T
        case core_attention.CoreAttention():
            return _core(layer, z[0], z[1], z[2], biases, of)
        case core_attention.FusedAttention():
            return _fused(layer, z[0], z[1], z[2])
        case core_attention.Join():
            return np.concatenate(z, axis=1) @ of(layer.weight).T
    raise TypeError(f"no interpretation of {type(layer).__name__}")


def _projected(norms: tuple[float, float, float] = (0.9, 0.7, 0.5), radius: float = 1.0) -> Node:
    """Two layers of the papers' deep network (attention, projection, activation, linear map, projection), a readout."""
    z = networks.tokens(2, radius, positions=2)
    c, v, q = norms
    for i in range(2):
        head = Head(value=Weight(f"v{i}", (2, 2), spectral=v), score=Weight(f"q{i}", (2, 2), spectral=q))
        z = networks.activation(networks.project(networks.attention(z, head)), networks.RELU)
        z = networks.project(networks.linear(z, Weight(f"c{i}", (2, 2), spectral=c)))
    return networks.readout(networks.pick(z), Weight("w", (1, 2), spectral=1.0))


def _single() -> Node:
    """One attention layer without projection, read at one token or at the mean of all."""
    z = networks.tokens(2, 1.5, positions=2)
    head = Head(value=Weight("v", (2, 2), spectral=1.0), score=Weight("q", (2, 2), spectral=1.0))
    z = networks.activation(networks.attention(z, head), networks.RELU)
    return networks.readout(networks.pick(z), Weight("w", (1, 2), spectral=1.0))


def _floored() -> Node:
    """A post-norm block with a floor under the deviation."""
    z = networks.tokens(3, 1.0, positions=2)
    head = Head(value=Weight("v", (3, 3), spectral=1.0), score=Weight("q", (3, 3), spectral=1.0))
    z = networks.layer_norm(networks.add(z, networks.attention(z, head)), eps=1e-12, floor=0.3)
    return networks.readout(networks.pick(z), Weight("w", (1, 3), spectral=1.0))


def _attack(id: str, graph: Graph, seconds: float) -> Attack:
    return Attack(
        id,
        "the network as a graph: two members of the class and two inputs, against sensitivities times errors",
        explore(graph.size, graph.build, spread=0.7),
        graph.instance,
        versions=("sound",),
        points=2000,
        seconds=seconds,
        label="graph",
    )


_SCORES = ("q", "q0", "q1", "v0")
"""Weights that may differ: readouts and the last linear maps are exact whatever happens, and hide the rest."""

ATTACKS = [
    _attack("trauger.thm4.2", Graph(_projected((1.0, 1.0, 1.0), radius=1.5), moved=_SCORES), 1.5),
    _attack("trauger.cor4.2.1", Graph(_projected()), 1.5),
    _attack("li.thmB.1", Graph(_single(), moved=_SCORES), 0.8),
    _attack("mwigo.lem2", Graph(_single(), moved=_SCORES, pooled=True), 0.8),
    _attack("cover.floors", Graph(_floored()), 0.8),
]
