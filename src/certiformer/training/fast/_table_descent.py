"""Epochs of momentum descent for Trauger's network on sparse majority, in orders and at rates that the caller gives.

    v <- momentum v - rate_e g,    theta <- theta + v          for each batch of epoch e

The state is two flat vectors, weights and velocity, changed in place; `flatten` and `unflatten` go between them and the
model. The kernel and the JAX form take the same batches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jaxtyping import Array

from certiformer.models.keras_cls_transformer import KerasClsTransformer, KerasClsTransformerConfig
from certiformer.training.fast import native
from certiformer.training.fast._token_table import token_table

Flat = npt.NDArray[np.float32]
BLOCK = ("W_Q", "b_Q", "W_K", "W_V", "W_O", "b_K", "b_V", "b_O", "W_1", "b_1", "W_2", "b_2")
"""The parts of the flat vector, one after another; those with heads have the head as first axis."""
HEAD_SECOND = ("W_Q", "W_K", "W_V")


class Bits(NamedTuple):
    """Sequences of bits (n, T) as floats with labels 0 and 1, of tokens in a table (2T + 1, d)."""

    bits: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def flatten(model: KerasClsTransformer) -> Flat:
    """All weights as one vector."""
    parts = {name: np.asarray(getattr(model, name), np.float32) for name in BLOCK}
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
    for name in BLOCK:
        size_of = int(np.prod(shapes[name]))
        part = flat[at : at + size_of].reshape(shapes[name])
        weights[name] = jnp.asarray(part.transpose(1, 0, 2) if name in HEAD_SECOND else part)
        at += size_of
    return KerasClsTransformer(config, **weights)


class TableDescent(Protocol):
    """What trains and validates."""

    def epochs(
        self, weights: Flat, velocity: Flat, orders: npt.NDArray[np.int64], rates: Flat
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Epochs in these orders (epochs, n) at these rates; the running means of loss and accuracy of each."""
        ...

    def look(self, weights: Flat) -> tuple[float, float]:
        """(mean loss, accuracy) on the validation sequences."""
        ...


def table_descent(
    train: Bits,
    validation: Bits,
    table: npt.ArrayLike,
    config: KerasClsTransformerConfig,
    *,
    batch: int,
    momentum: float = 0.9,
    native_kernel: bool | None = None,
) -> TableDescent:
    """The two-sigmoid loss of a `KerasClsTransformer`; single precision."""
    kind = _Native if native.wanted(native_kernel) else _Compiled
    return kind(train, validation, np.array(table, np.float32), config, batch, momentum)


class _Native:
    def __init__(
        self, train: Bits, validation: Bits, table: Flat, config: KerasClsTransformerConfig, batch: int, momentum: float
    ) -> None:
        from certiformer.training.fast.native import _token_table

        self._epochs: Any = _token_table.epochs
        self._validate: Any = _token_table.validate
        self._train, self._labels, self._table = train, validation.labels, table
        self._batch, self._momentum = min(batch, len(train.labels)), np.float32(momentum)
        self._shape = (config.d, config.heads, config.key_size)
        group, T = _token_table.GROUP, validation.bits.shape[1]
        self._widths = np.array([min(group, T - first) for first in range(0, T, group)], np.int64)
        powers = 2 ** np.arange(group)
        self._codes = np.stack(
            [validation.bits[:, f : f + group] @ powers[: min(group, T - f)] for f in range(0, T, group)], axis=1
        ).astype(np.uint8)
        columns, whole = config.heads * (config.d + 1), _token_table.THREE * _token_table.LANES
        self._partial = np.zeros((len(self._widths), 2**group, columns + -columns % whole), np.float32)

    def epochs(
        self, weights: Flat, velocity: Flat, orders: npt.NDArray[np.int64], rates: Flat
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        losses, accuracies = np.empty(len(orders)), np.empty(len(orders))
        data = (self._table, self._train.bits, self._train.labels, orders, rates, self._batch, self._momentum)
        self._epochs(weights, velocity, *data, self._shape, losses, accuracies)
        return losses, accuracies

    def look(self, weights: Flat) -> tuple[float, float]:
        data = (self._table, self._codes, self._widths, self._labels, self._shape, self._partial)
        loss, accuracy = self._validate(weights, *data)
        return float(loss), float(accuracy)


class _Compiled:
    def __init__(
        self, train: Bits, validation: Bits, table: Flat, config: KerasClsTransformerConfig, batch: int, momentum: float
    ) -> None:
        self._train, self._validation = ((jnp.asarray(p.bits), jnp.asarray(p.labels)) for p in (train, validation))
        self._table, self._config, self._batch = jnp.asarray(table), config, min(batch, len(train.labels))
        self._update, self._mean = _programs(momentum)

    def epochs(
        self, weights: Flat, velocity: Flat, orders: npt.NDArray[np.int64], rates: Flat
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        model, speed = unflatten(weights, self._config), unflatten(velocity, self._config)
        found = []
        for order, rate in zip(orders, rates, strict=True):
            sums = np.zeros(2)
            for begin in range(0, len(order), self._batch):
                rows = order[begin : begin + self._batch]
                drawn = (self._train[0][rows], self._train[1][rows], self._table)
                model, speed, loss, accuracy = self._update(model, speed, drawn, rate)
                sums += len(rows) * np.array([float(loss), float(accuracy)])
            found.append(sums / len(order))
        weights[:], velocity[:] = flatten(model), flatten(speed)
        losses, accuracies = np.array(found).T
        return losses, accuracies

    def look(self, weights: Flat) -> tuple[float, float]:
        loss, accuracy = self._mean(unflatten(weights, self._config), (*self._validation, self._table))
        return float(loss), float(accuracy)


@functools.lru_cache(maxsize=4)
def _programs(momentum: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    objective = token_table()

    @jax.jit
    def update(model: Any, speed: Any, drawn: Any, rate: Array) -> tuple[Any, Any, Array, Array]:
        (loss, metrics), gradient = jax.value_and_grad(objective, has_aux=True)(model, drawn)
        speed = jax.tree.map(lambda v, g: momentum * v - rate * g, speed, gradient)
        return jax.tree.map(jnp.add, model, speed), speed, loss, metrics["accuracy"]

    @jax.jit
    def mean(model: Any, batch: Any) -> tuple[Array, Array]:
        loss, metrics = objective(model, batch)
        return loss, metrics["accuracy"]

    return update, mean
