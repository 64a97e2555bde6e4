import math

from certiformer.theory.calculus.covers import columns_one_inf, smallest, volumetric
from certiformer.theory.core import Quantity, Status, Variants, real
from certiformer.theory.theorems.trauger._single_layer import OneLayer


class CorollaryD01(OneLayer):
    r"""One layer, (1, inf) norm of W_QK, l1 tokens.

    One layer, the (1, inf) norm of W_QK^T, tokens bounded in l1: scores are X W_QK^T x.

    Printed: Rad <= O(B (Bx^3 alpha/sqrt(n) (1 + ln((sqrt(n) - sqrt(ln 2d))/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), B
    = Bw Bc L_sigma Bv, alpha = 2 BQK sqrt(d log(2d+1))
    .. math:: O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt n-\sqrt{\ln
       2d}}{B_x^2\alpha}\bigr)+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=2B_{W_{QK}}\sqrt{d\log(2d+1)}
    Quoted: Let us have the requirements needed for Theorem 4.1 along with $||x||_1 \leq B_x$ and
    $||W_{QK}||_{1,\infty} \leq B_{W_{QK}}$
    Sound: Theorem 4.1 (sound) with C = d (BQK Bx)^2 ln(2d+1), BQK >= ||W_QK^T||_{1,inf}, Bx >= ||x||_1.
    .. math:: \mathrm{Rad}\le B_w B_{W_c} L_\sigma B_{W_v}\,\min(D, 2E),\quad C=d\,(B_{QK}B_x)^2\ln(2d+1)
    Because: inherits the transposed norms and the hidden constants of Theorem 4.1
    Assumes:
    - every token has l1 norm (not only l2 norm) at most Bx
    Defects:
    - Inherited from Theorem 4.1: the norms of W_c and W_v themselves are needed, not of their transposes; the
      factor 2 and Dudley's constant are inside O(); beyond its range the formula falls and turns negative.
    - The matrix that acts on tokens is W_QK^T, so ||W_QK^T||_{1,inf} is the norm that matters.
    """

    place = "Corollary D.0.1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "+Bx +BQK -n +d +rho"

    Bx: float = real("bound on the l1 norm of every token", symbol="B_x")
    BQK: float = real("bound on ||W_QK^T||_{1,inf}: every row of W_QK in an l1 ball", example=0.5, symbol="B_{W_QK}")

    def printed(self) -> Variants:
        alpha = self.Bx * self.Bx * self.Bx * 2 * self.BQK * math.sqrt(self.d * math.log(2 * self.d + 1))
        return {"value": self.printed_form(alpha, minus=True)}

    def sound(self) -> Variants:
        columns = columns_one_inf(self.BQK, self.d, self.d)
        # On l1 inputs the error of a map is its largest column error, a norm on R^{d x d}: volume applies to its ball.
        cover = smallest(columns, volumetric(self.BQK, self.d * self.d))
        return {
            **self.closed(self.BQK * self.Bx * (self.BQK * self.Bx) * columns.quadratic),
            **self.chains(cover.scaled(self.Bx)),
        }
