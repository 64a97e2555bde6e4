"""The certificates that are useful at laptop size: one file each.

A file holds the record of what was counted and what it means, the words for the reader (what is guaranteed, what is
not), the weight of its part of delta, what its price is called, and the laws by which its coverage is simulated.
Certificates are found by walking this package: a new file is a new certificate, there is no central list.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from certiformer.certificates._evidence import THE_MODEL, Evidence
from certiformer.certificates._law import Law, Trial
from certiformer.certificates._predictor import Predictor

__all__ = ["THE_MODEL", "Evidence", "Law", "Predictor", "Trial", "certificates"]


@functools.cache
def certificates() -> Mapping[str, type[Evidence]]:
    """The record of every certificate by id; the hold-out, which is the yardstick, comes first."""
    found: dict[str, type[Evidence]] = {}
    for info in pkgutil.iter_modules(__path__, __name__ + "."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Evidence) and value.__module__ == info.name:
                if value.id in found:
                    raise RuntimeError(f"two files define the certificate {value.id}")
                found[value.id] = value
    return MappingProxyType(dict(sorted(found.items(), key=lambda item: (item[0] != "holdout", item[0]))))
