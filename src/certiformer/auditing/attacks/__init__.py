"""The attacks, one module per topic, found by walking this package: `ATTACKS`, and `REASONS` for what has none."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from certiformer.auditing.attack import Attack


@functools.cache
def attacks() -> Mapping[str, Sequence[Attack]]:
    """Every attack, by the id of the result it attacks."""
    found: dict[str, list[Attack]] = {}
    for module in _modules():
        for attack in getattr(module, "ATTACKS", ()):
            if any(attack.name == other.name for other in found.get(attack.id, ())):
                raise RuntimeError(f"two attacks are called {attack.name}")
            found.setdefault(attack.id, []).append(attack)
    return MappingProxyType({id: tuple(entries) for id, entries in found.items()})


@functools.cache
def reasons() -> Mapping[str, str]:
    """Why a result, or one side of it (`id:printed`), cannot be attacked numerically."""
    return MappingProxyType({id: why for module in _modules() for id, why in getattr(module, "REASONS", {}).items()})


def _modules() -> list[object]:
    return [
        importlib.import_module(f"{__name__}.{info.name}")
        for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name)
        if not info.name.startswith("_")
    ]
