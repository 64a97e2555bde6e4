from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._bounded import RankBased
from certiformer.theory.theorems.li._networks import ManyLayers


class Theorem58(ManyLayers, RankBased):
    r"""Excess risk of a multi-layer Transformer, rank based.

    Several layers of bounded rank: the form of Theorem B.4 with the sensitivities of eq. (5).

    Printed: excess <= 4 kappa (B + Bw)/n (1 + sum_i r_i C_i log(b_i^2/radius^2)) + 8 kappa radius + inf, b_i by
    Corollary 5.6, C_i = 1/2
    .. math:: \frac{4\kappa(B+B_w)}{n}\Bigl(1+\sum_i
       r_iC_i\log\frac{b_i^2}{\delta^2}\Bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Quoted: \frac{4(\kappa B+\kappa B_{w})}{n}\left(1+\sum_{i=1}^{m}r_{i}C_{i}
    \log\left(\frac{b_{i}^{2}}{\delta^{2}}\right)\right)
    Sound: log N counts parameters: D = d + sum_l [(d+k) rc + (d+k) rv + 2d rqk]. S2 (squared loss, sub-Gaussian
    noise): log N/(n lambda) + 2 delta (sqrt b + A (sqrt b + sigma)), b = (B + Bw)^2, 1/lambda <= b + 8 sigma^2;
    S2_opt: best delta and a; S1 (given V): Bernstein; S4chain, S4_opt: no condition, slow.
    .. math:: \frac{\log N}{n\lambda}+2\delta\bigl(\sqrt b+A(\sqrt b+\sigma)\bigr),\quad b=(B+B_w)^2,\
       \frac{1}{\lambda}\le b+8\sigma^2
    Because: ranks in place of (d + k) r parameters; sigma^2 d/n is the truth inside its rank-one class
    Assumes:
    - spectral norms and ranks bounded in every layer; ||w||_2 <= Bw; input tokens of norm at most Bx
    Defects:
    - One layer, d = 5000, n = 10^8: excess 5.0e-5, printed 1.3e-5. The remark that ranks control the risk is
      therefore false.
    - b_i of Corollary 5.6 is not the minimiser's; alpha is off by one layer; B_v and B_c are exchanged at W_v;
      L_sigma^2 per block, B_x^3 in layer one and B_W are missing; C_i is undefined.
    - Inherits Corollary 4.13: no Bernstein condition, kappa may ignore the noise.
    """

    place = "Theorem 5.8"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +Bx +B +d +k +rc +rv +rqk"
