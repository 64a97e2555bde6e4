r"""Where signals come from: fixed tokens, trained tables, trained tokens. Proofs: docs/proofs/layers.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.graph import Effect, Hats, Layer, Node, Signal, signal
from certiformer.theory.networks.magnitude import ONE, size
from certiformer.theory.networks.weights import Geometry, Use, Weight, constant_use


@dataclass(frozen=True, slots=True)
class Tokens(Layer):
    """Fixed (untrained) tokens: no error, given radii."""

    out: Signal

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        return Effect(self.out, ())


def tokens(
    dimension: int,
    radius: float,
    *,
    positions: int,
    half_diameter: float = math.inf,
    l1: float = math.inf,
    sup: float = math.inf,
) -> Node:
    """The inputs: at most `positions` tokens per sample, of l2 norm at most `radius` and half-diameter `half_diameter`.

    The radii hold on the sample for a bound on that sample, on the support for a bound on every sample.
    """
    if not (dimension >= 1 and positions >= 1):
        raise InputError("dimension, positions", (dimension, positions), "counts, at least 1 each")
    if not radius < math.inf:
        raise InputError("radius", radius, "a finite bound on the l2 norm of every token")
    sizes = (size(radius, "radius"), size(half_diameter, "half_diameter"), size(l1, "l1"), size(sup, "sup"))
    return Node(Tokens(signal(dimension, positions, *sizes)))


@dataclass(frozen=True, slots=True)
class Embedding(Layer):
    """Rows of a trained table: table beta = 1 in the largest-row metric; B = rho = largest row."""

    table: Weight
    positions: int

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        entries, dimension = self.table.shape
        use = Use(self.table, ONE, ONE, ONE, entries, Geometry.LOOKUP, finite=True)
        return Effect(signal(dimension, self.positions, hats.row(self.table)), (), (use,))


def embedding(table: Weight, *, positions: int) -> Node:
    """A trained embedding (or position) table, one row per entry, read at `positions` places per sample."""
    return Node(Embedding(table, positions))


@dataclass(frozen=True, slots=True)
class Prepend(Layer):
    """One more token, trained: lambda = 1, token beta = 1; the metric is a maximum, so errors do not even add."""

    token: Weight

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        out = signal(
            z.dimension,
            z.positions + 1,
            max(z.radius, hats.spectral(self.token)),
            sup=max(z.sup, hats.row(self.token)),
        )
        return Effect(out, (ONE,), (constant_use(self.token, ONE, rows=z.dimension),))


def prepend(z: Node, token: Weight) -> Node:
    """The tokens of z and one trained token, such as CLS."""
    return Node(Prepend(token), (z,))
