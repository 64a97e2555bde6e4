"""What every statement here asks of its numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.schema import holding, require_shape

Array = npt.NDArray[np.float64]


_ANOTHER = "Begin another state, or take it from a copy"


def require_state(state: Any, **types: Any) -> None:
    """What was kept for a restart, refused unless it has these fields, each of its type, and counts from 0 on."""
    require_shape(state, holding({name: {"type": type} for name, type in types.items()}), "state", _ANOTHER)
    if not 0 <= state.get("n", 0) < 2**53:
        raise InputError("state: n", state["n"], "how many were counted", _ANOTHER)


def kept_numbers(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    """Numbers that were kept, all of them and none of them negative."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.array(np.nan)
    if found.shape != shape or not np.all(found >= 0.0):
        raise InputError(f"state: {name}", f"shape {found.shape}", f"numbers from 0 on, shape {shape}", _ANOTHER)
    return found


def probability(name: str, value: float) -> float:
    """A number strictly between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise InputError(name, value, "a number in (0, 1)", "For example 0.05")
    return float(value)


def counted(errors: int, n: int, least: int = 1) -> tuple[int, int]:
    """Errors among n examples, as whole numbers."""
    try:
        k, size = operator.index(errors), operator.index(n)
    except TypeError:
        k = size = -1
    if size < least or not 0 <= k <= size:
        raise InputError("errors", errors, f"a whole number between 0 and n = {n}")
    return k, size


def whole_range(low: float, high: float) -> float:
    """high - low, if that is a range."""
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise InputError(
            "low, high", (low, high), "finite numbers, low below high", "They are declared, not read off the losses"
        )
    return high - low


def losses_in(name: str, losses: npt.ArrayLike, low: float, high: float) -> Array:
    """The losses as fractions of their declared range; one outside it is refused by its position."""
    width = whole_range(low, high)
    x = np.asarray(losses, dtype=np.float64)
    if x.ndim != 1 or len(x) == 0:
        raise InputError(name, f"an array of shape {x.shape}", "a list of at least one number")
    outside = ~((x >= low) & (x <= high))
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise InputError(
            name,
            float(x[first]),
            f"numbers in [{low:g}, {high:g}]",
            f"Entry {first} is not, nor are {int(outside.sum()) - 1} others: declare the range of the loss, or clip it "
            "at a value chosen beforehand",
        )
    return np.clip((x - low) / width, 0.0, 1.0)


def binary(name: str, values: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Zeros and ones (or false and true) as booleans."""
    x = np.asarray(values)
    if x.ndim != 1 or len(x) == 0:
        raise InputError(name, f"an array of shape {x.shape}", "a list of at least one 0 or 1")
    if x.dtype.kind == "b":
        return x
    if x.dtype.kind not in "iuf" or np.any((x != 0) & (x != 1)):
        odd = x[(x != 0) & (x != 1)][:1].tolist() if x.dtype.kind in "iuf" else str(x.dtype)
        raise InputError(name, odd, "0 or 1 for every example")
    return np.asarray(x == 1)


def failure_probability(delta: float | None, confidence: float | str | None) -> float:
    """delta, from itself or from the confidence 1 - delta; 0.05 where neither is said."""
    if delta is not None and confidence is not None:
        raise InputError("delta, confidence", (delta, confidence), "one of the two", "confidence is 1 - delta")
    if confidence is not None:
        if isinstance(confidence, str):
            column = f"A column is named by declaration=Declaration(confidence_column={confidence!r})"
            raise InputError("confidence", confidence, "a number, 1 - delta", column)
        if not 0.0 < confidence < 1.0:
            raise InputError("confidence", confidence, "a number in (0, 1)", "For example 0.95")
        # 1 - 0.99 is a hair above 0.01 in binary: the digits that were written are meant.
        return float(f"{1.0 - confidence:.12g}")
    return probability("delta", 0.05 if delta is None else delta)
