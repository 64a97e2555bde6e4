"""Layers that combine signals or tokens: residuals, gates, feed-forward blocks, pooling."""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.graph import Effect, Hats, Layer, Node, Signal, signal
from certiformer.theory.networks.magnitude import ONE, size, total
from certiformer.theory.networks.maps import SILU, Activation, activation, linear
from certiformer.theory.networks.weights import Weight


@dataclass(frozen=True, slots=True)
class Sum(Layer):
    """z_1 + z_2 + ...: lambda = 1 for each; radii and half-diameters add."""

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        out = signal(
            *_common_shape(inputs),
            total(*(z.radius for z in inputs)),
            total(*(z.half_diameter for z in inputs)),
            total(*(z.l1 for z in inputs)),
            total(*(z.sup for z in inputs)),
        )
        return Effect(out, (ONE,) * len(inputs))


def _common_shape(inputs: tuple[Signal, ...]) -> tuple[int, int]:
    """(dimension, positions) of signals combined token by token; a single token goes with every position."""
    dimensions = {z.dimension for z in inputs}
    positions = {z.positions for z in inputs} - {1} or {1}
    if len(dimensions) != 1 or len(positions) != 1:
        shapes = [(z.positions, z.dimension) for z in inputs]
        raise InputError("signals (positions x dimension)", shapes, "equal shapes, or single tokens")
    return dimensions.pop(), positions.pop()


def add(*parts: Node) -> Node:
    """The sum of signals: a residual connection, added positions, summed heads. One token is added to all positions."""
    return Node(Sum(), parts)


@dataclass(frozen=True, slots=True)
class Product(Layer):
    """a * b coordinatewise: lambda_a = sup|b|, lambda_b = sup|a|; output min(sup|a| B_b, B_a sup|b|)."""

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        a, b = inputs
        out = signal(
            *_common_shape(inputs),
            min(a.sup * b.radius, a.radius * b.sup),
            a.half_diameter * b.sup + a.sup * b.half_diameter,
            a.radius * b.radius,
            a.sup * b.sup,
        )
        return Effect(out, (b.sup, a.sup))


def multiply(a: Node, b: Node) -> Node:
    """The coordinatewise product of two signals: a gate."""
    return Node(Product(), (a, b))


def gated_feed_forward(
    z: Node,
    gate: Weight,
    up: Weight,
    down: Weight,
    sigma: Activation = SILU,
    *,
    gate_shift: Weight | None = None,
    up_shift: Weight | None = None,
    down_shift: Weight | None = None,
) -> Node:
    """W_down (sigma(W_gate z) * W_up z): SwiGLU with SILU, GEGLU with GELU, GLU with SIGMOID."""
    gated = multiply(activation(linear(z, gate, gate_shift), sigma), linear(z, up, up_shift))
    return linear(gated, down, down_shift)


def feed_forward(
    z: Node,
    up: Weight,
    down: Weight,
    sigma: Activation,
    *,
    up_shift: Weight | None = None,
    down_shift: Weight | None = None,
) -> Node:
    """W_down sigma(W_up z)."""
    return linear(activation(linear(z, up, up_shift), sigma), down, down_shift)


@dataclass(frozen=True, slots=True)
class Pooling(Layer):
    """One token per sample, chosen or averaged: lambda = 1, radius B; what follows sees one input per sample."""

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        return Effect(signal(z.dimension, 1, z.radius, l1=z.l1, sup=z.sup), (ONE,))


def mean_pool(z: Node) -> Node:
    """The mean of the tokens."""
    return Node(Pooling(), (z,))


def pick(z: Node) -> Node:
    """One token: CLS, the last one, or the masked one, wherever it is."""
    return Node(Pooling(), (z,))


@dataclass(frozen=True, slots=True)
class MaxPooling(Layer):
    """The coordinatewise maximum over T tokens of dimension d: lambda = sqrt(min(T, d)), radius that times B, sup sup.

    Each coordinate may look at another token, so the metric max_t ||.||_2 does not pass it with factor 1.
    """

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        factor = size(math.sqrt(min(z.positions, z.dimension)))
        return Effect(signal(z.dimension, 1, factor * z.radius, sup=z.sup), (factor,))


def max_pool(z: Node) -> Node:
    """The maximum of the tokens, coordinate by coordinate."""
    return Node(MaxPooling(), (z,))
