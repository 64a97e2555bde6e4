"""The one reader of whole safetensors files: predictors, models, states of a training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt

from certiformer.theory.core.errors import InputError


def read_safetensors(path: Path, name: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """The tensors and the metadata of a file; `name` is what it is called in a refusal."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(name, str(path), "an existing file")
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (not a mapping)
            return tensors, dict(file.metadata() or {})
    except (SafetensorError, OSError, TypeError) as error:  # TypeError: a type that NumPy does not have
        raise InputError(name, str(path), "a complete safetensors file", f"({error})") from error
