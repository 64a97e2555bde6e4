"""`compose`: the bound of an architecture, from TOML, a config.json, a checkpoint, a dictionary or a graph.

All of them state an architecture, and one builder makes the network (`networks.architecture`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.families import FAMILIES, REFUSED
from certiformer.checkpoints.keys import Keys
from certiformer.checkpoints.measuring import Measurer
from certiformer.checkpoints.network_builder import Model
from certiformer.checkpoints.readers import open_checkpoint
from certiformer.checkpoints.roles import assign
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.json_reader import read_json
from certiformer.theory.networks import description
from certiformer.theory.networks.architecture import Architecture, Stated, build
from certiformer.theory.networks.graph import Node
from certiformer.theory.networks.network import Composition, Network


def compose(
    source: str | Path | Mapping[str, Any] | Network | Node,
    *,
    n: int | None = None,
    radii: Sequence[float] | None = None,
    spectral: float = 1.0,
    classes: int | None = None,
    assume_unused: Sequence[str] = (),
) -> Composition:
    """Sensitivities, radii, ln N and complexity of a network.

    `source`: a TOML file, a Hugging Face `config.json` (every matrix with the assumed norm `spectral`; `classes`
    outputs, those of the file if not given), a checkpoint (with its own norms), a dictionary of the same shape as the
    TOML, a `Network`, or the last node of a graph. `n` is the sample size, `radii` are those at which ln N is wanted.
    `assume_unused`: tensors and keys of config.json that play no part; the answer names them as a hypothesis.
    """
    if isinstance(source, Network):
        network = source
    elif isinstance(source, Node):
        network = Network("network", source)
    elif isinstance(source, Mapping):
        network = description.network(source)
    elif Path(source).suffix == ".toml":
        network = description.load(source)
    elif Path(source).suffix == ".json":
        network = _assumed(Path(source), spectral, classes, assume_unused)
    else:
        network = _measured(Path(source), assume_unused)
    if n is not None:
        network = replace(network, samples=n)
    if radii is not None:
        network = replace(network, radii=tuple(radii))
    return network.compose()


def described(
    config: Mapping[str, Any], path: str | Path = "config.json", classes: int | None = None, unused: Sequence[str] = ()
) -> Architecture:
    """The architecture that a configuration describes."""
    kind = str(config.get("model_type", ""))
    family = next((family for family in FAMILIES if kind in family.model_types), None)
    if kind in REFUSED:
        raise InputError("model_type", kind, "a network that is continuous", f"It {REFUSED[kind]}")
    if family is None:
        known = ", ".join(name for family in FAMILIES for name in family.model_types)
        raise InputError("model_type", kind, f"one of {known}", "Or write it as TOML")
    keys = Keys(path, config, None, {"classes": classes}, unused)
    found = family.architecture(keys, None)
    keys.finish()
    return found


def _assumed(path: Path, spectral: float, classes: int | None, unused: Sequence[str]) -> Network:
    config = read_json(path, "config.json", unique=True)
    rows = {role: {"max_row": 1.0} for role in ("gain", "table", "position_table", "type")}
    vectors = {role: {"spectral": 1.0} for role in ("shift", "bias", "class_token", "distillation_token")}
    weights = Stated({"default": {"spectral": spectral}, **rows, **vectors, "masked.shift": {"spectral": 1.0}})
    output = build(described(config, path, classes, unused), weights).output
    name = str(config.get("_name_or_path") or config.get("model_type") or path.parent.name)
    return Network(name, output, origin="assumed", unused=tuple(unused))


def _measured(path: Path, unused: Sequence[str]) -> Network:
    model = Model.of(assign(open_checkpoint(path)), unused=unused)
    built, _ = model.build(Measurer(Cache("norms")))
    return Network(path.name, built.output, origin="measured", unused=tuple(unused))
