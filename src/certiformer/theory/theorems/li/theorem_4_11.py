from certiformer.theory.core import Quantity, Status, Variants, real
from certiformer.theory.theorems.li._offset import OffsetComplexity


class Theorem411(OffsetComplexity):
    r"""Excess risk by offset complexity, several layers.

    The forms of Theorem 4.4 with |f| <= rho B_w, rho = 1 for the projection on the unit ball and sqrt(d) max|gain| +
    ||bias||_2 for LayerNorm.

    Printed: excess <= 4 R_off(G, 1/(2 kappa (B + Bw))) + inf
    .. math:: 4R^{off}_n\bigl(G,\tfrac1{2\kappa(B+B_w)}\bigr)+\inf_f\mathcal E(f)
    Quoted: 4\mathcal{R}_{n}^{\mathrm{off}}\left(\mathcal{G},\,\frac{1}{2\kappa(B+B_{w})}\right)
    Because: drops the label noise; one layer with an inactive projection has the counterexamples of Theorem 4.4
    Defects:
    - One layer with Bc Bv Bx <= 1 leaves the projection inactive, so the counterexamples of Theorem 4.4 apply.
    - LayerNorm maps into a ball of radius sqrt(d) max|gain| + ||bias||, not into the unit ball; x/||x|| is not
      Lipschitz at 0.
    - Eqs. (4)-(5) apply the activation twice per block; the proofs quoted from Trauger and Tewari are for another
      block.
    """

    place = "Theorem 4.11"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "+Roff"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    rho: float = real("norm bound after normalisation; LayerNorm: sqrt(d) max|gain| + ||bias||_2", default=1.0)

    def printed(self) -> Variants:
        return self.printed_form("M_ML", self.Bw)

    def sound(self) -> Variants:
        return self.forms("M_ML", self.rho * self.Bw)
