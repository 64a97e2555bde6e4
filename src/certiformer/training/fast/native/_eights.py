"""Eight numbers side by side, as a tuple: what Numba keeps in vector registers from one line of a loop to the next.

Loops over rows of arrays load and store what they add up at every turn, because two arrays might share memory. Sums in
tuples stay in registers. That equal operations on the eight become vector instructions is the work of a pass of LLVM
that Numba leaves out by default; `kernel_of_eights` has it run for one function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
# Sums are not reordered: the loop would be taken apart along the sum instead of along the eight.
_MATHS = {"contract", "nsz", "arcp"}

EIGHT = 8
ZEROS = (0.0,) * EIGHT


def kernel_of_eights(signature: str) -> Callable[[Function], Function]:
    """Compile a function now, for these types, with the pass that joins equal operations on neighbours."""

    def compiled(function: Function) -> Function:
        settings: Any = numba.config
        compiler: Any = numba.njit(signature, cache=True, fastmath=_MATHS, error_model="numpy")
        before = settings.SLP_VECTORIZE
        settings.SLP_VECTORIZE = 1
        try:
            made: Function = compiler(function)
        finally:
            settings.SLP_VECTORIZE = before
        return made

    return compiled


def _inline(function: Function) -> Function:
    made: Function = numba.njit(function, fastmath=_MATHS, error_model="numpy", inline="always")
    return made


@_inline
def load(row: Any, b: Any) -> Any:
    """Eight numbers of a row, from place b on."""
    return (row[b], row[b + 1], row[b + 2], row[b + 3], row[b + 4], row[b + 5], row[b + 6], row[b + 7])


@_inline
def store(row: Any, b: Any, x: Any) -> None:
    """The eight back into the row."""
    row[b], row[b + 1], row[b + 2], row[b + 3], row[b + 4], row[b + 5], row[b + 6], row[b + 7] = x


@_inline
def plus(a: Any, y: Any, x: Any) -> Any:
    """a + y x, for one number y."""
    return (
        a[0] + y * x[0],
        a[1] + y * x[1],
        a[2] + y * x[2],
        a[3] + y * x[3],
        a[4] + y * x[4],
        a[5] + y * x[5],
        a[6] + y * x[6],
        a[7] + y * x[7],
    )


@_inline
def plus_each(a: Any, y: Any, x: Any) -> Any:
    """a + y x, entry by entry."""
    return (
        a[0] + y[0] * x[0],
        a[1] + y[1] * x[1],
        a[2] + y[2] * x[2],
        a[3] + y[3] * x[3],
        a[4] + y[4] * x[4],
        a[5] + y[5] * x[5],
        a[6] + y[6] * x[6],
        a[7] + y[7] * x[7],
    )


@_inline
def times(x: Any, y: Any) -> Any:
    """x y, entry by entry."""
    return (
        x[0] * y[0],
        x[1] * y[1],
        x[2] * y[2],
        x[3] * y[3],
        x[4] * y[4],
        x[5] * y[5],
        x[6] * y[6],
        x[7] * y[7],
    )


@_inline
def inverse(x: Any) -> Any:
    """1/x, entry by entry."""
    return (
        1.0 / x[0],
        1.0 / x[1],
        1.0 / x[2],
        1.0 / x[3],
        1.0 / x[4],
        1.0 / x[5],
        1.0 / x[6],
        1.0 / x[7],
    )


@_inline
def larger(x: Any, y: Any) -> Any:
    """The larger one, entry by entry."""
    return (
        max(x[0], y[0]),
        max(x[1], y[1]),
        max(x[2], y[2]),
        max(x[3], y[3]),
        max(x[4], y[4]),
        max(x[5], y[5]),
        max(x[6], y[6]),
        max(x[7], y[7]),
    )
