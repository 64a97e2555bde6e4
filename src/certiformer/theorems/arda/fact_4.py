r"""Fact 4: the norm of a Gaussian vector, and the largest of k independent ones.

Printed (rebuilt), g_i ~ N(0, I_d):

.. math:: P\bigl(\max_{i\le k}\|g_i\|\ge\sqrt d+t\bigr)\le k\,e^{-t^2/2}

Sound: the same, and exactly 1 - (1 - Q(d/2, (sqrt d + t)^2/2))^k, Q the regularised upper incomplete gamma function.
"""

from __future__ import annotations

import math
import sys

from scipy.special import gammaincc

from certiformer.core import Quantity, Result, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._inputs import DIMENSION

#: a probability that underflows is reported as the smallest normal float, never as zero
TINY = sys.float_info.min


def union_tail(t: float, copies: float) -> float:
    """copies e^{-t^2/2}."""
    return copies * math.exp(-0.5 * t * t)


def exact_tail(d: int, t: float, copies: float) -> float:
    """P(max ||g_i|| > sqrt d + t), t > 0; the incomplete gamma function is allowed a relative error of 1e-10."""
    radius = math.sqrt(d) + t
    single = float(gammaincc(d / 2.0, 0.5 * radius * radius)) * (1.0 + 1e-10)  # below 1/2: beyond the median
    return -math.expm1(copies * math.log1p(-single))


def printed(d: int, t: float, copies: int) -> Variants:
    return {"value": printed_value(union_tail(t, copies), note="reconstructed, confidence high")}


def sound(d: int, t: float, copies: int) -> Variants:
    return {
        "value": upper_bound(max(TINY, union_tail(t, copies)), clip=1.0),
        "exact": upper_bound(max(TINY, exact_tail(d, t, copies)), clip=1.0),
    }


RESULT = Result(
    id="arda.fact4",
    title="Norm of Gaussian vectors",
    paper=ARDA,
    place="Appendix A.1, Fact 4",
    bounds=Quantity.TAIL_PROBABILITY,
    statement="P(max_{i<=k} ||g_i|| >= sqrt(d) + t) <= k e^{-t^2/2}",
    latex=r"P\bigl(\max_{i\le k}\|g_i\|\ge\sqrt d+t\bigr)\le k\,e^{-t^2/2}",
    sound_statement="The same; exact: 1 - (1 - Q(d/2, (sqrt(d) + t)^2/2))^k.",
    inputs=(
        DIMENSION,
        real("t", "excess of the norm over sqrt(d)", example=4),
        count("copies", "number k of independent vectors", example=100),
    ),
    status=Status.RECONSTRUCTED,
    reason="the formula is lost in our copy; Gaussian concentration and a union bound leave no other (confidence high)",
    printed=printed,
    sound=sound,
    assumptions=("the vectors are independent with law N(0, I_d)",),
    monotone={"t": -1, "copies": 1},
    proof="docs/proofs/arda.md",
)
