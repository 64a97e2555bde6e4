"""exp as plain arithmetic, so that a loop of it becomes vector instructions (`_vectors` has it for lanes).

e^x = 2^k e^r with k the integer nearest to x / ln 2 and |r| <= ln(2)/2, where e^r is a polynomial and 2^k is put
together from its bits. Error, relative: 2e-7. Arguments beyond what a result can hold are cut off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from certiformer.training.fast.native._compile import inline


@inline
def exp32(x: Any) -> Any:
    """e^x in single precision, cut off at e^-87 and e^88."""
    x = min(max(x, np.float32(-87.0)), np.float32(88.0))
    k = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
    r = (x - k * np.float32(0.693359375)) + k * np.float32(2.12194440e-4)
    power = np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)
    return power * (_less_one32(r) + np.float32(1.0))


@inline
def _less_one32(r: Any) -> Any:
    """e^r - 1 for |r| <= 0.35."""
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    return p * r * r + r
