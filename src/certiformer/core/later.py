"""Modules that are imported when something of them is first used.

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = later("numpy")

Most results are closed forms of single numbers: they are listed, explained and evaluated without NumPy and SciPy, whose
import would take longer than everything else.
"""

from __future__ import annotations

import importlib
from typing import Any


class later:
    """Stands for the module of this name."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(importlib.import_module(self.__dict__["__name__"]), attribute)
        self.__dict__[attribute] = found
        return found
