from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._bounded import NormBased
from certiformer.theory.theorems.li._networks import OneLayer


class TheoremB1(OneLayer, NormBased):
    r"""Excess risk of one head, norm based.

    gamma^3/delta^2 *is* the log covering number, with gamma over the weights u = W_c w, W_v, W_QK. Without any
    condition it gives a chained n^{-1/2} log n (S4chain); with sub-Gaussian noise and squared loss the volume gives P
    log n/n with P = k + dk + d^2 parameters (S2). No bound in the norms alone can be polylog/n.

    Printed: excess <= 4 kappa (B + Bw Bc Bv L_sigma BX)/n (1 + log(gamma^3/radius^2)) + 8 kappa radius + inf, gamma
    = C1^(1/3) Bx^(2/3) [(Bw L_sigma)^(2/3) + 2 (Bw L_sigma Bc Bv)^(2/3) + 1], C1 = log(2dk+1)
    .. math:: \frac{4\kappa(B+B_wB_cB_vL_\sigma
       B_X)}{n}\Bigl(1+\log\frac{\gamma_{SH}^3}{\delta^2}\Bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Quoted: \frac{4(\kappa B+\kappa B_{w}B_{c}B_{v}L_{\sigma}B_{X})}{n}\left(1+\log\frac{\gamma_{\mathrm{SH}}^{3}}{
    \delta^{2}}\right)
    Sound: log N(delta) <= gamma^3/delta^2 (not its log), gamma = sum_j (B_j^2 log(2m_j+1))^(1/3) beta_j^(2/3) over
    u = W_c w, W_v, W_QK. S4chain (kappa-Lipschitz loss, nothing else): 2 kappa times the best chain, at most 2
    kappa e sqrt(2 gamma^3/n) (1 + log(...)). S4_opt: 2 kappa D sqrt(log N/2n) + 2 kappa delta. S2 (squared loss,
    sub-Gaussian noise): log N/(n lambda) + discretisation. S1 (given V): the same under a Bernstein condition.
    .. math:: \log N(\delta)\le\frac{\gamma^3}{\delta^2},\
       \gamma=\sum_j\bigl(B_j^2\log(2m_j+1)\bigr)^{1/3}\beta_j^{2/3};\qquad 2\kappa D\sqrt{\frac{\log
       N}{2n}}+2\kappa\delta
    Because: takes the logarithm of a log covering number; d-dimensional regression inside the l1 ball refutes it
    Assumes:
    - ||W||_{1,1} bounds on W_c, W_v, W_QK; ||w||_2 <= Bw
    - every token has norm at most Bx
    Defects:
    - One head, k = 1, all norms 1, d = 10, delta = 0.05: log N is at least 20.8, the printed logarithm is 11.3.
    - gamma lacks B_QK altogether, B_c in the W_c term, B_w in the w term and the 2^(2/3) of the paper's own
      constraint.
    - The constraint on the radii drops B_X (one line above it is there), B_v at W_c and B_x^2 at W_QK: the output
      moves up to 27 times further than allowed for.
    - B_X = ||X||_{2->2} grows like sqrt(T), so the bound is not free of the sequence length.
    - Counterexample: one token x = e_J uniform on d coordinates, Y = +-1, class {theta.x : ||theta||_1 <= 1}, kappa
      = 4: at d = 1000, n = 10^10 the excess risk is 9.9e-8, the printed bound 8.8e-8; for d = 0.8 n^(1/3) it is
      n^(-2/3).
    """

    place = "Theorem B.1"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n"
