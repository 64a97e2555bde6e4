"""Models on disk: safetensors with the config in the metadata, written so that a crash leaves the old file whole."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save as to_bytes

from certiformer._version import __version__
from certiformer.lab.models._base import Model
from certiformer.lab.models._models_by_name import config, model_type, names
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import NotJson, parse_json, read_json
from certiformer.theory.core.safetensors_reader import read_safetensors
from certiformer.theory.core.whole_files import write_bytes

FORMAT = "certiformer.model"
FORMAT_VERSION = "1"


class Loaded(NamedTuple):
    """A model from a file, and whatever else was stored with it."""

    model: Model
    extra: dict[str, Any]


def weights(model: Model) -> dict[str, jax.Array]:
    """The arrays of a model by the names of the paper."""
    return {name: getattr(model, name) for name in _weight_names(type(model))}


def _weight_names(cls: type[Model]) -> list[str]:
    return [field.name for field in fields(cls) if field.name != "config"]


def save(path: str | os.PathLike[str], model: Model, extra: Mapping[str, Any] | None = None) -> None:
    """Write the weights, the config and `extra` (anything JSON can hold: seed, data hash, metrics) to `path`."""
    metadata = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "certiformer": __version__,
        "model": model.name,
        "model_version": str(model.version),
        "config": json.dumps(asdict(model.config)),
        "extra": json.dumps(dict(extra or {})),
    }
    tensors = {name: np.ascontiguousarray(array) for name, array in weights(model).items()}
    write_bytes(Path(path), to_bytes(tensors, metadata))


def load(path: str | os.PathLike[str]) -> Loaded:
    """The model stored at `path`."""
    source = Path(path)
    tensors, metadata = read_safetensors(source, "checkpoint")
    cls = _checked_type(source, metadata)
    expected = _weight_names(cls)
    if set(tensors) != set(expected):
        raise InputError("checkpoint", sorted(tensors), f"the tensors {sorted(expected)} of {cls.name}")
    settings = config(cls.name, **_json(metadata, "config"))
    model = cls(settings, **{name: _array(name, tensor) for name, tensor in tensors.items()})
    return Loaded(model, _json(metadata, "extra"))


def load_bare(path: str | os.PathLike[str], described: str | Path | Mapping[str, Any]) -> Model:
    """Bare weights as the model that is described: by a mapping, or a JSON file, of `model` and its settings."""
    wanted = "a JSON object with model and its settings"
    settings = dict(described) if isinstance(described, Mapping) else read_json(Path(described), wanted)
    name = settings.pop("model", None)
    if not isinstance(name, str):
        raise InputError("config", name, '"model" with the name of an architecture', f"Known: {names()}")
    cls, (tensors, _) = model_type(name), read_safetensors(Path(path), "checkpoint")
    made = config(name, **settings)
    try:
        return cls(config=made, **{key: jnp.asarray(value) for key, value in tensors.items()})
    except TypeError as error:
        raise InputError("checkpoint", sorted(tensors), f"the tensors of {name}", f"({error})") from error


def _checked_type(source: Path, metadata: Mapping[str, str]) -> type[Model]:
    """The class a file was written for, if this version of the library can read it."""
    if metadata.get("format") != FORMAT:
        raise InputError("checkpoint", str(source), f"a file written by certiformer ({FORMAT!r} in its metadata)")
    if metadata.get("format_version") != FORMAT_VERSION:
        raise InputError(
            "checkpoint",
            f"format version {metadata.get('format_version')}",
            f"format version {FORMAT_VERSION}",
            f"It was written by certiformer {metadata.get('certiformer', 'of unknown version')}.",
        )
    cls = model_type(metadata.get("model", ""))
    if metadata.get("model_version") != str(cls.version):
        raise InputError(
            "checkpoint", f"{cls.name} version {metadata.get('model_version')}", f"{cls.name} version {cls.version}"
        )
    return cls


def _json(metadata: Mapping[str, str], name: str) -> dict[str, Any]:
    """The JSON object stored under `name`."""
    try:
        return parse_json(metadata[name])
    except (KeyError, NotJson) as error:
        raise InputError(f"checkpoint's {name}", metadata.get(name), "a JSON object", f"({error})") from error


def _array(name: str, tensor: np.ndarray[Any, Any]) -> jax.Array:
    """The tensor as a JAX array of the same precision, never rounded in silence."""
    array = jnp.asarray(tensor, dtype=jax.dtypes.canonicalize_dtype(tensor.dtype))
    if array.dtype != tensor.dtype:
        raise InputError(name, str(tensor.dtype), str(array.dtype), "Load it inside `with jax.enable_x64(True):`.")
    return array
