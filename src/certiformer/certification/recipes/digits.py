"""Two handwritten digits as 16 patches of 8 x 8 pixels, with or without a one-hot position beside the pixels."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from certiformer.certification.procedures._learners import Augment
from certiformer.tasks.mnist import Digits, patches, scale

TOKENS, PATCH, SIDE = 16, 64, 4


class Images(NamedTuple):
    """Tokens (n, 16, 64 or 80) in float32 and classes 0, 1."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.int64]

    def take(self, rows: npt.NDArray[np.int64]) -> Images:
        return Images(self.x[rows], self.y[rows])


def images(part: Digits, second: int, position: float = 0.0) -> Images:
    """Unit pixels; class 1 is the digit `second`. `position` is the size of the one-hot entries, 0 for none."""
    x = np.asarray(patches(scale(part.images, "unit"), "padded"), np.float32)
    if position:
        places = np.broadcast_to(np.float32(position) * np.eye(TOKENS, dtype=np.float32), (len(x), TOKENS, TOKENS))
        x = np.concatenate([x, places], axis=2)
    return Images(x, (part.digits == second).astype(np.int64))


@functools.cache
def shifts(most: int) -> Augment:
    """An augmentation: every image moved by its own few pixels, at most `most` each way; blank border comes back."""

    def moved(key: jax.Array, x: jax.Array) -> jax.Array:
        pixels, places = x[:, :, :PATCH], x[:, :, PATCH:]
        grid = pixels.reshape(-1, SIDE, SIDE, 8, 8).transpose(0, 1, 3, 2, 4).reshape(-1, 32, 32)
        by = jax.random.randint(key, (len(x), 2), -most, most + 1)
        rolled = jax.vmap(lambda image, shift: jnp.roll(image, shift, axis=(0, 1)))(grid, by)
        tokens = rolled.reshape(-1, SIDE, 8, SIDE, 8).transpose(0, 1, 3, 2, 4).reshape(-1, TOKENS, PATCH)
        return jnp.concatenate([tokens, places], axis=2)

    return moved
