r"""Attention: one rule for self- and cross-attention, merged or separate score matrices, biases, rotations.

A head reads queries x and keys y_1..y_T (the same tokens in self-attention) and returns

.. math:: W_v \sum_s p_s y_s + b_v,\qquad p = \mathrm{softmax}_s(\mathrm{scale}\cdot\mathrm{score}(x, y_s)).

Masks and fixed additive score biases change no number below, so they are not arguments: the average still runs over
tokens of radius B and half-diameter rho, and the scores change with weights and tokens exactly as without them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from certiformer.theory.core.errors import InputError
from certiformer.theory.networks.core_attention import combined, concatenated
from certiformer.theory.networks.graph import Effect, Hats, Layer, Node, Signal, signal
from certiformer.theory.networks.magnitude import ONE, ZERO, Magnitude, size
from certiformer.theory.networks.maps import bias
from certiformer.theory.networks.weights import Geometry, Use, Weight, constant_use, weights_of


@dataclass(frozen=True, slots=True)
class Head:
    """One attention head.

    Scores are scale * y^T A x with `score` = A (that is W_QK^T for scores X W_QK^T x), or
    scale * (W_K y + b_K)^T R (W_Q x + b_Q) with `query`, `key` and their biases; R = I, or with `rotary` a rotation
    that depends on the two positions. `score_bias` is a trained table added to the scores (entries x 1).
    `joint` bounds scale * ||W_K^T W_Q||_2; it is a bound on two weights at once, which products of covers do not
    respect, so only external analyses use it. Without `value` the head returns the average itself.
    """

    value: Weight | None = None
    score: Weight | None = None
    query: Weight | None = None
    key: Weight | None = None
    scale: float = 1.0
    query_bias: Weight | None = None
    key_bias: Weight | None = None
    value_bias: Weight | None = None
    score_bias: Weight | None = None
    rotary: bool = False
    joint: float = math.inf

    def __post_init__(self) -> None:
        separate = self.query is not None and self.key is not None
        if (self.score is not None) == separate or (self.query is None) != (self.key is None):
            raise InputError("head", "score matrices", "either score, or both query and key")
        if self.score is not None and (self.rotary or self.query_bias or self.key_bias or self.joint < math.inf):
            raise InputError(
                "head", "a merged score matrix", "separate query and key for rotations, biases or a joint bound"
            )
        if self.rotary and self.joint < math.inf:
            raise InputError("joint", self.joint, "no joint bound with rotations", "They act between W_K and W_Q")

    @property
    def weights(self) -> tuple[Weight, ...]:
        """The matrices and biases that the head has."""
        return weights_of(self)


@dataclass(frozen=True, slots=True)
class _Scores:
    """How the scores move the average of the keys: per unit of movement of queries, of keys, and by weights."""

    by_queries: Magnitude
    by_keys: Magnitude
    uses: tuple[Use, ...]


def head_effect(head: Head, x: Signal, y: Signal, hats: Hats) -> Effect:
    """lambda_x = v * by_queries, lambda_y = v (1 + by_keys); W_v: beta = 1 at B_y; output vhat B_y + ||bhat_v||."""
    v, v_hat = ONE, ONE
    uses: list[Use] = []
    if head.value is not None:
        head.value.expect(None, y.dimension)
        v, v_hat = head.value.spectral_norm, hats.spectral(head.value)
        # The hatted average is a convex combination of hatted keys: errors at the keys bound the error there.
        uses.append(Use(head.value, ONE, y.radius, y.l1, y.positions))
    scores = _scores(head, x, y, hats)
    uses += [_scaled(use, v) for use in scores.uses]
    if head.score_bias is not None:
        head.score_bias.expect(None, 1)
        uses.append(constant_use(head.score_bias, v * y.half_diameter, Geometry.ROWS))
    rows = y.dimension if head.value is None else head.value.shape[0]
    shift, shift_sup = ZERO, ZERO
    if head.value_bias is not None:
        uses.append(constant_use(head.value_bias, ONE, rows=rows))
        shift, shift_sup = hats.spectral(head.value_bias), hats.row(head.value_bias)
    sup = y.sup if head.value is None else hats.row(head.value) * y.radius
    # Outputs are averages of the values W_v y_s, one shift for all.
    out = signal(rows, x.positions, v_hat * y.radius + shift, v_hat * y.half_diameter, sup=sup + shift_sup)
    return Effect(out, (v * scores.by_queries, v * (ONE + scores.by_keys)), tuple(uses))


def _scores(head: Head, x: Signal, y: Signal, hats: Hats) -> _Scores:
    if head.score is not None:
        return _merged(head.score, head, x, y)
    if head.query is None or head.key is None:
        raise InputError("head", "score matrices", "either score, or both query and key")
    head.query.expect(None, x.dimension)
    head.key.expect(head.query.shape[0], y.dimension)
    return (_rotary if head.rotary else _separate)(head.query, head.key, head, x, y, hats)


def _merged(score: Weight, head: Head, x: Signal, y: Signal) -> _Scores:
    """scale y_s^T A x. A: rho^2 scale at B_x; queries: rho^2 q; keys: rho B_x q; q = scale ||A||."""
    score.expect(y.dimension, x.dimension)
    rho, k = y.half_diameter, size(head.scale, "scale")
    q = k * score.spectral_norm
    return _Scores(rho * rho * q, rho * q * x.radius, (Use(score, rho * rho * k, x.radius, x.l1, x.positions),))


def _separate(query: Weight, key: Weight, head: Head, x: Signal, y: Signal, hats: Hats) -> _Scores:
    """scale (W_K y_s)^T (W_Q x + b_Q); b_K adds the same number to every score and drops out.

    W_Q, b_Q: rho^2 scale ||W_K||; W_K: rho scale (||What_Q|| B_x + ||bhat_Q||) at rho, as only differences of scores
    count (at B_y for the points of a sample);
    queries: rho^2 q; keys: rho (q B_x + scale ||W_K|| ||b_Q||); q = scale ||W_K^T W_Q||.
    """
    rho, k = y.half_diameter, size(head.scale, "scale")
    key_norm = k * key.spectral_norm
    q = key_norm * query.spectral_norm
    if not hats.proper:
        q = min(q, size(head.joint, "joint"))
    width = size(math.sqrt(y.dimension))
    hatted = hats.spectral(query) * x.radius + _norm(head.query_bias, hats)
    uses = [
        Use(query, rho * rho * key_norm, x.radius, x.l1, x.positions),
        Use(key, rho * k * hatted, rho, min(y.l1, width * rho), y.positions, sampled=y.radius),
    ]
    if head.query_bias is not None:
        uses.append(constant_use(head.query_bias, rho * rho * key_norm, rows=query.shape[0]))
    if head.key_bias is not None:
        uses.append(constant_use(head.key_bias, ZERO, rows=key.shape[0]))
    return _Scores(rho * rho * q, rho * (q * x.radius + key_norm * _norm(head.query_bias)), tuple(uses))


def _rotary(query: Weight, key: Weight, head: Head, x: Signal, y: Signal, hats: Hats) -> _Scores:
    """scale (W_K y_s + b_K)^T R_s (W_Q x + b_Q): the rotation depends on s, so a score change is bounded key by key.

    With Q = ||W_Q|| B_x + ||b_Q||, K = ||W_K|| B_y + ||b_K||: W_Q, b_Q: rho scale K; W_K, b_K: rho scale Qhat;
    queries: rho scale ||W_Q|| K; keys: rho scale ||W_K|| Q.
    """
    rho, k = y.half_diameter, size(head.scale, "scale")
    queries = query.spectral_norm * x.radius + _norm(head.query_bias)
    queries_hat = hats.spectral(query) * x.radius + _norm(head.query_bias, hats)
    keys = key.spectral_norm * y.radius + _norm(head.key_bias)
    uses = [
        Use(query, rho * k * keys, x.radius, x.l1, x.positions),
        Use(key, rho * k * queries_hat, y.radius, y.l1, y.positions),
    ]
    if head.query_bias is not None:
        uses.append(constant_use(head.query_bias, rho * k * keys, rows=query.shape[0]))
    if head.key_bias is not None:
        uses.append(constant_use(head.key_bias, rho * k * queries_hat, rows=key.shape[0]))
    return _Scores(rho * k * query.spectral_norm * keys, rho * k * key.spectral_norm * queries, tuple(uses))


def _norm(weight: Weight | None, hats: Hats | None = None) -> Magnitude:
    if weight is None:
        return ZERO
    return weight.spectral_norm if hats is None else hats.spectral(weight)


def _scaled(use: Use, factor: Magnitude) -> Use:
    return replace(use, beta=factor * use.beta)


@dataclass(frozen=True, slots=True)
class Attention(Layer):
    """One head, or several whose outputs are concatenated and multiplied by W_O = (W_O1, W_O2, ...).

    lambda = min(||W_O|| sqrt(sum lambda_h^2), sum ||W_Oh|| lambda_h); the weights of head h count ||W_Oh|| times;
    W_O: beta = 1 at radius sqrt(sum B_h^2). One input in self-attention, (queries, keys) in cross-attention.
    """

    heads: tuple[Head, ...]
    projection: Weight | None = None

    @property
    def weights(self) -> tuple[Weight, ...]:
        """Those of the heads, then W_O."""
        return (*(weight for head in self.heads for weight in head.weights), *weights_of(self))

    def effect(self, inputs: tuple[Signal, ...], hats: Hats) -> Effect:
        x, y = inputs[0], inputs[-1]
        effects = [head_effect(head, x, y, hats) for head in self.heads]
        to_inputs = [[one.factors[place] for one in effects] for place in (0, 1)]
        if len(inputs) == 1:
            to_inputs = [[queries + keys for queries, keys in zip(*to_inputs, strict=True)]]
        if self.projection is None:
            return Effect(effects[0].output, tuple(per_head[0] for per_head in to_inputs), effects[0].uses)
        return self._concatenated(self.projection, effects, to_inputs, hats)

    def _concatenated(
        self, weight: Weight, heads: Sequence[Effect], to_inputs: Sequence[Sequence[Magnitude]], hats: Hats
    ) -> Effect:
        out, own = concatenated(weight, [head.output for head in heads], hats)
        blocks = [weight.block_norm(h, len(heads)) for h in range(len(heads))]
        uses = [_scaled(use, block) for head, block in zip(heads, blocks, strict=True) for use in head.uses]
        uses.append(replace(own, derived=True))
        lipschitz = tuple(combined(weight.spectral_norm, blocks, per_head) for per_head in to_inputs)
        return Effect(out, lipschitz, tuple(uses))


def attention(
    queries: Node,
    heads: Head | Sequence[Head],
    *,
    keys: Node | None = None,
    output: Weight | None = None,
    output_bias: Weight | None = None,
) -> Node:
    """Self-attention, or cross-attention when `keys` is another signal; several heads are joined by `output` = W_O.

    Heads that are summed instead are `add(attention(z, first), attention(z, second), ...)`.
    """
    several = (heads,) if isinstance(heads, Head) else tuple(heads)
    if not several or (len(several) > 1 and output is None):
        raise InputError("heads", len(several), "one head, or several with output=W_O", "Sum heads with add(...)")
    parents = (queries,) if keys is None or keys is queries else (queries, keys)
    node = Node(Attention(several, output), parents)
    return node if output_bias is None else bias(node, output_bias)
