"""Two handwritten digits as 16 patches of 8 x 8 pixels, with or without a one-hot position beside the pixels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certiformer.lab.procedures._augment import TOKENS
from certiformer.lab.tasks.mnist import Digits, patches, scale


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
