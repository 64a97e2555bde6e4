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


class LemmaB6(Result):
    r"""Cover of linear maps of bounded rank.

    Spectral norm, rank at most r, W of size d x k.

    Printed: log N <= (r/2) log(4 Bx^2 B^2 r/eps^2)
    .. math:: \log N_\infty(\varepsilon)\le\frac r2\log\frac{4B_x^2B_W^2r}{\varepsilon^2}
    Sound: spectral: at most min{(d+k) r log(1 + 4 Bx B/eps), dk log(1 + 2 Bx B/eps)}, 0 from eps = Bx B on; volumetric:
    the latter.
    .. math:: \log N \le \min\{(d+k)\,r\log(1+4B_xB_W/\varepsilon),\; dk\log(1+2B_xB_W/\varepsilon)\}
    Because: r = 1, d = k = 2: {e_1 a^T} is a disc, N >= 1/eps^2 = 100 at eps = 0.1, the lemma allows 20
    Assumes:
    - rank and spectral norm bounded, fixed in advance
    Defects:
    - Ill typed: col(W) lies in R^d, the subspace in R^k.
    - For a fixed subspace the class still has r k (or r d) degrees of freedom; the formula is that of an
      r-dimensional vector.
    - The proof uses ||W||_{2->2} <= ||W||_{2,inf}, false for the 2 x 2 matrix of ones.
    - Any bound must be at least max(d, k) log(B/eps): the factor d + k cannot be removed.
    - Negative for large eps.
    """

    paper, place = LI, "Lemma B.6"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.FALSE
    monotone = "+r +d +k +B +Bx -eps"

    r: int = count("bound on the rank", example=2)
    d: int = count("input dimension", example=4)
    k: int = count("output dimension", example=3)
    B: float = real("bound on the spectral norm", symbol="B_W")
    Bx: float = real("bound on the l2 norm of the inputs", symbol="B_x")
    eps: float = real("radius of the cover", example=0.1, symbol="ε")

    def printed(self) -> Variants:
        value = self.r / 2.0 * (math.log(4.0 * self.r) + 2.0 * math.log(self.Bx * self.B / self.eps))
        return {"value": printed_value(value, hypotheses=(verified("the claim is not negative", value >= 0.0),))}

    def sound(self) -> Variants:
        return rank_cover(self.r, self.d, self.k, self.B, self.Bx, self.eps)
