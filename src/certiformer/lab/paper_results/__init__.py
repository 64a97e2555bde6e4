"""Which result of the papers speaks about which model, and with what inputs; the reason why not, otherwise."""

from __future__ import annotations

from certiformer.lab.paper_results import arda, deora, li, mwigo, trauger
from certiformer.lab.paper_results._application import Application, Binding
from certiformer.theory.measure.profile import Profile

__all__ = ["BINDINGS", "Application", "Binding", "applications", "paying"]

_PAPERS = (trauger, mwigo, li, deora, arda)
BINDINGS: dict[str, Binding] = {id: binding for paper in _PAPERS for id, binding in paper.BINDINGS.items()}


def applications(profile: Profile | None) -> dict[str, Application | str]:
    """Every result of the papers at a model they know, or the reason why not; nothing for other models."""
    if profile is None or not profile.model:
        return {}
    return {id: binding(profile) for id, binding in BINDINGS.items()}


def paying(model: str) -> tuple[str, ...]:
    """The results that pay from delta for this architecture: fixed by its name, whatever the sample turns out to be.

    Statements about the training sample, those in expectation and those with a failure probability of their own
    cost nothing.
    """
    return tuple(id for paper in (trauger, mwigo) if model in paper.MODELS for id in paper.PAYING)
