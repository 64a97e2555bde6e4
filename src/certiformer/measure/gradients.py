"""Per-sample gradients of any `apply(params, x)`, flat, in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from certiformer.core.errors import InputError

Apply = Callable[[Any, Array], Array]


def parameter_count(params: Any) -> int:
    """Number of scalars in a tree of arrays."""
    return sum(int(np.size(leaf)) for leaf in jax.tree.leaves(params))


def flat_gradient(apply: Apply, params: Any, x: Array) -> Array:
    """grad_theta f(x) of a scalar output as one vector (the order of `ravel_pytree`)."""
    gradient = jax.grad(lambda p: apply(p, x))(params)
    return ravel_pytree(gradient)[0]


def per_sample_gradients(apply: Apply, params: Any, x: npt.ArrayLike, *, block: int = 256) -> npt.NDArray[Any]:
    """The (n, P) matrix of gradients of a scalar output, computed `block` samples at a time."""
    if block < 1:
        raise InputError("block", block, "a positive number of samples")
    samples = jnp.asarray(x)
    one_block = jax.jit(jax.vmap(lambda sample: flat_gradient(apply, params, sample)))
    parts = [np.asarray(one_block(samples[first : first + block])) for first in range(0, len(samples), block)]
    return np.concatenate(parts)
