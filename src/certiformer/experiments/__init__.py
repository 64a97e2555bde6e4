"""The papers' experiments: one small module each, found by walking this package.

A module declares `STUDIES`; modules whose name begins with an underscore hold runs that several studies share.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from certiformer.core.errors import UnknownNameError
from certiformer.experiments.panel import Plot
from certiformer.experiments.study import PAPERS, SCALES, Analysis, Finding, Scale, Study

__all__ = ["PAPERS", "SCALES", "Analysis", "Finding", "Plot", "Scale", "Study", "find", "studies"]


@functools.cache
def _walk() -> tuple[Study, ...]:
    found: list[Study] = []
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        if not module.name.rpartition(".")[2].startswith("_"):
            found += getattr(importlib.import_module(module.name), "STUDIES", ())
    return tuple(sorted(found, key=lambda study: (PAPERS.index(study.paper), study.id)))


def studies() -> tuple[Study, ...]:
    """Every study, paper by paper."""
    return _walk()


def find(id: str) -> Study:
    """The study `id`; an unknown name gets the nearest ones in reply."""
    known = {study.id: study for study in studies()}
    if id not in known:
        raise UnknownNameError("experiment", id, known)
    return known[id]
