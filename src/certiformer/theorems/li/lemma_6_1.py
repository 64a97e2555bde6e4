r"""Lemma 6.1: matrix Gaussian and Rademacher series (Tropp).

.. math:: E\|Z\| \le \sqrt{2v\log(d_1+d_2)}, \qquad P(\|Z\|\ge t) \le (d_1+d_2)e^{-t^2/2v}

True as cited; a probability is at most 1. The paper never uses it: Assumption 6.2 is about another norm and exponent.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, real, upper_bound, verified
from certiformer.theorems.li import LI


def _expectation(v: float, d1: int, d2: int) -> float:
    return math.sqrt(2.0 * v * math.log(d1 + d2))


def _tail(v: float, d1: int, d2: int, t: float) -> float:
    return (d1 + d2) * math.exp(-(t**2) / (2.0 * v))


def printed(v: float, d1: int, d2: int, t: float) -> Variants:
    tail = _tail(v, d1, d2, t)
    return {
        "E": printed_value(_expectation(v, d1, d2), bounds=Quantity.CONSTANT),
        "tail": printed_value(tail, checks=(verified("at most 1", tail <= 1.0, tail),)),
    }


def sound(v: float, d1: int, d2: int, t: float) -> Variants:
    return {
        "E": upper_bound(_expectation(v, d1, d2), bounds=Quantity.CONSTANT, note="bound on E||Z||"),
        "tail": upper_bound(_tail(v, d1, d2, t), clip=1.0),
    }


RESULT = Result(
    id="li.lem6.1",
    title="Matrix Gaussian and Rademacher series",
    paper=LI,
    place="Lemma 6.1",
    bounds=Quantity.TAIL_PROBABILITY,
    statement="E||Z|| <= sqrt(2 v log(d1+d2)); P(||Z|| >= t) <= (d1+d2) exp(-t^2/2v)",
    latex=r"E\|Z\|\le\sqrt{2v\log(d_1+d_2)},\; P(\|Z\|\ge t)\le(d_1+d_2)e^{-t^2/2v}",
    sound_statement="The same, the probability at most 1.",
    inputs=(
        real("v", "matrix variance statistic max(||E ZZ*||, ||E Z*Z||)", example=5),
        count("d1", "rows", example=5),
        count("d2", "columns", example=5),
        real("t", "threshold", low_open=False, example=12),
    ),
    status=Status.TRUE,
    reason="a theorem of Tropp, cited correctly",
    printed=printed,
    sound=sound,
    assumptions=("Z = sum_k g_k B_k, fixed matrices, independent standard normal or Rademacher g_k; spectral norm",),
    defects=("Never used: Assumption 6.2 is about the Frobenius norm and squares the variance again.",),
    monotone={"v": 1, "d1": 1, "d2": 1, "t": -1},
    proof="docs/proofs/li.md",
)
