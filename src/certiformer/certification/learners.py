"""Estimators that are still to be fitted: fresh copies, and the refusal of what may have seen the examples before."""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from certiformer.certification.frameworks import is_jax, is_torch
from certiformer.theory.core.errors import InputError


def is_learner(model: Any) -> bool:
    """Something with `fit`, not a class and not a function."""
    return not isinstance(model, type) and hasattr(model, "fit")


def is_fitted(part: Any) -> bool:
    """Whether an estimator shows what it has learnt: attributes that end in "_", as scikit-learn has it.

    What a new one of the same settings has as well is no sign of learning.
    """
    if _learnt(part) and not (hasattr(part, "get_params") and _learnt(part) <= _learnt(_new(part))):
        return True
    for check in ("__sklearn_is_fitted__", "is_fitted"):
        if callable(getattr(part, check, None)):
            return bool(getattr(part, check)()) and not (
                hasattr(part, "get_params") and bool(getattr(copied(part), check)())
            )
    return False


def _learnt(part: Any) -> set[str]:
    return {name for name in getattr(part, "__dict__", {}) if name.endswith("_") and not name.startswith("_")}


def _new(part: Any) -> Any:
    """One of the same settings, made by its class: a clone may be the same object."""
    try:
        return type(part)(**part.get_params(deep=False))
    except Exception:  # whatever the class of a stranger needs beside its settings
        return None


def fresh(estimator: Any, *, frozen: bool = False) -> Any:
    """A copy with the same settings that has learnt nothing. Refuses what may carry something over from earlier fits.

    `frozen`: the caller says what frozen parts have seen, so that they may stay.
    """
    kind = type(estimator).__name__
    if not hasattr(estimator, "get_params"):
        raise InputError(
            "fit",
            kind,
            "an estimator with get_params, so that a fresh copy can be made",
            "Or a function fit(x, y, seed) that makes and trains a new model",
        )
    settings = dict(estimator.get_params(deep=True))
    for name, value in settings.items():
        if name.rpartition("__")[2] == "warm_start" and value:
            raise InputError(name, value, "False", "A warm start carries examples of earlier fits into the next one")
    kept, carried = _frozen(estimator, settings), carries(estimator)
    if carried and not frozen:
        raise InputError(
            "fit",
            f"{carried} {kind}",
            "parts that are fitted here from nothing",
            "They may have seen these examples: give the class of a network, not one that was made; or certify the "
            "fitted model on held-out examples; or say what they have seen (PickToLearn(..., pretrained_on=inputs or "
            '"nothing"))',
        )
    kept += [part.estimator for part in kept]
    for part in (estimator, *settings.values()):
        if isinstance(part, type) or not hasattr(part, "get_params") or any(part is one for one in kept):
            continue
        if is_fitted(part):
            raise InputError(
                "fit",
                f"{type(part).__name__}, which is fitted already",
                "an estimator that has seen nothing",
                "Give sklearn.base.clone(estimator); a fitted one is certified on held-out examples: "
                "certify(estimator, heldout=(x, y))",
            )
    return copied(estimator)


def _frozen(estimator: Any, settings: Mapping[str, Any]) -> list[Any]:
    return [part for part in (estimator, *settings.values()) if type(part).__name__ == "FrozenEstimator"]


def carries(estimator: Any) -> str:
    """In words, what an estimator carries that was trained before: frozen parts, networks among its settings; or ""."""
    settings = dict(estimator.get_params(deep=True)) if hasattr(estimator, "get_params") else {}
    if _frozen(estimator, settings):
        return "the frozen parts of the estimator"
    if any(is_torch(value) or is_jax(value) for value in settings.values()):
        return "the networks among the settings of the estimator"
    return ""


LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")
"""Whose estimators learn from what they are fitted to, and from nothing else."""


def own_code(estimator: Any) -> str:
    """In words, code of the caller's in an estimator, which may remember examples; or ""."""
    settings = dict(estimator.get_params(deep=True)) if hasattr(estimator, "get_params") else {}
    for part in (estimator, *settings.values()):
        if part is estimator or (hasattr(part, "get_params") and not isinstance(part, type)):
            if _library(type(part)) not in LIBRARIES:
                return f"the class {type(part).__name__}"
        elif callable(part) and not isinstance(part, type) and not _plain(part):
            return "the functions among the settings of the estimator"
    return ""


def _plain(function: Any) -> bool:
    """A function of a library, bound to nothing that may have learnt."""
    known = _library(function) in ("builtins", "math", "numpy", "scipy", "sklearn")
    return isinstance(function, np.ufunc) or (known and inspect.isroutine(function) and not inspect.ismethod(function))


def _library(value: Any) -> str:
    return str(getattr(value, "__module__", "")).partition(".")[0]


def copied(estimator: Any) -> Any:
    """`sklearn.base.clone`, or the same by hand where scikit-learn is not there."""
    if "sklearn" in sys.modules:
        from sklearn.base import clone  # type: ignore[import-untyped]

        return clone(estimator)
    settings = estimator.get_params(deep=False)
    made = {
        name: copied(value) if hasattr(value, "get_params") and not isinstance(value, type) else copy.deepcopy(value)
        for name, value in settings.items()
    }
    return type(estimator)(**made)


def fitted(estimator: Any, inputs: Any, labels: Any, seed: int) -> Any:
    """A fresh copy, seeded where it can be and is not yet, fitted to the examples."""
    one = fresh(estimator)
    if "random_state" in one.get_params():
        one.set_params(random_state=seed)
    try:
        one.fit(inputs, labels)
    except (TypeError, ValueError) as error:
        raise InputError("fit", type(one).__name__, "examples that it takes", f"It said: {error}") from error
    return one
