r"""Experts behind a router: soft routing, and top-k routing where a gap between the logits is counted.

.. math:: o = \sum_{e \in S} p_e f_e(z),\qquad p = \mathrm{softmax}_{e \in S}(W_R z)_e ,

S all experts, or the k largest logits. Top-k is not continuous at ties, so it is a layer only under the condition that
half the gap r_(k) - r_(k+1) is at least g in both networks and the logits are off by less than 2g: then both networks
choose the same experts. Examples that miss the condition are counted, as for a floor (`Analysis.conditions`).
Proofs: docs/proofs/more-layers.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up
from certiformer.theory.networks.graph import Effect, Errors, Hats, Layer, Node, Signal, signal
from certiformer.theory.networks.magnitude import ONE
from certiformer.theory.networks.weights import Geometry, Use, Weight


@dataclass(frozen=True, slots=True)
class Routing(Layer):
    """Inputs z and f_e(z): lambda_z = rho_E (largest row of W_R), W_R: beta = rho_E in the row metric, lambda_e = 1.

    All experts have the class of one, with radius B_E; rho_E = B_E bounds the half-diameter of their outputs at one
    token, and with gates over all experts (the others return 0) too. Output B_E. Errors of experts enter as their
    average, at most the largest: their weights are `alternatives` of each other.
    """

    router: Weight
    chosen: int
    gap: float

    @property
    def floor(self) -> float:
        """Half the gap; soft routing needs none."""
        return self.gap / 2.0 if self.chosen < self.router.shape[0] else 0.0

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        z, expert = inputs
        self.router.expect(None, z.dimension)
        moved = expert.radius
        out = signal(expert.dimension, expert.positions, expert.radius, l1=expert.l1, sup=expert.sup)
        use = Use(self.router, moved, z.radius, z.l1, z.positions, Geometry.ROWS)
        return Effect(out, (moved * self.router.row_norm, ONE), (use,))

    def counted_below(self, at: Errors) -> float:
        """Half the gap is 1-Lipschitz in the largest logit; inf where the logits may be off by twice the floor."""
        off = (self.router.row_norm * at.off[0] + at.uses[0]).value
        return up(self.floor + 2.0 * off) if off < 2.0 * self.floor else math.inf


def route(z: Node, expert: Node, router: Weight, *, chosen: int | None = None, gap: float = 0.0) -> Node:
    """The mixture of the experts at z; `expert` is one of them, a graph on z whose weights have `alternatives`.

    `chosen`: how many the router takes (all by default: soft routing); fewer need a `gap` between the smallest logit
    that is taken and the largest that is not, which is a condition on examples.
    """
    experts = router.shape[0]
    taken = experts if chosen is None else chosen
    if not 1 <= taken <= experts:
        raise InputError("chosen", taken, f"a count from 1 to the {experts} experts")
    if taken < experts and not gap > 0.0:
        raise InputError("gap", gap, "a positive gap", "Top-k routing is not continuous at ties; or route softly")
    return Node(Routing(router, taken, gap), (z, expert))
