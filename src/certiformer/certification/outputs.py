"""Outputs of a model and labels as numbers: one row per example, one coding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError

Array = npt.NDArray[np.float64]


def checked_outputs(name: str, outputs: npt.ArrayLike, n: int) -> Array:
    """Finite numbers, one row per example; a single column becomes a vector."""
    values = np.asarray(outputs)
    if values.dtype.kind not in "fiub":
        raise InputError(name, f"type {values.dtype}", "numbers")
    values = values.astype(np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2) or len(values) != n:
        raise InputError(name, f"shape {values.shape}", f"shape ({n},) for one logit or ({n}, classes) for several")
    if not np.all(np.isfinite(values)):
        row = int(np.flatnonzero(~np.isfinite(values.reshape(n, -1)).all(axis=1))[0])
        raise InputError(name, f"nan or infinity at example {row}", "finite numbers", "Look at the weights and inputs")
    return values


def coded_labels(name: str, labels: npt.ArrayLike, classes: int, *, scalar: bool) -> npt.NDArray[np.int64]:
    """Class indices for several logits, signs for one; 0/1 and -1/+1 are both understood for two classes."""
    values = np.asarray(labels)
    if values.ndim != 1 or values.dtype.kind not in "fiub" or not np.all(values == np.round(values)):
        raise InputError(name, f"type {values.dtype}, shape {values.shape}", "one whole number per example")
    whole = values.astype(np.int64)
    found = set(np.unique(whole).tolist())
    if classes == 2 and found <= {-1, 1}:
        indices = (whole + 1) // 2
    elif found <= set(range(classes)):
        indices = whole
    else:
        odd = sorted(found - set(range(classes)))
        allowed = f"class indices 0 to {classes - 1}" + (" or signs -1 and +1" if classes == 2 else "")
        raise InputError(name, odd[:5], allowed)
    return 2 * indices - 1 if scalar else indices
