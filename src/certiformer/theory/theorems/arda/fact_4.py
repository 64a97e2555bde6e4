from __future__ import annotations

import math
import sys

from certiformer.theory.core import Quantity, Result, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theory.core.lazy import scipy
from certiformer.theory.theorems.arda import ARDA

TINY = sys.float_info.min


def union_tail(t: float, copies: float) -> float:
    """copies e^{-t^2/2}."""
    return copies * math.exp(-0.5 * t * t)


def exact_tail(d: int, t: float, copies: float) -> float:
    """P(max ||g_i|| > sqrt d + t), t > 0; the incomplete gamma function is allowed a relative error of 1e-10."""
    radius = math.sqrt(d) + t
    single = float(scipy.special.gammaincc(d / 2.0, 0.5 * radius * radius)) * (
        1.0 + 1e-10
    )  # below 1/2: beyond the median
    return -math.expm1(copies * math.log1p(-single))


class Fact4(Result):
    r"""Norm of Gaussian vectors.

    The largest of k independent Gaussian vectors in d dimensions; its law is exact through Q, the regularised upper
    incomplete gamma function.

    Printed: P(max_{i<=k} ||g_i|| >= sqrt(d) + t) <= k e^{-t^2/2}
    .. math:: P\bigl(\max_{i\le k}\|g_i\|\ge\sqrt d+t\bigr)\le k\,e^{-t^2/2}
    Sound: The same; exact: 1 - (1 - Q(d/2, (sqrt(d) + t)^2/2))^k.
    .. math:: P\bigl(\max_{i\le k}\|g_i\|\ge\sqrt d+t\bigr)\le 1-\Bigl(1-Q\bigl(\tfrac{d}{2},\tfrac{1}{2}(\sqrt
       d+t)^2\bigr)\Bigr)^{k}\le k\,e^{-t^2/2}
    Because: the formula is lost in our copy; Gaussian concentration and a union bound leave no other (confidence
    high)
    Assumes:
    - the vectors are independent with law N(0, I_d)
    """

    id = "arda.fact4"
    paper, place = ARDA, "Appendix A.1, Fact 4"
    bounds, status = Quantity.TAIL_PROBABILITY, Status.RECONSTRUCTED
    monotone = "-t +copies"

    d: int = count("dimension of a token", example=8)
    t: float = real("excess of the norm over sqrt(d)", example=4)
    copies: int = count("number k of independent vectors", example=100)

    def printed(self) -> Variants:
        return {"value": printed_value(union_tail(self.t, self.copies), note="reconstructed, confidence high")}

    def sound(self) -> Variants:
        return {
            "value": upper_bound(max(TINY, union_tail(self.t, self.copies)), clip=1.0),
            "exact": upper_bound(max(TINY, exact_tail(self.d, self.t, self.copies)), clip=1.0),
        }
