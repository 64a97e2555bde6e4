"""The papers' experiments: one small module each. Looking one up imports its module and no other.

A module declares `STUDIES`; modules whose name begins with an underscore hold runs that several studies share.
"""

from __future__ import annotations

import functools
import importlib

from certiformer.core.errors import UnknownNameError
from certiformer.experiments.panel import Plot
from certiformer.experiments.study import PAPERS, SCALES, Analysis, Finding, Scale, Study

__all__ = ["MODULES", "PAPERS", "SCALES", "Analysis", "Finding", "Plot", "Scale", "Study", "find", "studies"]

MODULES = {
    "mwigo.fig1": "mwigo_figures",
    "mwigo.fig2": "mwigo_figures",
    "mwigo.fig3": "mwigo_figures",
    "mwigo.table1": "mwigo_table_1",
    "trauger.bounds": "trauger_bounds",
    "trauger.fig1": "trauger_figures",
    "trauger.fig2": "trauger_figures",
    "trauger.fig3": "trauger_figures",
    "deora.margins": "deora_margins",
    "deora.stability": "deora_stability",
    "deora.training": "deora_training",
    "arda.fig1": "arda_figure_1",
    "arda.fig2": "arda_figure_2",
    "li.depth": "li_depth",
    "li.heads": "li_heads",
    "li.length": "li_length",
    "li.misspecified": "li_misspecified",
    "li.rank": "li_rank",
    "li.rates": "li_rates",
    "li.tails": "li_tails",
    "li.truncation": "li_truncation",
}
"""Every experiment, paper by paper, and the module of this package that declares it."""


def studies() -> tuple[Study, ...]:
    """Every study, paper by paper."""
    return tuple(_study(id) for id in MODULES)


def find(id: str) -> Study:
    """The study `id`; an unknown name gets the nearest ones in reply."""
    if id not in MODULES:
        raise UnknownNameError("experiment", id, MODULES)
    return _study(id)


@functools.cache
def _study(id: str) -> Study:
    declared: tuple[Study, ...] = importlib.import_module(f"{__name__}.{MODULES[id]}").STUDIES
    return {study.id: study for study in declared}[id]
