"""What is certified is handed over: predictors as safetensors with their hash, loaded again with one call.

The kinds of predictors are found by walking this package and `procedures`: a file that defines one is enough.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certiformer._version import __version__
from certiformer.certificates import Evidence, Predictor
from certiformer.certificates._predictor import Tensors
from certiformer.theory.core.errors import CertiformerError, InputError, UnknownNameError
from certiformer.theory.core.json_reader import parse_json
from certiformer.theory.core.safetensors_reader import read_safetensors

FORMAT = "certiformer predictor"
TRACE = "certiformer trace"
RETIRED = {
    "estimator trained on picks": "Files of certiformer 0.1.0 name a class that is built and fitted while they load, "
    "which can run other people's code: they are refused. Certify again"
}
HOMES = ("certiformer.certification.predictors", "certiformer.lab.coordinate_covers", "certiformer.lab.procedures")


def content_of(predictor: Predictor) -> bytes:
    """The file of a predictor; the same predictor gives the same bytes."""
    settings = json.dumps(predictor.settings(), sort_keys=True, allow_nan=False)
    return _file(predictor.tensors(), {"format": FORMAT, "kind": predictor.kind, "settings": settings})


def _file(arrays: Mapping[str, npt.NDArray[Any]], facts: Mapping[str, str]) -> bytes:
    from safetensors.numpy import save

    tensors = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    data = bytes(save(tensors, {"certiformer": __version__, **facts}))
    # The package writes metadata in no fixed order.
    length = int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8 : 8 + length]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def files_of(evidence: Iterable[Evidence]) -> tuple[dict[str, dict[str, Any]], dict[str, bytes]]:
    """By key of the record where its predictor, its sibling and its trace are (`file`, `sha256`), and the files.

    One predictor is one file, however many rows speak about it.
    """
    handed: dict[str, dict[str, Any]] = {}
    files: dict[str, bytes] = {}
    known: dict[int, dict[str, str]] = {}
    records = tuple(evidence)
    for role in ("predictor", "through", "trace"):
        for record in records:
            what = getattr(record, role)
            if what is not None and id(what) not in known:
                name = file_name(role, record.key)
                files[name] = content_of(what) if isinstance(what, Predictor) else _file(what, {"format": TRACE})
                known[id(what)] = {"file": name, "sha256": hashlib.sha256(files[name]).hexdigest()}
            handed.setdefault(record.key, {})[role] = None if what is None else known[id(what)]
    return handed, files


def file_name(role: str, key: str) -> str:
    """What the file of a statement's predictor, sibling or trace is called."""
    return f"{role}-{re.sub(r'[^A-Za-z0-9]+', '-', key).strip('-')}.safetensors"


def load_predictor(path: str | Path, *, apply: Callable[..., Any] | None = None) -> Predictor:
    """A certified predictor from its file: `load_predictor("out/predictor-occam.safetensors").predict(inputs)`.

    A model that is not of this package is handed over as its weights; `apply(weights, inputs)`, a function of a dict
    of arrays by name and a batch, makes it predict again.
    """
    return read_predictor(Path(path), apply=apply)[0]


def read_predictor(path: Path, *, apply: Callable[..., Any] | None = None) -> tuple[Predictor, str]:
    """The predictor and the SHA-256 of its file."""
    tensors, metadata, digest = _opened(path)
    if metadata.get("format") != FORMAT:
        raise InputError("predictor", str(path), "a predictor written beside a report by certiformer certify")
    kind = kind_of(metadata.get("kind", ""))
    try:
        # `apply` comes from the caller and never from a file.
        settings = {name: value for name, value in parse_json(metadata["settings"]).items() if name != "apply"}
        return kind.restore(tensors, settings if apply is None else {**settings, "apply": apply}), digest
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError) as error:
        if isinstance(error, CertiformerError):
            raise
        raise InputError("predictor", str(path), f"what a {kind.kind} consists of", f"({error!r})") from error


def read_trace(path: Path) -> tuple[Tensors, str]:
    """What was recorded while counting, and the SHA-256 of its file."""
    tensors, metadata, digest = _opened(path)
    if metadata.get("format") != TRACE:
        raise InputError("trace", str(path), "a trace written beside a report by certiformer certify")
    return tensors, digest


def _opened(path: Path) -> tuple[Tensors, dict[str, str], str]:
    tensors, metadata = read_safetensors(path, "predictor")
    return tensors, metadata, hashlib.sha256(path.read_bytes()).hexdigest()


def part_of(name: str, tensors: Tensors) -> Tensors:
    """The tensors of a part of a predictor: those called name/..., by what follows."""
    return {key.partition("/")[2]: array for key, array in tensors.items() if key.partition("/")[0] == name}


def kind_of(name: str) -> type[Predictor]:
    """The class of a kind of predictors."""
    if name in RETIRED:
        raise InputError("predictor", name, "a kind that this version reads", RETIRED[name])
    known: list[str] = []
    for home in HOMES:
        for kind in _kinds(home):
            if kind.kind == name:
                return kind
            known.append(kind.kind)
    raise UnknownNameError("kind of predictor", name, known, "It was written by another version of certiformer")


def _kinds(home: str) -> Iterator[type[Predictor]]:
    try:
        package = importlib.import_module(home)
    except ModuleNotFoundError:
        return
    for info in pkgutil.iter_modules(package.__path__, home + "."):
        for value in vars(importlib.import_module(info.name)).values():
            here = isinstance(value, type) and issubclass(value, Predictor) and value.__module__ == info.name
            if here and hasattr(value, "kind"):
                yield value
