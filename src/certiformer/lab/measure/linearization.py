"""How far a network is from its linearisation, and a linear target from its labels.

f_lin(x; phi) = f(x; phi_0) + <grad f(x; phi_0), phi - phi_0>
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.lab.models import IndependentHeads
from certiformer.lab.training.steps import Apply
from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.measured import Measured


@dataclass(frozen=True)
class Deviation:
    """|difference| on every sample, its mean and its maximum over this sample (not over the domain)."""

    each: npt.NDArray[np.float64]
    mean: Measured
    largest: Measured


def linear_prediction(apply: Apply, start: Any, params: Any, x: Array) -> Array:
    """f_lin(x; params) around `start`, for a batch of samples."""
    move = jax.tree.map(jnp.subtract, params, start)

    def one(sample: Array) -> Array:
        value, slope = jax.jvp(lambda p: apply(p, sample), (start,), (move,))
        prediction: Array = value + slope
        return prediction

    return jax.vmap(one)(x)


def linearization_error(apply: Apply, start: Any, params: Any, x: npt.ArrayLike) -> Deviation:
    """|f(x; params) - f_lin(x; params)|."""
    samples = jnp.asarray(x)
    outputs = jax.jit(jax.vmap(lambda sample: apply(params, sample)))(samples)
    linear = jax.jit(lambda s: linear_prediction(apply, start, params, s))(samples)
    return _deviation(outputs, linear, "linearisation error")


def approximation_error(apply: Apply, start: Any, target: Any, x: npt.ArrayLike, y: npt.ArrayLike) -> Deviation:
    """|f_lin(x_j; target) - y_j|: what a linear target in the tangent space misses (eps_app of a known target)."""
    linear = jax.jit(lambda s: linear_prediction(apply, start, target, s))(jnp.asarray(x))
    return _deviation(linear, jnp.asarray(y), "approximation error")


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


def _deviation(left: Any, right: Any, what: str) -> Deviation:
    each = np.abs(np.asarray(left, np.float64) - np.asarray(right, np.float64))
    return Deviation(
        each,
        Measured(float(np.mean(each)), "exact", f"mean {what} on the sample"),
        Measured(float(np.max(each)), "exact", f"largest {what} on the sample"),
    )
