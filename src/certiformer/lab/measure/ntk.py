"""Neural tangent kernel: gradients and Gram matrices in blocks, the margin of its features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.flatten_util import ravel_pytree
from jaxtyping import Array
from scipy.optimize import nnls

from certiformer.lab.training.steps import Apply
from certiformer.theory.core.errors import InputError
from certiformer.theory.measure.measured import Measured

UNIT = 2.0**-53


def parameter_count(params: Any) -> int:
    """Number of scalars in a tree of arrays."""
    return sum(int(np.size(leaf)) for leaf in jax.tree.leaves(params))


def flat_gradient(apply: Apply, params: Any, x: Array) -> Array:
    """grad_theta f(x) of a scalar output as one vector (the order of `ravel_pytree`)."""
    gradient = jax.grad(lambda p: apply(p, x))(params)
    return ravel_pytree(gradient)[0]


def gram_memory(samples: int, parameters: int, block: int, itemsize: int = 4) -> int:
    """Bytes that `gram` holds at its peak: two blocks of gradients and the matrix itself."""
    return 2 * min(block, samples) * parameters * itemsize + samples * samples * itemsize


def gram(
    apply: Apply, params: Any, x: npt.ArrayLike, *, block: int = 128, memory_limit: float = 4e9
) -> npt.NDArray[Any]:
    """K_ij = <grad f(x_i), grad f(x_j)>, two blocks of gradients at a time; refuses before it starts if too large."""
    samples = jnp.asarray(x)
    needed = gram_memory(len(samples), parameter_count(params), block, samples.dtype.itemsize)
    if needed > memory_limit:
        raise InputError(
            "block",
            block,
            f"blocks that need at most {memory_limit / 1e9:.1f} GB, not {needed / 1e9:.1f} GB",
            "Use a smaller block, fewer samples, or raise memory_limit.",
        )
    gradients = jax.jit(jax.vmap(lambda sample: flat_gradient(apply, params, sample)))
    product = jax.jit(lambda left, right: left @ right.T)
    starts = range(0, len(samples), block)
    kernel = np.zeros((len(samples), len(samples)), samples.dtype)
    for first in starts:
        left = gradients(samples[first : first + block])
        for second in range(first, len(samples), block):
            right = left if second == first else gradients(samples[second : second + block])
            part = np.asarray(product(left, right))
            kernel[first : first + block, second : second + block] = part
            kernel[second : second + block, first : first + block] = part.T
    return kernel


@dataclass(frozen=True)
class Margin:
    """The hard margin max_{||w||=1} min_i <G_i, w>: a certified lower end, an upper end, and the direction w.

    `achieved` is what w really achieves, rounding subtracted; it is 0 when the rows were not found separable (the truth
    may still be a margin below the rounding level). `at_most` is the norm of a convex combination of the rows.
    """

    achieved: Measured
    at_most: Measured
    direction: npt.NDArray[np.float64]


def hard_margin(rows: npt.ArrayLike) -> Margin:
    r"""Margin of the rows G_i (labels already multiplied in) about the origin.

    Least-distance programming: min ||w|| subject to <G_i, w> >= 1 is solved by non-negative least squares
    min_{a >= 0} ||[G^T; 1^T] a - e_last||, in the coordinates of the rows' span. Whatever w the solver returns, only
    the value it achieves is reported: min_i <G_i, w>/||w||, minus g_P ||G_i|| for the rounding of the inner products.
    """
    values = np.asarray(rows, dtype=np.float64)
    if values.ndim != 2 or values.size == 0:
        raise InputError("rows", f"shape {values.shape}", "a non-empty matrix with one row per sample")
    if not np.all(np.isfinite(values)):
        raise InputError("rows", "an entry that is not finite", "finite numbers")
    samples, size = values.shape
    sizes = np.linalg.norm(values, axis=1)
    largest = float(np.max(sizes))
    if largest == 0.0 or np.min(sizes) == 0.0:
        return Margin(_lower(0.0), _upper(0.0), np.zeros(size))
    # 1. Coordinates in the span of the rows: G^T = Q R.
    basis, triangle = np.linalg.qr(values.T) if size > samples else (np.eye(size), values.T)
    # 2. The non-negative least-squares problem, rows in units of the largest.
    system = np.concatenate([triangle / largest, np.ones((1, samples))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    try:
        weights, _ = nnls(system, target, maxiter=max(100, 10 * samples))
    except RuntimeError:
        weights = np.full(samples, 1.0 / samples)
    if not np.any(weights > 0):
        weights = np.full(samples, 1.0 / samples)
    # 3. Candidates: the primal direction of the residual, and the dual's own combination of rows.
    residual = target - system @ weights
    candidates = [basis @ residual[:-1] * -1.0, basis @ (triangle @ weights)]
    best, direction = 0.0, np.zeros(size)
    for candidate in (sign * vector for vector in candidates for sign in (1.0, -1.0)):
        norm = float(np.linalg.norm(candidate))
        if norm == 0.0 or not math.isfinite(norm):
            continue
        unit = candidate / norm
        reached = float(np.min(values @ unit - 2 * (size + 4) * UNIT * sizes)) * (1 - 2 * (size + 8) * UNIT)
        if reached > best:
            best, direction = reached, unit
    combination = values.T @ (weights / np.sum(weights))
    dual = float(np.linalg.norm(combination)) + 2 * (samples + size) * UNIT * largest
    return Margin(_lower(best), _upper(dual), direction)


def _lower(value: float) -> Measured:
    return Measured(value, "certified", "margin achieved by an explicit direction", "lower")


def _upper(value: float) -> Measured:
    return Measured(value, "certified", "norm of a convex combination of the rows", "upper")
