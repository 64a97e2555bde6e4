from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._networks import ManyHeads
from certiformer.theory.theorems.li._truncated import ConfinedHeavyInputs


class Theorem610(ManyHeads, ConfinedHeavyInputs):
    r"""Heavy-tailed inputs, H heads, rank based.

    S7, S8 where inputs are truncated; S7clip where outputs are confined, with no loss of rate for any tail index.

    Printed: excess <= 4 kappa (B + H Bw Bc Bv L_sigma BX)/n (1 + log N_rank) + C_beta M^(2-beta) + 8 kappa radius +
    inf, N_rank of Theorem B.5 with M for BX, C_beta = kappa C beta/(beta-2); unbounded inputs have
    no BX: M in the prefactor too is our reading
    .. math:: \frac{4\kappa(B+HB_wB_cB_vL_\sigma B_X)}{n}(1+\log\mathcal N_{rank})+C_\beta
       M^{2-\beta}+8\kappa\delta+\inf
    Quoted: \frac{4(\kappa B+\kappa HB_{w}B_{c}B_{v}L_{\sigma}B_{X})}{n}\left(1+\log\mathcal{N}_{\mathrm{rank},M}
    \right)
    Because: bounded inputs are a special case and refute Theorem B.5; the dominant bias term of the proof is
    dropped
    Defects:
    - The estimator minimises the robust loss, the risk that is bounded is that of the base loss.
    - H = 1 on bounded inputs is refuted as Theorem 6.9 is.
    """

    place = "Theorem 6.10"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +d +k +rv +rqk"
