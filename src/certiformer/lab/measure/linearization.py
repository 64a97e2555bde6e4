"""A network's linearisation, and the move that takes Arda's network farthest from it.

f_lin(x; phi) = f(x; phi_0) + <grad f(x; phi_0), phi - phi_0>
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy.typing as npt
from jaxtyping import Array

from certiformer.lab.models import IndependentHeads
from certiformer.lab.training.steps import Apply
from certiformer.theory.core.errors import InputError


def linear_prediction(apply: Apply, start: Any, params: Any, x: Array) -> Array:
    """f_lin(x; params) around `start`, for a batch of samples."""
    move = jax.tree.map(jnp.subtract, params, start)

    def one(sample: Array) -> Array:
        value, slope = jax.jvp(lambda p: apply(p, sample), (start,), (move,))
        prediction: Array = value + slope
        return prediction

    return jax.vmap(one)(x)


def boundary_move(model: IndependentHeads, x: npt.ArrayLike, radii: Mapping[str, float]) -> IndependentHeads:
    """The move of Arda's linearisation experiment: every c_i by +rho_c/sqrt(m), every (u_i, W_i) to its boundary.

    u_i and W_i go along the sum over the batch of the gradients of h_i; a head whose gradient vanishes stays.
    """
    missing = {"c", "u", "W"} - set(radii)
    if missing:
        raise InputError("radii", sorted(radii), f"radii for c, u and W (missing: {sorted(missing)})")
    samples = jnp.asarray(x)
    scale = float(model.config.heads) ** -0.5
    # h_i depends on head i alone, so the gradient of the sum over heads holds every head's own gradient.
    total = jax.jit(jax.grad(lambda m: jnp.sum(jax.vmap(m.hidden)(samples))))(model)

    def along(gradient: Array, radius: float) -> Array:
        flat = gradient.reshape(gradient.shape[0], -1)
        size = jnp.sqrt(jnp.sum(flat**2, axis=1))
        factor = jnp.where(size > 0, radius * scale / jnp.where(size > 0, size, 1.0), 0.0)
        return (flat * factor[:, None]).reshape(gradient.shape)

    return IndependentHeads(
        model.config,
        c=model.c + radii["c"] * scale,
        u=model.u + along(total.u, radii["u"]),
        W=model.W + along(total.W, radii["W"]),
    )
