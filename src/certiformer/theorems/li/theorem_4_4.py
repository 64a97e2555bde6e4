from __future__ import annotations

from certiformer.core import Quantity, Status, Variants, derived, real
from certiformer.theorems.li._architecture import growth
from certiformer.theorems.li._offset import OffsetComplexity


class Theorem44(OffsetComplexity):
    r"""Excess risk by offset complexity, one head.

    Three forms hold, none with the printed right-hand side: for any loss (A), for the squared loss over finitely many
    functions (B), for labels without noise (C).

    Printed: excess <= 4 R_off(G, 1/M_SH) + inf, M_SH = 2 kappa (B + Bw Bc Bv L_sigma BX)
    .. math:: 4R^{off}_n(G,1/M_{SH})+\inf_f\mathcal E(f),\; M_{SH}=2\kappa B+2\kappa B_wB_cB_vL_\sigma B_X
    Sound: A (any loss in [0, M], any class): E R(fhat) <= 2(1+a) R_off(losses, a/((1+a)M)) + (1+2a) E R_n(fhat). B
    (squared loss, N functions): (4b + 24 sigma^2) log N/n + 6 inf, with the noise's own offset term. C (noise-free
    labels, f* Bayes): 4 R_off(G, 1/M_SH) + 3 inf. A fast rate relative to the best in a non-convex class needs another
    estimator than ERM.
    .. math:: E\,R(\hat f)\le 2(1+a)\,R^{off}_n\Bigl(\ell\circ F,\tfrac{a}{(1+a)M}\Bigr)+(1+2a)\,E\,R_n(\hat f)
    Because: drops the label noise; four counterexamples; true with 3 inf when labels are a function of the inputs
    """

    place = "Theorem 4.4"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "+Roff"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    BX: float = real("bound on ||X||_{2->2} (enters the printed side only)", example=1.5, symbol="B_X")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x", factory=derived("BX", lambda x: x.BX))

    def printed(self) -> Variants:
        return self.printed_form("M_SH", growth(self.Bw, self.Bc, self.Bv, self.L_sigma) * self.BX)

    def sound(self) -> Variants:
        return self.forms("M_SH", growth(self.Bw, self.Bc, self.Bv, self.L_sigma) * min(self.Bx, self.BX))
