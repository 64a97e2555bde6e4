from __future__ import annotations

import math

from certiformer.calculus.covers import quadratic_cover
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    derived,
    flag,
    real,
)
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._single_layer import (
    all_variants,
    chain_variants,
    closed_variants,
    printed_closed_form,
    token_sizes,
)


class Theorem41(Result):
    r"""Rademacher complexity of a one-layer Transformer.

    f(X) = w^T W_c^T sigma(W_v^T X^T softmax(X W_QK^T x_CLS)), where the class {x -> W_QK^T x} on the CLS tokens has
    log N(eps) <= C/eps^2.

    With B_{W_c} = ||W_c||_{1,inf} and B_{W_v} = ||W_v||_{1,inf} (not of the transposes), rho half the token
    diameter, D >= ||x_t||_inf.

    And 2 becomes 1 when sigma is odd. Proof: docs/proofs/trauger.md.

    Printed: Rad <= O(Bw Bc L_sigma Bv (2 Bx^2 sqrt(C)/sqrt(n) (1 + ln(sqrt(n)/(2 Bx sqrt(C)))) + Bx
    sqrt(ln(2d)/n)))
    .. math:: O\Bigl(B_w B_{W_c} L_\sigma B_{W_v}\Bigl(\tfrac{2B_x^2\sqrt C}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt
       n}{2B_x\sqrt C}\bigr) + B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr)
    Sound: Rad <= Bw Bc L_sigma Bv min(D, 2 E): E is Dudley's bound (closed, or the best chain) for ln N = ln 2d +
    rho^4 C/eps^2 at radius D = max ||x_t||_inf; 2 becomes 1 for odd sigma.
    .. math:: \mathrm{Rad} \le B_w B_{W_c} L_\sigma B_{W_v}\,\min(D, 2E),\quad E = \mathrm{Dudley}\bigl(\ln N = \ln
       2d + \rho^4 C/\varepsilon^2;\ D;\ n\bigr)
    Because: needs ||W_c||_{1,inf}, ||W_v||_{1,inf}, not of the transposes; constants hidden; negative for large C
    Assumes:
    - the radii are fixed before the sample is seen (or paid for: `strata`)
    - sigma is L_sigma-Lipschitz with sigma(0) = 0
    - one layer, scores X W_QK^T x_CLS, no projection; tokens fixed, not trained
    Defects:
    - The statement bounds ||W_c^T||_{1,inf} and ||W_v^T||_{1,inf}; the proof needs the norms of W_c and W_v
      themselves. With k = 1 and W_v^T = (+-1, ..., +-1) the stated norm is 1 while Rad grows like sqrt(d/n).
    - The factor 2 for the absolute value and Dudley's constant are inside O().
    - Valid only while 2 Bx sqrt(C) <= sqrt(n) - sqrt(ln 2d); beyond that the formula falls and turns negative.
    - The softmax constant 2 is 1, and Bx^2 may be half the squared token diameter.
    - The displayed Rademacher complexity lacks 1/n, and two lines of the proof lose a factor 1/n under the root.
    - The model multiplies by X W_QK^T x in one place and X W_QK x in another: different functions.
    - Statement and proof differ: sqrt(n) in the logarithm here, sqrt(n) - sqrt(ln 2d) in the appendix.
    - The condition n > d is never used.
    """

    paper, place = TRAUGER, "Theorem 4.1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "+Bw +Bc +L_sigma +Bv +Bx +C -n +d +rho +D"

    Bw: float = real("bound on ||w||_1, the readout", symbol="B_w")
    Bc: float = real("bound on ||W_c||_{1,inf}: every column of W_c in an l1 ball", example=2, symbol="B_{W_c}")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bv: float = real("bound on ||W_v||_{1,inf}: every column of W_v in an l1 ball", example=1.5, symbol="B_{W_v}")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    C: float = real("log N(eps) <= C/eps^2 for {x -> W_QK^T x} on the CLS tokens", example=0.5)
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    d: int = count("token dimension", example=64)
    rho: float = real("half the diameter of the token set", low_open=False, factory=derived("Bx", lambda x: x.Bx))
    D: float = real("bound on the sup norm of every token", factory=derived("Bx", lambda x: x.Bx))
    odd: bool | None = flag("the activation is odd (tanh, identity): the factor 2 drops")

    def printed(self) -> Variants:
        scale, alpha = self.Bw * self.Bc * self.L_sigma * self.Bv, 2 * self.Bx * self.Bx * math.sqrt(self.C)
        return {
            "value": printed_closed_form(scale, alpha, self.Bx, self.n, self.d, minus=False),
            "appendix": printed_closed_form(scale, alpha, self.Bx, self.n, self.d, minus=True),
        }

    def sound(self) -> Variants:
        scale, sizes = self.Bw * self.Bc * self.L_sigma * self.Bv, token_sizes(self.Bx, self.rho, self.D)
        proper = assumed("the covers behind C are proper, as the paper defines covering numbers")
        external = quadratic_cover(self.C, proper=False)
        return all_variants(
            closed_variants(scale, self.C, self.n, self.d, *sizes),
            chain_variants(scale, quadratic_cover(self.C), self.n, self.d, *sizes, self.odd, proper),
            chain_variants(scale, external, self.n, self.d, *sizes, self.odd, name="chain_external"),
        )
