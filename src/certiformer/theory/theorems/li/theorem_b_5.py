from certiformer.theory.core import Quantity, Status
from certiformer.theory.theorems.li._bounded import RankBased
from certiformer.theory.theorems.li._networks import ManyHeads


class TheoremB5(ManyHeads, RankBased):
    r"""Excess risk of H heads, rank based.

    H heads of bounded rank, summed before the readout: Theorem B.4 with H copies of u, W_v, W_QK.

    Printed: excess <= 4 kappa (B + H Bw Bc Bv L_sigma BX)/n (1 + log N_rank) + 8 kappa radius + inf, N_rank as in
    Theorem B.4 with H in every beta
    .. math:: \frac{4\kappa(B+HB_wB_cB_vL_\sigma B_X)}{n}(1+\log\mathcal N_{rank,M})+8\kappa\delta+\inf_f\mathcal
       E(f)
    Quoted: \frac{4(\kappa B+\kappa HB_{w}B_{c}B_{v}L_{\sigma}B_{X})}{n}\left(1+\log\mathcal{N}_{\mathrm{rank},M}
    \right)
    Sound: log N = H times that of one head at radius delta/H; S2, S2_opt, closed, S1, S4chain, S4_opt with sup|f| =
    H K Bx and b = (B + H K Bx)^2.
    .. math:: \log N=H\log N_1(\delta/H),\quad\sup|f|=HKB_x,\quad b=(B+HKB_x)^2
    Because: counts each rank once, not H times, and not the (d + k) r parameters; H = 1 is Theorem B.4
    Assumes:
    - spectral norms and ranks bounded for every head; heads summed before one readout
    - every token has norm at most Bx
    Defects:
    - N_rank already is a log covering number; the theorem takes its logarithm.
    - H matrices of each kind need H covers; the ranks are counted once, so N_rank grows only like log H.
    - beta_w = H B_c has the defects of Theorem B.4's beta_w.
    - H = 1 is Theorem B.4 and has its counterexample.
    """

    place = "Theorem B.5"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +Bx +B +d +k +H +rv +rqk"
