"""The one reader of the headers of .npy arrays that others wrote."""

from __future__ import annotations

import warnings
from tokenize import TokenError
from typing import IO, Any

import numpy as np

from certiformer.theory.core.zip_reader import BROKEN

LONGEST = 16_384
_ODD = (*BROKEN, KeyError, TypeError, SyntaxError, TokenError, RecursionError, MemoryError, OverflowError)


def npy_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns stand together, and type; a ValueError of one line for anything else."""
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what numpy makes of a header that is broken
            shape, fortran, kind = read(file, max_header_size=LONGEST)
    except _ODD as error:
        raise ValueError(f"{error}".split("\n")[0]) from None
    return shape, bool(fortran), kind
