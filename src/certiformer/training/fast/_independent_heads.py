"""Arda's shallow Transformer: loss and gradient in one pass, heads along the last axis.

With p = softmax(X W q), a = X^T p and s = u.a,

    grad_u = sigma'(s) a,       grad_W = sigma'(s) (cov u) q^T,       cov u = sum_t p_t (x_t.u - s) x_t,

so neither the d x d covariance nor `a` is ever formed for a sample and a head.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from certiformer.core.errors import InputError
from certiformer.models import IndependentHeads, activation
from certiformer.training.fast._blocks import Blocks, sum_blocks, weighted_loss, with_gradient
from certiformer.training.losses import Loss, squared
from certiformer.training.steps import Objective


def independent_heads(loss: Loss = squared) -> Objective:
    """mean loss of an `IndependentHeads` model whose query is the last or the first token, on `Blocks`."""
    return with_gradient(lambda model, batch: _both(model, batch, loss))


def _both(model: IndependentHeads, batch: Blocks, loss: Loss) -> tuple[tuple[Array, dict[str, Array]], Any]:
    if model.config.query not in ("last", "cls"):
        raise InputError("query", model.config.query, '"last" or "cls"', "The plain objective takes any query.")
    heads, d = model.u.shape
    row = -1 if model.config.query == "last" else 0
    sigma = activation(model.config.activation)
    scale = heads**-0.5
    by_query = model.W.transpose(2, 1, 0).reshape(d, d * heads)

    def one(block: Blocks) -> tuple[Array, ...]:
        tokens, size, _ = block.x.shape
        query = block.x[row]
        # 1. Scores x_t.(W_h q) and the projections x_t.u_h.
        keys = (query @ by_query).reshape(size, d, heads)
        scores = jnp.einsum("tbi,bih->bth", block.x, keys).transpose(1, 0, 2)
        projected = (block.x.reshape(tokens * size, d) @ model.u.T).reshape(tokens, size, heads)
        # 2. Softmax over the tokens, s = u.a, and the output.
        mass = jnp.exp(scores - jnp.max(scores, axis=0))
        inverse = 1.0 / jnp.sum(mass, axis=0)
        s = jnp.sum(mass * projected, axis=0) * inverse
        hidden, slope = _value_and_slope(sigma, s)
        total, residual = weighted_loss(loss, (hidden @ model.c) * scale, block.y, block.weight)
        residual = residual * scale
        # 3. The three gradients.
        pull = mass * (residual[:, None] * model.c * slope * inverse)
        grad_u = block.turned @ pull.reshape(tokens * size, heads)
        moved = jnp.einsum("tbi,tbh->bih", block.x, pull * (projected - s))
        grad_W = query.T @ moved.reshape(size, d * heads)
        return total, residual @ hidden, grad_u, grad_W

    total, grad_c, grad_u, grad_W = sum_blocks(one, batch)
    gradient = replace(model, c=grad_c, u=grad_u.T, W=grad_W.reshape(d, d, heads).transpose(2, 1, 0))
    return (total, {}), gradient


def _value_and_slope(sigma: Any, s: Array) -> tuple[Array, Array]:
    return jax.jvp(sigma, (s,), (jnp.ones_like(s),))
