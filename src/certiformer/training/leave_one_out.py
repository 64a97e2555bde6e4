"""Gradient descent on a sample and on all its leave-one-out subsets, n + 1 runs in one program.

L^{-i}(theta) = (1/n) sum_{j != i} l_j(theta)          (the weight stays 1/n, as in Deora's stability argument)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from certiformer.core.errors import InputError
from certiformer.training import loop

Losses = Callable[[Any, Any], Array]
"""`losses(params, (x, y))`: the loss of every sample."""

Gradients = Callable[[Any, Any, Array], tuple[Array, Any]]
"""`gradients(params, (x, y), weights)`: weighted loss and its gradient, for all runs at once."""


@dataclass(frozen=True)
class LeaveOneOut:
    """The run on all samples, the n runs without one (leading axis), and the loop's record of the n + 1."""

    full: Any
    left_out: Any
    record: loop.Run


def weights(samples: int, dtype: Any = None) -> Float[Array, "runs samples"]:
    """Row 0: 1/n everywhere. Row i + 1: the same with sample i at 0."""
    ones = jnp.ones((1, samples), dtype)
    return jnp.concatenate([ones, 1 - jnp.eye(samples, dtype=ones.dtype)]) / samples


def gradients_of(losses: Losses) -> Gradients:
    """The runs' weighted losses and gradients by automatic differentiation, one `vmap` over the runs."""

    def one(params: Any, batch: Any, weight: Array) -> Array:
        return jnp.sum(weight * losses(params, batch))

    return jax.vmap(jax.value_and_grad(one), in_axes=(0, None, 0))


def leave_one_out(
    gradients: Gradients,
    params: Any,
    batch: Any,
    *,
    rate: float,
    steps: int,
    chunk: int = 100,
    saving: loop.Saving | None = None,
    progress: bool | None = None,
) -> LeaveOneOut:
    """theta <- theta - rate * grad L^{-i}(theta) for the full sample and every i, from one common start.

    The start must not depend on the samples, or the distances say nothing about generalization.
    """
    samples = int(jax.tree.leaves(batch)[0].shape[0])
    if samples < 2:
        raise InputError("samples", samples, "at least two")
    if not 0 < rate < float("inf"):
        raise InputError("rate", rate, "a positive finite number")
    dtype = jax.tree.leaves(params)[0].dtype
    table = weights(samples, dtype)
    start = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (samples + 1, *leaf.shape)), params)
    record = loop.run(
        _step(gradients, rate),
        start,
        (batch, table),
        steps=steps,
        chunk=chunk,
        saving=saving,
        progress=progress,
        label="leave one out",
    )
    return LeaveOneOut(
        full=jax.tree.map(lambda leaf: leaf[0], record.state),
        left_out=jax.tree.map(lambda leaf: leaf[1:], record.state),
        record=record,
    )


@lru_cache(maxsize=8)
def _step(gradients: Gradients, rate: float) -> loop.Step:
    """The step of all runs; kept, so that another call with the same gradients finds it compiled."""

    def step(state: Any, index: Array, data: Any) -> tuple[Any, dict[str, Array]]:
        batch, table = data
        losses, slopes = gradients(state, batch, table)
        moved = jax.tree.map(lambda leaf, slope: leaf - rate * slope, state, slopes)
        return moved, {"loss": jnp.max(losses), "losses": losses}

    return step
