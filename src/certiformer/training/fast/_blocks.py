"""Samples cut into blocks whose intermediate arrays stay in the cache, and objectives that bring their own gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float

from certiformer.core.errors import InputError
from certiformer.training.losses import Loss
from certiformer.training.steps import Objective

CACHE_ELEMENTS = 100_000
"""Elements of the largest array of a block: a few such arrays of float32 fill a 2 MB cache."""


class Blocks(NamedTuple):
    """n samples in blocks of b, time before sample; the last block is padded with samples of weight 0.

    `turned` is the same data with the coordinates first: the gradients' matrix products read it without a transpose.
    """

    x: Float[Array, "blocks tokens b d"]
    turned: Float[Array, "blocks d tokens*b"]
    y: Float[Array, "blocks b"]
    weight: Float[Array, "blocks b"]


def blocks(x: npt.ArrayLike, y: npt.ArrayLike, width: int, *, block: int | None = None) -> Blocks:
    """Cut samples `x` (n, tokens, d) with labels `y` into blocks for a model with `width` units or heads."""
    inputs, labels = np.asarray(x), np.asarray(y)
    if inputs.ndim != 3 or labels.shape != inputs.shape[:1]:
        raise InputError("x, y", (inputs.shape, labels.shape), "shapes (n, tokens, d) and (n,)")
    samples, tokens, _ = inputs.shape
    size = block or max(1, min(samples, CACHE_ELEMENTS // (tokens * width)))
    count = -(-samples // size)
    weight = np.zeros(count * size, inputs.dtype)
    weight[:samples] = 1.0 / samples
    cut = _padded(inputs, count * size).reshape(count, size, *inputs.shape[1:]).transpose(0, 2, 1, 3)
    return Blocks(
        x=jnp.asarray(cut),
        turned=jnp.asarray(cut.reshape(count, tokens * size, -1).transpose(0, 2, 1)),
        y=jnp.asarray(_padded(labels.astype(inputs.dtype), count * size).reshape(count, size)),
        weight=jnp.asarray(weight.reshape(count, size)),
    )


def weighted_loss(
    loss: Loss, outputs: Float[Array, " b"], y: Float[Array, " b"], weight: Float[Array, " b"]
) -> tuple[Float[Array, ""], Float[Array, " b"]]:
    """sum_j w_j l(f_j, y_j) and its derivative in every f_j."""
    values, slopes = jax.vmap(jax.value_and_grad(loss))(outputs, y)
    return jnp.sum(weight * values), weight * slopes


def sum_blocks(one: Callable[[Any], Any], data: Any) -> Any:
    """Sum of `one(block)` over the leading axis of `data`, one block at a time."""
    first = jax.tree.map(lambda leaf: leaf[0], data)
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(one, first))

    def add(total: Any, block: Any) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, one(block)), None

    return jax.lax.scan(add, zero, data)[0]


def with_gradient(
    both: Callable[[Any, Any], tuple[tuple[Array, dict[str, Array]], Any]], forward: Objective | None = None
) -> Objective:
    """An objective from a function that computes ((loss, metrics), gradient) in one pass.

    `forward` computes (loss, metrics) where no gradient is asked for, with less work.
    """

    @jax.custom_vjp
    def objective(params: Any, batch: Any) -> tuple[Array, dict[str, Array]]:
        return both(params, batch)[0] if forward is None else forward(params, batch)

    def backward(gradient: Any, cotangent: tuple[Array, Any]) -> tuple[Any, None]:
        return jax.tree.map(lambda slope: cotangent[0] * slope, gradient), None

    objective.defvjp(both, backward)
    return objective


def _padded(values: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    return np.concatenate([values, np.zeros((length - len(values), *values.shape[1:]), values.dtype)])
