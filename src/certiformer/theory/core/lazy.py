"""NumPy and SciPy, imported when something of them is first used, and the array that theory computes with.

Most results are closed forms of single numbers: they are listed, explained and evaluated without the two, whose import
would take longer than everything else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["Array", "np", "npt", "scipy"]


class Lazy:
    """Stands for the module of this name."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self.__dict__["__name__"]), attribute)
        self.__dict__[attribute] = found
        return found


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import scipy

    Array = npt.NDArray[np.float64]
else:
    np = Lazy("numpy")
    npt = Lazy("numpy.typing")
    scipy = Lazy("scipy")
    Array = Any
