import math

from certiformer.theory.calculus.covers import dual_sudakov, maurey, perceptron_matrix, smallest, volumetric
from certiformer.theory.core import Quantity, Status, Variants, real, stated
from certiformer.theory.theorems.trauger._single_layer import OneLayer


class Corollary411(OneLayer):
    r"""One layer, entrywise l1 norm of W_QK.

    One layer, W_QK in an entrywise l1 ball; in the chain the smallest of the covers of that class.

    Printed: Rad <= O(B (Bx^3 alpha/sqrt(n) (1 + ln(sqrt(n)/(Bx^2 alpha))) + Bx sqrt(ln(2d)/n))), B = Bw Bc L_sigma
    Bc, alpha = BQK sqrt(2 log(2d^2+1))
    .. math:: O\Bigl(B\Bigl(\tfrac{B_x^3\alpha}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt
       n}{B_x^2\alpha}\bigr)+B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr),\ \alpha=B_{W_{QK}}\sqrt{2\log(2d^2+1)}
    Quoted: B = B_w B_{W_c} L_\sigma B_{W_c}
    Sound: Theorem 4.1 (sound) with C = (BQK Bx)^2 ln(2d^2+1); the chain uses the smallest of the Maurey, Frobenius,
    volume and perceptron covers; chain_cls: one CLS token for all samples, C = (BQK |x_CLS|_inf)^2 ln(2d+1).
    .. math:: \mathrm{Rad}\le B_w B_{W_c} L_\sigma B_{W_v}\,\min(D, 2E),\quad C=(B_{QK}B_x)^2\ln(2d^2+1)
    Because: as Theorem 4.1; besides, alpha is sqrt(2) too small and B_{W_c} stands in the place of B_{W_v}
    Defects:
    - Inherited from Theorem 4.1: the norms of W_c and W_v themselves are needed, not of their transposes; the
      factor 2 and Dudley's constant are inside O(); beyond its range the formula falls and turns negative.
    - B repeats B_{W_c}; the second must be B_{W_v}.
    - C = (BQK Bx)^2 log(2d^2+1) gives alpha = 2 BQK sqrt(log(2d^2+1)); the printed alpha is sqrt(2) too small.
    """

    place = "Corollary 4.1.1"
    elementwise = ()  # a cover of the points of the sample grows with n
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "+Bx +BQK -n +d +rho"

    BQK: float = real("bound on ||W_QK||_{1,1}, the entrywise l1 norm", example=0.5, symbol="B_{W_QK}")
    cls_inf: float | None = real(
        "sup norm of x_CLS, if it is the same in every sample", default=None, otherwise="not used"
    )

    def printed(self) -> Variants:
        alpha = self.Bx * self.Bx * self.Bx * self.BQK * math.sqrt(2 * math.log(2 * self.d * self.d + 1))
        twice_Bc = self.Bw * self.Bc * self.L_sigma * self.Bc
        return {
            "value": self.printed_form(alpha, minus=False, scale=twice_Bc),
            "Bv_restored": self.printed_form(alpha, minus=False),
        }

    def sound(self) -> Variants:
        maps = maurey(self.BQK, self.d * self.d)
        # ||W||_2 <= ||W||_F <= ||W||_{1,1}: the covers of those balls serve too, and win at small radii.
        cover = smallest(
            maps,
            dual_sudakov(self.BQK, self.d, self.d),
            volumetric(self.BQK, self.d * self.d),
            perceptron_matrix(self.BQK, self.n, self.d),
        )
        variants = {
            **self.closed(self.BQK * self.Bx * (self.BQK * self.Bx) * maps.quadratic),
            **self.chains(cover.scaled(self.Bx)),
        }
        if self.cls_inf is None:
            return variants
        # One x_CLS for all samples: only the vector W_QK^T x_CLS matters, and it fills the l1 ball of radius BQK
        # |x_CLS|_inf.
        vectors = smallest(maurey(self.BQK * self.cls_inf, self.d), volumetric(self.BQK * self.cls_inf, self.d))
        same = stated("every sample has the same CLS token, of sup norm at most cls_inf", True, "cls_inf")
        return {**variants, **self.chains(vectors, same, name="chain_cls")}
