"""The estimators of scikit-learn that a file may name, with the settings it may give: a closed list.

A recipe (`--fit recipe.toml`) and a replay (`verify --replay`) build an estimator from a file, and train it. Nothing
on the list calls, reads or writes anything: no `memory`, no functions, no paths, no other objects.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from certiformer.theory.core.errors import InputError, UnknownNameError

PIPELINE = "sklearn.pipeline.Pipeline"
_DESCENT: tuple[str, ...] = (
    *("penalty", "C", "alpha", "l1_ratio", "tol", "fit_intercept", "max_iter", "shuffle", "random_state", "loss"),
    *("eta0", "learning_rate", "power_t", "class_weight", "average", "solver", "dual"),
)
_TREE: tuple[str, ...] = (
    *("criterion", "max_depth", "min_samples_split", "min_samples_leaf", "max_leaf_nodes", "min_impurity_decrease"),
    *("max_features", "ccp_alpha", "class_weight", "min_weight_fraction_leaf", "random_state"),
)
_FOREST = (*_TREE, "n_estimators", "bootstrap", "max_samples")

ESTIMATORS: dict[str, tuple[str, ...]] = {
    "sklearn.preprocessing.StandardScaler": ("with_mean", "with_std"),
    "sklearn.preprocessing.MinMaxScaler": ("clip",),
    "sklearn.preprocessing.MaxAbsScaler": (),
    "sklearn.preprocessing.RobustScaler": ("with_centering", "with_scaling", "unit_variance"),
    "sklearn.preprocessing.Normalizer": ("norm",),
    "sklearn.decomposition.PCA": ("n_components", "whiten", "svd_solver", "random_state"),
    "sklearn.linear_model.LogisticRegression": _DESCENT,
    "sklearn.linear_model.RidgeClassifier": _DESCENT,
    "sklearn.linear_model.SGDClassifier": _DESCENT,
    "sklearn.linear_model.Perceptron": _DESCENT,
    "sklearn.svm.LinearSVC": (*_DESCENT, "multi_class"),
    "sklearn.svm.SVC": (
        *("C", "kernel", "degree", "gamma", "coef0", "shrinking", "tol", "class_weight", "max_iter", "random_state"),
        *("decision_function_shape", "break_ties"),
    ),
    "sklearn.discriminant_analysis.LinearDiscriminantAnalysis": ("solver", "shrinkage", "n_components", "tol"),
    "sklearn.naive_bayes.GaussianNB": ("var_smoothing",),
    "sklearn.naive_bayes.MultinomialNB": ("alpha", "fit_prior", "force_alpha"),
    "sklearn.naive_bayes.BernoulliNB": ("alpha", "fit_prior", "force_alpha", "binarize"),
    "sklearn.neighbors.KNeighborsClassifier": ("n_neighbors", "weights", "algorithm", "leaf_size", "p", "metric"),
    "sklearn.tree.DecisionTreeClassifier": (*_TREE, "splitter"),
    "sklearn.ensemble.RandomForestClassifier": _FOREST,
    "sklearn.ensemble.ExtraTreesClassifier": _FOREST,
}


def described_estimator(value: Any) -> dict[str, Any] | None:
    """An estimator as JSON, a pipeline by its steps; None where something of it is not on the list."""
    names = {name.rpartition(".")[2]: name for name in (*ESTIMATORS, PIPELINE)}
    name = names.get(type(value).__name__)
    if name is None or type(value) is not _class(name):
        return None
    if name == PIPELINE:
        steps = [(label, described_estimator(part)) for label, part in value.steps]
        plain = value.memory is None and all(found is not None for _, found in steps)
        return {"estimator": name, "steps": [[label, found] for label, found in steps]} if plain else None
    usual, settings = type(value)().get_params(deep=False), {}
    for setting, given in value.get_params(deep=False).items():
        number = given.item() if isinstance(given, (np.integer, np.floating)) else given
        if number is usual.get(setting) or (type(number) is type(usual.get(setting)) and number == usual[setting]):
            continue
        if setting not in ESTIMATORS[name] or not isinstance(number, (bool, int, float, str, type(None))):
            return None
        settings[setting] = number
    return {"estimator": name, "settings": settings}


def built(value: Mapping[str, Any]) -> Any:
    """The estimator that a file names, untrained; what is not on the list is refused before anything is imported."""
    name = str(value.get("estimator"))
    if name == PIPELINE:
        return _class(name)([(str(label), built(part)) for label, part in value["steps"]])
    if name not in ESTIMATORS:
        known = ", ".join(sorted(one.rpartition(".")[2] for one in ESTIMATORS))
        raise InputError("estimator", value.get("estimator"), f"one of these of scikit-learn, by full name: {known}")
    for setting, given in value["settings"].items():
        if setting not in ESTIMATORS[name]:
            raise UnknownNameError(f"setting of {name}", setting, ESTIMATORS[name], "Other settings are not read")
        if not isinstance(given, (bool, int, float, str, type(None))):
            raise InputError(f"{name} {setting}", given, "a number, a word, true or false")
    return _class(name)(**value["settings"])


def _class(name: str) -> Any:
    home, _, own = name.rpartition(".")
    return getattr(importlib.import_module(home), own)
