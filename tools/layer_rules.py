"""The engine's rules beyond the plain layers, each as a small network that the one search attacks.

`ratios` is what `tools/generate_ratios.py` records in docs/proofs/layers.md: everything free at once, and one part at a
time, for with everything free a search mostly moves whatever is linear.
"""

from __future__ import annotations

import numpy as np

from certiformer.auditing.attacks.graphs import Graph, worst_ratio
from certiformer.theory import networks as net
from certiformer.theory.networks import Node, Reference, Weight


def three_signals(rho_k: float = 1.0, dimension: int = 2, keys: int = 3) -> tuple[Node, Node, Node]:
    """One query, and keys and values of half-diameter `rho_k` and 1, all of radius 1."""
    return (
        net.tokens(dimension, 1.0, positions=1),
        net.tokens(dimension, 1.0, positions=keys, half_diameter=rho_k),
        net.tokens(dimension, 1.0, positions=keys),
    )


def _normalised_scores() -> Node:
    queries, keys, values = three_signals()
    asked = net.linear(queries, Weight("Q", (2, 2), spectral=1.0))
    asked = net.rms_norm(asked, Weight("g", (2, 1), max_row=1.0), eps=0.1)
    return net.attend(asked, net.rms_norm(keys, eps=0.1), values)


def _experts(chosen: int | None, gap: float) -> Node:
    z = net.tokens(2, 1.0, positions=2)
    up, down = (Weight(name, shape, spectral=1.0, alternatives=3) for name, shape in (("up", (3, 2)), ("down", (2, 3))))
    expert = net.feed_forward(z, up, down, net.RELU)
    return net.route(z, expert, Weight("R", (3, 2), max_row=1.0), chosen=chosen, gap=gap)


def _folded() -> Graph:
    """W diag(g) as one weight, a large gain where the reader is small: ||W0 diag(g0)|| = 0.2, ||W0|| max|g0| = 4."""
    centre = np.diag([2.0, 0.1]) @ np.diag([0.1, 2.0])
    weight = Weight("W", (2, 2), spectral_distance=0.3, reference=Reference(float(np.linalg.norm(centre, 2))))
    z = net.layer_norm(net.tokens(2, 1.0, positions=2), eps=0.1)
    return Graph(net.linear(z, weight, Weight("c", (2, 1), spectral=0.5)), centres={"W": centre})


def _keys_alone() -> Node:
    head = net.Head(query=Weight("Q", (2, 2), spectral=1.0), key=Weight("K", (2, 2), spectral=1.0))
    keys = net.tokens(2, 1.0, positions=2, half_diameter=0.2)
    return net.attention(net.tokens(2, 1.0, positions=1), head, keys=keys)


def _slope(cap: float = float("inf")) -> Node:
    signals = (net.tokens(2, 1.0, positions=3) for _ in range(3))
    return net.attend(*signals, slope=Weight("m", (1, 1), spectral=1.0), cap=cap)


def _low_rank() -> Node:
    z = net.linear(net.tokens(3, 1.0, positions=1), Weight("A", (1, 3), spectral=1.0))
    return net.linear(z, Weight("B", (3, 1), spectral=1.0))


def _two_heads() -> Node:
    return net.join([net.attend(*three_signals()) for _ in range(2)], Weight("O", (2, 4), spectral=1.0))


def _grouped() -> Node:
    keys = three_signals(dimension=2)[1:]
    return net.fused_attention(net.tokens(4, 1.0, positions=1), *keys, heads=4, key_heads=2)


RULES: dict[str, Graph] = {
    "core attention": Graph(net.attend(*three_signals())),
    "core attention, rotary": Graph(net.attend(*three_signals(0.3), rotary=True)),
    "core attention, cap": Graph(net.attend(*three_signals(0.5), scale=2.0, cap=1.0)),
    "core attention, biased cap": Graph(net.attend(*three_signals(0.5), scale=2.0, cap=1.0, biased=True)),
    "trained slope of ALiBi": Graph(_slope()),
    "trained slope inside a cap": Graph(_slope(1.0)),
    "fused heads, grouped": Graph(_grouped()),
    "joined heads": Graph(_two_heads()),
    "keys at their half-diameter": Graph(_keys_alone()),
    "norm on queries and keys": Graph(_normalised_scores()),
    "norm with a floor": Graph(net.rms_norm(net.tokens(2, 1.0, positions=1), eps=1e-12, floor=0.3)),
    "gain folded into its reader": _folded(),
    "unit tokens": Graph(net.unit(net.tokens(2, 1.0, positions=1), 0.3)),
    "low rank by factors": Graph(_low_rank()),
    "squared relu": Graph(net.squared_relu(net.tokens(2, 1.0, positions=1))),
    "max pooling": Graph(net.max_pool(net.tokens(3, 1.0, positions=3))),
    "experts, soft routing": Graph(_experts(None, 0.0)),
    "experts, two of three, gap counted": Graph(_experts(2, 0.2)),
}


def ratios(graph: Graph, points: int, seed: int = 0) -> dict[str, float]:
    """The largest attained/allowed found: everything free, and every part alone where there are several."""
    parts = [*graph.weights, *(["tokens"] if graph.inputs else [])]
    found = {"all": worst_ratio(graph, np.random.default_rng(seed), points)}
    for part in parts if len(parts) > 1 else ():
        alone = Graph(graph.output, graph.both, (part,), graph.pooled, graph.centres)
        found[part] = worst_ratio(alone, np.random.default_rng(seed), points)
    return found
