"""How kernels are compiled: by Numba, on this machine, for this processor, kept on disk beside the source.

`kernel` allows sums to be reordered and products to be fused, but neither nan nor inf to be assumed away, so that a run
that diverges is seen to. `inline` is for the small functions that a kernel calls in its inner loops.

Numba looks at the file of a kernel only when it decides whether what it kept is still good: after a change to
`_lanes.py` or `_vectors.py` delete the `__pycache__` folder of this package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
_MATHS = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function: Function) -> Function:
    """Compile a function that runs over arrays."""
    compiled: Function = numba.njit(function, cache=True, fastmath=_MATHS, error_model="numpy")
    return compiled


def inline(function: Function) -> Function:
    """Compile a function of numbers, to be put into the loops that call it."""
    compiled: Function = numba.njit(function, fastmath=_MATHS, error_model="numpy", inline="always")
    return compiled
