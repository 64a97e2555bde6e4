"""Random descriptions of every kind of layer: interpreted in numpy, attacked, and never beyond the sensitivities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from certiformer.theory import networks as net
from certiformer.theory.core.errors import InputError
from certiformer.theory.networks import core_attention, description, joins, maps, outputs, routing, sources
from certiformer.theory.networks.attention_layer import Attention, Head
from theory.networks import layer_search as ls
from theory.networks.layer_search import Array, Case, Params, Tensor

ANGLE = 2.0
SIGMAS = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "silu": lambda x: x / (1.0 + np.exp(-x)),
    "quick_gelu": lambda x: x / (1.0 + np.exp(-1.702 * x)),
    "gelu_tanh": lambda x: 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))),
}


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A small description with every key left to chance."""

    def flip(chance: float = 0.5) -> bool:
        return bool(rng.random() < chance)

    d, positions = int(rng.choice([2, 4])), int(rng.integers(2, 4))
    norm = {"kind": str(rng.choice(["layer_norm", "rms_norm"])), "eps": float(rng.choice([0.1, 1.0]))}
    place = str(rng.choice(["none", "pre", "post", "both"]))
    kind = str(rng.choice(["attention", "feed_forward", "transformer"]))
    block: dict[str, Any] = {"kind": kind, "norm": place, "residual": flip(0.7), "project": flip(0.3)}
    merged = kind != "feed_forward" and flip(0.2)
    block["biases"] = not merged and flip()
    if kind != "feed_forward":
        heads = int(rng.choice([1, 2]))
        block |= {"heads": heads, "key_heads": int(rng.choice([1, heads])), "scale": float(rng.choice([0.5, 2.0]))}
        block["merged"] = merged
        if not merged:
            block["rotary"] = flip(0.4)
            if flip(0.3):
                block["qk_norm"], norm["kind"] = True, "rms_norm"
            if flip(0.3):
                block["cap"] = float(rng.choice([0.5, 3.0]))
            if flip(0.2):
                block["alibi"] = "trained"
    if kind != "attention":
        block |= {"hidden": int(rng.choice([2, 3])), "gated": flip(), "activation": str(rng.choice([*SIGMAS, "relu2"]))}
        if flip(0.2):
            block["experts"] = 2
    if place != "none" or block.get("qk_norm"):
        block["normalisation"] = norm
    given: dict[str, Any] = {"blocks": [{**block, "repeat": int(rng.integers(1, 3)), "tied": flip(0.3)}]}
    if flip(0.3):
        given["embedding"] = {"dimension": d, "positions": positions, "entries": 3, "scale": 1.5}
        given["embedding"]["learned_positions"] = flip()
    else:
        given["tokens"] = {"dimension": d, "positions": positions, "radius": float(rng.choice([0.5, 1.5]))}
    given["readout"] = {"pool": str(rng.choice(["cls", "mean", "max", "none"])), "bias": flip()}
    if flip(0.4):
        given["readout"]["classes"] = 3
        given["loss"] = {"lipschitz": 2.0, "bound": 1.5}
    given["weights"] = {
        "default": {"spectral": float(rng.choice([0.6, 1.2]))},
        "gain": {"max_row": 1.3},
        "bias": {"spectral": 0.5},
        "shift": {"spectral": 0.4},
        "table": {"max_row": 0.8},
        "position_table": {"max_row": 0.5},
        "slope": {"spectral": 0.7},
    }
    return given


def network(given: dict[str, Any]) -> net.Node:
    """Without the bounds of roles that the description does not have."""
    weights = dict(given["weights"])
    while True:
        try:
            return description.network({**given, "weights": weights}).output
        except InputError as error:
            role = str(error).split(":")[0].removeprefix("weights.")
            if "got 'stated'" not in str(error):
                raise
            del weights[role]


def rotated(keys: Array) -> Array:
    out = keys.copy()
    for s in range(keys.shape[1]):
        c, t = math.cos(ANGLE * s), math.sin(ANGLE * s)
        for i in range(0, keys.shape[2] - 1, 2):
            out[:, s, i] = c * keys[:, s, i] - t * keys[:, s, i + 1]
            out[:, s, i + 1] = t * keys[:, s, i] + c * keys[:, s, i + 1]
    return out


def interpreted(layer: Any, z: list[Array], p: Params) -> Array:
    """One layer, batched over candidates: (candidates, tokens, coordinates)."""

    def biased(x: Array, shift: net.Weight | None) -> Array:
        return x if shift is None else x + ls.shift(p[shift.name])

    def head(one: Head) -> Array:
        x, y = z[0], z[-1]
        if one.score is not None:
            scores = np.einsum("ntd,nsd->nts", ls.apply(p[one.score.name], x), y)
        else:
            assert one.query is not None
            assert one.key is not None
            q = biased(ls.apply(p[one.query.name], x), one.query_bias)
            k = biased(ls.apply(p[one.key.name], y), one.key_bias)
            scores = np.einsum("ntd,nsd->nts", q, rotated(k) if one.rotary else k)
        assert one.value is not None
        return biased(ls.attend(one.scale * scores, ls.apply(p[one.value.name], y)), one.value_bias)

    match layer:
        case maps.Linear():
            return ls.apply(p[layer.weight.name], z[0])
        case maps.Bias():
            return biased(z[0], layer.shift)
        case maps.Elementwise():
            return np.asarray(SIGMAS[layer.sigma.name](z[0]))
        case maps.SquaredRelu():
            return np.maximum(z[0], 0.0) ** 2
        case maps.Scale():
            return layer.factor * z[0]
        case maps.Gain():
            return z[0] * ls.shift(p[layer.factors.name])
        case maps.Projection():
            return ls.project(z[0], layer.radius)
        case maps.Normalisation():
            out = ls.normalise(z[0], layer.eps, centred=layer.centred)
            out = out if layer.gain is None else out * ls.shift(p[layer.gain.name])
            return biased(out, layer.shift)
        case joins.Sum():
            return np.asarray(sum(z))
        case joins.Product():
            return z[0] * z[1]
        case joins.Pooling():
            return z[0].mean(axis=1, keepdims=True)
        case joins.MaxPooling():
            return z[0].max(axis=1, keepdims=True)
        case Attention():
            heads = np.concatenate([head(one) for one in layer.heads], axis=-1)
            return heads if layer.projection is None else ls.apply(p[layer.projection.name], heads)
        case core_attention.CoreAttention():
            q, k, v = z
            scores = layer.scale * np.einsum("ntd,nsd->nts", q, rotated(k) if layer.positional else k)
            if layer.slope is not None:
                apart = np.abs(np.arange(q.shape[1])[:, None] - np.arange(k.shape[1]))
                scores = scores - p[layer.slope.name] * apart
            if math.isfinite(layer.cap):
                scores = layer.cap * np.tanh(scores / layer.cap)
            return ls.attend(scores, v)
        case core_attention.Join():
            return ls.apply(p[layer.weight.name], np.concatenate(z, axis=-1))
        case sources.Embedding():
            rows = np.arange(layer.positions) % layer.table.shape[0]
            return p[layer.table.name][:, rows]
        case outputs.VocabularyHead():
            return biased(ls.apply(p[layer.weight.name], z[0]), layer.shift)
        case outputs.Loss():
            if z[0].shape[-1] == 1:
                return np.clip(layer.lipschitz * z[0], 0.0, layer.bound)
            margin = z[0][..., :1] - z[0][..., 1:2]
            return np.clip(layer.lipschitz / 2.0 * margin, 0.0, layer.bound)
    raise TypeError(f"no interpretation of {type(layer).__name__}")


def as_case(output: net.Node) -> Case:
    """A graph as something to attack: its weights and fixed tokens, each in its class. Experts are several matrices."""
    analysis = net.analyse(output)
    tensors: dict[str, Tensor] = {}
    inputs: dict[str, net.Node] = {}
    for node, signal in analysis.signals.items():
        if isinstance(node.layer, sources.Tokens):
            inputs["tokens"] = node
            tensors["tokens"] = Tensor((signal.positions, signal.dimension), ls.ball(signal.radius.value))
        for weight in node.layer.weights:
            norm = weight.spectral if math.isfinite(weight.spectral) else weight.max_row
            into = ls.spectral(norm) if math.isfinite(weight.spectral) else ls.rows(norm)
            tensors[weight.name] = Tensor(weight.shape, into)

    def forward(p: Params) -> Array:
        values: dict[net.Node, Array] = {}
        for node in analysis.signals:
            if isinstance(node.layer, sources.Tokens):
                values[node] = p["tokens"]
            elif isinstance(node.layer, routing.Routing):
                # All experts alike: their mixture is one of them, whatever the router says.
                values[node] = values[node.parents[1]]
            else:
                values[node] = interpreted(node.layer, [values[parent] for parent in node.parents], p)
        return values[output]

    return Case("random", output, tensors, forward, inputs, seen_by=None)


def attacked(seed: int, **effort: int) -> float:
    """The largest ratio found for one random graph; what it attains by itself is within its range."""
    case = as_case(network(drawn(np.random.default_rng(seed))))
    analysis = net.analyse(case.graph)
    if not any(isinstance(node.layer, outputs.Loss) for node in analysis.signals):
        values = case.forward(ls.sample(case, 300, seed))
        assert np.abs(values).max() <= analysis.range.value * (1 + 1e-9)
    return ls.worst_ratio(case, case.movable, seed=seed, **effort)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_graph(seed: int) -> None:
    assert attacked(seed, random=200, generations=6, parents=10) <= 1.0 + 1e-6


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_random_graphs(seed: int) -> None:
    assert attacked(seed) <= 1.0 + 1e-6


def test_layer_scale_is_attained() -> None:
    z = net.linear(net.tokens(2, 1.0, positions=1), net.Weight("W", (2, 2), spectral=0.8))
    case = as_case(net.gain(z, net.Weight("g", (2, 1), max_row=1.5)))
    assert ls.worst_ratio(case, ["g"]) == pytest.approx(1.0, abs=0.1)
    assert ls.worst_ratio(case, ["tokens"]) == pytest.approx(1.0, abs=0.1)
    assert 0.5 < ls.worst_ratio(case, case.movable) <= 1.0 + 1e-6
