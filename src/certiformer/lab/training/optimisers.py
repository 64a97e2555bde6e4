"""Optimisers of the papers, as Optax gradient transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import optax
from jaxtyping import Array

from certiformer.theory.core.errors import InputError

Schedule = Callable[[Any], Any]
"""Number of updates so far -> learning rate."""


def gradient_descent(rate: float) -> optax.GradientTransformation:
    """theta <- theta - rate * g (Mwigo, Deora's second phase, Arda)."""
    return optax.sgd(_positive("rate", rate))


def adam(rate: float | Schedule) -> optax.GradientTransformation:
    """Adam with Optax's defaults: for certificates, where only the trained network matters."""
    return optax.adam(rate if callable(rate) else _positive("rate", rate))


def momentum_sgd(rate: float | Schedule, momentum: float = 0.9) -> optax.GradientTransformation:
    """v <- momentum * v - rate_k * g,  theta <- theta + v (Keras' form: the velocity remembers the old rates)."""
    if not 0 <= momentum < 1:
        raise InputError("momentum", momentum, "a number in [0, 1)")
    if not callable(rate):
        return optax.chain(optax.scale(-_positive("rate", rate)), optax.trace(decay=momentum))
    return optax.chain(optax.scale_by_schedule(lambda count: -rate(count)), optax.trace(decay=momentum))


def trauger_schedule(
    batches_per_epoch: int, first: float = 0.01, decay: float = 0.999, floor: float = 0.001
) -> Schedule:
    """max(floor, first * decay^e) in epoch e = 1, 2, ...: the rate is multiplied at the start of every epoch."""
    if batches_per_epoch < 1:
        raise InputError("batches_per_epoch", batches_per_epoch, "a positive number")

    def rate(update: Array) -> Array:
        epoch = 1 + update // batches_per_epoch
        return jnp.maximum(floor, first * decay ** epoch.astype(jnp.result_type(float)))

    return rate


def _positive(name: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise InputError(name, value, "a positive finite number")
    return value
