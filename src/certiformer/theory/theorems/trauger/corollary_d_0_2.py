import math

from certiformer.theory.calculus.covers import dual_sudakov, rows_two_one, smallest, volumetric
from certiformer.theory.core import Quantity, Status, Variants, real
from certiformer.theory.theorems.trauger._single_layer import OneLayer


class CorollaryD02(OneLayer):
    r"""One layer, (2,1) norm of W_QK, l1 tokens.

    Theorem 4.1 with the cover T5 (docs/proofs/covers.md) of the maps x -> W_QK^T x on the d scaled basis vectors;
    B_{QK} bounds the sum of the *row* norms of W_QK^T, which is ||W_QK||_{2,1}. That cover is external, and so is its
    chain; a proper chain uses it at half the radius.

    Printed: Rad <= O^(B (Bx^3 alpha/sqrt(n) (1 + ln((sqrt(n) - sqrt(ln 2d))/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), B
    = Bw Bc L_sigma Bv, alpha = 2 BQK sqrt(2 log d)
    .. math:: \hat O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt n-\sqrt{\ln
       2d}}{B_x^2\alpha}\bigr)+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=2B_{W_{QK}}\sqrt{2\log d}
    Quoted: Let us have the requirements needed for Theorem 4.1 along with $||x||_1 \leq B_x$ and $||W_{QK}||_{2,1}
    \leq B_{W_{QK}}$
    Sound: Theorem 4.1 (sound) with C = (BQK Bx)^2 min_h [ln(d+1) + h ln 2 + (1+1/h) ln(2d+1)], BQK >=
    ||W_QK||_{2,1} (columns of W_QK = rows of the acting matrix), external chain; chain: the same cover at eps/2,
    proper.
    .. math:: \mathrm{Rad}\le B_w B_{W_c} L_\sigma B_{W_v}\,\min(D, 2E),\quad
       C=(B_{QK}B_x)^2\min_h\Bigl[\ln(d+1)+h\ln2+\bigl(1+\tfrac{1}{h}\bigr)\ln(2d+1)\Bigr]
    Because: inherits Theorem 4.1 and the false Lemma 3.4; alpha vanishes at d = 1; logarithms are dropped
    Assumes:
    - every token has l1 norm (not only l2 norm) at most Bx
    Defects:
    - Inherited from Theorem 4.1: the norms of W_c and W_v themselves are needed, not of their transposes; the
      factor 2 and Dudley's constant are inside O(); beyond its range the formula falls and turns negative.
    - Rests on Lemma 3.4, false for the norm it is stated with; here ||W_QK||_{2,1} happens to be the right one,
      because W_QK^T is what acts on tokens.
    - alpha = 0 at d = 1, although the class is not a single function.
    - Logarithms of other quantities are dropped without a constant.
    """

    place = "Corollary D.0.2"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "+Bx +BQK -n +d +rho"

    Bx: float = real("bound on the l1 norm of every token", symbol="B_x")
    BQK: float = real("bound on ||W_QK||_{2,1}, the sum of the column l2 norms", example=0.5, symbol="B_{W_QK}")

    def printed(self) -> Variants:
        alpha = self.Bx * self.Bx * self.Bx * 2 * self.BQK * math.sqrt(2 * math.log(self.d))
        return {"value": self.printed_form(alpha, minus=True)}

    def sound(self) -> Variants:
        rows = rows_two_one(self.BQK, self.d, self.d, domain=True)
        # ||W||_2 <= ||W||_F <= the sum of the row norms.
        others = (dual_sudakov(self.BQK, self.d, self.d), volumetric(self.BQK, self.d * self.d))
        external = smallest(rows, *others)
        proper = smallest(rows.made_proper(), *others)
        return {
            **self.closed(self.BQK * self.Bx * (self.BQK * self.Bx) * rows.quadratic),
            **self.chains(external.scaled(self.Bx), name="chain_external"),
            **self.chains(proper.scaled(self.Bx)),
        }
