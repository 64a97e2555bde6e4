"""Extreme Hessian eigenvalues without the Hessian: Lanczos on Hessian-vector products.

A Ritz value lies inside the spectrum, so the largest never exceeds the true largest eigenvalue; within `error` (the
residual ||H v - theta v||) of it there is a true eigenvalue, which need not be the extreme one. Hence estimates, unless
the Krylov space is the whole space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from certiformer.core.errors import InputError
from certiformer.measure.measured import Measured

Product = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest eigenvalue."""

    lowest: Measured
    highest: Measured


def hessian_extremes(
    loss: Callable[[Any], Array], params: Any, *, steps: int = 80, tolerance: float = 1e-6, seed: int = 0
) -> Extremes:
    """Extreme eigenvalues of the Hessian of `loss(params)`."""
    flat, restore = ravel_pytree(params)
    gradient = jax.grad(lambda vector: loss(restore(vector)))
    product = jax.jit(lambda vector: jax.jvp(gradient, (flat,), (vector,))[1])
    return lanczos_extremes(
        lambda v: np.asarray(product(jnp.asarray(v, flat.dtype))),
        flat.size,
        steps=steps,
        tolerance=tolerance,
        seed=seed,
    )


def block_extremes(
    loss: Callable[[Any], Array], params: Any, *, steps: int = 80, tolerance: float = 1e-6, seed: int = 0
) -> dict[str, Extremes]:
    """Extreme eigenvalues of every diagonal block: the Hessian in one array of `params`, the others held fixed."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(params)
    arrays = [leaf for _, leaf in leaves]
    result = {}
    for index, (path, leaf) in enumerate(leaves):

        def alone(block: Array, index: int = index) -> Array:
            return loss(jax.tree_util.tree_unflatten(structure, [*arrays[:index], block, *arrays[index + 1 :]]))

        name = jax.tree_util.keystr(path, simple=True, separator="/")
        result[name] = hessian_extremes(alone, leaf, steps=steps, tolerance=tolerance, seed=seed)
    return result


def lanczos_extremes(
    product: Product, size: int, *, steps: int = 80, tolerance: float = 1e-6, seed: int = 0
) -> Extremes:
    """Extreme eigenvalues of a symmetric matrix given as `v -> A v`, with full reorthogonalisation."""
    if size < 1 or steps < 1:
        raise InputError("size, steps", (size, steps), "positive numbers")
    basis = np.zeros((min(steps, size) + 1, size))
    start = np.random.default_rng(seed).standard_normal(size)
    basis[0] = start / np.linalg.norm(start)
    diagonal: list[float] = []
    off: list[float] = []
    values, errors = np.zeros(1), np.zeros(1)
    for step in range(min(steps, size)):
        image = np.asarray(product(basis[step]), dtype=np.float64)
        if not np.all(np.isfinite(image)):
            raise InputError("loss", "a Hessian-vector product that is not finite", "a loss twice differentiable here")
        diagonal.append(float(basis[step] @ image))
        for _ in range(2):
            image = image - basis[: step + 1].T @ (basis[: step + 1] @ image)
        beta = float(np.linalg.norm(image))
        off.append(beta)
        triangle = np.diag(diagonal) + np.diag(off[:-1], 1) + np.diag(off[:-1], -1)
        values, vectors = np.linalg.eigh(triangle)
        # Residual of a Ritz pair: beta times the last entry of its vector.
        errors = beta * np.abs(vectors[-1])
        scale = max(abs(values[0]), abs(values[-1]), np.finfo(float).tiny)
        if beta <= 1e-13 * scale:
            break
        if step > 4 and max(errors[0], errors[-1]) <= tolerance * scale:
            break
        basis[step + 1] = image / beta
    whole = len(diagonal) == size

    def measured(index: int) -> Measured:
        by = f"Lanczos, {len(diagonal)} of {size} steps"
        return Measured(float(values[index]), "exact" if whole else "estimate", by, error=float(errors[index]))

    return Extremes(measured(0), measured(-1))
