from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._networks import ManyLayers
from certiformer.theory.theorems.li._truncated import HeavyInputs


class Theorem611(ManyLayers, HeavyInputs):
    r"""Heavy-tailed inputs, several layers, rank based.

    The normalised network is bounded whatever its input, so nothing needs truncating, for any tail index.

    Printed: excess of f_psi <= 4 M_psi/n (1 + sum_i r_i C_i log(b_i^2/radius^2)) + C_beta M^(2-beta) + 8 kappa radius
    + inf, both risks those of the robust loss l_psi; the sum of Theorem 5.8 with M for B_X; M_psi and C_beta are left
    open (kappa (B + Bw) and kappa C beta/(beta-2) here)
    .. math:: E\,\mathcal E(\widehat f_n^\psi;\ell_\psi)\le\frac{4\widetilde M_\psi}{n}(1+\mathcal
       N_{rank,ML})+C_\beta M^{2-\beta}+8\kappa\delta+\inf_f\mathcal E(f;\ell_\psi)
    Quoted: \frac{4\widetilde{M}_{\psi}}{n}\left(1+\mathcal{N}_{\mathrm{rank},ML}\right)
    Sound: Outputs lie in [-rho Bw, rho Bw] whatever the input: no truncation, no bias. S1 or S2 with delta + 2 rho
    Bw C M^-beta in place of delta (S7clip_lip, S7clip_sq), every beta > 0, D log n/n at M = n^(1/beta); S4clip
    without condition; S9 for labels.
    .. math:: \frac{\log N}{n\lambda}+A\inf_f\mathcal E(f)+(1+A)\kappa\bigl(\delta+2\rho B_wCM^{-\beta}\bigr),\quad
       M=n^{1/\beta}
    Because: no dimension in the complexity, whatever constants M_psi and C_beta are: bounded inputs, where the
    robust loss may be the loss itself, are a special case and refute Theorem 5.8
    Assumes:
    - spectral norms and ranks bounded
    Defects:
    - One layer on bounded inputs with psi the identity, which the proof allows, is refuted as Theorem 5.8 is:
      the excess grows with d, the right side does not.
    - M_psi and C_beta are not specified.
    """

    place = "Theorem 6.11"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +d +k +rv +rqk"
