import math

from certiformer.theory.calculus.entropies import exp
from certiformer.theory.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    side_number,
    verified,
)
from certiformer.theory.theorems.li import LI


class Remark612(Result):
    r"""Threshold for heavy-tailed inputs.

    The level at which heavy-tailed inputs are truncated, and the rates that follow, up to logarithms and the number of
    parameters.

    Printed: M ~ n^(1/(beta-2)), rate ~ n^(-(beta-2)/(beta-1))
    .. math:: M\asymp n^{1/(\beta-2)}\;\Rightarrow\;O\bigl(n^{-(\beta-2)/(\beta-1)}\bigr)
    Quoted: M\asymp n^{\frac{1}{\beta-2}}
    Sound: M = n^(1/beta). Rates up to logs: Lipschitz n^(-(beta-1)/beta) (S7, with V' = max(V, M_g)), squared
    n^(-(beta-2)/beta) (S8), clipped outputs or several layers log n/n.
    .. math:: M=n^{1/\beta}:\quad n^{-(\beta-1)/\beta}\ \text{(Lipschitz)},\quad n^{-(\beta-2)/\beta}\
       \text{(squared)},\quad\tfrac{\log n}{n}\ \text{(clipped)}
    Because: threshold and rate contradict each other: at the printed M the single-head bound M/n diverges for beta
    < 3
    Assumes:
    - P(b(X) > t) <= C t^-beta
    Defects:
    - With the prefactor ~ M of Theorems 6.9 and 6.10 the best M is n^(1/(beta-1)), which gives the printed rate;
      the printed M gives M/n = n^((3-beta)/(beta-2)), growing for beta < 3.
    - For Theorem 6.11, whose prefactor does not contain M, the printed M gives log n/n: no slow-down at all.
    - A fundamental difficulty would need a lower bound; there is none.
    """

    paper, place = LI, "Remark 6.12"
    bounds, status = Quantity.CONSTANT, Status.FALSE

    n: int = count("sample size", low=2, example=1_000_000, aliases=("m", "N"))
    beta: float = real("tail index", example=3, symbol="β")

    def printed(self) -> Variants:
        heavy = verified("the tail index is above 2", self.beta > 2.0, self.beta)
        ln_M = math.log(self.n) / (self.beta - 2.0) if self.beta > 2.0 else math.inf
        ln_rate = -math.log(self.n) * (self.beta - 2.0) / (self.beta - 1.0) if self.beta > 1.0 else math.inf
        excess = ln_M - math.log(self.n)
        consistent = verified("M/n at this M is at most the rate", excess <= ln_rate < math.inf)
        return {
            "M": printed_value(exp(ln_M), hypotheses=(heavy,), bounds=Quantity.CONSTANT, ln=ln_M),
            "rate": printed_value(exp(ln_rate), hypotheses=(heavy, consistent), bounds=Quantity.CONSTANT),
            "M_over_n": printed_value(
                exp(excess),
                hypotheses=(heavy,),
                bounds=Quantity.CONSTANT,
                note="the printed prefactor at the printed M",
            ),
        }

    def sound(self) -> Variants:
        ln_n = math.log(self.n)
        ln_M = ln_n / self.beta
        note = "up to logarithms and the number of parameters; an upper bound, not claimed optimal"
        return {
            "M": side_number(exp(ln_M)),
            "rate_lipschitz": side_number(math.exp(-ln_n * max(0.0, 1.0 - 1.0 / self.beta)), note),
            "rate_squared": side_number(math.exp(-ln_n * max(0.0, 1.0 - 2.0 / self.beta)), note),
            "rate_clipped": side_number(ln_n / self.n, "outputs confined by clipping or normalisation, every beta > 0"),
        }
