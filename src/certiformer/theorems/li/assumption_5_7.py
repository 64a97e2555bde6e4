from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    real,
    verified,
)
from certiformer.theorems.li import LI
from certiformer.theorems.li._linear import rank_cover


class Assumption57(Result):
    r"""Assumed cover of linear maps of bounded rank.

    As Lemma B.6. The assumption holds only with C_1 of the order of d + k.

    Printed: log N <= C1 r log(r Bx^2 B^2/eps^2), C1 a constant (1/2 here)
    .. math:: \log N(\varepsilon)\le C_1r\log\frac{rB_x^2B_W^2}{\varepsilon^2}
    Sound: spectral: at most min{(d+k) r log(1 + 4 Bx B/eps), dk log(1 + 2 Bx B/eps)}; volumetric: the latter.
    .. math:: \log N(\varepsilon)\le\min\Bigl\{(d+k)\,r\log\Bigl(1+\frac{4B_xB}{\varepsilon}\Bigr),\
       dk\log\Bigl(1+\frac{2B_xB}{\varepsilon}\Bigr)\Bigr\}
    Because: no constant C1 free of the dimensions: log N >= max(d, k) log(B/eps) already for r = 1
    Assumes:
    - rank and spectral norm bounded, fixed in advance
    Defects:
    - r = 1, d = k = 2: N >= 1/eps^2, the assumption (C1 = 1/2) allows 1/eps.
    - It moreover takes the union over all subspaces, which Lemma B.6 does not.
    - C1 is not specified; with C1 of the order of d + k it would be true.
    - Negative for large eps.
    """

    paper, place = LI, "Assumption 5.7"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+r +d +k +B +Bx -eps"

    r: int = count("bound on the rank", example=2)
    d: int = count("input dimension", example=4)
    k: int = count("output dimension", example=3)
    B: float = real("bound on the spectral norm", symbol="B_W")
    Bx: float = real("bound on the l2 norm of the inputs", symbol="B_x")
    eps: float = real("radius of the cover", example=0.1, symbol="ε")
    C1: float = real("the constant of the assumption", example=0.5, symbol="C_1", default=0.5)

    def printed(self) -> Variants:
        value = self.C1 * self.r * (math.log(self.r) + 2.0 * math.log(self.Bx * self.B / self.eps))
        return {"value": printed_value(value, hypotheses=(verified("the claim is not negative", value >= 0.0),))}

    def sound(self) -> Variants:
        return rank_cover(self.r, self.d, self.k, self.B, self.Bx, self.eps)
