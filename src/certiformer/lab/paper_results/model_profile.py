"""What is measured of the model and the sample it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError

if TYPE_CHECKING:
    from certiformer.theory.measure.profile import Profile


def measured(
    model: Any,
    inputs: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    initial: Any = None,
    training: Mapping[str, Any] | None = None,
) -> Profile:
    """Measure `model` on a sample; a model of this package also gets its name and config."""
    from certiformer.certification.frameworks import outputs_of, tensors_of
    from certiformer.theory.measure.profile import measure

    values = np.asarray(inputs)
    found = outputs_of(model, values)
    classes = found.shape[1] if found.ndim == 2 else 2
    return measure(
        tensors_of(model),
        values if values.ndim in (2, 3) and values.dtype.kind in "fiu" else None,
        found,
        coded_labels("labels", labels, classes, scalar=found.ndim == 1),
        initial=None if initial is None else tensors_of(initial),
        training=dict(training or {}),
        **described(model),
    )


def described(model: Any) -> dict[str, Any]:
    """The name and the config of a model of this package, empty for others."""
    from certiformer.certification.frameworks import merged
    from certiformer.lab.models import Model

    if not isinstance(model, Model):
        return {"model": "", "config": {}}
    return {"model": model.name, "config": {**asdict(model.config), **asdict(merged(model).config)}}


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
