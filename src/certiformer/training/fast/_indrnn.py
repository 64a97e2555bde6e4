"""The independently recurrent network: back-propagation through time, a block of samples at a time.

h_t = sigma(z_t),  z_t = W x_t + u h_{t-1};      delta_t = dL/dh_t sigma'(z_t),  dL/dh_{t-1} = u delta_t,
grad_W = sum_t delta_t x_t^T,      grad_u = sum_t delta_t h_{t-1}
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from certiformer.core.errors import InputError
from certiformer.models import IndRNN
from certiformer.training.fast._blocks import Blocks, sum_blocks, weighted_loss, with_gradient
from certiformer.training.losses import Loss, squared
from certiformer.training.steps import Objective


def indrnn(loss: Loss = squared) -> Objective:
    """mean loss of an `IndRNN` with tanh units, on `Blocks`."""
    return with_gradient(lambda model, batch: _both(model, batch, loss))


def _both(model: IndRNN, batch: Blocks, loss: Loss) -> tuple[tuple[Array, dict[str, Array]], Any]:
    if model.config.activation != "tanh":
        raise InputError("activation", model.config.activation, '"tanh"', "The plain objective takes any activation.")
    units, d = model.w.shape
    scale = units**-0.5

    def one(block: Blocks) -> tuple[Array, ...]:
        tokens, size, _ = block.x.shape
        drives = (block.x.reshape(tokens * size, d) @ model.w.T).reshape(tokens, size, units)

        def forward(hidden: Array, drive: Array) -> tuple[Array, Array]:
            after = jnp.tanh(drive + model.u * hidden)
            return after, after

        last, path = jax.lax.scan(forward, jnp.zeros((size, units), drives.dtype), drives)
        total, residual = weighted_loss(loss, (last @ model.c) * scale, block.y, block.weight)
        residual = residual * scale

        def backward(pull: Array, hidden: Array) -> tuple[Array, Array]:
            delta = pull * (1.0 - hidden * hidden)
            return delta * model.u, delta

        _, deltas = jax.lax.scan(backward, residual[:, None] * model.c, path, reverse=True)
        grad_u = jnp.sum(deltas[1:] * path[:-1], axis=(0, 1))
        grad_w = block.turned @ deltas.reshape(tokens * size, units)
        return total, residual @ last, grad_u, grad_w

    total, grad_c, grad_u, grad_w = sum_blocks(one, batch)
    return (total, {}), replace(model, c=grad_c, u=grad_u, w=grad_w.T)
