from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._networks import OneLayer
from certiformer.theory.theorems.li._truncated import ConfinedHeavyInputs


class Theorem69(OneLayer, ConfinedHeavyInputs):
    r"""Heavy-tailed inputs, one head, rank based.

    S7, S8 where inputs are truncated; S7clip where outputs are confined, with no loss of rate for any tail index.

    Printed: excess <= 4 kappa (B + Bw Bc Bv L_sigma BX)/n (1 + log N_rank) + C_beta M^(2-beta) + 8 kappa radius +
    inf, N_rank of Theorem B.4 with M for BX, C_beta = kappa C beta/(beta-2); unbounded inputs have
    no BX: M in the prefactor too is our reading
    .. math:: \frac{4\kappa(B+B_wB_cB_vL_\sigma B_X)}{n}(1+\log\mathcal N_{rank})+C_\beta
       M^{2-\beta}+8\kappa\delta+\inf
    Quoted: \frac{4(\kappa B+\kappa B_{w}B_{c}B_{v}L_{\sigma}B_{X})}{n}]\times
    Because: bounded inputs are a special case and refute Theorem B.4; the dominant bias term of the proof is
    dropped
    Defects:
    - Counterexample: bounded inputs satisfy the assumption for every beta; d = 200, n = 4*10^5, beta = 100, M =
      1.5: excess 5.2e-4, printed 3.2e-4.
    - The estimator minimises the robust loss, the risk that is bounded is that of the base loss.
    - Says multi-head where it means single-head, and has an unmatched bracket.
    """

    place = "Theorem 6.9"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +d +k +rv +rqk"
