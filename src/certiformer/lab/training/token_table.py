"""Trauger's sparse-majority experiment: the CLS row only, from a table of the 2T + 1 tokens that exist.

Position t carries one of two tokens, picked by a bit; the query is the fixed CLS token. With logits l and folded values
V = x W_V W_O of the table's rows, head h gives sum_t e^{l_t} V_t / sum_t e^{l_t} over the tokens present, that is

    (base + bits @ (table_1 - table_0)),     table = [e^l * V, e^l] for both heads: 130 columns

numerators and denominators in one product. The sum cancels when tokens that are absent outweigh those present by more
than `guard`; then a masked softmax over the table is used instead. The key bias is constant over tokens and drops out.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from certiformer.lab.models import KerasClsTransformer
from certiformer.lab.training.losses import Loss, correct
from certiformer.lab.training.steps import Objective
from certiformer.theory.core.errors import InputError


def token_table(loss: Loss, *, guard: float | None = None) -> Objective:
    """mean loss of a `KerasClsTransformer` on batches `(bits (n, T) as floats, labels (n,), table (2T + 1, d))`.

    table: row t is a zero at position t, row T + t a one at position t, row 2T the CLS token, which stands last.
    guard: largest ratio of the softmax mass of all table entries to the least mass a sequence can have for which the
    cancelling form is used; by default the ratio at which rounding reaches about 1e-5 (float32) or 1e-11 (float64).
    Under `vmap` both forms are computed, so give each seed its own run.
    """

    def objective(model: Any, batch: Any) -> tuple[Array, dict[str, Array]]:
        bits, labels, table = batch
        outputs = token_table_logits(model, bits, table, guard=guard)
        accuracy = jnp.mean(jax.vmap(correct)(outputs, labels))
        return jnp.mean(jax.vmap(loss)(outputs, labels)), {"accuracy": accuracy}

    return objective


def token_table_logits(
    model: KerasClsTransformer,
    bits: Float[Array, "n tokens"],
    table: Float[Array, "2*tokens+1 d"],
    *,
    guard: float | None = None,
) -> Float[Array, "n classes"]:
    """The network's outputs on sequences given by their bits."""
    tokens, key_size = bits.shape[1], model.config.key_size
    if table.shape[0] != 2 * tokens + 1:
        raise InputError("table", f"{table.shape[0]} rows", f"2T + 1 = {2 * tokens + 1} rows for T = {tokens} bits")
    limit = (64.0 if bits.dtype == jnp.float32 else 1e5) if guard is None else guard
    # 1. Logits and folded values of every token that exists, for every head.
    query = (jnp.einsum("i,ihk->hk", table[-1], model.W_Q) + model.b_Q) / key_size**0.5
    scores = table @ jnp.einsum("ihk,hk->ih", model.W_K, query)
    values = jnp.einsum("ri,ihj->rhj", table, jnp.einsum("ihk,hkj->ihj", model.W_V, model.W_O))
    # 2. The CLS row's attention, head by head.
    peak = jax.lax.stop_gradient(jnp.max(scores, axis=0))
    mass = jnp.exp(scores - peak)
    most, least = _mass_range(jax.lax.stop_gradient(mass), tokens)
    attended = jax.lax.cond(
        jnp.all(most <= limit * least),
        lambda: _by_difference(mass, values, bits),
        lambda: _by_masked_softmax(scores, values, bits),
    )
    # 3. ReLU, then the two linear maps as one (nothing stands between them); value biases pass through the softmax.
    constant = jnp.einsum("hk,hkj->j", model.b_V, model.W_O) + model.b_O
    hidden = jax.nn.relu(attended + constant)
    return hidden @ (model.W_1 @ model.W_2) + (model.b_1 @ model.W_2 + model.b_2)


def _mass_range(mass: Float[Array, "rows heads"], tokens: int) -> tuple[Array, Array]:
    zero, one, cls = mass[:tokens], mass[tokens:-1], mass[-1]
    return jnp.sum(jnp.maximum(zero, one), axis=0) + cls, jnp.sum(jnp.minimum(zero, one), axis=0) + cls


def _by_difference(mass: Array, values: Array, bits: Array) -> Float[Array, "n d"]:
    tokens = bits.shape[1]
    rows, heads, d = values.shape
    table = jnp.concatenate([(mass[:, :, None] * values).reshape(rows, heads * d), mass], axis=1)
    base = jnp.sum(table[:tokens], axis=0) + table[-1]
    sums = base + bits @ (table[tokens:-1] - table[:tokens])
    inverse = 1.0 / sums[:, heads * d :]
    attended = sums[:, :d] * inverse[:, :1]
    for h in range(1, heads):
        attended = attended + sums[:, h * d : (h + 1) * d] * inverse[:, h : h + 1]
    return attended


def _by_masked_softmax(scores: Array, values: Array, bits: Array) -> Float[Array, "n d"]:
    ones = jnp.ones((bits.shape[0], 1), bits.dtype)
    present = jnp.concatenate([1.0 - bits, bits, ones], axis=1) > 0.5
    masked = jnp.where(present[:, None, :], scores.T, -jnp.inf)
    return jnp.einsum("nhr,rhj->nj", jax.nn.softmax(masked, axis=-1), values)
