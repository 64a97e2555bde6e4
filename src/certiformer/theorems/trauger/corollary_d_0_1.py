from __future__ import annotations

import math

from certiformer.calculus.covers import columns_one_inf, smallest, volumetric
from certiformer.core import Quantity, Result, Status, Variants, count, derived, flag, real
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._single_layer import (
    all_variants,
    chain_variants,
    closed_variants,
    printed_closed_form,
    token_sizes,
)


class CorollaryD01(Result):
    r"""One layer, (1, inf) norm of W_QK, l1 tokens.

    Theorem 4.1 with C = d (B_{QK} B_x)^2 log(2d+1), where B_{QK} bounds ||W_QK^T||_{1,inf}: scores are X
    W_QK^T x.

    Printed: Rad <= O(B (Bx^3 alpha/sqrt(n) (1 + ln((sqrt(n) - sqrt(ln 2d))/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), B
    = Bw Bc L_sigma Bv, alpha = 2 BQK sqrt(d log(2d+1))
    .. math:: O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt n-\sqrt{\ln
       2d}}{B_x^2\alpha}\bigr)+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=2B_{W_{QK}}\sqrt{d\log(2d+1)}
    Sound: Theorem 4.1 (sound) with C = d (BQK Bx)^2 ln(2d+1), BQK >= ||W_QK^T||_{1,inf}, Bx >= ||x||_1.
    Because: inherits the transposed norms and the hidden constants of Theorem 4.1
    Assumes:
    - the radii are fixed before the sample is seen (or paid for: `strata`)
    - sigma is L_sigma-Lipschitz with sigma(0) = 0
    - one layer, scores X W_QK^T x_CLS, no projection; tokens fixed, not trained
    - every token has l1 norm (not only l2 norm) at most Bx
    Defects:
    - Inherited from Theorem 4.1: the norms of W_c and W_v themselves are needed, not of their transposes; the
      factor 2 and Dudley's constant are inside O(); beyond its range the formula falls and turns negative.
    - The matrix that acts on tokens is W_QK^T, so ||W_QK^T||_{1,inf} is the norm that matters.
    """

    paper, place = TRAUGER, "Corollary D.0.1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "+Bx +BQK -n +d +rho"

    Bw: float = real("bound on ||w||_1, the readout", symbol="B_w")
    Bc: float = real("bound on ||W_c||_{1,inf}: every column of W_c in an l1 ball", example=2, symbol="B_{W_c}")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bv: float = real("bound on ||W_v||_{1,inf}: every column of W_v in an l1 ball", example=1.5, symbol="B_{W_v}")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    BQK: float = real("bound on ||W_QK^T||_{1,inf}: every row of W_QK in an l1 ball", example=0.5, symbol="B_{W_QK}")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    d: int = count("token dimension", example=64)
    rho: float = real("half the diameter of the token set", low_open=False, factory=derived("Bx", lambda x: x.Bx))
    D: float = real("bound on the sup norm of every token", factory=derived("Bx", lambda x: x.Bx))
    odd: bool | None = flag("the activation is odd (tanh, identity): the factor 2 drops")

    def printed(self) -> Variants:
        alpha = self.Bx * self.Bx * self.Bx * 2 * self.BQK * math.sqrt(self.d * math.log(2 * self.d + 1))
        return {
            "value": printed_closed_form(
                self.Bw * self.Bc * self.L_sigma * self.Bv, alpha, self.Bx, self.n, self.d, minus=True
            )
        }

    def sound(self) -> Variants:
        scale, sizes = self.Bw * self.Bc * self.L_sigma * self.Bv, token_sizes(self.Bx, self.rho, self.D)
        columns = columns_one_inf(self.BQK, self.d, self.d)
        # On l1 inputs the error of a map is its largest column error, a norm on R^{d x d}: volume applies to its ball.
        cover = smallest(columns, volumetric(self.BQK, self.d * self.d))
        return all_variants(
            closed_variants(
                scale, self.BQK * self.Bx * (self.BQK * self.Bx) * columns.quadratic, self.n, self.d, *sizes
            ),
            chain_variants(scale, cover.scaled(self.Bx), self.n, self.d, *sizes, self.odd),
        )
