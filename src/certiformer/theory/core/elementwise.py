"""Formulas on arrays: one function for a number and for many, and what to do where many do not agree.

NumPy is imported where something is an array, and not before: most results are closed forms of single numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from certiformer.theory.core.rounding import MARGIN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Mixed(Exception):
    """A condition that holds at some entries of an array and fails at others: evaluate the two kinds apart."""

    def __init__(self, holds: NDArray[np.bool_]) -> None:
        super().__init__(f"holds at {int(holds.sum())} of {holds.size} entries")
        self.holds = holds


class Apart(Exception):
    """No two entries share a calculation: evaluate them one by one."""


def several(value: object) -> bool:
    """Whether the value is an array."""
    numbers = type(value)
    if numbers is float or numbers is int or numbers is bool:
        return False
    numpy = sys.modules.get("numpy")  # what nobody has imported made no arrays
    return numpy is not None and isinstance(value, numpy.ndarray)


def each(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function` at the arguments; entry by entry where some of them are arrays, so that it may branch."""
    if not any(several(one) for one in arguments):
        return function(*arguments)
    import numpy as np

    if function is math.sqrt:  # the one that is exact everywhere
        return np.sqrt(*arguments)
    rows = zip(*(one.ravel().tolist() for one in np.broadcast_arrays(*arguments)), strict=True)
    shape = np.broadcast_shapes(*(np.shape(one) for one in arguments))
    return np.array([function(*row) for row in rows], dtype=np.float64).reshape(shape)


def raised(values: Any) -> Any:
    """Rounded up like a single number, and by as much again.

    Functions of arrays and of single numbers may differ in the last digits: an array is never below its entries.
    """
    return values + abs(values) * (2.0 * MARGIN)


def agreed(condition: Any) -> bool:
    """The truth of a condition on which all entries agree; `Mixed` where they do not."""
    if condition is True or condition is False or not several(condition):
        return bool(condition)
    if condition.all() or not condition.any():
        return bool(condition.flat[0])
    raise Mixed(condition)


def least(*values: Any) -> Any:
    """The smallest, entry by entry where some of them are arrays."""
    if not any(several(one) for one in values):
        return min(values)
    import numpy as np

    found = values[0]
    for one in values[1:]:
        found = np.minimum(found, one)
    return found
