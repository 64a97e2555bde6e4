from __future__ import annotations

from certiformer.core import Quantity, Status
from certiformer.theorems.li._networks import ManyHeads
from certiformer.theorems.li._truncated import Clipped, HeavyInputs


class Theorem610(ManyHeads, HeavyInputs, Clipped):
    r"""Heavy-tailed inputs, H heads, rank based.

    S7, S8 where inputs are truncated; S7clip where outputs are confined, with no loss of rate for any tail index.

    Printed: excess <= 4 kappa (B + H Bw Bc Bv L_sigma M)/n (1 + log N_rank) + C_beta M^(2-beta) + 8 kappa radius +
    inf, N_rank of Theorem B.5 with M for the input bounds, C_beta = kappa C beta/(beta-2)
    .. math:: \frac{4\kappa(B+HB_wB_cB_vL_\sigma M)}{n}(1+\log\mathcal N_{rank})+C_\beta
       M^{2-\beta}+8\kappa\delta+\inf
    Sound: P(b(X) > t) <= C t^-beta. S7 (Lipschitz): bias kappa K' C (2beta-1)/(beta-1) M^(1-beta), beta > 1, best
    V' >= V; S8 (squared): K'^2 C (4 + 2/(beta-2) + 2/(beta-1)) M^(2-beta), beta > 2; S7clip (outputs clipped at B):
    only P(b > M) = C M^-beta, every beta > 0, D log n/n at M = n^(1/beta); S4 without condition; S9: log-truncated
    ERM for heavy-tailed labels.
    .. math:: \kappa K'C\,\frac{2\beta-1}{\beta-1}M^{1-\beta}\ (\beta>1),\qquad
       K'^2C\Bigl(4+\frac{2}{\beta-2}+\frac{2}{\beta-1}\Bigr)M^{2-\beta}\ (\beta>2)
    Because: bounded inputs are a special case and refute Theorem B.5; the dominant bias term of the proof is
    dropped
    Assumes:
    - spectral norms and ranks bounded
    - S7, S8: the predictor is fhat o T_M, trained and deployed on truncated inputs; else add kappa K' m1
    Defects:
    - H = 1 on bounded inputs is refuted as Theorem 6.9 is.
    """

    place = "Theorem 6.10"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +d +k +rv +rqk"
