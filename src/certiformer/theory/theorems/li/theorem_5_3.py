from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._bounded import NormBased
from certiformer.theory.theorems.li._networks import ManyLayers


class Theorem53(ManyLayers, NormBased):
    r"""Excess risk of a multi-layer Transformer, norm based.

    The sum gamma over w, W_c^l, W_v^l, W_QK^l with the sensitivities of eq. (5); gamma^3/delta^2 is the log covering
    number itself. The readout, an l2 ball, is covered inside the l1 ball of radius sqrt(d) B_w and projected back.

    Printed: excess <= 4 kappa (B + Bw)/n (1 + log((gamma_ML + eta_ML)^3/radius^2)) + 8 kappa radius + inf, gammas
    from alpha_i = prod_{j>=i} L_sigma Bc Bv (1 + 4 BQK), C1 = log(2dk+1)
    .. math:: \frac{4\kappa(B+B_w)}{n}\Bigl(1+\log\frac{(\gamma_{ML}+\eta_{ML})^3}{\delta^2}\Bigr)
       +8\kappa\delta+\inf_f\mathcal E(f)
    Quoted: \frac{4(\kappa B+\kappa B_{w})}{n}\left(1+\log\frac{(\gamma_{\mathrm{ML}}+\eta_{\mathrm{ML}})^{3}}{
    \delta^{2}}\right)
    Sound: log N(delta) <= gamma^3/delta^2 over w and the W_c, W_v, W_QK of every layer, Lambda = xi^2 L_sigma^2 Bc
    Bv (1 + 2 rho^2 BQK) per layer above; sup|f| = rho Bw. Then S4chain, S4_opt (no condition), S2 (squared loss),
    S1 (given V).
    .. math:: \log N(\delta)\le\frac{\gamma^3}{\delta^2},\quad\Lambda=\xi^2L_\sigma^2B_cB_v(1+2\rho^2B_{QK})\text{ per
       layer above},\quad\sup|f|=\rho B_w
    Because: takes the logarithm of a log covering number; one layer is refuted by d-dimensional regression
    Assumes:
    - ||W||_{1,1} bounds in every layer; ||w||_2 <= Bw; input tokens of norm at most Bx
    Defects:
    - alpha starts at layer i in the theorem and at i + 1 in its proof; with layer constants below one the printed
      one is smaller.
    - The third term of tau_i has B_v where the proof's own inequality has B_c; B_c, B_v, B_QK are missing from the
      costs.
    - Eq. (5) applies the activation twice per block (L_sigma^2), the first layer sees tokens of norm B_x (B_x^3 at
      W_QK), and W_c reads inputs of norm L_sigma B_v b, not 1.
    - Counterexample with one layer: d = 5000, n = 10^12: excess 4.98e-9, printed 1.04e-9.
    """

    place = "Theorem 5.3"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n"
