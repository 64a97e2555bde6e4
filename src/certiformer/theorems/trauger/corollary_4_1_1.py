from __future__ import annotations

import math

from certiformer.calculus.covers import dual_sudakov, maurey, perceptron_matrix, smallest, volumetric
from certiformer.core import (
    Bound,
    Quantity,
    Result,
    Status,
    Variants,
    count,
    derived,
    flag,
    real,
    stated,
)
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._single_layer import (
    all_variants,
    chain_variants,
    closed_variants,
    printed_closed_form,
    token_sizes,
)


class Corollary411(Result):
    r"""One layer, entrywise l1 norm of W_QK.

    Theorem 4.1 with C = (B_{QK} B_x)^2 log(2d^2+1); in the chain the smallest of the covers of that class.

    Printed: Rad <= O(B (Bx^3 alpha/sqrt(n) (1 + ln(sqrt(n)/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), B = Bw Bc L_sigma
    Bc, alpha = BQK sqrt(2 log(2d^2+1))
    .. math:: O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt
       n}{B_x^2\alpha}\bigr)+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=B_{W_{QK}}\sqrt{2\log(2d^2+1)}
    Sound: Theorem 4.1 (sound) with C = (BQK Bx)^2 ln(2d^2+1); the chain uses the smallest of the Maurey, Frobenius,
    volume and perceptron covers; chain_cls: one CLS token for all samples, C = (BQK |x_CLS|_inf)^2 ln(2d+1).
    Because: as Theorem 4.1; besides, alpha is sqrt(2) too small and B_{W_c} stands in the place of B_{W_v}
    Assumes:
    - the radii are fixed before the sample is seen (or paid for: `strata`)
    - sigma is L_sigma-Lipschitz with sigma(0) = 0
    - one layer, scores X W_QK^T x_CLS, no projection; tokens fixed, not trained
    Defects:
    - Inherited from Theorem 4.1: the norms of W_c and W_v themselves are needed, not of their transposes; the
      factor 2 and Dudley's constant are inside O(); beyond its range the formula falls and turns negative.
    - B repeats B_{W_c}; the second must be B_{W_v}.
    - C = (BQK Bx)^2 log(2d^2+1) gives alpha = 2 BQK sqrt(log(2d^2+1)); the printed alpha is sqrt(2) too small.
    """

    paper, place = TRAUGER, "Corollary 4.1.1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "+Bx +BQK -n +d +rho"

    Bw: float = real("bound on ||w||_1, the readout", symbol="B_w")
    Bc: float = real("bound on ||W_c||_{1,inf}: every column of W_c in an l1 ball", example=2, symbol="B_{W_c}")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bv: float = real("bound on ||W_v||_{1,inf}: every column of W_v in an l1 ball", example=1.5, symbol="B_{W_v}")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    BQK: float = real("bound on ||W_QK||_{1,1}, the entrywise l1 norm", example=0.5, symbol="B_{W_QK}")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    d: int = count("token dimension", example=64)
    rho: float = real("half the diameter of the token set", low_open=False, factory=derived("Bx", lambda x: x.Bx))
    D: float = real("bound on the sup norm of every token", factory=derived("Bx", lambda x: x.Bx))
    odd: bool | None = flag("the activation is odd (tanh, identity): the factor 2 drops")
    cls_inf: float | None = real(
        "sup norm of x_CLS, if it is the same in every sample", default=None, otherwise="not used"
    )

    def printed(self) -> Variants:
        alpha = self.Bx * self.Bx * self.Bx * self.BQK * math.sqrt(2 * math.log(2 * self.d * self.d + 1))

        def form(scale: float) -> Bound:
            return printed_closed_form(scale, alpha, self.Bx, self.n, self.d, minus=False)

        return {
            "value": form(self.Bw * self.Bc * self.L_sigma * self.Bc),
            "Bv_restored": form(self.Bw * self.Bc * self.L_sigma * self.Bv),
        }

    def sound(self) -> Variants:
        scale, sizes = self.Bw * self.Bc * self.L_sigma * self.Bv, token_sizes(self.Bx, self.rho, self.D)
        maps = maurey(self.BQK, self.d * self.d)
        # ||W||_2 <= ||W||_F <= ||W||_{1,1}: the covers of those balls serve too, and win at small radii.
        cover = smallest(
            maps,
            dual_sudakov(self.BQK, self.d, self.d),
            volumetric(self.BQK, self.d * self.d),
            perceptron_matrix(self.BQK, self.n, self.d),
        )
        variants = all_variants(
            closed_variants(scale, self.BQK * self.Bx * (self.BQK * self.Bx) * maps.quadratic, self.n, self.d, *sizes),
            chain_variants(scale, cover.scaled(self.Bx), self.n, self.d, *sizes, self.odd),
        )
        if self.cls_inf is None:
            return variants
        # One x_CLS for all samples: only the vector W_QK^T x_CLS matters, and it fills the l1 ball of radius BQK
        # |x_CLS|_inf.
        vectors = smallest(maurey(self.BQK * self.cls_inf, self.d), volumetric(self.BQK * self.cls_inf, self.d))
        same = stated("every sample has the same CLS token, of sup norm at most cls_inf", True, "cls_inf")
        return all_variants(
            variants, chain_variants(scale, vectors, self.n, self.d, *sizes, self.odd, same, name="chain_cls")
        )
