"""Mwigo's shallow encoder on images: equal patches merged, W_K^T W_Q collapsed, blocks instead of (n, d_s, d_m) arrays.

An image with blank margins repeats one token; r_j copies of token x_j count as one with multiplicity r_j:

    a_i = sum_j r_j e^{s_ij} x_j / sum_j r_j e^{s_ij},     s_ij = x_i^T A x_j,  A = W_Q^T W_K / sqrt(d_m)  (d x d)
    f   = (1/d_s) sum_i r_i w_O^T relu(W_V a_i) = (1/d_s) sum_i r_i a_i^T (M_i (w_O * W_V)),     M_i = 1{W_V a_i > 0}

Only three products with d_m remain: W_V a, M (w_O * W_V) and M^T a; both readout gradients follow from the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float

from certiformer.core.errors import InputError
from certiformer.models import ShallowEncoder
from certiformer.training.fast._blocks import sum_blocks, weighted_loss, with_gradient
from certiformer.training.losses import Loss, logistic
from certiformer.training.steps import Objective

ROWS = 320
"""Distinct tokens per block: (rows, d_m) activations of a width of 1024 then fit a cache of 2 MB."""


class MergedPatches(NamedTuple):
    """Images with the same number of distinct tokens (up to padding), in blocks; weight 0 pads the last block."""

    x: Float[Array, "blocks b distinct d"]
    multiplicity: Float[Array, "blocks b distinct"]
    y: Float[Array, "blocks b"]
    weight: Float[Array, "blocks b"]


def merge_patches(
    x: npt.ArrayLike, y: npt.ArrayLike, *, buckets: int = 2, rows: int = ROWS
) -> tuple[MergedPatches, ...]:
    """Merge equal tokens of each sample (n, d_s, d); samples go to a few buckets by their number of distinct tokens."""
    inputs, labels = np.asarray(x), np.asarray(y)
    if inputs.ndim != 3 or labels.shape != inputs.shape[:1]:
        raise InputError("x, y", (inputs.shape, labels.shape), "shapes (n, tokens, d) and (n,)")
    if buckets < 1:
        raise InputError("buckets", buckets, "a positive number")
    distinct = [np.unique(sample, axis=0, return_counts=True) for sample in inputs]
    sizes = np.array([len(tokens) for tokens, _ in distinct])
    order = np.argsort(sizes, kind="stable")
    groups = [group for group in np.array_split(order, min(buckets, len(order))) if len(group)]
    return tuple(
        _bucket([distinct[i] for i in group], labels[group], len(inputs), inputs.dtype, rows) for group in groups
    )


def _bucket(
    distinct: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]],
    labels: npt.NDArray[Any],
    samples: int,
    dtype: Any,
    rows: int,
) -> MergedPatches:
    most = max(len(tokens) for tokens, _ in distinct)
    size = max(1, min(len(distinct), rows // most))
    count = -(-len(distinct) // size)
    x = np.zeros((count * size, most, distinct[0][0].shape[1]), dtype)
    multiplicity = np.zeros((count * size, most), dtype)
    # A padding sample attends to one token, so that its softmax is defined; its weight is 0.
    multiplicity[len(distinct) :, 0] = 1
    for row, (tokens, counts) in enumerate(distinct):
        x[row, : len(tokens)], multiplicity[row, : len(tokens)] = tokens, counts
    y, weight = np.zeros(count * size, dtype), np.zeros(count * size, dtype)
    y[: len(labels)], weight[: len(labels)] = labels, 1.0 / samples
    return MergedPatches(
        *(jnp.asarray(part.reshape(count, size, *part.shape[1:])) for part in (x, multiplicity, y, weight))
    )


def merged_patches(loss: Loss = logistic, *, accuracy: bool = False) -> Objective:
    """mean loss of a `ShallowEncoder` on the buckets of `merge_patches`."""
    return with_gradient(
        lambda model, batch: _both(model, batch, loss, accuracy),
        lambda model, batch: _forward(model, batch, loss, accuracy),
    )


def _forward(
    model: ShallowEncoder, buckets: tuple[MergedPatches, ...], loss: Loss, accuracy: bool
) -> tuple[Array, dict[str, Array]]:
    """The loss alone: one product with d_m instead of three."""
    collapsed = _collapsed(model)

    def one(block: MergedPatches) -> tuple[Array, Array]:
        _, attended = _attend(block, collapsed)
        values = jax.nn.relu(attended @ model.W_V.T) @ model.w_O
        output = jnp.sum(_share(block) * values.reshape(block.multiplicity.shape), axis=-1)
        total, _ = weighted_loss(loss, output, block.y, block.weight)
        return total, _right(block, output)

    parts = [sum_blocks(one, bucket) for bucket in buckets]
    total, right = jax.tree.map(lambda *each: sum(each), *parts)
    return total, {"accuracy": right} if accuracy else {}


def _collapsed(model: ShallowEncoder) -> Array:
    """A = W_Q^T W_K / sqrt(d_m)."""
    scale = float(model.W_Q.shape[0]) ** -0.5
    collapsed: Array = (model.W_Q.T @ model.W_K) * scale
    return collapsed


def _share(block: MergedPatches) -> Array:
    return block.multiplicity / jnp.sum(block.multiplicity, axis=1, keepdims=True)


def _right(block: MergedPatches, output: Array) -> Array:
    return jnp.sum(jnp.where(output * block.y > 0, block.weight, 0.0))


def _attend(block: MergedPatches, collapsed: Array) -> tuple[Array, Array]:
    """Attention over distinct tokens, each counted as often as it occurs, and the attended tokens, one in each row."""
    size, distinct, d = block.x.shape
    keys = (block.x.reshape(size * distinct, d) @ collapsed).reshape(size, distinct, d)
    scores = jnp.einsum("bid,bjd->bij", keys, block.x)
    present = block.multiplicity[:, None, :] > 0
    top = jnp.max(jnp.where(present, scores, -jnp.inf), axis=-1, keepdims=True)
    mass = jnp.where(present, block.multiplicity[:, None, :] * jnp.exp(scores - top), 0.0)
    attention = mass / jnp.sum(mass, axis=-1, keepdims=True)
    return attention, jnp.einsum("bij,bjd->bid", attention, block.x).reshape(size * distinct, d)


def _both(
    model: ShallowEncoder, buckets: tuple[MergedPatches, ...], loss: Loss, accuracy: bool
) -> tuple[tuple[Array, dict[str, Array]], Any]:
    d_m, d = model.W_Q.shape
    scale = d_m**-0.5
    collapsed = _collapsed(model)
    read = model.w_O[:, None] * model.W_V

    def one(block: MergedPatches) -> tuple[Array, ...]:
        size, distinct, _ = block.x.shape
        flat = block.x.reshape(size * distinct, d)
        # 1. Attention.
        attention, attended = _attend(block, collapsed)
        # 2. Which units are on, and the output as a linear function of the attended token.
        on = (attended @ model.W_V.T > 0).astype(flat.dtype)
        slope = on @ read
        share = _share(block)
        output = jnp.sum(share * jnp.sum(attended * slope, axis=-1).reshape(size, distinct), axis=-1)
        total, residual = weighted_loss(loss, output, block.y, block.weight)
        right = _right(block, output)
        # 3. Gradients: through the readout, then back through the softmax.
        pull = residual[:, None] * share
        readout = (attended * pull.reshape(-1, 1)).T @ on
        back = slope.reshape(size, distinct, d) * pull[:, :, None]
        through = jnp.einsum("bid,bjd->bij", back, block.x)
        through = attention * (through - jnp.sum(attention * through, axis=-1, keepdims=True))
        grad_collapsed = flat.T @ jnp.einsum("bij,bjd->bid", through, block.x).reshape(size * distinct, d)
        return total, right, readout, grad_collapsed

    parts = [sum_blocks(one, bucket) for bucket in buckets]
    total, right, readout, grad_collapsed = jax.tree.map(lambda *each: sum(each), *parts)
    gradient = replace(
        model,
        W_Q=(model.W_K @ grad_collapsed.T) * scale,
        W_K=(model.W_Q @ grad_collapsed) * scale,
        W_V=model.w_O[:, None] * readout.T,
        w_O=jnp.sum(model.W_V * readout.T, axis=1),
    )
    return (total, {"accuracy": right} if accuracy else {}), gradient
