"""One search attacks every network: rules of the engine survive it, wrong rules put in their place do not."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from certiformer import networks as net
from certiformer.auditing.attacks.graphs import Graph, worst_ratio
from certiformer.networks import Node, Weight
from certiformer.networks.core_attention import CoreAttention, FusedAttention
from certiformer.networks.graph import Effect, Hats, Signal
from certiformer.networks.joins import MaxPooling
from certiformer.networks.magnitude import ONE, size

POINTS = 700


def best(graph: Graph, points: int = POINTS, seeds: int = 1) -> float:
    return max(worst_ratio(graph, np.random.default_rng(seed), points) for seed in range(seeds))


def three(rho_k: float = 1.0, dimension: int = 2, keys: int = 3) -> tuple[Node, Node, Node]:
    return (
        net.tokens(dimension, 1.0, positions=1),
        net.tokens(dimension, 1.0, positions=keys, half_diameter=rho_k),
        net.tokens(dimension, 1.0, positions=keys),
    )


SOUND: dict[str, tuple[Graph, float]] = {
    # (graph, a ratio the search is known to reach)
    "core attention": (Graph(net.attend(*three())), 0.9),
    "core attention, rotary": (Graph(net.attend(*three(0.3), rotary=True)), 0.4),
    "core attention, cap": (Graph(net.attend(*three(0.5), scale=2.0, cap=1.0)), 0.4),
    "core attention, biased cap": (Graph(net.attend(*three(0.5), scale=2.0, cap=1.0, biased=True)), 0.4),
    "fused heads, grouped": (
        Graph(net.fused_attention(*three(1.0, 4)[:1], *three(1.0, 2)[1:], heads=4, key_heads=2)),
        0.4,
    ),
    "max pooling": (Graph(net.max_pool(net.tokens(3, 1.0, positions=3))), 0.6),
    "squared relu": (Graph(net.squared_relu(net.tokens(2, 1.0, positions=1))), 0.6),
    "unit tokens": (Graph(net.unit(net.tokens(2, 1.0, positions=1), 0.3)), 0.9),
    "LoRA": (
        Graph(
            net.linear(
                net.linear(net.tokens(3, 1.0, positions=1), Weight("A", (1, 3), spectral=1.0)),
                Weight("B", (3, 1), spectral=1.0),
            )
        ),
        0.9,
    ),
    "norm on queries and keys": (
        Graph(
            net.attend(
                net.rms_norm(
                    net.linear(three()[0], Weight("Q", (2, 2), spectral=1.0)), Weight("g", (2, 1), max_row=1.0), eps=0.1
                ),
                net.rms_norm(three()[1], eps=0.1),
                three()[2],
            )
        ),
        0.3,
    ),
    "norm with a floor": (Graph(net.rms_norm(net.tokens(2, 1.0, positions=1), eps=1e-12, floor=0.3)), 0.8),
    "joined heads": (
        Graph(net.join([net.attend(*three()), net.attend(*three())], Weight("O", (2, 4), spectral=1.0))),
        0.5,
    ),
    "keys at their half-diameter": (
        Graph(
            net.attention(
                net.tokens(2, 1.0, positions=1),
                net.Head(query=Weight("Q", (2, 2), spectral=1.0), key=Weight("K", (2, 2), spectral=1.0)),
                keys=net.tokens(2, 1.0, positions=2, half_diameter=0.2),
            ),
            moved=("K",),
        ),
        0.5,
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_rules_survive_and_the_search_comes_close(name: str) -> None:
    graph, reached = SOUND[name]
    found = best(graph)
    assert reached <= found <= 1.0 + 1e-9


@dataclass(frozen=True, slots=True)
class MaxPoolingOne(MaxPooling):
    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        return replace(MaxPooling.effect(self, inputs, hats), factors=(ONE,))


@dataclass(frozen=True, slots=True)
class RotaryWithSpread(CoreAttention):
    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        return CoreAttention(self.scale).effect(inputs, hats)


@dataclass(frozen=True, slots=True)
class CapBlindToBiases(CoreAttention):
    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        return CoreAttention(self.scale, cap=self.cap).effect(inputs, hats)


@dataclass(frozen=True, slots=True)
class FusedByHeads(FusedAttention):
    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        effect = FusedAttention.effect(self, inputs, hats)
        root = size(math.sqrt(min(self.heads, inputs[1].positions)))
        moved = size(self.scale) * inputs[2].half_diameter
        return replace(effect, factors=(effect.factors[0], root * moved * inputs[0].radius, root))


ONE_SIDED = net.rms_norm(net.tokens(2, 1.0, positions=1), eps=1e-12, floor=0.3)
WRONG: dict[str, Graph] = {
    "max pooling with factor 1": Graph(Node(MaxPoolingOne(), (net.tokens(3, 1.0, positions=3),))),
    "rotary with the keys' half-diameter": Graph(Node(RotaryWithSpread(positional=True), three(0.01))),
    "a floor in one network only": Graph(ONE_SIDED, both=False),
    "a cap with a bias inside": Graph(Node(CapBlindToBiases(cap=1.0, biased=True), three(0.01))),
    "fused heads under grouped keys": Graph(
        Node(
            FusedByHeads(4, 2), (net.tokens(4, 1.0, positions=1), *(net.tokens(2, 1.0, positions=1) for _ in range(2)))
        )
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_refuted_by_the_same_search(name: str) -> None:
    assert best(WRONG[name]) > 1.05


@pytest.mark.property_of("cover.floors")
@pytest.mark.independent("cover.floors")
def test_theorem_l_on_pairs_of_networks() -> None:
    """(a) and (b) of the proof, and what is counted by hand: f_t(x) = RMSNorm(x - (t, 0))_1, floor 0.05."""
    rng = np.random.default_rng(0)
    floor, eps = 0.05, 0.1
    t = rng.uniform(-0.5, 0.5, 20_000)
    error = floor * eps
    other = t + rng.uniform(-error, error, t.size)
    x = rng.standard_normal((t.size, 2)) * 0.3

    def network(shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = np.stack([x[:, 0] - shift, x[:, 1]], axis=1)
        deviation = np.sqrt(np.mean(z**2, axis=1) + 1e-12)
        return z[:, 0] / deviation, deviation

    (f, s), (g, s_hat) = network(t), network(other)
    kappa = error / math.sqrt(2.0)
    good = s >= floor + 2.0 * kappa
    assert np.all(s_hat[good] >= floor + kappa)
    assert np.all(np.abs(f - g)[good] <= eps)
    fine = s_hat >= floor + kappa
    assert np.all(s[fine] >= floor)
    assert np.all(np.abs(f - g)[fine] <= eps)
    assert 0 < np.sum(~good) < t.size
    graph = net.rms_norm(net.bias(net.tokens(2, 5.0, positions=1), Weight("t", (2, 1), spectral=0.5)), floor=floor)
    (condition,) = net.analyse(
        net.readout(graph, Weight("w", (1, 2), spectral_distance=0.0, reference=net.Reference(1.0)))
    ).conditions(eps)
    assert condition.counted_below == pytest.approx(floor + 2.0 * kappa, rel=1e-6)
