"""Two handwritten digits as 16 patches of 8 x 8 pixels, with or without a one-hot position beside the pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certiformer.lab.procedures._augment import TOKENS
from certiformer.lab.tasks.mnist import Digits, patches, scale

PIXELS, BLOCK = 64, 1024
"""Of a patch; images that are made at a time."""


class Images(NamedTuple):
    """Tokens (n, 16, 64 or 80) in float32 and classes 0, 1."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.int64]


def images(part: Digits, second: int, position: float = 0.0) -> Images:
    """Unit pixels; class 1 is the digit `second`. `position` is the size of the one-hot entries, 0 for none."""
    n = len(part.digits)
    x = np.zeros((n, TOKENS, PIXELS + (TOKENS if position else 0)), np.float32)
    x[:, :, PIXELS:] = np.float32(position) * np.eye(TOKENS, dtype=np.float32)[:, : x.shape[2] - PIXELS]
    for start in range(0, n, BLOCK):  # each step makes copies of what it is given
        rows = slice(start, start + BLOCK)
        x[rows, :, :PIXELS] = patches(scale(part.images[rows], "unit"), "padded")
    return Images(x, (part.digits == second).astype(np.int64))
