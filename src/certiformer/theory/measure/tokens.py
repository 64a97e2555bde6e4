"""What the theorems ask about inputs: token norms and the half-diameter of a sequence's tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.rounding import up
from certiformer.theory.measure.measured import Measured

UNIT = 2.0**-53


def token_norm(x: npt.ArrayLike, order: float = 2) -> Measured:
    """max over samples and tokens of ||x_t||, here on this sample; a bound on the support is the caller's to know."""
    tokens = _tokens(x)
    largest = max(float(np.max(np.linalg.norm(_doubles(part), ord=order, axis=2))) for part in _blocks(tokens))
    return Measured(up(largest), "certified", f"largest l{order:g} norm of a token in the sample", "upper")


def half_diameter(x: npt.ArrayLike) -> Measured:
    """max over samples of (1/2) max_{s,t} ||x_s - x_t||.

    From ||x||^2 + ||y||^2 - 2 x.y in float64, with its cancellation error added, so never too small.
    """
    tokens = _tokens(x)
    # Distances do not change when the origin moves to the middle of the tokens; cancellation becomes smaller.
    middle = np.mean(tokens, axis=(0, 1), dtype=np.float64)
    dimension = tokens.shape[-1]
    largest = 0.0
    for off in tokens if tokens.shape[1] > 1 else ():
        sample = _doubles(off) - middle
        squares = np.sum(sample * sample, axis=1)
        # Rounding of the three inner products, and of the shift of the origin.
        allowance = 16 * (dimension + 4) * UNIT * float(np.max(squares))
        for first in range(0, len(sample), 512):
            part = sample[first : first + 512]
            distances = squares[first : first + 512, None] + squares[None, :] - 2.0 * (part @ sample.T)
            largest = max(largest, float(np.max(distances)) + allowance)
    return Measured(up(0.5 * float(np.sqrt(largest))), "certified", "largest pairwise distance", "upper")


def _tokens(x: npt.ArrayLike) -> npt.NDArray[Any]:
    """In the precision in which they are given: a sample is large, and made double part by part."""
    tokens = np.asarray(x)
    if tokens.dtype.kind not in "biuf" or tokens.dtype.itemsize > 8:
        tokens = _doubles(tokens)
    if tokens.ndim == 2:
        tokens = tokens[None]
    if tokens.ndim != 3 or tokens.size == 0:
        raise InputError("x", f"shape {tokens.shape}", "samples of tokens: (n, tokens, d) or one sample (tokens, d)")
    if not all(np.isfinite(part).all() for part in _blocks(tokens)):
        raise InputError("x", "an entry that is not finite", "finite numbers")
    return tokens


def _blocks(tokens: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    return (tokens[start : start + 512] for start in range(0, len(tokens), 512))


def _doubles(tokens: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(tokens, dtype=np.float64)
