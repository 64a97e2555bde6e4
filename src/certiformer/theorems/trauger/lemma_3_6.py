from __future__ import annotations

import math

from certiformer.calculus.covers import log_multisets, maurey_draws
from certiformer.core import (
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
from certiformer.theorems.trauger import TRAUGER


class Lemma36(Result):
    r"""Cover of linear maps, entrywise l1 norm.

    The class is {x -> Wx : ||W||_{1,1} <= B_w}, W of size k x d, on inputs of l2 norm at most B_x.

    The same, and zero once eps >= B_x B_w; sharper, with K = ceil((B_x B_w/eps - 1)_+^2).

    The printed proof leaves out a ceiling; shrinking the random average closes that gap (docs/proofs/covers.md, T3).

    Printed: log N <= (Bx Bw / eps)^2 log(2dk + 1)
    .. math:: \log N_\infty(\varepsilon) \le \frac{B_x^2 B_w^2}{\varepsilon^2} \log(2dk+1)
    Sound: The same for every eps > 0, 0 from eps = Bx Bw on; exact: log C(2dk+K, K), K = ceil((Bx Bw/eps - 1)_+^2);
    volume: dk ln(1 + 2 Bx Bw/eps).
    .. math:: \log N_\infty(\varepsilon) \le \log\binom{2dk+K}{K}.
    Because: the missing ceiling is harmless
    Assumes:
    - ||W||_{1,1} <= Bw, fixed in advance
    - every input has l2 norm at most Bx
    Defects:
    - The proof omits a ceiling on the number of sampled atoms; a shrunk average makes the statement true all the
      same.
    - The condition N >= d on the number of inputs is never needed.
    - For eps >= Bx Bw the printed value stays positive although one ball suffices.
    """

    paper, place = TRAUGER, "Lemma 3.6"
    bounds, status = Quantity.LOG_COVERING_NUMBER, Status.TRUE
    monotone = "+Bw +Bx -eps +d +k"
    proof = "docs/proofs/covers.md"

    Bw: float = real("bound on the entrywise l1 norm of W", example=2, symbol="B_W")
    Bx: float = real("bound on the l2 norm of the inputs", example=1.5, symbol="B_x")
    eps: float = real("radius of the cover, l2 norm of the output", example=0.5, symbol="ε")
    d: int = count("input dimension", example=3)
    k: int = count("output dimension", example=4)

    def printed(self) -> Variants:
        ratio = self.Bx * self.Bw / self.eps
        value = ratio * ratio * math.log(2 * self.d * self.k + 1)
        return {
            "value": printed_value(
                value, hypotheses=(verified("eps < Bx Bw (else one ball suffices)", ratio > 1, ratio),)
            )
        }

    def sound(self) -> Variants:
        ratio, draws = self.Bx * self.Bw / self.eps, maurey_draws(self.eps, self.Bw, self.Bx)
        quadratic = ratio * ratio * math.log(2 * self.d * self.k + 1) if draws else 0.0
        volume = self.d * self.k * math.log1p(2 * ratio) if draws else 0.0
        return {
            "value": upper_bound(quadratic),
            "exact": upper_bound(log_multisets(self.d * self.k, draws)),
            "volume": upper_bound(volume),
        }
