import math

from certiformer.theory.calculus.allocation import quadratic_split, quadratic_total
from certiformer.theory.core import (
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
from certiformer.theory.theorems.trauger import TRAUGER


def _least(C: tuple[float, ...], beta: tuple[float, ...], eps: float) -> float:
    if len(C) != len(beta):
        raise InputError("beta", beta, f"as many numbers as C, {len(C)}")
    return quadratic_total(C, beta) / eps / eps


class LemmaE1(Result):
    r"""Sharing a radius among weights.

    True by Hoelder's inequality. Costs a_i + C_i/eps_i^2 add sum a_i.

    .. math:: \min\Bigl\{\sum_iC_i/\varepsilon_i^2 : \sum_i\beta_i\varepsilon_i=\varepsilon\Bigr\} =
       \gamma^3/\varepsilon^2, \quad \gamma=\sum_iC_i^{1/3}\beta_i^{2/3}, \quad
       \varepsilon_i=\tfrac{\varepsilon}{\gamma}(C_i/\beta_i)^{1/3}

    Printed: min sum C_i/eps_i^2 subject to sum beta_i eps_i = eps is gamma^3/eps^2, gamma = sum C_i^(1/3)
    beta_i^(2/3)
    .. math:: \min_{\sum\beta_i\varepsilon_i=\varepsilon}\sum_iC_i/\varepsilon_i^2=\gamma^3/\varepsilon^2,\
       \gamma=\sum_iC_i^{1/3}\beta_i^{2/3}
    Sound: The same for C_i, beta_i > 0; with costs a_i + C_i/eps_i^2 add sum a_i.
    .. math:: \min_{\sum\beta_i\varepsilon_i=\varepsilon}\sum_i\Bigl(a_i+\frac{C_i}{\varepsilon_i^2}\Bigr)=
       \sum_ia_i+\frac{\gamma^3}{\varepsilon^2},\quad\gamma=\sum_iC_i^{1/3}\beta_i^{2/3}
    Because: Hoelder's inequality
    Defects:
    - The radii are undefined when some C_i or beta_i is zero, which the statement allows.
    """

    paper, place = TRAUGER, "Lemma E.1"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.TRUE
    monotone = "-eps"

    C: tuple[float, ...] = reals("costs: log N_i <= C_i/eps_i^2", example=(1.0, 2.0, 3.0))
    beta: tuple[float, ...] = reals("sensitivities", example=(0.5, 1.0, 2.0))
    eps: float = real("radius to share", example=0.25, symbol="ε")
    a: tuple[float, ...] | None = reals(
        "additive costs", low_open=False, example=(0.0, 0.0, 0.0), default=None, otherwise="0"
    )

    def printed(self) -> Variants:
        return {"value": printed_value(_least(self.C, self.beta, self.eps))}

    def sound(self) -> Variants:
        least = _least(self.C, self.beta, self.eps) + (math.fsum(self.a) if self.a else 0.0)
        variants: dict[str, Bound] = {"value": upper_bound(least)}
        for i, share in enumerate(quadratic_split(self.C, self.beta, self.eps), start=1):
            variants[f"eps_{i}"] = side_number(share, f"radius given to weight {i}")
        return variants
