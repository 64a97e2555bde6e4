r"""Remark 6.7: the threshold for sub-Gaussian inputs.

Printed: M of order sqrt(log n), rate of order sqrt(log n)/n.
Sound: M = sqrt(2 v log(an)), then P(b(X) > M) <= 1/n. Rates: D log n/n (clipped outputs or several layers),
D log^{3/2} n/n (Lipschitz loss, V of order M), D log^2 n/n (squared loss).
"""

from __future__ import annotations

import math

from certiformer.calculus.truncation import SubGaussian
from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, real, side_number, upper_bound
from certiformer.theorems.li import LI


def printed(a: float, v: float, n: int) -> Variants:
    return {
        "M": side_number(math.sqrt(math.log(n)), "constant taken as 1"),
        "rate": printed_value(math.sqrt(math.log(n)) / n, bounds=Quantity.CONSTANT),
    }


def sound(a: float, v: float, n: int) -> Variants:
    tail = SubGaussian(a, v)
    M = tail.threshold(n)
    log = math.log(n)
    return {
        "M": side_number(M),
        "P_at_M": upper_bound(tail.probability(M), clip=1.0),
        "P_at_printed_M": upper_bound(tail.probability(math.sqrt(log)), clip=1.0, bounds=Quantity.CONSTANT),
        "rate_clipped": side_number(log / n, "times the number of parameters D"),
        "rate_lipschitz": side_number(log**1.5 / n, "times D, for V of order M"),
        "rate_squared": side_number(log**2 / n, "times D"),
    }


RESULT = Result(
    id="li.rem6.7",
    title="Threshold for sub-Gaussian inputs",
    paper=LI,
    place="Remark 6.7",
    bounds=Quantity.TAIL_PROBABILITY,
    statement="complexity ~ log M, M ~ sqrt(log n), rate ~ sqrt(log n)/n",
    latex=r"M\asymp\sqrt{\log n}\;\Rightarrow\;\widetilde O(\sqrt{\log n}/n)",
    sound_statement=(
        "M = sqrt(2 v log(a n)) makes P(b > M) <= 1/n; rates D log n/n (clipped, several layers), D "
        "log^1.5 n/n (Lipschitz), D log^2 n/n (squared)."
    ),
    inputs=(
        real("a", "P(b(X) > t) <= a exp(-t^2/2v)", example=9),
        real("v", "in units of the inputs squared", example=1),
        count("n", "sample size", aliases=("m", "N"), low=2, example=1000),
    ),
    status=Status.FALSE,
    reason="M = sqrt(log n) leaves P(b > M) = 0.28 at a = 9, v = 1, n = 1000; the prefactor is linear in M",
    printed=printed,
    sound=sound,
    assumptions=("the tail bound is known in advance",),
    defects=(
        (
            "The prefactor of the bound is linear in M, kappa grows with M for the squared loss, and the "
            "norm-based complexity is polynomial in M and 1/delta."
        ),
        "M = sqrt(log n) without its constant does not make the tail O(1/n).",
    ),
    monotone={"n": -1},
    proof="docs/proofs/li.md",
)
