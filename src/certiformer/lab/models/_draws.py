"""Chance from a JAX key, drawn with NumPy.

Weights and data are drawn in double precision and then rounded to the type asked for, so that a key means the same in
float32 and in float64; and nothing is compiled, however many shapes a sweep asks for. Keys must be concrete: stack the
models of several seeds instead of drawing under `vmap`.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from certiformer.theory.core.errors import InputError

Generator = np.random.Generator


def generators(key: PRNGKeyArray, count: int) -> list[Generator]:
    """`count` independent generators, determined by `key`."""
    data = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
    words = [int(word) for word in np.asarray(data).ravel()]
    return [np.random.default_rng(seed) for seed in np.random.SeedSequence(words).spawn(count)]


def unit_directions(rng: Generator, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Independent uniform directions: vectors of length one along the last axis."""
    draw = rng.standard_normal(shape)
    return np.asarray(draw / np.linalg.norm(draw, axis=-1, keepdims=True))


def clip_tokens(x: np.ndarray[Any, Any], radius: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Tokens (last axis) longer than `radius` shortened to it."""
    norms = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x * np.minimum(1.0, radius / np.maximum(norms, np.finfo(np.float64).tiny)))


def signs(rng: Generator, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Fair and independent +-1."""
    return np.asarray(1.0 - 2.0 * rng.integers(0, 2, shape), np.float64)


def array(values: np.ndarray[Any, Any], dtype: Any) -> Array:
    """`values` as a JAX array of type `dtype`."""
    result = jnp.asarray(values.astype(dtype))
    if result.dtype != dtype:
        raise InputError("dtype", str(np.dtype(dtype)), str(result.dtype), "Work inside `with jax.enable_x64(True):`.")
    return result
