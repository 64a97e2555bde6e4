from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._networks import OneLayer
from certiformer.theory.theorems.li._truncated import ConfinedSubGaussianInputs


class Theorem64(OneLayer, ConfinedSubGaussianInputs):
    r"""Sub-Gaussian inputs, one head, norm based.

    Three tail functionals of b(X), the largest token norm, replace T_err; S7 (Lipschitz), S8 (squared), S7clip (clipped
    outputs: no truncation at all), S4 (no condition).

    Printed: excess <= 4 kappa (B + Bw Bc Bv L_sigma BX)/n (1 + log(gamma^3/radius^2)) + T_err + 8 kappa radius +
    inf, T_err = O(kappa nu (T+d) exp(-M^2/(2 nu^2))), gamma of Theorem B.1 with M for BX; unbounded inputs
    have no BX: M in the prefactor too is our reading
    .. math:: \frac{4\kappa(B+B_wB_cB_vL_\sigma B_X)}{n}\Bigl(1+\log\frac{\gamma^3}{\delta^2}\Bigr)+\mathcal
       T_{err}(M)+8\kappa\delta+\inf
    Quoted: \frac{4(\kappa B+\kappa B_{w}B_{c}B_{v}L_{\sigma}B_{X})}{n}\left(1+\log\frac{\gamma_{\mathrm{SH}}^{3}}{
    \delta^{2}}\right)
    Because: bounded inputs are a special case and refute Theorem B.1; the truncation error drops (M^2 + 2 nu^2)/nu
    Defects:
    - The bound is stated for f_n, the estimator that is defined is f_n^(M).
    - Counterexample: bounded inputs X = e_J satisfy the assumption with nu = 1; d = 50000, n = 10^15, M = 12:
      excess 5.0e-11, printed 1.5e-11, and T_err is about 1e-26.
    """

    place = "Theorem 6.4"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n"
