"""Checkpoints: named arrays and a JSON header in one safetensors file, replaced atomically.

A file is written beside its destination, flushed to the disk and renamed over it, so a kill or a full disk at any
moment leaves either the previous checkpoint or the new one, never a torn file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import NotJson, parse_json
from certiformer.theory.core.safetensors_reader import read_safetensors
from certiformer.theory.core.whole_files import write_folder

FORMAT = "certiformer-checkpoint/1"
HEADER = "certiformer"

Arrays = dict[str, npt.NDArray[Any]]


def write(path: Path | str, arrays: Mapping[str, npt.ArrayLike], header: Mapping[str, object]) -> None:
    """Replace the file at `path` by these arrays and this JSON-able header, all of it or nothing."""
    path = Path(path)
    tensors = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    text = json.dumps({"format": FORMAT, **header}, sort_keys=True, allow_nan=False)
    payload = save(tensors, metadata={HEADER: text})
    write_folder(path.parent, {path.name: payload})


def read(path: Path | str) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and the header of a checkpoint; a clear error for anything else."""
    arrays, metadata = read_safetensors(Path(path), "checkpoint")
    try:
        header = parse_json(metadata[HEADER])
    except (KeyError, NotJson) as error:
        raise InputError(
            "checkpoint", str(path), "a file written by certiformer", "It carries no certiformer header."
        ) from error
    if header.get("format") != FORMAT:
        raise InputError(
            "checkpoint", header.get("format"), FORMAT, f"{path} was written by another version; train it again."
        )
    return arrays, header


def to_arrays(tree: Any, prefix: str) -> Arrays:
    """The array leaves of a tree, named by their path under `prefix`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(prefix, path): np.asarray(leaf) for path, leaf in leaves}


def from_arrays(template: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Any:
    """The tree shaped like `template` with its leaves read back; refuses other names, shapes or dtypes."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(template)
    wanted = {_name(prefix, path): leaf for path, leaf in leaves}
    stored = {name for name in arrays if name == prefix or name.startswith(f"{prefix}/")}
    if stored != set(wanted):
        odd = sorted(stored.symmetric_difference(wanted))
        raise InputError("checkpoint", odd[:4], "the arrays of this model", "It belongs to another model or optimiser.")
    restored = []
    for name, leaf in wanted.items():
        value = arrays[name]
        if value.shape != np.shape(leaf) or value.dtype != leaf.dtype:
            raise InputError(
                f"checkpoint array {name}",
                f"{value.dtype}{list(value.shape)}",
                f"{leaf.dtype}{list(np.shape(leaf))}",
                "It belongs to another model or precision.",
            )
        restored.append(jnp.asarray(value, dtype=value.dtype))
    return jax.tree_util.tree_unflatten(structure, restored)


def _name(prefix: str, path: tuple[Any, ...]) -> str:
    inner = jax.tree_util.keystr(path, simple=True, separator="/")
    return f"{prefix}/{inner}" if inner else prefix
