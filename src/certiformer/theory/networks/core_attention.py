r"""Attention as a layer with three inputs: queries, keys and values, whatever graph stands above each.

.. math:: o_t = \sum_s p_s v_s,\qquad p = \mathrm{softmax}_s\bigl(\theta(c\,\langle q_t, k_s\rangle)\bigr)

lambda_v = 1, lambda_k = c rho_v B_q, lambda_q = c rho_v rho_k; rotations, a soft-cap and fused heads change these.
Linear maps, norms on queries and keys, positions added to keys only, latent keys and values are compositions.
Proofs: docs/proofs/more-layers.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.graph import Effect, Hats, Layer, Node, Signal, signal
from certiformer.theory.networks.magnitude import ONE, Magnitude, euclidean, size, total
from certiformer.theory.networks.maps import bias
from certiformer.theory.networks.weights import Geometry, Use, Weight, constant_use

_CAP_SLOPE = 0.7698003590
"""4/(3 sqrt 3), the largest derivative of 1/cosh^2, rounded up."""


@dataclass(frozen=True, slots=True)
class CoreAttention(Layer):
    """softmax(theta(c q k^T)) v: lambda_q = c rho_v rho_k, lambda_k = c rho_v B_q, lambda_v = 1; output B_v, rho_v.

    `positional`: a rotation between q and k depends on the key (rotary): B_k for rho_k.
    `cap`: theta = cap tanh(s/cap): min(B_k, rho_k + B_k min(1/2, 0.77 c rho_k B_q/cap)) for rho_k, and min(1/2, .) is
    1/2 when something is added to the scores before the cap (`biased`).
    `score_bias`: a trained table added to the scores (entries x 1): beta = rho_v in the sup norm.
    `slope`: a trained ALiBi slope m (1 x 1), -m |t - s| added to the scores: beta = rho_v (T-1)/2, half the span of
    |t - s| over the keys, inside a cap too.
    """

    scale: float = 1.0  # mutants: nobody-leaves-it-out
    positional: bool = False
    cap: float = math.inf
    biased: bool = False
    score_bias: Weight | None = None
    slope: Weight | None = None

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        q, k, v = inputs
        if q.dimension != k.dimension or k.positions != v.positions:
            got = f"queries of dimension {q.dimension}, {k.positions} keys of {k.dimension}, {v.positions} values"
            raise InputError("queries, keys, values", got, "queries like keys, and one value for every key")
        moved = size(self.scale, "scale") * v.half_diameter
        factors = (moved * self._spread(q, k), moved * q.radius, ONE)
        uses = []
        if self.score_bias is not None:
            self.score_bias.expect(None, 1)
            uses.append(constant_use(self.score_bias, v.half_diameter, Geometry.ROWS))
        if self.slope is not None:
            # Scores change by dm |t - s|, which is in [0, dm (T-1)], through a slope in [0, 1] if there is a cap.
            span = size((max(q.positions, k.positions) - 1) / 2.0)
            uses.append(constant_use(self.slope, v.half_diameter * span, Geometry.ROWS, rows=1))
        out = signal(v.dimension, q.positions, v.radius, v.half_diameter, v.l1, v.sup)
        return Effect(out, factors, tuple(uses))

    def _spread(self, q: Signal, k: Signal) -> Magnitude:
        """How far the scores of one query can be apart per unit of movement of that query."""
        if self.positional:
            return k.radius
        if math.isinf(self.cap):
            return k.half_diameter
        half = size(0.5)
        if not self.biased and self.score_bias is None and self.slope is None:
            half = min(half, size(_CAP_SLOPE * self.scale / self.cap) * k.half_diameter * q.radius)
        return min(k.radius, k.half_diameter + k.radius * half)


def attend(
    queries: Node,
    keys: Node,
    values: Node,
    *,
    scale: float = 1.0,
    rotary: bool = False,
    cap: float = math.inf,
    biased: bool = False,
    score_bias: Weight | None = None,
    slope: Weight | None = None,
) -> Node:
    """One head on three signals. `biased`: something fixed (ALiBi, a mask of -1e4) is added before the cap.

    `score_bias` and `slope` are trained: a table of relative positions, a slope of ALiBi.
    """
    if not cap > 0.0:
        raise InputError("cap", cap, "a positive number, or inf for no cap")
    return Node(CoreAttention(scale, rotary, cap, biased, score_bias, slope), (queries, keys, values))


@dataclass(frozen=True, slots=True)
class FusedAttention(Layer):
    """H heads on one query signal, G key and value heads (G divides H), T keys; a head's norms are at most the whole.

    ||dO|| <= c rho_v rho_k ||dq|| + r (c rho_v B_q max_s ||dk_s|| + max_s ||dv_s||), r = sqrt((H/G) min(G, T)): heads
    look at different tokens. Output r B_v, r rho_v.
    """

    heads: int
    key_heads: int
    scale: float = 1.0  # mutants: nobody-leaves-it-out
    positional: bool = False

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        q, k, v = inputs
        root = size(math.sqrt(self.heads / self.key_heads * min(self.key_heads, k.positions)))
        moved = size(self.scale, "scale") * v.half_diameter
        spread = k.radius if self.positional else k.half_diameter
        dimension = v.dimension * self.heads // self.key_heads
        out = signal(dimension, q.positions, root * v.radius, root * v.half_diameter, sup=v.sup)
        return Effect(out, (moved * spread, root * moved * q.radius, root))


def fused_attention(
    queries: Node,
    keys: Node,
    values: Node,
    *,
    heads: int,
    key_heads: int | None = None,
    scale: float = 1.0,
    rotary: bool = False,
) -> Node:
    """All heads at once: one cover for the whole W_Q, W_K, W_V. Compare with one `attend` per head, and `join`."""
    groups = heads if key_heads is None else key_heads
    if not (heads >= 1 and groups >= 1 and heads % groups == 0):
        raise InputError("heads, key_heads", (heads, groups), "counts, the second dividing the first")
    return Node(FusedAttention(heads, groups, scale, rotary), (queries, keys, values))


@dataclass(frozen=True, slots=True)
class Join(Layer):
    """W_O (o_1, ..., o_H): lambda_h = ||W_Oh||, W_O: beta = 1 at radius sqrt(sum B_h^2)."""

    weight: Weight

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        out, use = concatenated(self.weight, inputs, hats)
        return Effect(out, tuple(self.weight.block_norm(h, len(inputs)) for h in range(len(inputs))), (use,))


def concatenated(weight: Weight, heads: Sequence[Signal], hats: Hats) -> tuple[Signal, Use]:
    """W_O (o_1, ..., o_H) from the outputs of the heads, and the use of W_O there."""
    count = len(heads)
    weight.expect(None, sum(one.dimension for one in heads))
    blocks = [hats.block(weight, h, count) for h in range(count)]
    spectral, radius = hats.spectral(weight), euclidean(*(one.radius for one in heads))
    out = signal(
        weight.shape[0],
        heads[0].positions,
        combined(spectral, blocks, [one.radius for one in heads]),
        combined(spectral, blocks, [one.half_diameter for one in heads]),
        sup=hats.row(weight) * radius,
    )
    return out, Use(weight, ONE, radius, total(*(one.l1 for one in heads)), heads[0].positions)


def combined(whole: Magnitude, blocks: Sequence[Magnitude], per_head: Sequence[Magnitude]) -> Magnitude:
    """What a matrix makes of one number for each of its column blocks, by its norm or by those of the blocks."""
    return min(whole * euclidean(*per_head), total(*(block * one for block, one in zip(blocks, per_head, strict=True))))


def join(heads: Sequence[Node], output: Weight, output_bias: Weight | None = None) -> Node:
    """W_O times the concatenated heads (+ b)."""
    if not heads:
        raise InputError("heads", 0, "at least one head")  # mutants: words
    node = Node(Join(output), tuple(heads))
    return node if output_bias is None else bias(node, output_bias)
