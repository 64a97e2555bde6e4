"""Experiments, one small module each: `papers` holds those that the papers print, `designs` our own.

Looking one up imports its module and no other.

A module declares `STUDIES`; modules whose name begins with an underscore hold runs that several studies share.
"""

from __future__ import annotations

import functools
import importlib

from certiformer.reproduction.panel import Plot
from certiformer.reproduction.study import PAPERS, SCALES, Analysis, Finding, Scale, Study
from certiformer.theory.core.errors import UnknownNameError

__all__ = ["MODULES", "PAPERS", "SCALES", "Analysis", "Finding", "Plot", "Scale", "Study", "find", "studies"]

MODULES = {
    "mwigo.fig1": "papers.mwigo_figures",
    "mwigo.fig2": "papers.mwigo_figures",
    "mwigo.fig3": "papers.mwigo_figures",
    "mwigo.hypotheses": "designs.hypotheses",
    "mwigo.table1": "papers.mwigo_table_1",
    "mwigo.test_set": "papers.mwigo_test_set",
    "trauger.bounds": "papers.trauger_bounds",
    "trauger.fig1": "papers.trauger_figures",
    "trauger.fig2": "papers.trauger_figures",
    "trauger.fig3": "papers.trauger_figures",
    "trauger.hypotheses": "designs.hypotheses",
    "deora.hypotheses": "designs.hypotheses",
    "deora.margins": "designs.deora_margins",
    "deora.stability": "designs.deora_stability",
    "deora.training": "designs.deora_training",
    "arda.fig1": "papers.arda_figure_1",
    "arda.fig2": "papers.arda_figure_2",
    "arda.hypotheses": "designs.hypotheses",
    "arda.independence": "designs.arda_independence",
    "arda.memory": "papers.arda_figure_2",
    "arda.projsgd": "designs.arda_stochastic",
    "li.depth": "designs.li_depth",
    "li.heads": "designs.li_heads",
    "li.hypotheses": "designs.hypotheses",
    "li.length": "designs.li_length",
    "li.misspecified": "designs.li_misspecified",
    "li.rank": "designs.li_rank",
    "li.rates": "designs.li_rates",
    "li.tails": "designs.li_tails",
    "li.truncation": "designs.li_truncation",
}
"""Every experiment, paper by paper, and the module of `reproduction` that declares it."""


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
    declared: tuple[Study, ...] = importlib.import_module(f"{__package__}.{MODULES[id]}").STUDIES
    return {study.id: study for study in declared}[id]
