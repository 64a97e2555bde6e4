r"""Lemma E.1: how a radius is shared among weights at least cost.

.. math:: \min\Bigl\{\sum_iC_i/\varepsilon_i^2 : \sum_i\beta_i\varepsilon_i=\varepsilon\Bigr\} = \gamma^3/\varepsilon^2,
          \quad \gamma=\sum_iC_i^{1/3}\beta_i^{2/3},
          \quad \varepsilon_i=\tfrac{\varepsilon}{\gamma}(C_i/\beta_i)^{1/3}

True by Hoelder's inequality. Costs a_i + C_i/eps_i^2 add sum a_i.
"""

from __future__ import annotations

import math

from certiformer.calculus.allocation import quadratic_split, quadratic_total
from certiformer.core import (
    Bound,
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    printed_value,
    real,
    reals,
    side_number,
    upper_bound,
)
from certiformer.theorems.trauger import TRAUGER


def printed(C: tuple[float, ...], beta: tuple[float, ...], eps: float, a: tuple[float, ...] | None) -> Variants:
    return {"value": printed_value(_least(C, beta, eps))}


def sound(C: tuple[float, ...], beta: tuple[float, ...], eps: float, a: tuple[float, ...] | None) -> Variants:
    least = _least(C, beta, eps) + (math.fsum(a) if a else 0.0)
    variants: dict[str, Bound] = {"value": upper_bound(least)}
    for i, share in enumerate(quadratic_split(C, beta, eps), start=1):
        variants[f"eps_{i}"] = side_number(share, f"radius given to weight {i}")
    return variants


def _least(C: tuple[float, ...], beta: tuple[float, ...], eps: float) -> float:
    if len(C) != len(beta):
        raise InputError("beta", beta, f"as many numbers as C, {len(C)}")
    return quadratic_total(C, beta) / eps / eps


RESULT = Result(
    id="trauger.lemE.1",
    title="Sharing a radius among weights",
    paper=TRAUGER,
    place="Lemma E.1",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement=(
        "min sum C_i/eps_i^2 subject to sum beta_i eps_i = eps is gamma^3/eps^2, gamma = sum C_i^(1/3) beta_i^(2/3)"
    ),
    latex=(
        r"\min_{\sum\beta_i\varepsilon_i=\varepsilon}\sum_iC_i/\varepsilon_i^2=\gamma^3/\varepsilon^2,\ "
        r"\gamma=\sum_iC_i^{1/3}\beta_i^{2/3}"
    ),
    sound_statement="The same for C_i, beta_i > 0; with costs a_i + C_i/eps_i^2 add sum a_i.",
    inputs=(
        reals("C", "costs: log N_i <= C_i/eps_i^2", example=(1.0, 2.0, 3.0)),
        reals("beta", "sensitivities", example=(0.5, 1.0, 2.0)),
        real("eps", "radius to share", symbol="ε", example=0.25),
        reals("a", "additive costs", low_open=False, optional=True, derived="0", example=(0.0, 0.0, 0.0)),
    ),
    status=Status.TRUE,
    reason="Hoelder's inequality",
    printed=printed,
    sound=sound,
    defects=("The radii are undefined when some C_i or beta_i is zero, which the statement allows.",),
    monotone={"eps": -1},
    proof="docs/proofs/trauger.md",
)
