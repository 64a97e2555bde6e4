"""Arrays filled up with zeros to what a kernel takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

WHOLE = 16
"""Heads or units come in multiples of this, which is lanes of either precision."""


def filled(rows: npt.NDArray[Any], whole: int, axis: int = -1) -> npt.NDArray[Any]:
    """Rows with as many zeros behind them as make their length a multiple of `whole`; contiguous."""
    missing = -rows.shape[axis] % whole
    if not missing:
        return np.ascontiguousarray(rows)
    shape = list(rows.shape)
    shape[axis] = missing
    return np.ascontiguousarray(np.concatenate([rows, np.zeros(shape, rows.dtype)], axis=axis))
