"""How loops are compiled: by Numba, on this machine, for this processor, kept on disk beside the source.

Where neither the folder of the source nor one of the user's can be written, every process compiles for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, fastmath: set[str] | bool = False) -> Function:
    """A function over arrays, compiled; without `fastmath` its sums and products are those that are written."""
    try:
        kept: Function = numba.njit(function, cache=True, fastmath=fastmath, error_model="numpy")
    except RuntimeError:  # no folder to keep it in
        kept = numba.njit(function, fastmath=fastmath, error_model="numpy")
    return kept
