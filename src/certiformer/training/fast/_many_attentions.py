"""Deora's attention layer for many parameter sets at once (the runs of leave-one-out), one sample after another.

With P = softmax(X W_h X^T), S = U_h X^T and r_t = sum_s P_ts S_ts:

    Phi = H^{-1/2} sum_h sum_t r_t,   grad_U = P X,   grad_W = X^T (P * (S - r 1^T)) X        (times H^{-1/2})

Runs and heads share the last axis, so every operation is a long vector operation or one matrix product.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from certiformer.core.errors import InputError
from certiformer.models import MultiHeadAttention
from certiformer.training.fast._blocks import sum_blocks
from certiformer.training.leave_one_out import Gradients
from certiformer.training.losses import Loss, logistic


def many_attentions(loss: Loss = logistic) -> Gradients:
    """`gradients(models, (x, y), weights)` for models with full readout stacked along a leading axis of runs."""
    return lambda models, batch, weights: _gradients(models, batch, weights, loss)


def _gradients(
    models: MultiHeadAttention, batch: Any, weights: Float[Array, "runs n"], loss: Loss
) -> tuple[Float[Array, " runs"], Any]:
    if models.config.readout != "full":
        raise InputError("readout", models.config.readout, '"full"', "The plain gradients take any readout.")
    heads = models.U.shape[1]
    losses, *slopes = attention_gradients(models.U, models.W, batch, weights, jnp.full(heads, heads**-0.5), loss)
    return losses, eqx.tree_at(lambda each: (each.U, each.W), models, tuple(slopes))


def attention_gradients(
    U: Float[Array, "runs heads tokens d"],
    W: Float[Array, "runs heads d d"],
    batch: Any,
    weights: Float[Array, "runs n"],
    factor: Float[Array, " heads"],
    loss: Loss = logistic,
) -> tuple[Float[Array, " runs"], Float[Array, "runs heads tokens d"], Float[Array, "runs heads d d"]]:
    """Weighted losses and their gradients in U and W, with `factor` of the heads in place of H^{-1/2}."""
    x, y = batch
    runs, heads, tokens, d = U.shape
    units = runs * heads
    rows_U = U.reshape(units, tokens, d).transpose(1, 2, 0)
    rows_W = W.reshape(units, d, d).transpose(1, 2, 0).reshape(d, d * units)
    scale = factor.astype(U.dtype)

    def one(sample: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        tokens_of, label, weight = sample
        # 1. Attention of every unit (run, head) on this sample.
        keys = (tokens_of @ rows_W).reshape(tokens, d, units)
        scores = jnp.einsum("sj,tju->tsu", tokens_of, keys)
        mass = jnp.exp(scores - jnp.max(scores, axis=1, keepdims=True))
        attention = mass / jnp.sum(mass, axis=1, keepdims=True)
        # 2. Outputs of the runs and their weighted losses.
        seen = attention * jnp.einsum("sj,tju->tsu", tokens_of, rows_U)
        rows = jnp.sum(seen, axis=1, keepdims=True)
        outputs = jnp.sum(rows, axis=(0, 1)).reshape(runs, heads) @ scale
        values, slopes = jax.vmap(jax.value_and_grad(loss), in_axes=(0, None))(outputs, label)
        pull = ((weight * slopes)[:, None] * scale).reshape(units)
        # 3. Gradients.
        grad_U = jnp.einsum("sj,tsu->tju", tokens_of, pull * attention)
        moved = jnp.einsum("sj,tsu->tju", tokens_of, pull * (seen - attention * rows))
        grad_W = tokens_of.T @ moved.reshape(tokens, d * units)
        return weight * values, grad_U, grad_W

    losses, grad_U, grad_W = sum_blocks(one, (x, y, weights.T))
    return (
        losses,
        grad_U.transpose(2, 0, 1).reshape(U.shape),
        grad_W.reshape(d, d, units).transpose(2, 0, 1).reshape(W.shape),
    )
