"""certiformer: error limits for your model, and checked generalization bounds for Transformers.

>>> import certiformer
>>> certiformer.bound("trauger.lem3.6", Bw=1, Bx=1, eps=0.5, d=4, k=4).best
'exact'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, overload

from certiformer._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from certiformer.auditing.runner import Audit
    from certiformer.certification.api import certify, demo
    from certiformer.certification.comparing import compare
    from certiformer.certification.counting import Subject
    from certiformer.certification.declaration import Declaration
    from certiformer.certification.gating import gate
    from certiformer.certification.looking import look
    from certiformer.certification.predictors import load_predictor
    from certiformer.certification.sample import Sample
    from certiformer.certification.selecting import select
    from certiformer.certification.verify import verify
    from certiformer.certification.watching import watch
    from certiformer.checkpoints import inspect
    from certiformer.checkpoints.composing import compose
    from certiformer.evaluation.planning import plan
    from certiformer.lab.paper_results.bounds_along import BoundsAlong
    from certiformer.reproduction.reproduce import reproduce
    from certiformer.theory.core import Evaluation, Result
    from certiformer.theory.core.arrays import Evaluations
    from certiformer.theory.core.registry import register

_ELSEWHERE = {
    "BoundsAlong": "certiformer.lab.paper_results.bounds_along",
    "Declaration": "certiformer.certification.declaration",
    "Sample": "certiformer.certification.sample",
    "Subject": "certiformer.certification.counting",
    "certify": "certiformer.certification.api",
    "compare": "certiformer.certification.comparing",
    "compose": "certiformer.checkpoints.composing",
    "demo": "certiformer.certification.api",
    "gate": "certiformer.certification.gating",
    "inspect": "certiformer.checkpoints",
    "load_predictor": "certiformer.certification.predictors",
    "look": "certiformer.certification.looking",
    "plan": "certiformer.evaluation.planning",
    "register": "certiformer.theory.core.registry",
    "reproduce": "certiformer.reproduction.reproduce",
    "select": "certiformer.certification.selecting",
    "verify": "certiformer.certification.verify",
    "watch": "certiformer.certification.watching",
}
"""Names that are imported when they are first used: editors and mypy see their own signatures."""

__all__ = [
    "BoundsAlong",
    "Declaration",
    "Sample",
    "Subject",
    "__version__",
    "audit",
    "bound",
    "certify",
    "compare",
    "compose",
    "demo",
    "explain",
    "gate",
    "inspect",
    "load_predictor",
    "look",
    "plan",
    "register",
    "reproduce",
    "results",
    "select",
    "verify",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'certiformer' has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def audit(*ids: str, seed: int = 0, budget: float = 60.0, workers: int | None = None) -> Audit:
    """Attack the named results, or all: what breaks, with its counterexample, and how tight the rest is.

    `budget` is seconds on two cores; it is turned into points per attack before the start, so that the same ids, seed
    and budget give the same verdicts on any machine, with any number of `workers`.
    """
    from certiformer.auditing import runner

    return runner.run(ids, seed=seed, budget=budget, workers=workers)


@overload
def bound(  # type: ignore[overload-overlap]
    id: str | type[Result], /, **inputs: float | str | Sequence[float] | None
) -> Evaluation: ...
@overload
def bound(id: str | type[Result], /, **inputs: float | str | Sequence[float] | NDArray[Any] | None) -> Evaluations: ...
def bound(id: str | type[Result], /, **inputs: Any) -> Evaluation | Evaluations:
    """Both sides of the result `id` (or of a class of your own), as printed and sound, at the given inputs.

    One or two inputs may be arrays (`n=np.rint(np.geomspace(1e3, 1e9, 200))`): every variant is then an array.
    """
    from certiformer.theory.core import find

    result = find(id)
    if not any(hasattr(value, "__len__") and not isinstance(value, str) for value in inputs.values()):
        return result.evaluate(inputs)
    from certiformer.theory.core.arrays import evaluate_along, varying

    axes = varying(result, inputs)
    return evaluate_along(result, inputs, axes) if axes else result.evaluate(inputs)


def explain(id: str | type[Result], /) -> type[Result]:
    """The result `id`: statement, inputs, assumptions, defects, and what holds instead."""
    from certiformer.theory.core import find

    return find(id)


def results(paper: str | None = None) -> list[type[Result]]:
    """Every result, or those of one paper, in reading order."""
    from certiformer.theory.core import papers, registry
    from certiformer.theory.core.errors import UnknownNameError

    if paper is not None and paper not in papers():
        raise UnknownNameError("paper", paper, papers())
    return [result for result in registry.results().values() if paper in (None, result.paper.key)]
