"""What every model has in common: a frozen config, tokens in rows, and checks that name what is wrong."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from certiformer.theory.core.errors import InputError, UnknownNameError

Activation = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]


class Model(eqx.Module):
    """A paper's network: weights as arrays, `config` static; `model(x)` takes one example with tokens in rows.

    Batches go through `jax.vmap(model)`. `config` is a frozen dataclass of plain values. `name` is what the registry
    and checkpoints call it; `version` grows whenever the meaning of stored weights changes.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    config_type: ClassVar[type[Any]]

    config: eqx.AbstractVar[Any]

    @classmethod
    @abc.abstractmethod
    def init(cls, key: PRNGKeyArray, config: Any, *, dtype: Any = jnp.float32) -> Self:
        """The initial weights of the paper, determined by `key`."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "tokens d"]) -> Float[Array, "*outputs"]:
        """The output for one example."""


def erf(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """erf(x / sqrt 2) = 2 Phi(x) - 1, the activation whose kernel has a closed form (Arda)."""
    return jax.scipy.special.erf(x * 0.5**0.5)


def identity(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """x."""
    return x


def leaky_relu(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """max(x, x/10): as Lipschitz as ReLU and nowhere flat."""
    return jnp.maximum(x, 0.1 * x)


ACTIVATIONS: dict[str, Activation] = {
    "erf": erf,
    "identity": identity,
    "leaky_relu": leaky_relu,
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
}
"""Elementwise activations by name; all of them are 1-Lipschitz and vanish at zero, as the theorems require."""


def activation(name: str) -> Activation:
    """The activation called `name`."""
    if name not in ACTIVATIONS:
        raise UnknownNameError("activation", name, ACTIVATIONS, hint=f"(known: {', '.join(sorted(ACTIVATIONS))})")
    return ACTIVATIONS[name]


def unit_ball(x: Float[Array, "tokens d"]) -> Float[Array, "tokens d"]:
    """Pi(x) = x / max(1, ||x||), row by row: the Euclidean projection onto the unit ball."""
    square = jnp.sum(x * x, axis=-1, keepdims=True)
    outside = square > 1.0
    # The square root is taken of 1 inside the ball, so that its gradient is finite at x = 0.
    return x / jnp.sqrt(jnp.where(outside, square, 1.0))


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse whatever is not an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(name, value, f"an integer of at least {least}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a word that is not among `choices`, with the nearest ones that are."""
    if value not in choices:
        raise UnknownNameError(name, str(value), choices, hint=f"(known: {', '.join(choices)})")


def check_even(name: str, value: int) -> None:
    """Symmetric initialisation pairs unit i with unit i + m/2."""
    if value % 2:
        raise InputError(
            name,
            value,
            "an even number, because symmetric initialisation pairs each unit with its negative",
            f"Use {value - 1 or 2} or {value + 1}.",
        )


def check_tokens(x: Array, d: int, tokens: int | None = None) -> None:
    """One example: a matrix with `d` columns and at least one row (`tokens` rows, where the model fixes them)."""
    if x.ndim != 2 or x.shape[1] != d or (x.shape[0] != tokens if tokens is not None else x.shape[0] == 0):
        rows = "one or more" if tokens is None else str(tokens)
        raise InputError(
            "x",
            f"shape {tuple(x.shape)}",
            f"one example of {rows} rows (tokens) and {d} columns",
            "Batch with jax.vmap.",
        )


def check_row(name: str, row: int, rows: int) -> None:
    """An index of one of `rows` rows; JAX itself would read another row in silence."""
    if not -rows <= row < rows:
        raise InputError(name, row, f"the index of one of {rows} rows")


def check_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    """Weights given by hand must fit the config."""
    if tuple(array.shape) != shape:
        raise InputError(name, f"shape {tuple(array.shape)}", f"shape {shape}")
