from certiformer.theory.core import Quantity, Status, count
from certiformer.theory.theorems.li._offset import OneLayerOffset


class Theorem47(OneLayerOffset):
    r"""Excess risk by offset complexity, H heads.

    Printed: excess <= 4 R_off(G, 1/M_MH) + inf, M_MH = 2 kappa (B + H Bw Bc Bv L_sigma BX)
    .. math:: 4R^{off}_n(G,1/M_{MH})+\inf_f\mathcal E(f),\; M_{MH}=2\kappa B+2\kappa HB_wB_cB_vL_\sigma B_X
    Quoted: 4\mathcal{R}_{n}^{\mathrm{off}}\left(\mathcal{G},\,\frac{1}{M_{\mathrm{MH}}}\right)\;+\;\inf_{f\in
    \mathcal{F}_{\mathrm{MH}}}{\mathcal{E}(f;\ell)}
    Because: drops the label noise; four counterexamples; true with 3 inf when labels are a function of the inputs
    Defects:
    - M is defined with and without the factor 2; the softmax matrix has norm up to sqrt(T), only its rows are
      probabilities; ||X||_{2->2} may be replaced by the largest token norm.
    - H = 1 is Theorem 4.4: its counterexamples apply.
    """

    place = "Theorem 4.7"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE

    H: int = count("number of heads, summed before the readout", example=2)

    @property
    def scale(self) -> str:
        return "M_MH"

    @property
    def heads(self) -> int:
        return self.H
