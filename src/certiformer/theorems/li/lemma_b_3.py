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
from certiformer.theorems.li._linear import norm_covers


class LemmaB3(Result):
    r"""Cover of linear maps, entrywise l1 norm.

    The same, without a ceiling; sharper log C(2dk+K, K) with K = ceil((B_x B_W/eps)^2) - 1 (maurey), with
    K = ceil((B_x B_W/eps - 1)_+^2) (maurey_shrunk), or dk log(1 + 2 B_x B_W/eps) (volumetric).

    Printed: log N <= (Bx B/eps)^2 log(2dk + 1)
    .. math:: \log N_\infty(\varepsilon)\le\frac{B_x^2B_W^2}{\varepsilon^2}\log(2dk+1)
    Sound: maurey: log C(2dk+K, K), K = ceil((Bx B/eps)^2) - 1; maurey_shrunk: K = ceil((Bx B/eps - 1)_+^2);
    volumetric: dk log(1 + 2 Bx B/eps); best: their minimum. All proper.
    .. math:: \log N(\varepsilon)\le\min\Bigl\{\log\binom{2dk+K}{K},\
       dk\log\Bigl(1+\frac{2B_xB}{\varepsilon}\Bigr)\Bigr\},\quad
       K=\lceil\Bigl(\frac{B_xB}{\varepsilon}\Bigr)^2\rceil-1
    Because: holds without the ceiling that its proof would need
    Assumes:
    - ||W||_{1,1} <= B, fixed in advance
    - every input the matrix sees has l2 norm at most Bx
    Defects:
    - N > d is never needed.
    - For eps >= Bx B the printed value stays positive although one ball suffices.
    - It does not cover {||w||_2 <= B_w}, to which the paper applies it: eps = 1/2, d = 100: log N >= 69.3, the
      lemma's form 21.2.
    """

    paper, place = LI, "Lemma B.3"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.TRUE
    monotone = "+B +Bx -eps +d +k"

    B: float = real("bound on the entrywise l1 norm of W", symbol="B_W")
    eps: float = real("radius of the cover, l2 norm of the output", example=0.3, symbol="ε")
    d: int = count("input dimension", example=4)
    k: int = count("output dimension", example=3)
    Bx: float = real("bound on the l2 norm of the inputs", symbol="B_x")

    def printed(self) -> Variants:
        value = (self.Bx * self.B / self.eps) ** 2 * math.log(2 * self.d * self.k + 1)
        return {
            "value": printed_value(
                value, hypotheses=(verified("eps < Bx B (else one ball suffices)", self.eps < self.Bx * self.B),)
            )
        }

    def sound(self) -> Variants:
        return norm_covers(self.B, self.eps, self.d, self.k, self.Bx)
