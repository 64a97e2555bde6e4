"""The attacks, one module per topic: `ATTACKS`, and `REASONS` for what has none.

A module names the results that it attacks, so that those of one result are found without importing the others.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from certiformer.auditing.attack import Attack, Claim


@functools.cache
def attacks_of(id: str) -> tuple[Attack, ...]:
    """Every attack on the result `id`."""
    found = tuple(attack for module in _modules(id) for attack in getattr(module, "ATTACKS", ()) if attack.id == id)
    names = [attack.name for attack in found]
    if len(set(names)) < len(names):
        raise RuntimeError(f"two attacks of {id} have one name: {', '.join(names)}")
    return found


def reason(claim: Claim) -> str | None:
    """Why a result, or one side of it (`id:printed`), cannot be attacked numerically."""
    reasons = {id: why for module in _modules(claim.id) for id, why in getattr(module, "REASONS", {}).items()}
    return reasons.get(f"{claim.id}:{claim.version}") or reasons.get(claim.id)


def topics() -> list[str]:
    """The names of the modules that hold attacks."""
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))


def _modules(id: str) -> Iterator[ModuleType]:
    """The modules whose text names the result."""
    for name in topics():
        text = Path(__path__[0], f"{name}.py").read_text(encoding="utf-8")
        if f'"{id}"' in text or f'"{id}:' in text:
            yield importlib.import_module(f"{__name__}.{name}")
