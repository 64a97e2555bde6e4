"""Changes of the examples while training, by name: what a recipe may say and a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from certiformer.theory.core.errors import InputError

Augment = Callable[[jax.Array, jax.Array], jax.Array]
"""`augment(key, batch)`: the batch, changed at random; traceable by JAX."""

TOKENS, PATCH, SIDE = 16, 64, 4


@dataclass(frozen=True)
class Shifts:
    """Images of 16 patches of 8 x 8 pixels, each moved by its own few pixels, at most `most` each way.

    Blank border comes back; entries of a token beyond its pixels (positions) stay.
    """

    most: int

    def __call__(self, key: jax.Array, x: jax.Array) -> jax.Array:
        if x.shape[1] != TOKENS or x.shape[2] < PATCH:
            raise InputError("inputs", f"shape {x.shape}", f"(n, {TOKENS}, {PATCH}) patches, which can be shifted")
        pixels, places = x[:, :, :PATCH], x[:, :, PATCH:]
        grid = pixels.reshape(-1, SIDE, SIDE, 8, 8).transpose(0, 1, 3, 2, 4).reshape(-1, 32, 32)
        by = jax.random.randint(key, (len(x), 2), -self.most, self.most + 1)
        rolled = jax.vmap(lambda image, shift: jnp.roll(image, shift, axis=(0, 1)))(grid, by)
        tokens = rolled.reshape(-1, SIDE, 8, SIDE, 8).transpose(0, 1, 3, 2, 4).reshape(-1, TOKENS, PATCH)
        return jnp.concatenate([tokens, places], axis=2)


def augmentation(said: Mapping[str, Any] | None) -> Augment | None:
    """{"shift": 2}: shifts of at most 2 pixels."""
    if said is None:
        return None
    if set(said) != {"shift"} or not isinstance(said["shift"], int) or said["shift"] < 1:
        raise InputError("augment", dict(said), "{ shift = 2 }, pixels at most, for images in 16 patches")
    return Shifts(said["shift"])


def described_augmentation(augment: Augment | None) -> dict[str, Any] | None:
    """What `augmentation` reads; None for none, and for a function without a name."""
    return {"shift": augment.most} if isinstance(augment, Shifts) else None
