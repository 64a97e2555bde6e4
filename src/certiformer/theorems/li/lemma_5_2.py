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


class Lemma52(Result):
    r"""Cover of linear maps, entrywise l1 norm, with a constant.

    As Lemma B.3. C_1 = log(2dk+1) depends on the dimensions; no universal constant will do.

    Printed: log N <= C1 Bx^2 B^2/eps^2, C1 universal
    .. math:: \log N(\varepsilon)\le C_1B_x^2B_W^2/\varepsilon^2
    Sound: As Lemma B.3: C1 = log(2dk+1) is enough; sharper: maurey, maurey_shrunk, volumetric, best.
    .. math:: \log N(\varepsilon)\le\frac{B_x^2B_W^2}{\varepsilon^2}\log(2dk+1)
    Because: C1 is log(2dk+1), not universal
    Assumes:
    - ||W||_{1,1} <= B, fixed in advance
    - every input the matrix sees has l2 norm at most Bx
    Defects:
    - C1 depends on the dimensions: at eps = 0.7 the l1 ball needs at least 2d points in R^d (its vertices), so no
      universal C1.
    - Applied to {||w||_2 <= B_w}, which it does not cover: eps = 1/2, d = 50: log N >= 34.7, the lemma's form 18.5.
    - Assumption 5.1 bounds only the CLS token; the lemma is applied to all tokens.
    """

    paper, place = LI, "Lemma 5.2"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.CONSTANT
    monotone = "+B +Bx -eps +d +k"

    B: float = real("bound on the entrywise l1 norm of W", symbol="B_W")
    eps: float = real("radius of the cover, l2 norm of the output", example=0.3, symbol="ε")
    d: int = count("input dimension", example=4)
    k: int = count("output dimension", example=3)
    Bx: float = real("bound on the l2 norm of the inputs", symbol="B_x")
    C1: float | None = real("the paper's constant", example=3, symbol="C_1", default=None, otherwise="log(2dk+1)")

    def printed(self) -> Variants:
        constant = math.log(2 * self.d * self.k + 1) if self.C1 is None else self.C1
        hypotheses = (
            verified("eps < Bx B (else one ball suffices)", self.eps < self.Bx * self.B),
            verified("C1 >= log(2dk + 1)", constant >= math.log(2 * self.d * self.k + 1), constant),
        )
        return {"value": printed_value(constant * (self.Bx * self.B / self.eps) ** 2, hypotheses=hypotheses)}

    def sound(self) -> Variants:
        return norm_covers(self.B, self.eps, self.d, self.k, self.Bx)
