from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._bounded import RankBased
from certiformer.theory.theorems.li._networks import OneLayer


class TheoremB4(OneLayer, RankBased):
    r"""Excess risk of one head, rank based.

    One head of bounded rank. What is covered are D_j = (d_j + k_j) r_j parameters of each matrix, D = sum D_j.

    Printed: excess <= 4 kappa (B + Bw Bc Bv L_sigma BX)/n (1 + log N_rank) + 8 kappa radius + inf, N_rank = 1 +
    sum_j r_j C1 log(r_j Bx^2/eps_j^2), C1 = 1/2
    .. math:: \frac{4\kappa(B+B_wB_cB_vL_\sigma B_X)}{n}(1+\log\mathcal N_{rank})+8\kappa\delta+\inf_f\mathcal
       E(f),\;\mathcal N_{rank}=1+\sum_j r_jC_1\log(r_jB_x^2/\varepsilon_j^2)
    Quoted: \frac{4(\kappa B+\kappa B_{w}B_{c}B_{v}L_{\sigma}B_{X})}{n}\left(1+\log\mathcal{N}_{\mathrm{rank,S}}
    \right)
    Sound: log N(delta) = k log(1+2..) + (d+k) rv log(1+4..) + 2d rqk log(1+4..): parameters, not ranks. S2 (squared
    loss, sub-Gaussian noise, a = 1/(4 sigma^2)): log N/(n lambda) + 2 delta (sqrt b + A (sqrt b + sigma)), 1/lambda
    <= b + 8 sigma^2, b = (B + K Bx)^2; S2_opt the same at the best a and delta; S1 (given V) under Bernstein;
    S4chain, S4_opt without.
    .. math:: \frac{b+8\sigma^2}{n}\sum_j D_j\log\Bigl(1+\frac{4B_j\beta_jDn}{D_j}\Bigr) + \frac2n\Bigl[\sqrt
       b+\Bigl(2+\frac{b}{4\sigma^2}\Bigr)(\sqrt b+\sigma)\Bigr]
    Because: the complexity must grow with (d + k) r, not with r; the formula even takes the log of a log
    Assumes:
    - spectral norms and ranks of W_v, W_QK bounded; ||W_c||_2 <= Bc, ||w||_2 <= Bw
    - every token has norm at most Bx
    Defects:
    - N_rank already is a log covering number; the theorem takes its logarithm.
    - At d = 200, n = 4*10^5 the excess of that example is 4.9e-4, the printed bound 2.1e-4; without the second
      logarithm and with the right b_i it still fails at d = 5000, n = 10^8.
    - beta_w = B_c is neither the output norm L_sigma B_c B_v b nor the 1 of the norm-based proof; beta_c lacks B_v,
      beta_QK lacks b^2; B_W of Assumption 5.7 is dropped.
    - Assumption 5.5 bounds ranks only, the proof needs the norms too.
    - For large radius N_rank is negative and has no logarithm.
    """

    place = "Theorem B.4"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +Bx +B +d +k +rv +rqk"
