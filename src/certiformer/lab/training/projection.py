"""Projection onto Arda's set Omega_rho: every head's block stays near where it started.

Omega_rho = { phi : |c_i - c_i(0)| <= rho_c/sqrt(m), ||u_i - u_i(0)|| <= rho_u/sqrt(m),
                    ||W_i - W_i(0)||_F <= rho_w/sqrt(m) for every head i }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from certiformer.theory.core.errors import InputError

Projection = Callable[[Any, Any], Any]
"""`project(params, centre)`: the nearest point of the set around `centre`."""


def onto_heads_ball(block: Array, centre: Array, radius: float) -> Array:
    """For each head (leading axis): centre + delta * min(1, radius/||delta||), the l2 (Frobenius) projection."""
    delta = block - centre
    axes = tuple(range(1, delta.ndim))
    square = jnp.sum(delta * delta, axis=axes, keepdims=True)
    inside = square <= radius * radius
    # The norm is only divided by where it exceeds the radius, so a zero delta never meets 0/0.
    norm = jnp.sqrt(jnp.where(inside, 1.0, square))
    return centre + jnp.where(inside, delta, delta * (radius / norm))


def onto_omega(radii: Mapping[str, float], heads: int) -> Projection:
    """The projection onto Omega_rho; `radii` names the blocks (attributes or keys) and their rho."""
    if heads < 1:
        raise InputError("heads", heads, "a positive number")
    for name, radius in radii.items():
        if not 0 <= radius < float("inf"):
            raise InputError(f"radii[{name!r}]", radius, "a non-negative finite number")
    scale = float(heads) ** -0.5

    def project(params: Any, centre: Any) -> Any:
        def one(path: tuple[Any, ...], block: Array, start: Array) -> Array:
            name = jax.tree_util.keystr(path[-1:], simple=True)
            if name not in radii:
                raise InputError("radii", sorted(radii), f"a radius for every block, also for {name!r}")
            return onto_heads_ball(block, start, radii[name] * scale)

        return jax.tree_util.tree_map_with_path(one, params, centre)

    return project
