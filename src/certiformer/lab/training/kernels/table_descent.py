"""Trauger's network on sparse majority, from its table of 2T + 1 tokens: epochs of momentum descent, and validation.

    v <- momentum v - rate_e g,    theta <- theta + v          for each batch of epoch e

in orders and at rates that the caller gives. The state is two flat vectors, weights and velocity, changed in place;
`flatten` and `unflatten` go between them and the model. The algebra is that of `training.token_table`. Weights,
velocity and gradient have the parts one after another and the head as first axis (see `_parts`, `_after`). Numerators
and denominators of both heads are 130 columns:

    sums = base + bits @ (table_1 - table_0)    or, where that cancels,    cls + bits @ table_1 + (1 - bits) @ table_0

Validation needs no product: partial sums over groups of six bits are tabulated and looked up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from certiformer.lab.models.keras_cls_transformer import KerasClsTransformer, KerasClsTransformerConfig
from certiformer.lab.training.kernels._compile import exp32, kernel
from certiformer.lab.training.kernels._vectors import (
    BYTES,
    exp_down,
    if_positive,
    larger,
    load,
    log_of_one_plus,
    smaller,
    store,
    total,
    zeros,
)

Flat = npt.NDArray[np.float32]
Matrix = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

PARTS = ("W_Q", "b_Q", "W_K", "W_V", "W_O", "b_K", "b_V", "b_O", "W_1", "b_1", "W_2", "b_2")
"""The parts of the flat vector, one after another; those with heads have the head as first axis."""
HEAD_SECOND = ("W_Q", "W_K", "W_V")
GROUP = 6
"""Bits that index a table of partial sums."""
CANCELS = 64.0
"""The largest ratio of the mass of all tokens to the least that a sequence can have, where differences are used."""
LANES, THREE, SAMPLES = 16, 3, 512
"""Numbers in a register; registers that sums are gathered in; samples that are looked up together."""
ROOM = 8
"""For as many samples as fill the last lanes."""
FAR = 87.0
"""A margin without loss."""
SMALL = -80.0
"""Below e^-80 of the largest, a token has no more mass than that."""


class Bits(NamedTuple):
    """Sequences of bits (n, T) as floats with labels 0 and 1, of tokens in a table (2T + 1, d)."""

    bits: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def flatten(model: KerasClsTransformer) -> Flat:
    """All weights as one vector."""
    parts = {name: np.asarray(getattr(model, name), np.float32) for name in PARTS}
    turned = (part.transpose(1, 0, 2) if name in HEAD_SECOND else part for name, part in parts.items())
    return np.concatenate([part.ravel() for part in turned])


def unflatten(flat: Flat, config: KerasClsTransformerConfig) -> KerasClsTransformer:
    """The model with these weights."""
    d, heads, size = config.d, config.heads, config.key_size
    turned = {"W_Q": (heads, d, size), "W_K": (heads, d, size), "W_V": (heads, d, size), "W_O": (heads, size, d)}
    small = {"b_Q": (heads, size), "b_K": (heads, size), "b_V": (heads, size), "b_O": (d,)}
    last = {"W_1": (d, d), "b_1": (d,), "W_2": (d, config.classes), "b_2": (config.classes,)}
    shapes: dict[str, tuple[int, ...]] = {**turned, **small, **last}
    weights, at = {}, 0
    for name in PARTS:
        size_of = int(np.prod(shapes[name]))
        part = flat[at : at + size_of].reshape(shapes[name])
        weights[name] = jnp.asarray(part.transpose(1, 0, 2) if name in HEAD_SECOND else part)
        at += size_of
    return KerasClsTransformer(config, **weights)


class TableDescent:
    """What trains and validates a `KerasClsTransformer`; single precision.

    The loss is the mean of two sigmoid losses or, `joint`, the cross-entropy of the two logits together.
    """

    def __init__(
        self,
        train: Bits,
        validation: Bits,
        table: npt.ArrayLike,
        config: KerasClsTransformerConfig,
        *,
        batch: int,
        momentum: float = 0.9,
        joint: bool = False,
    ) -> None:
        self._train, self._labels, self._table = train, validation.labels, np.array(table, np.float32)
        self._batch, self._momentum = min(batch, len(train.labels)), np.float32(momentum)
        self._shape, self._joint = (config.d, config.heads, config.key_size), joint
        T = validation.bits.shape[1]
        self._widths = np.array([min(GROUP, T - first) for first in range(0, T, GROUP)], np.int64)
        powers = 2 ** np.arange(GROUP)
        self._codes = np.stack(
            [validation.bits[:, f : f + GROUP] @ powers[: min(GROUP, T - f)] for f in range(0, T, GROUP)], axis=1
        ).astype(np.uint8)
        columns, whole = config.heads * (config.d + 1), THREE * LANES
        self._partial = np.zeros((len(self._widths), 2**GROUP, columns + -columns % whole), np.float32)

    def epochs(self, weights: Flat, velocity: Flat, orders: Integers, rates: Flat) -> tuple[Numbers, Numbers]:
        """Epochs in these orders (epochs, n) at these rates; the running means of loss and accuracy of each."""
        losses, accuracies = np.empty(len(orders)), np.empty(len(orders))
        data = (self._table, self._train.bits, self._train.labels, orders, rates, self._batch, self._momentum)
        _epochs(weights, velocity, *data, self._shape, self._joint, losses, accuracies)
        return losses, accuracies

    def validate(self, weights: Flat) -> tuple[float, float]:
        """(mean loss, accuracy) on the validation sequences."""
        data = (self._table, self._codes, self._widths, self._labels, self._shape, self._joint, self._partial)
        loss, accuracy = _validate(weights, *data)
        return float(loss), float(accuracy)


@kernel
def _epochs(
    weights: Flat,
    velocity: Flat,
    table: Matrix,
    bits: Matrix,
    labels: Integers,
    orders: Any,
    rates: Flat,
    batch: int,
    momentum: Any,
    shape: Any,
    joint: bool,
    losses: Any,
    accuracies: Any,
) -> None:
    """Epochs in the given orders at the given rates, in place; running means of loss and accuracy of each."""
    d, heads, _ = shape
    T = bits.shape[1]
    rows, columns = 2 * T + 1, heads * d + heads
    gradient = np.zeros(len(weights), np.float32)
    mass, values = np.empty((rows, heads), np.float32), np.empty((heads, rows, d), np.float32)
    full, difference = np.empty((rows, columns), np.float32), np.empty((T, columns), np.float32)
    base = np.empty(columns, np.float32)
    drawn, absent = np.empty((batch, T), np.float32), np.empty((batch, T), np.float32)
    # more rows of the sums, none of them without a number: lanes may reach beyond the last one
    sums, d_sums = np.zeros((batch + LANES, columns), np.float32), np.empty((batch, columns), np.float32)
    more = np.empty((batch, columns), np.float32)
    wide = (d + LANES - 1) // LANES * LANES
    hidden, signs = np.empty((batch, wide), np.float32), np.empty((batch + ROOM, 2), np.float32)
    d_full, d_part = np.empty((rows, columns), np.float32), np.empty((T, columns), np.float32)
    for epoch in range(len(orders)):
        order, loss, right = orders[epoch], 0.0, 0.0
        for begin in range(0, len(order), batch):
            n = min(batch, len(order) - begin)
            for i in range(n):
                row = bits[order[begin + i]]
                for t in range(T):
                    drawn[i, t] = row[t]
            cancels = _tabulate(weights, table, shape, mass, values, full)
            _columns(full, T, base, difference)
            if cancels:
                for i in range(n):
                    for t in range(T):
                        absent[i, t] = np.float32(1.0) - drawn[i, t]
                np.dot(drawn[:n], full[T : 2 * T], sums[:n])
                np.dot(absent[:n], full[:T], more[:n])
                for i in range(n):
                    for k in range(columns):
                        sums[i, k] += more[i, k] + full[2 * T, k]
            else:
                np.dot(drawn[:n], difference, sums[:n])
                for i in range(n):
                    for k in range(columns):
                        sums[i, k] += base[k]
            tail = _tail(weights, shape)
            found = _outputs(tail, shape, joint, sums, labels, order[begin : begin + n], hidden, signs)
            loss += found[0]
            right += found[1]
            _pull_back(weights, gradient, shape, tail[1], sums[:n], hidden, signs, d_sums)
            np.dot(drawn[:n].T, d_sums[:n], d_part)
            _spread(d_part, d_sums[:n], d_full)
            _into_weights(weights, gradient, shape, table, mass, values, d_full)
            rate = rates[epoch]
            for k in range(len(weights)):
                velocity[k] = momentum * velocity[k] - rate * gradient[k]
                weights[k] += velocity[k]
        losses[epoch] = loss / len(order)
        accuracies[epoch] = right / len(order)


@kernel
def _validate(
    weights: Flat, table: Matrix, codes: Any, widths: Integers, labels: Integers, shape: Any, joint: bool, partial: Any
) -> Any:
    """(mean loss, accuracy) on samples given by the codes of their groups of bits (n, groups).

    `partial` (groups, codes, columns) is room for the partial sums, its columns filled up to a multiple of THREE lanes.
    """
    d, heads, _ = shape
    n, groups = codes.shape
    rows, columns = len(table), heads * d + heads
    T = (rows - 1) // 2
    mass, values = np.empty((rows, heads), np.float32), np.empty((heads, rows, d), np.float32)
    full = np.empty((rows, columns), np.float32)
    _tabulate(weights, table, shape, mass, values, full)
    first = 0
    for g in range(groups):
        _partial_sums(full, T, first, widths[g], partial[g], g == 0)
        first += widths[g]
    tail = _tail(weights, shape)
    block, wide = SAMPLES, partial.shape[2]
    sums, hidden = np.zeros((block + 1, wide), np.float32), np.empty((block, len(tail[0])), np.float32)
    signs = np.empty((block + ROOM, 2), np.float32)
    order, loss, right = np.arange(n), 0.0, 0.0
    for begin in range(0, n, block):
        size = min(block, n - begin)
        _look_up(sums, partial, codes, begin, size)
        found = _outputs(tail, shape, joint, sums, labels, order[begin : begin + size], hidden, signs)
        loss += found[0]
        right += found[1]
    return loss / n, right / n


@kernel
def _look_up(sums: Matrix, partial: Any, codes: Any, begin: int, size: int) -> None:
    """Sums of the partial sums that the samples' codes point at, three lanes of columns at a time."""
    groups, each_group, columns = partial.shape
    lanes = BYTES // sums.itemsize
    for first in range(0, columns, THREE * lanes):
        for i in range(size):
            at = codes[begin + i, 0] * columns + first
            a, b, c = load(partial, at), load(partial, at + lanes), load(partial, at + 2 * lanes)
            for g in range(1, groups):
                at = (g * each_group + codes[begin + i, g]) * columns + first
                a += load(partial, at)
                b += load(partial, at + lanes)
                c += load(partial, at + 2 * lanes)
            at = i * columns + first
            store(sums, at, a)
            store(sums, at + lanes, b)
            store(sums, at + 2 * lanes, c)


@kernel
def _partial_sums(full: Matrix, T: int, first: int, width: int, out: Matrix, with_cls: bool) -> None:
    """out[code] = sum over the group's positions of the row of the token that the code's bit picks."""
    columns = full.shape[1]
    row = out[0]
    for k in range(columns):
        row[k] = full[2 * T, k] if with_cls else np.float32(0.0)
    for bit in range(width):
        zero, one = full[first + bit], full[T + first + bit]
        for code in range(1 << bit):
            low, high = out[code], out[code + (1 << bit)]
            for k in range(columns):
                high[k] = low[k] + one[k]
            for k in range(columns):
                low[k] += zero[k]


@kernel
def _tabulate(weights: Flat, table: Matrix, shape: Any, mass: Matrix, values: Any, full: Matrix) -> bool:
    """Masses and folded values of every token, times each other and beside each other; whether differences cancel."""
    d, heads, size = shape
    rows = len(table)
    T = (rows - 1) // 2
    Q, bQ, K, V, O = _parts(weights, shape)  # noqa: E741 (the network's letters)
    folded, scores = np.empty((d, d), np.float32), np.empty(rows, np.float32)
    query, key = np.empty(size, np.float32), np.empty(d, np.float32)
    scale = np.float32(size**-0.5)
    cancels = False
    for h in range(heads):
        for k in range(size):
            query[k] = bQ[h, k]
        for i in range(d):
            for k in range(size):
                query[k] += table[rows - 1, i] * Q[h, i, k]
        for i in range(d):
            score = np.float32(0.0)
            for k in range(size):
                score += K[h, i, k] * query[k]
            key[i] = score * scale
        top = np.float32(-np.inf)
        for r in range(rows):
            score = np.float32(0.0)
            for i in range(d):
                score += table[r, i] * key[i]
            scores[r] = score
            top = max(top, score)
        most, least = np.float32(0.0), np.float32(0.0)
        for r in range(rows):
            mass[r, h] = exp32(max(scores[r] - top, np.float32(SMALL)))
        for t in range(T):
            most += max(mass[t, h], mass[T + t, h])
            least += min(mass[t, h], mass[T + t, h])
        last = mass[rows - 1, h]
        cancels = cancels or most + last > np.float32(CANCELS) * (least + last)
        np.dot(V[h], O[h], folded)
        np.dot(table, folded, values[h])
        for r in range(rows):
            weight, row, value = mass[r, h], full[r], values[h, r]
            for j in range(d):
                row[h * d + j] = weight * value[j]
            row[heads * d + h] = weight
    return cancels


@kernel
def _columns(full: Matrix, T: int, base: Flat, difference: Matrix) -> None:
    columns = full.shape[1]
    for k in range(columns):
        base[k] = full[2 * T, k]
    for t in range(T):
        zero, one, row = full[t], full[T + t], difference[t]
        for k in range(columns):
            base[k] += zero[k]
        for k in range(columns):
            row[k] = one[k] - zero[k]


@kernel
def _outputs(
    tail: Any, shape: Any, joint: bool, sums: Matrix, labels: Integers, chosen: Integers, hidden: Matrix, signs: Matrix
) -> Any:
    """Sums of loss and of right answers; `hidden` after the ReLU, `signs` the derivatives of the mean loss.

    Where d does not fill whole lanes, numbers of the next head stand behind those of a head; what is made of them is
    set to 0.
    """
    d, heads, _ = shape
    constant, read, offset = tail
    wide, columns, lanes = len(constant), sums.shape[1], BYTES // sums.itemsize
    right = 0.0
    for i in range(len(chosen)):
        row, out = sums[i], i * wide
        for j in range(0, wide, lanes):
            store(hidden, out + j, load(constant, j))
        for h in range(heads):
            inverse, at = np.float32(1.0) / row[heads * d + h], i * columns + h * d
            for j in range(0, wide, lanes):
                store(hidden, out + j, load(hidden, out + j) + load(sums, at + j) * inverse)
        for j in range(d, wide):
            hidden[i, j] = np.float32(0.0)
        zeroth, first = zeros(sums), zeros(sums)
        for j in range(0, wide, lanes):
            seen = larger(load(hidden, out + j), 0.0)
            store(hidden, out + j, seen)
            zeroth += seen * load(read, j)
            first += seen * load(read, wide + j)
        zero, one = total(zeroth) + offset[0], total(first) + offset[1]
        label = labels[chosen[i]]
        right += 1.0 if (one > zero) == (label == 1) else 0.0
        if joint:  # cross-entropy is the loss of one margin, the difference of the logits: it stands in both places
            zero, one = zero - one, one - zero
        signs[i, 0], signs[i, 1] = (-zero, one) if label == 1 else (zero, -one)
    return _losses(signs, labels, chosen, len(chosen), joint), right


@kernel
def _losses(margins: Matrix, labels: Integers, chosen: Integers, n: int, joint: bool) -> float:
    """The sum of the losses; in place of the margins of both logits the derivatives of the mean loss in the logits.

    l(m) = log(1 + e^{-|m|}) + max(-m, 0),    l'(m) = -{e^{-|m|} if m > 0, else 1} / (1 + e^{-|m|})
    """
    lanes, loss = BYTES // margins.itemsize, 0.0
    for i in range(n, min(len(margins), n + lanes // 2)):
        margins[i] = FAR
    for place in range(0, 2 * n, lanes):
        margin = load(margins, place)
        below = smaller(margin, 0.0)
        decay = exp_down(below + smaller(0.0 - margin, 0.0), -FAR)
        loss += total(log_of_one_plus(decay) - below)
        store(margins, place, if_positive(margin, decay, 1.0) / (decay + 1.0))
    share = np.float32(1.0 if joint else 0.5) / np.float32(n)
    for i in range(n):
        sign = share if labels[chosen[i]] == 1 else -share
        margins[i, 0] *= sign
        margins[i, 1] *= -sign
    return 0.5 * loss


@kernel
def _pull_back(
    weights: Flat,
    gradient: Flat,
    shape: Any,
    read: Matrix,
    sums: Matrix,
    hidden: Matrix,
    signs: Matrix,
    d_sums: Matrix,
) -> None:
    """Gradients of everything after the attention, and of the sums."""
    d, heads, _ = shape
    n = len(sums)
    d_constant, d_read = np.zeros(d, np.float32), np.zeros((2, d), np.float32)
    d_offset, pull = np.zeros(2, np.float32), np.empty(d, np.float32)
    for i in range(n):
        row, out, seen = sums[i], d_sums[i], hidden[i]
        a, b = signs[i, 0], signs[i, 1]
        d_offset[0] += a
        d_offset[1] += b
        for j in range(d):
            d_read[0, j] += a * seen[j]
            d_read[1, j] += b * seen[j]
        for j in range(d):
            pull[j] = a * read[0, j] + b * read[1, j] if seen[j] > np.float32(0.0) else np.float32(0.0)
        for j in range(d):
            d_constant[j] += pull[j]
        for h in range(heads):
            inverse, dot = np.float32(1.0) / row[heads * d + h], np.float32(0.0)
            for j in range(d):
                out[h * d + j] = pull[j] * inverse
            for j in range(d):
                dot += pull[j] * row[h * d + j]
            out[heads * d + h] = -dot * inverse * inverse
    _tail_gradient(weights, gradient, shape, d_constant, d_read, d_offset)


@kernel
def _spread(d_part: Matrix, d_sums: Matrix, d_full: Matrix) -> None:
    """The gradient of the table: a token's row is in the sums of the samples in which it is present."""
    T, columns = d_part.shape
    cls = d_full[2 * T]
    for k in range(columns):
        cls[k] = np.float32(0.0)
    for i in range(len(d_sums)):
        row = d_sums[i]
        for k in range(columns):
            cls[k] += row[k]
    for t in range(T):
        zero, one, row = d_full[t], d_full[T + t], d_part[t]
        for k in range(columns):
            one[k] = row[k]
        for k in range(columns):
            zero[k] = cls[k] - row[k]


@kernel
def _into_weights(
    weights: Flat, gradient: Flat, shape: Any, table: Matrix, mass: Matrix, values: Any, d_full: Matrix
) -> None:
    """From the table's gradient to those of query, key, value and output projection."""
    d, heads, size = shape
    rows = len(table)
    Q, bQ, K, V, O = _parts(weights, shape)  # noqa: E741
    dQ, dbQ, dK, dV, dO = _parts(gradient, shape)
    d_values, d_folded = np.empty((rows, d), np.float32), np.empty((d, d), np.float32)
    d_V, d_O = np.empty((d, size), np.float32), np.empty((size, d), np.float32)
    query, d_key, d_query = np.empty(size, np.float32), np.empty(d, np.float32), np.empty(size, np.float32)
    scale = np.float32(size**-0.5)
    cls = table[rows - 1]
    for h in range(heads):
        for k in range(size):
            query[k] = bQ[h, k]
        for i in range(d):
            d_key[i] = np.float32(0.0)
            for k in range(size):
                query[k] += cls[i] * Q[h, i, k]
        for r in range(rows):
            weight, row, value, out, token = mass[r, h], d_full[r], values[h, r], d_values[r], table[r]
            slope = row[heads * d + h]
            for j in range(d):
                slope += row[h * d + j] * value[j]
            for j in range(d):
                out[j] = weight * row[h * d + j]
            slope *= weight
            for i in range(d):
                d_key[i] += slope * token[i]
        np.dot(table.T, d_values, d_folded)
        np.dot(d_folded, O[h].T, d_V)
        np.dot(V[h].T, d_folded, d_O)
        for k in range(size):
            d_query[k] = np.float32(0.0)
        for i in range(d):
            for k in range(size):
                dV[h, i, k] = d_V[i, k]
            for k in range(size):
                dO[h, k, i] += d_O[k, i]
            for k in range(size):
                dK[h, i, k] = d_key[i] * query[k] * scale
            for k in range(size):
                d_query[k] += K[h, i, k] * d_key[i] * scale
        for k in range(size):
            dbQ[h, k] = d_query[k]
        for i in range(d):
            for k in range(size):
                dQ[h, i, k] = cls[i] * d_query[k]


@kernel
def _parts(flat: Flat, shape: Any) -> Any:
    """W_Q, b_Q, W_K, W_V, W_O with the head first."""
    d, heads, size = shape
    block = heads * d * size
    Q = flat[:block].reshape((heads, d, size))
    bQ = flat[block : block + heads * size].reshape((heads, size))
    at = block + heads * size
    K = flat[at : at + block].reshape((heads, d, size))
    V = flat[at + block : at + 2 * block].reshape((heads, d, size))
    O = flat[at + 2 * block : at + 3 * block].reshape((heads, size, d))  # noqa: E741
    return Q, bQ, K, V, O


@kernel
def _after(flat: Flat, shape: Any) -> Any:
    """b_V, b_O, W_1, b_1, W_2, b_2; before them stands b_K, which never matters and has no gradient."""
    d, heads, size = shape
    at = 4 * heads * d * size + 2 * heads * size
    bV = flat[at : at + heads * size].reshape((heads, size))
    at += heads * size
    bO = flat[at : at + d]
    W1 = flat[at + d : at + d + d * d].reshape((d, d))
    at += d + d * d
    b1 = flat[at : at + d]
    W2 = flat[at + d : at + 3 * d].reshape((d, 2))
    b2 = flat[at + 3 * d : at + 3 * d + 2]
    return bV, bO, W1, b1, W2, b2


@kernel
def _tail(weights: Flat, shape: Any) -> Any:
    """What is added before the ReLU, and the two linear maps after it as one (2, d) with its offset; d in lanes."""
    d, heads, size = shape
    O = _parts(weights, shape)[4]  # noqa: E741
    bV, bO, W1, b1, W2, b2 = _after(weights, shape)
    wide = (d + LANES - 1) // LANES * LANES
    constant, read, offset = np.zeros(wide, np.float32), np.zeros((2, wide), np.float32), np.empty(2, np.float32)
    for j in range(d):
        constant[j] = bO[j]
    for h in range(heads):
        for k in range(size):
            for j in range(d):
                constant[j] += bV[h, k] * O[h, k, j]
    for c in range(2):
        offset[c] = b2[c]
        for j in range(d):
            offset[c] += b1[j] * W2[j, c]
        for i in range(d):
            for j in range(d):
                read[c, i] += W1[i, j] * W2[j, c]
    return constant, read, offset


@kernel
def _tail_gradient(weights: Flat, gradient: Flat, shape: Any, d_constant: Flat, d_read: Matrix, d_offset: Flat) -> None:
    """Into b_V, b_O, W_1, b_1, W_2, b_2; the part of W_O that comes from the value biases starts its gradient."""
    d, heads, size = shape
    O, dO = _parts(weights, shape)[4], _parts(gradient, shape)[4]  # noqa: E741
    bV, _, W1, b1, W2, _ = _after(weights, shape)
    dbV, dbO, dW1, db1, dW2, db2 = _after(gradient, shape)
    for h in range(heads):
        for k in range(size):
            dot = np.float32(0.0)
            for j in range(d):
                dot += O[h, k, j] * d_constant[j]
            dbV[h, k] = dot
            for j in range(d):
                dO[h, k, j] = bV[h, k] * d_constant[j]
    for i in range(d):
        dbO[i] = d_constant[i]
        db1[i] = W2[i, 0] * d_offset[0] + W2[i, 1] * d_offset[1]
        for j in range(d):
            dW1[i, j] = d_read[0, i] * W2[j, 0] + d_read[1, i] * W2[j, 1]
    for c in range(2):
        db2[c] = d_offset[c]
        for j in range(d):
            dot = b1[j] * d_offset[c]
            for i in range(d):
                dot += W1[i, j] * d_read[c, i]
            dW2[j, c] = dot
