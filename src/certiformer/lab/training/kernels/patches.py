"""Mwigo's shallow encoder on images: epochs of mini-batch descent in an order that the caller gives, and losses.

    for each batch B of the order:  theta <- theta - rate * grad (1/|B|) sum_{i in B} log(1 + exp(-gain y_i f(X_i)))

An image with blank margins repeats one token; r_j copies of token x_j count as one with multiplicity r_j:

    a_i = sum_j r_j e^{s_ij} x_j / sum_j r_j e^{s_ij},     s_ij = x_i^T A x_j,  A = W_Q^T W_K / sqrt(d_m)  (d x d)
    f   = (1/d_s) sum_i r_i w_O^T relu(W_V a_i) = (1/d_s) sum_i r_i a_i^T (M_i (w_O * W_V)),     M_i = 1{W_V a_i > 0}

The present rows of a few images are packed, so that only three products with d_m are large, and those go to BLAS:

    Z = a W_V^T,    f = sum_i share_i w_O.relu(z_i),    slope = 1{Z > 0} (w_O * W_V),    readout = 1{Z > 0}^T (pull a)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from certiformer.lab.training.kernels._compile import exp32, kernel
from certiformer.theory.core.errors import InputError

Matrix = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Weights = Mapping[str, npt.NDArray[np.float32]]

TOGETHER = 32
"""Images whose rows are packed into one product."""


class Patches(NamedTuple):
    """Images as their distinct tokens: the first `present` rows count, each `multiplicity` times."""

    x: npt.NDArray[np.float32]
    multiplicity: npt.NDArray[np.float32]
    present: npt.NDArray[np.int64]
    y: npt.NDArray[np.float32]


def distinct_patches(x: npt.ArrayLike, y: npt.ArrayLike) -> Patches:
    """Merge the equal tokens of each image (n, d_s, d); labels are -1 and +1."""
    inputs, labels = np.asarray(x, np.float32), np.array(y, np.float32)  # kernels are compiled for arrays of our own
    if inputs.ndim != 3 or labels.shape != inputs.shape[:1]:
        raise InputError("x, y", (inputs.shape, labels.shape), "shapes (n, tokens, d) and (n,)")
    merged, multiplicity = np.zeros_like(inputs), np.zeros(inputs.shape[:2], np.float32)
    present = np.zeros(len(inputs), np.int64)
    for row, image in enumerate(inputs):
        tokens, counts = np.unique(image, axis=0, return_counts=True)
        present[row] = len(tokens)
        merged[row, : len(tokens)], multiplicity[row, : len(tokens)] = tokens, counts
    return Patches(merged, multiplicity, present, labels)


class PatchDescent:
    """What runs an epoch over `images`, in batches; weights are NumPy arrays by name, changed in place."""

    def __init__(self, images: Patches, *, batch: int, rate: float, gain: float = 1.0) -> None:
        if batch < 1:
            raise InputError("batch", batch, "a positive number of images")
        self._images, self._batch = tuple(images), min(batch, len(images.y))
        self._rate, self._gain = np.float32(rate), np.float32(gain)

    def epoch(self, weights: Weights, order: Integers) -> float:
        """One pass over the images in this order; the mean loss, each batch before its update."""
        return float(_epoch(*_arrays(weights), self._images, order, self._batch, self._rate, self._gain))

    def loss(self, weights: Weights, images: Patches, each: Vector | None = None) -> float:
        """The mean loss, without gradient work; `each` gets that of every image."""
        losses = np.empty(len(images.y), np.float32) if each is None else each
        return float(_mean_loss(*_arrays(weights), tuple(images), self._gain, losses))


def _arrays(weights: Weights) -> tuple[Matrix, Matrix, Matrix, Vector]:
    return weights["W_Q"], weights["W_K"], weights["W_V"], weights["w_O"]


@kernel
def _epoch(
    W_Q: Matrix,
    W_K: Matrix,
    W_V: Matrix,
    w_O: Vector,
    images: Any,
    order: Integers,
    batch: int,
    rate: Any,
    gain: Any,
) -> Any:
    """One pass over `order` in batches, in place; the running mean of the loss, each batch before its update."""
    x, multiplicity, present, y = images
    d_m, d = W_V.shape
    room = TOGETHER * x.shape[1]
    collapsed, scale = np.empty((d, d), np.float32), np.float32(d_m**-0.5)
    read = np.empty((d_m, d), np.float32)
    rows, keys, attended = (
        np.empty((room, d), np.float32),
        np.empty((room, d), np.float32),
        np.empty((room, d), np.float32),
    )
    attention = np.empty((TOGETHER, x.shape[1], x.shape[1]), np.float32)
    units, share = np.empty((room, d_m), np.float32), np.empty(room, np.float32)
    pulled, slope, moved = (
        np.empty((room, d), np.float32),
        np.empty((room, d), np.float32),
        np.empty((room, d), np.float32),
    )
    readout, readout_part = np.zeros((d_m, d), np.float32), np.empty((d_m, d), np.float32)
    inner, inner_part = np.zeros((d, d), np.float32), np.empty((d, d), np.float32)
    grad_Q, grad_K = np.empty((d_m, d), np.float32), np.empty((d_m, d), np.float32)
    first = np.empty(TOGETHER + 1, np.int64)
    pull = np.empty(TOGETHER, np.float32)
    total = 0.0
    for begin in range(0, len(order), batch):
        end = min(begin + batch, len(order))
        weight = np.float32(1.0 / (end - begin))
        np.dot(W_Q.T, W_K, collapsed)
        for i in range(d):
            for j in range(d):
                collapsed[i, j] *= scale
        for i in range(d_m):
            for j in range(d):
                read[i, j] = w_O[i] * W_V[i, j]
        for at in range(begin, end, TOGETHER):
            chosen = order[at : min(at + TOGETHER, end)]
            count = _attend(chosen, x, multiplicity, present, collapsed, first, rows, keys, attention, attended, share)
            Z = units[:count]
            np.dot(attended[:count], W_V.T, Z)
            total += _losses(chosen, first, Z, w_O, share, y, gain, pull)
            for b in range(len(chosen)):
                for r in range(first[b], first[b + 1]):
                    factor = pull[b] * weight * share[r]
                    for j in range(d):
                        pulled[r, j] = factor * attended[r, j]
                    share[r] = factor
            for r in range(count):
                row = Z[r]
                for i in range(d_m):
                    row[i] = np.float32(1.0) if row[i] > np.float32(0.0) else np.float32(0.0)
            np.dot(Z, read, slope[:count])
            np.dot(Z.T, pulled[:count], readout_part)
            for b in range(len(chosen)):
                _through(first[b], first[b + 1], attention[b], slope, share, rows, moved)
            np.dot(rows[:count].T, moved[:count], inner_part)
            again = np.float32(at > begin)
            for i in range(d_m):
                for j in range(d):
                    readout[i, j] = again * readout[i, j] + readout_part[i, j]
            for i in range(d):
                for j in range(d):
                    inner[i, j] = again * inner[i, j] + inner_part[i, j]
        np.dot(W_K, inner.T, grad_Q)
        np.dot(W_Q, inner, grad_K)
        for i in range(d_m):
            step, gradient = rate * w_O[i], np.float32(0.0)
            for j in range(d):
                W_Q[i, j] -= rate * (grad_Q[i, j] * scale)
                W_K[i, j] -= rate * (grad_K[i, j] * scale)
            for j in range(d):
                gradient += W_V[i, j] * readout[i, j]
                W_V[i, j] -= step * readout[i, j]
            w_O[i] -= rate * gradient
    return total / len(order)


@kernel
def _mean_loss(W_Q: Matrix, W_K: Matrix, W_V: Matrix, w_O: Vector, images: Any, gain: Any, losses: Vector) -> Any:
    """The mean loss of all images, and each: one product with d_m instead of three."""
    x, multiplicity, present, y = images
    d_m, d = W_V.shape
    room = TOGETHER * x.shape[1]
    collapsed, scale = np.empty((d, d), np.float32), np.float32(d_m**-0.5)
    rows, keys, attended = (
        np.empty((room, d), np.float32),
        np.empty((room, d), np.float32),
        np.empty((room, d), np.float32),
    )
    attention = np.empty((TOGETHER, x.shape[1], x.shape[1]), np.float32)
    units, share = np.empty((room, d_m), np.float32), np.empty(room, np.float32)
    first, pull = np.empty(TOGETHER + 1, np.int64), np.empty(TOGETHER, np.float32)
    np.dot(W_Q.T, W_K, collapsed)
    for i in range(d):
        for j in range(d):
            collapsed[i, j] *= scale
    order, total = np.arange(len(x)), 0.0
    for at in range(0, len(x), TOGETHER):
        chosen = order[at : at + TOGETHER]
        count = _attend(chosen, x, multiplicity, present, collapsed, first, rows, keys, attention, attended, share)
        Z = units[:count]
        np.dot(attended[:count], W_V.T, Z)
        packed = 0.0  # added up as _losses would
        for b in range(len(chosen)):
            one = _losses(chosen[b : b + 1], first[b : b + 2], Z, w_O, share, y, gain, pull)
            losses[at + b] = one
            packed += one
        total += packed
    return total / len(x)


@kernel
def _attend(
    chosen: Integers,
    x: Any,
    multiplicity: Matrix,
    present: Integers,
    collapsed: Matrix,
    first: Integers,
    rows: Matrix,
    keys: Matrix,
    attention: Any,
    attended: Matrix,
    share: Vector,
) -> int:
    """Pack the images' distinct tokens into `rows`; their attention, what they attend to, and r_i / d_s."""
    d = rows.shape[1]
    count = 0
    for b in range(len(chosen)):
        image = chosen[b]
        first[b] = count
        tokens = np.float32(0.0)
        for r in range(present[image]):
            for k in range(d):
                rows[count + r, k] = x[image, r, k]
            tokens += multiplicity[image, r]
        for r in range(present[image]):
            share[count + r] = multiplicity[image, r] / tokens
        count += present[image]
    first[len(chosen)] = count
    np.dot(rows[:count], collapsed, keys[:count])
    for b in range(len(chosen)):
        low, size, image = first[b], present[chosen[b]], chosen[b]
        for i in range(size):
            mass = attention[b, i]
            top = np.float32(-np.inf)
            for j in range(size):
                score = np.float32(0.0)
                for k in range(d):
                    score += keys[low + i, k] * rows[low + j, k]
                mass[j] = score
                top = max(top, score)
            total = np.float32(0.0)
            for j in range(size):
                mass[j] = multiplicity[image, j] * exp32(mass[j] - top)
                total += mass[j]
            row = attended[low + i]
            for k in range(d):
                row[k] = np.float32(0.0)
            for j in range(size):
                mass[j] /= total
                for k in range(d):
                    row[k] += mass[j] * rows[low + j, k]
    return count


@kernel
def _losses(
    chosen: Integers, first: Integers, Z: Matrix, w_O: Vector, share: Vector, y: Vector, gain: Any, pull: Vector
) -> float:
    """Sum of log(1 + e^{-g y f}) over the images; `pull` gets the derivatives in f."""
    total = 0.0
    for b in range(len(chosen)):
        output = np.float32(0.0)
        for r in range(first[b], first[b + 1]):
            row, sum_ = Z[r], np.float32(0.0)
            for i in range(len(w_O)):
                sum_ += w_O[i] * max(row[i], np.float32(0.0))
            output += share[r] * sum_
        sign = y[chosen[b]]
        margin = gain * sign * output
        decay = np.exp(-np.abs(margin))
        total += np.log1p(decay) + max(-margin, np.float32(0.0))
        tail = decay / (np.float32(1.0) + decay) if margin > 0 else np.float32(1.0) / (np.float32(1.0) + decay)
        pull[b] = -gain * sign * tail
    return total


@kernel
def _through(
    low: int, high: int, attention: Matrix, slope: Matrix, factor: Vector, rows: Matrix, moved: Matrix
) -> None:
    """Back through the softmax of one image: rows of P * (B X^T - their means under P) times X."""
    size, d = high - low, rows.shape[1]
    back = np.empty(size, np.float32)
    for i in range(size):
        mean = np.float32(0.0)
        for j in range(size):
            value = np.float32(0.0)
            for k in range(d):
                value += slope[low + i, k] * rows[low + j, k]
            back[j] = factor[low + i] * value
            mean += attention[i, j] * back[j]
        row = moved[low + i]
        for k in range(d):
            row[k] = np.float32(0.0)
        for j in range(size):
            through = attention[i, j] * (back[j] - mean)
            for k in range(d):
                row[k] += through * rows[low + j, k]
