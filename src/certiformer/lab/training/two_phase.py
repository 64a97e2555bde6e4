"""Deora's first phase: one gradient step from zero with a random sign per head.

    theta_h(1) = 0 - alpha_h sqrt(H) grad_h L_{n1}(0),      alpha_h = +1 or -1

The second phase is plain gradient descent from theta(1) on n *new* samples: reusing the first phase's samples makes
theta(1) depend on them, and the stability argument behind the generalization bound no longer applies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from certiformer.theory.core.errors import InputError


def random_signs(key: Array, heads: int) -> Float[Array, " heads"]:
    """alpha_h = +-1: independent fair signs."""
    if heads < 1:
        raise InputError("heads", heads, "a positive number")
    return jax.random.rademacher(key, (heads,), dtype=jnp.result_type(float))


def first_phase(mean_loss: Callable[[Any, Any], Array], params: Any, batch: Any, signs: Float[Array, " heads"]) -> Any:
    """theta(1) from theta(0) = 0; every leaf of `params` has the heads as its leading axis."""
    heads = signs.shape[0]
    if any(leaf.shape[:1] != (heads,) for leaf in jax.tree.leaves(params)):
        raise InputError("signs", heads, "one sign per head, heads leading in every parameter")
    zero = jax.tree.map(jnp.zeros_like, params)
    gradient = jax.grad(mean_loss)(zero, batch)
    step = signs * float(heads) ** 0.5

    def move(leaf: Array, slope: Array) -> Array:
        scale: Array = step.astype(leaf.dtype).reshape((-1,) + (1,) * (leaf.ndim - 1))
        return leaf - scale * slope

    return jax.tree.map(move, zero, gradient)
