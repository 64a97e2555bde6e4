from __future__ import annotations

from certiformer.core import Quantity, Status, count
from certiformer.theorems.li._networks import ManyHeads
from certiformer.theorems.li._truncated import Clipped, SubGaussianInputs


class Theorem65(ManyHeads, SubGaussianInputs, Clipped):
    r"""Sub-Gaussian inputs, H heads, norm based.

    Three tail functionals of b(X), the largest token norm, replace T_err; S7 (Lipschitz), S8 (squared), S7clip (clipped
    outputs: no truncation at all), S4 (no condition).

    Printed: excess <= 4 kappa (B + H Bw Bc Bv L_sigma M)/n (1 + log(gamma^3/radius^2)) + T_err + 8 kappa radius +
    inf, T_err = O(kappa nu (T+d) exp(-M^2/(2 nu^2))), gamma of Theorem B.2 with M for the input bounds
    .. math:: \frac{4\kappa(B+HB_wB_cB_vL_\sigma M)}{n}\Bigl(1+\log\frac{\gamma^3}{\delta^2}\Bigr)+\mathcal
       T_{err}(M)+8\kappa\delta+\inf
    Sound: P(b(X) > t) <= a exp(-t^2/2v) gives p, m1, m2 beyond M. S7 (Lipschitz loss, Bernstein): log N/(n lambda)
    + (1+A) kappa delta + (A-1)(M_g + M_g^2/V')p + kappa K' m1, best V' >= V. S8 (squared loss): (sqrt Q + sqrt(K'^2
    m2))^2. S7clip (outputs clipped at B): S1 or S2 with delta + 2Bp for delta, no truncation. S4: no condition,
    slow.
    .. math:: \frac{\log N}{n\lambda}+(1+A)\kappa\delta+(A-1)\Bigl(M_g+\frac{M_g^2}{V'}\Bigr)p+\kappa K'm_1
    Because: bounded inputs are a special case and refute Theorem B.2; the truncation error drops (M^2 + 2 nu^2)/nu
    Assumes:
    - entrywise l1 norms bounded (or ranks, once given)
    - S7, S8: the predictor is fhat o T_M, trained and deployed on truncated inputs; else add kappa K' m1
    Defects:
    - H = 1 on bounded inputs is refuted as Theorem 6.4 is.
    """

    place = "Theorem 6.5"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n"

    rv: int | None = count("bound on the rank of W_v", default=None, otherwise="norm cover, ranks unused")
    rqk: int | None = count("bound on the rank of W_QK", default=None, otherwise="norm cover, ranks unused")
