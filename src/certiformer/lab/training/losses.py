"""Losses: `loss(output, label)` for one sample, any JAX-traceable callable will do.

Robust losses enter the same way: `of_residual(rho)` turns a function of the residual into a loss.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from certiformer.theory.core.errors import UnknownNameError

Loss = Callable[[Array, Array], Array]


def squared(output: Float[Array, ""], label: Float[Array, ""]) -> Float[Array, ""]:
    """(f - y)^2, without the one half (Arda's mean squared error)."""
    return (output - label) ** 2


def absolute(output: Float[Array, ""], label: Float[Array, ""]) -> Float[Array, ""]:
    """|f - y|."""
    return jnp.abs(output - label)


def logistic(output: Float[Array, ""], label: Float[Array, ""]) -> Float[Array, ""]:
    """log(1 + exp(-y f)) with y = +1 or -1 (Deora; the scalar reading of Mwigo's cross-entropy)."""
    return jax.nn.softplus(-label * output)


def cross_entropy(output: Float[Array, " classes"], label: Int[Array, ""]) -> Float[Array, ""]:
    """log sum_j exp f_j - f_y with a class index y."""
    return jax.nn.logsumexp(output) - output[label]


def two_sigmoids(output: Float[Array, " two"], label: Int[Array, ""]) -> Float[Array, ""]:
    """Mean of two sigmoid losses against the one-hot label: what Trauger's script minimises.

    (1/2) sum_j log(1 + exp(-s_j f_j)), s_j = +1 for j = y and -1 otherwise.
    """
    sign = 2 * jax.nn.one_hot(label, 2, dtype=output.dtype) - 1
    return 0.5 * jnp.sum(jax.nn.softplus(-sign * output))


def of_residual(rho: Callable[[Array], Array]) -> Loss:
    """rho(f - y): Huber, Catoni or any other robust regression loss."""
    return lambda output, label: rho(output - label)


LOSSES: dict[str, Loss] = {
    "squared": squared,
    "absolute": absolute,
    "logistic": logistic,
    "cross_entropy": cross_entropy,
    "two_sigmoids": two_sigmoids,
}
"""The losses by name."""


def named_loss(name: str) -> Loss:
    """The loss of this name, or an error that suggests the nearest."""
    if name not in LOSSES:
        raise UnknownNameError("loss", name, LOSSES)
    return LOSSES[name]


def correct(output: Array, label: Array) -> Array:
    """1 where the decision is right: sign of a scalar output for y = +-1, argmax of a vector for a class index."""
    if output.ndim == 0:
        return (output * label > 0).astype(output.dtype)
    return (jnp.argmax(output) == label).astype(output.dtype)
