"""Recipes: procedures and a model from a TOML file, `certiformer certify --fit recipe.toml` (docs/recipes.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jax

from certiformer.certification.counting import Subject
from certiformer.certification.declaration import Declaration
from certiformer.certification.pipeline import Findings
from certiformer.certification.predictors import load_predictor
from certiformer.certification.predictors.model import HouseModel
from certiformer.certification.procedure import of_procedures
from certiformer.certification.sources.rows import read_npz
from certiformer.lab import models
from certiformer.lab.procedures import (
    AttentionPooling,
    Code,
    CoordinateCover,
    HeadPosterior,
    Occam,
    OnePass,
    PickToLearn,
    Surrogate,
)
from certiformer.lab.procedures._augment import augmentation
from certiformer.lab.procedures._estimators import built
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from certiformer.theory.core.schema import require_shape, tables
from certiformer.theory.core.toml_reader import read_toml

ARRAYS = ("train_inputs", "train_labels", "unlabelled_inputs")
TEXT = {"type": "string"}
OCCAM = {"subspace": {"type": ["integer", "object"]}, "code": tables({"type": "number"})}
TABLES = {
    "data": TEXT, "model": tables(), "title": TEXT,
    "by": {"type": "array", "items": {"type": "object", "properties": OCCAM}},
    "delta": {"type": "number"}, "repeats": TEXT,
}  # fmt: skip


def read(path: str | Path) -> dict[str, Any]:
    """The recipe as a dictionary, its tables known."""
    found = read_toml(path, "recipe")
    for name in found:
        if name not in TABLES:
            raise UnknownNameError("table", name, TABLES, place=f" in {path}")
    require_shape(found, {"properties": TABLES}, "recipe", f"In {path}")
    if "data" not in found:
        raise InputError("data", None, 'data = "examples.npz", with train_inputs and train_labels')
    if not found.get("by"):
        raise InputError(
            "by", found.get("by"), "at least one [[by]] table", 'For example [[by]] procedure = "PickToLearn"'
        )
    return found


def findings(path: str | Path) -> Findings:
    """Read the data beside the recipe, build the model and the procedures, run them."""
    recipe, folder = read(path), Path(path).parent
    arrays = read_npz(folder / recipe["data"], ARRAYS)
    for name in ARRAYS[:2]:
        if name not in arrays:
            raise InputError("data", sorted(arrays), "train_inputs and train_labels", f"In {recipe['data']}")
    model = _model(recipe.get("model"))
    by = [_procedure(table, arrays, folder) for table in recipe["by"]]
    reading = Declaration(title=recipe.get("title", Path(path).name), repeats=recipe.get("repeats", "refuse"))
    return of_procedures(Subject(model), (arrays["train_inputs"], arrays["train_labels"]), by, reading=reading)


def _model(table: Mapping[str, Any] | None) -> Any:
    """`architecture`, `seed` and the settings of a model of this package, at its initialisation."""
    if table is None:
        return None
    settings = _settings(table)
    name, seed = settings.pop("architecture", None), settings.pop("seed", 0)
    if not isinstance(name, str):
        raise InputError("model.architecture", name, f"one of {', '.join(models.names())}")
    try:
        return models.model_type(name).init(jax.random.key(seed), models.config(name, **settings))
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, CertiformerError):
            raise
        raise InputError("model", dict(table), f"the settings of {name}", f"({error})") from error


def _procedure(table: Mapping[str, Any], arrays: Mapping[str, Any], folder: Path) -> Any:
    builders: dict[str, Callable[..., Any]] = {
        "PickToLearn": _picks,
        "OnePass": _pass,
        "HeadPosterior": HeadPosterior,
        "Occam": _occam,
        "CoordinateCover": _cover,
        "Surrogate": partial(_surrogate, arrays, folder),
    }
    # A recipe trains from an initialisation that it draws itself; a prior that it writes down has seen who knows what.
    settings = {"pretrained_on": None if "prior" in table else "nothing", **_settings(table)}
    name = settings.pop("procedure", None)
    if not isinstance(name, str) or name not in builders:
        raise UnknownNameError("procedure", str(name), builders, place=" in [[by]]")
    try:
        return builders[name](**settings)
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, CertiformerError):
            raise
        raise InputError(
            f"[[by]] {name}", sorted(settings), "its settings", f"({error}). See docs/recipes.md"
        ) from error


def _settings(table: Mapping[str, Any]) -> dict[str, Any]:
    seed = table.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < 2**32:
        raise InputError("seed", seed, "a whole number from 0 to 4294967295")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


def _picks(estimator: Mapping[str, Any] | None = None, augment: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """`estimator = { kind = "sklearn.svm.SVC", C = 10.0 }` is fitted to the picks in place of the model."""
    fit = None
    if estimator is not None:
        settings = dict(estimator)
        fit = built({"estimator": settings.pop("kind", None), "settings": settings})
    return PickToLearn(fit, augment=augmentation(augment), **_settings(more))


def _pass(augment: Mapping[str, Any] | None = None, **more: Any) -> Any:
    return OnePass(augment=augmentation(augment), **more)


def _surrogate(
    arrays: Mapping[str, Any], folder: Path, target: str, by: Mapping[str, Any] | None = None, **more: Any
) -> Any:
    """`target`: a checkpoint of this package or a predictor that certify handed over; the pool is in the data."""
    if "unlabelled_inputs" not in arrays:
        raise InputError(
            "data", sorted(arrays), "unlabelled_inputs beside them", "A surrogate needs unlabelled examples"
        )
    picks = _picks(pretrained_on=more.pop("pretrained_on"), **(by or {}))
    return Surrogate(_target(folder / target), arrays["unlabelled_inputs"], picks, **_settings(more))


def _target(path: Path) -> Any:
    if not path.is_file():
        raise InputError("target", str(path), "a file beside the recipe")
    try:
        return load_predictor(path)
    except InputError:
        return HouseModel(models.load(path)[0])


def _occam(subspace: Any = 32, code: Mapping[str, Any] | None = None, **more: Any) -> Any:
    space = AttentionPooling(**subspace) if isinstance(subspace, Mapping) else subspace
    return Occam(space, Code(**(code or {})), **more)


def _cover(network: Mapping[str, Any] | None = None, **more: Any) -> Any:
    return CoordinateCover(AttentionPooling(**(network or {})), **more)
