"""Losses: `loss(output, label)` for one sample, any JAX-traceable callable will do.

Robust losses enter the same way: `of_residual(rho)` turns a function of the residual into a loss. Those of Li et al.,
section 6.2, have names with a scale: `huber:1.5` is the squared loss up to a residual of 1.5 and grows linearly beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from certiformer.theory.calculus import robust
from certiformer.theory.core.errors import InputError, UnknownNameError

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


CLIP = 10.0
"""Nats at which cross-entropy is clipped: Trauger's Theorem 5.1 needs a bounded loss."""


def clipped_cross_entropy(output: Float[Array, " classes"], label: Int[Array, ""]) -> Float[Array, ""]:
    """min(cross-entropy, 10), Trauger's loss for masked words made bounded; examples beyond it have no gradient."""
    return jnp.minimum(cross_entropy(output, label), CLIP)


def two_sigmoids(output: Float[Array, " two"], label: Int[Array, ""]) -> Float[Array, ""]:
    """Mean of two sigmoid losses against the one-hot label: what Trauger's script minimises.

    (1/2) sum_j log(1 + exp(-s_j f_j)), s_j = +1 for j = y and -1 otherwise.
    """
    sign = 2 * jax.nn.one_hot(label, 2, dtype=output.dtype) - 1
    return 0.5 * jnp.sum(jax.nn.softplus(-sign * output))


def of_residual(rho: Callable[[Array], Array]) -> Loss:
    """rho(f - y): Huber, Catoni or any other robust regression loss."""
    return lambda output, label: rho(output - label)


ROBUST: dict[str, Callable[[Array, float], Array]] = {
    "huber": lambda r, c: 2.0 * robust.huber(r, c),
    "catoni": lambda r, c: robust.log_truncated(r**2, 1.0 / c**2),
}
"""Losses of a residual r at scale c, all r^2 near zero: Huber's, and psi(s r^2)/s with s = 1/c^2 and Catoni's wide psi
(Li et al., section 6.2)."""
SCALE = 1.0


LOSSES: dict[str, Loss] = {
    "squared": squared,
    "absolute": absolute,
    "logistic": logistic,
    "cross_entropy": cross_entropy,
    "clipped_cross_entropy": clipped_cross_entropy,
    "two_sigmoids": two_sigmoids,
}
"""The losses by name."""


def named_loss(name: str) -> Loss:
    """The loss of this name, or an error that suggests the nearest; `huber:2` is a robust one at scale 2."""
    base, colon, words = name.partition(":")
    if base in ROBUST:
        try:
            scale = float(words) if colon else SCALE
        except ValueError:
            scale = math.nan
        if not 0.0 < scale < math.inf:
            raise InputError("loss", name, f"{base}:SCALE with a positive number", f"For example {base}:1.5")
        rho = ROBUST[base]
        return of_residual(lambda residual: rho(residual, scale))
    if name not in LOSSES:
        known = (*LOSSES, *ROBUST)
        raise UnknownNameError("loss", name, known, hint=f"(known: {', '.join(known)})")
    return LOSSES[name]


def correct(output: Array, label: Array) -> Array:
    """1 where the decision is right: sign of a scalar output for y = +-1, argmax of a vector for a class index."""
    if output.ndim == 0:
        return (output * label > 0).astype(output.dtype)
    return (jnp.argmax(output) == label).astype(output.dtype)
