r"""The end of a network: scalar readout, logits, loss. Proofs: docs/proofs/layers.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from certiformer.theory.networks.graph import Effect, Hats, Layer, Node, Signal, signal
from certiformer.theory.networks.magnitude import ONE, UNBOUNDED, size
from certiformer.theory.networks.maps import linear
from certiformer.theory.networks.weights import Geometry, Use, Weight, constant_use


def readout(z: Node, weight: Weight, shift: Weight | None = None) -> Node:
    """The scalar w^T z (+ b); w is 1 x d."""
    weight.expect(1, None)
    return linear(z, weight, shift)


@dataclass(frozen=True, slots=True)
class VocabularyHead(Layer):
    """z -> Wz + b in the metric max over coordinates: lambda = largest row; W: beta = 1 at radius B; b: beta = 1."""

    weight: Weight
    shift: Weight | None = None
    cap: float = math.inf

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        self.weight.expect(None, z.dimension)
        uses = [Use(self.weight, ONE, z.radius, z.l1, z.positions, Geometry.ROWS)]
        radius = hats.row(self.weight) * z.radius
        if self.shift is not None:
            uses.append(constant_use(self.shift, ONE, Geometry.ROWS, rows=self.weight.shape[0]))
            radius = radius + hats.row(self.shift)
        # A soft-cap on the logits has slope 1.
        radius = min(radius, size(self.cap, "cap"))
        out = Signal(self.weight.shape[0], z.positions, radius, UNBOUNDED, UNBOUNDED, radius, logits=True)
        return Effect(out, (self.weight.row_norm,), tuple(uses))


def vocabulary(z: Node, weight: Weight, shift: Weight | None = None, *, cap: float = math.inf) -> Node:
    """The logits W z (+ b), soft-capped at `cap`, W one row per class, in the sup metric; only a loss may follow."""
    return Node(VocabularyHead(weight, shift, cap), (z,))


@dataclass(frozen=True, slots=True)
class Loss(Layer):
    """l(z, y), L-Lipschitz in the metric of z, values in [0, c]: lambda = L; |l - centre| <= min(c/2, L B)."""

    lipschitz: float
    bound: float
    reads_logits: ClassVar[bool] = True

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        (z,) = inputs
        factor = size(self.lipschitz, "lipschitz")
        # Centre c/2, or l(0, y): both are fixed functions of the example.
        return Effect(signal(1, z.positions, min(size(self.bound / 2.0, "bound"), factor * z.radius)), (factor,))


def loss(z: Node, lipschitz: float, bound: float = math.inf) -> Node:
    """A loss in [0, bound]; after a vocabulary head it must be Lipschitz in the sup norm (cross entropy: 2)."""
    return Node(Loss(lipschitz, bound), (z,))
