from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._offset import OneLayerOffset


class Theorem44(OneLayerOffset):
    r"""Excess risk by offset complexity, one head.

    Three forms hold, none with the printed right-hand side: for any loss (A), for the squared loss over finitely many
    functions (B), for labels without noise (C).

    Printed: excess <= 4 R_off(G, 1/M_SH) + inf, M_SH = 2 kappa (B + Bw Bc Bv L_sigma BX)
    .. math:: 4R^{off}_n(G,1/M_{SH})+\inf_f\mathcal E(f),\; M_{SH}=2\kappa B+2\kappa B_wB_cB_vL_\sigma B_X
    Quoted: 4\,\mathcal{R}_{n}^{\mathrm{off}}\!\left(\mathcal{G},\,\frac{1}{M_{\mathrm{SH}}}\right)\;+\;\inf_{f\in
    \mathcal{F}}\mathcal{E}\big(f;\ell\big)
    Because: drops the label noise; four counterexamples; true with 3 inf when labels are a function of the inputs
    Defects:
    - M is defined with and without the factor 2; the softmax matrix has norm up to sqrt(T), only its rows are
      probabilities; ||X||_{2->2} may be replaced by the largest token norm.
    """

    place = "Theorem 4.4"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE

    @property
    def scale(self) -> str:
        return "M_SH"
