from certiformer.theory.core import Quantity, Status, count
from certiformer.theory.theorems.li._networks import ManyLayers
from certiformer.theory.theorems.li._truncated import SubGaussianInputs


class Theorem66(ManyLayers, SubGaussianInputs):
    r"""Sub-Gaussian inputs, several layers, norm based.

    The normalised network is bounded whatever its input, so nothing needs truncating: the tail enters only as 2 rho B_w
    P(b > M) next to the cover radius (S7clip), for plain training on raw inputs.

    Printed: excess <= 4 kappa (B + Bw)/n (1 + log((gamma_M + eta_M)^3/radius^2)) + T_err + 8 kappa radius + inf,
    T_err = O(kappa nu (T+d) exp(-M^2/(2 nu^2))), gammas of Theorem 5.3 with M for the input bound
    .. math:: \frac{4\kappa(B+B_w)}{n}\Bigl(1+\log\frac{(\gamma_M+\eta_M)^3}{\delta^2}\Bigr)+\mathcal
       T_{err}(M)+8\kappa\delta+\inf
    Quoted: \frac{4(B\kappa+B_{w}\kappa)}{n}\left(1+\log\frac{(\gamma_{M}+\eta_{M})^{3}}{\delta^{2}}\right)
    Sound: Outputs lie in [-rho Bw, rho Bw] whatever the input, so no truncation is needed: S1 or S2 with delta + 2
    rho Bw P(b > M) in place of delta (S7clip_lip, S7clip_sq), S4clip without any condition; S7clip_hp with the
    observed fraction outside.
    .. math:: \frac{\log N}{n\lambda}+A\inf_f\mathcal E(f)+(1+A)\kappa\bigl(\delta+2\rho B_wP(b>M)\bigr)
    Because: bounded inputs are a special case and refute Theorem 5.3; the truncation error drops (M^2 + 2 nu^2)/nu
    Assumes:
    - entrywise l1 norms bounded (or ranks, once given)
    Defects:
    - layers = 1 on bounded inputs is refuted as Theorem 6.4 is.
    """

    place = "Theorem 6.6"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n"

    rc: int | None = count("bound on the rank of W_c", default=None, otherwise="norm cover, ranks unused")
    rv: int | None = count("bound on the rank of W_v", default=None, otherwise="norm cover, ranks unused")
    rqk: int | None = count("bound on the rank of W_QK", default=None, otherwise="norm cover, ranks unused")
