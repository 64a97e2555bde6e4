"""`compose`: the bound of an architecture, from a file, a dictionary, a configuration or a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from certiformer.networks.description import build, load
from certiformer.networks.families import load_config
from certiformer.networks.graph import Node
from certiformer.networks.network import Composition, Network


def compose(
    source: str | Path | Mapping[str, Any] | Network | Node,
    *,
    n: int | None = None,
    radii: Sequence[float] | None = None,
    spectral: float = 1.0,
    classes: int = 2,
) -> Composition:
    """Sensitivities, radii, ln N and complexity of a network.

    `source`: a TOML file, a Hugging Face `config.json` (every matrix with the assumed norm `spectral`, `classes`
    outputs), a dictionary of the same shape as the TOML, a `Network`, or the last node of a graph. `n` is the sample
    size, `radii` are those at which ln N is wanted.
    """
    if isinstance(source, Network):
        network = source
    elif isinstance(source, Node):
        network = Network("network", source)
    elif isinstance(source, Mapping):
        network = build(source)
    elif Path(source).suffix == ".json":
        network = load_config(source, spectral=spectral, classes=classes)
    else:
        network = load(source)
    if n is not None:
        network = replace(network, samples=n)
    if radii is not None:
        network = replace(network, radii=tuple(radii))
    return network.compose()
