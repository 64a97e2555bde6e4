"""How kernels are compiled: by Numba, on this machine, for this processor, kept on disk beside the source.

`kernel` allows sums to be reordered and products to be fused, but neither nan nor inf to be assumed away, so that a run
that diverges is seen to. `inline` is for the small functions that a kernel calls in its inner loops.

Numba looks at the file of a kernel only when it decides whether what it kept is still good: after a change to this file
or `_vectors.py` delete the `__pycache__` folder of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

try:
    import numba
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the papers' training loops need Numba, which the extra [fast] installs (it is part of [train]): "
        "pip install 'certiformer[fast]'",
        name="numba",
    ) from error

from certiformer.theory.calculus._compiled import compiled

Function = TypeVar("Function", bound=Callable[..., Any])
_MATHS = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: Function) -> Function:
    """Compile a function that runs over arrays."""
    return compiled(function, _MATHS)


def inline(function: Function) -> Function:
    """Compile a function of numbers, to be put into the loops that call it."""
    made: Function = numba.njit(function, fastmath=_MATHS, error_model="numpy", inline="always")
    return made


@inline
def exp32(x: Any) -> Any:
    """e^x in single precision, cut off at e^-87 and e^88: arithmetic that a loop turns into vector instructions.

    e^x = 2^k e^r with k the integer nearest to x / ln 2 and |r| <= ln(2)/2, where e^r is a polynomial and 2^k is put
    together from its bits. Error, relative: 2e-7. (`_vectors` has it for lanes.)
    """
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
