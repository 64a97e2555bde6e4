"""Margins of predictions on labelled samples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError


def margins(outputs: npt.ArrayLike, labels: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """y f(x) for scalar outputs and y = +-1; f_y - max_{j != y} f_j for vectors and class indices."""
    values, classes = np.asarray(outputs, np.float64), np.asarray(labels)
    if values.shape[:1] != classes.shape or values.ndim not in (1, 2):
        raise InputError("outputs, labels", (values.shape, classes.shape), "shapes (n,) or (n, classes), and (n,)")
    if not np.all(np.isfinite(values)):
        raise InputError("outputs", "an entry that is not finite", "finite numbers")
    if values.ndim == 1:
        if not np.all(np.abs(classes) == 1):
            raise InputError("labels", np.unique(classes)[:4].tolist(), "+1 or -1 for scalar outputs")
        return np.asarray(values * classes)
    if not np.all((classes == np.round(classes)) & (classes >= 0) & (classes < values.shape[1])):
        raise InputError("labels", np.unique(classes)[:4].tolist(), f"class indices below {values.shape[1]}")
    rows, index = np.arange(len(values)), classes.astype(int)
    rest = values.copy()
    rest[rows, index] = -np.inf
    return np.asarray(values[rows, index] - np.max(rest, axis=1))


def margin_errors(outputs: npt.ArrayLike, labels: npt.ArrayLike, margin: float) -> int:
    """#{i : margin_i <= margin}; at margin 0 ties count as errors."""
    return int(np.sum(margins(outputs, labels) <= margin))
