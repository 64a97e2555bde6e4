from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._bounded import NormBased
from certiformer.theory.theorems.li._networks import ManyHeads


class TheoremB2(ManyHeads, NormBased):
    r"""Excess risk of H heads, norm based.

    H heads need H covers, so gamma is H times that of one head (gamma^3 grows like H^3, not H^2).

    Printed: excess <= 4 kappa (B + H Bw Bc Bv L_sigma BX)/n (1 + log(gamma^3/radius^2)) + 8 kappa radius + inf,
    gamma = C1^(1/3) Bx^(2/3) [(H Bw L_sigma)^(2/3) + 2 (H Bw L_sigma Bc Bv)^(2/3) + H^(2/3)]
    .. math:: \frac{4\kappa(B+HB_wB_cB_vL_\sigma
       B_X)}{n}\Bigl(1+\log\frac{\gamma_{MH}^3}{\delta^2}\Bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Quoted: \left(1+\log\frac{\gamma_{\mathrm{MH}}^{3}}{\delta^{2}}\right)
    Sound: As Theorem B.1 with H copies of u, W_v, W_QK: gamma = H gamma(one head), sup|f| = H K Bx; then S4chain,
    S4_opt, S2, S1.
    .. math:: \log N(\delta)\le\frac{(H\gamma_1)^3}{\delta^2},\ \sup|f|=HKB_x;\qquad 2\kappa D\sqrt{\frac{\log
       N}{2n}}+2\kappa\delta
    Because: log of a log covering number, and one cover where H are needed; H = 1 is Theorem B.1
    Assumes:
    - ||W||_{1,1} bounds on every head's W_c, W_v, W_QK; ||w||_2 <= Bw
    Defects:
    - gamma lacks B_QK altogether and B_X grows like sqrt(T), as in Theorem B.1, whose constraint on the radii is used.
    - H separate covers add up to gamma^3 ~ H^3; the printed gamma^3 ~ H^2 scales one cover: H = 16 gives 16384 C
      against 259060 C in the paper's own optimisation problem.
    - H = 1 is Theorem B.1 and has its counterexample.
    """

    place = "Theorem B.2"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n"
