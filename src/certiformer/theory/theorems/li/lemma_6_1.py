import math

from certiformer.theory.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theory.theorems.li import LI


def _expectation(v: float, d1: int, d2: int) -> float:
    return math.sqrt(2.0 * v * math.log(d1 + d2))


def _tail(v: float, d1: int, d2: int, t: float) -> float:
    return (d1 + d2) * math.exp(-(t**2) / (2.0 * v))


class Lemma61(Result):
    r"""Matrix Gaussian and Rademacher series.

    True as cited; a probability is at most 1. The paper never uses it: Assumption 6.2 is about another norm and
    exponent.

    .. math:: E\|Z\| \le \sqrt{2v\log(d_1+d_2)}, \qquad P(\|Z\|\ge t) \le (d_1+d_2)e^{-t^2/2v}

    Printed: E||Z|| <= sqrt(2 v log(d1+d2)); P(||Z|| >= t) <= (d1+d2) exp(-t^2/2v)
    .. math:: E\|Z\|\le\sqrt{2v\log(d_1+d_2)},\; P(\|Z\|\ge t)\le(d_1+d_2)e^{-t^2/2v}
    Sound: The same, the probability at most 1.
    .. math:: E\|Z\|\le\sqrt{2v\log(d_1+d_2)},\quad P(\|Z\|\ge t)\le\min\bigl\{1,(d_1+d_2)e^{-t^2/2v}\bigr\}
    Because: a theorem of Tropp, cited correctly
    Assumes:
    - Z = sum_k g_k B_k, fixed matrices, independent standard normal or Rademacher g_k; spectral norm
    Defects:
    - Never used: Assumption 6.2 is about the Frobenius norm and squares the variance again.
    """

    paper, place = LI, "Lemma 6.1"
    bounds, status = Quantity.TAIL_PROBABILITY, Status.TRUE
    monotone = "+v +d1 +d2 -t"

    v: float = real("matrix variance statistic max(||E ZZ*||, ||E Z*Z||)", example=5)
    d1: int = count("rows", example=5)
    d2: int = count("columns", example=5)
    t: float = real("threshold", low_open=False, example=12)

    def printed(self) -> Variants:
        tail = _tail(self.v, self.d1, self.d2, self.t)
        return {
            "E": printed_value(_expectation(self.v, self.d1, self.d2), bounds=Quantity.CONSTANT),
            "tail": printed_value(tail, hypotheses=(verified("at most 1", tail <= 1.0, tail),)),
        }

    def sound(self) -> Variants:
        return {
            "E": upper_bound(_expectation(self.v, self.d1, self.d2), bounds=Quantity.CONSTANT, note="bound on E||Z||"),
            "tail": upper_bound(_tail(self.v, self.d1, self.d2, self.t), clip=1.0),
        }
