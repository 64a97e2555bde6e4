from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._rank_based import printed_one_layer, sound_one_layer


class TheoremB5(Result):
    r"""Excess risk of H heads, rank based.

    Theorem B.4's sound form with H copies of u, W_v, W_QK and b = (B + H K B_x)^2.

    Printed: excess <= 4 kappa (B + H Bw Bc Bv L_sigma BX)/n (1 + log N_rank) + 8 kappa radius + inf, N_rank as in
    Theorem B.4 with H in every beta
    .. math:: \frac{4\kappa(B+HB_wB_cB_vL_\sigma B_X)}{n}(1+\log\mathcal N_{rank,M})+8\kappa\delta+\inf_f\mathcal
       E(f)
    Sound: log N = H times that of one head at radius delta/H; S2, S2_opt, closed, S1, S4chain, S4_opt with sup|f| =
    H K Bx and b = (B + H K Bx)^2.
    Because: counts each rank once, not H times, and not the (d + k) r parameters; H = 1 is Theorem B.4
    Assumes:
    - spectral norms and ranks bounded for every head; heads summed before one readout
    - every token has norm at most Bx
    - norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    - no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK
    Defects:
    - N_rank already is a log covering number; the theorem takes its logarithm.
    - Assumption 5.7 is false: r = 1, 2 x 2 matrices e_1 a^T already form a disc, N >= 1/eps^2; the count must grow
      with (d + k) r, not with r.
    - Counterexample: one token, identity activation, all ranks 1, class {theta.x : ||theta||_2 <= 1}, Y = +-1. The
      excess risk is sigma^2 d/n, so no bound in ranks and norms alone can hold.
    - H matrices of each kind need H covers; the ranks are counted once, so N_rank grows only like log H.
    - beta_w = H B_c has the defects of Theorem B.4's beta_w.
    - H = 1 is Theorem B.4 and has its counterexample.
    """

    paper, place = LI, "Theorem B.5"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +Bx +B +d +k +H +rv +rqk"

    d: int = count("token dimension", example=4)
    k: int = count("width of the value matrix", example=3)
    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    BQK: float = real("bound on the norm of W_QK", example=0.7, symbol="B_QK")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    B: float = real("bound on the Bayes predictor |f0(X)|")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    BX: float = real("bound on ||X||_{2->2} (enters the printed side only)", example=1.5, symbol="B_X")
    sigma: float = real("the label noise Y - E[Y|X] is sub-Gaussian with this parameter", example=0.5, symbol="σ")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    radius: float = real("cover radius", example=0.001, symbol="δ", aliases=("cover_radius",))
    H: int = count("number of heads, summed before the readout", example=2)
    rw: int = count("rank of w (one; enters the printed side only)", example=1, symbol="r_w")
    rc: int = count("bound on the rank of W_c", example=2, symbol="r_c")
    rv: int = count("bound on the rank of W_v", example=2, symbol="r_v")
    rqk: int = count("bound on the rank of W_QK", example=1, symbol="r_QK")
    approx: float = real(
        "excess risk of the best predictor in the class over Bayes", low_open=False, example=0.0, default=0.0
    )
    V: float | None = real(
        "Bernstein constant: E g^2 <= V E g for the excess losses g", default=None, otherwise="variant S1 is left out"
    )
    honest_kappa: bool | None = flag("kappa holds for every label y, not only for the conditional risk")
    bernstein: bool | None = flag("the Bernstein condition holds with the constant V")
    squared_loss: bool | None = flag("squared loss, f0(X) = E[Y|X], noise sub-Gaussian with parameter sigma")
    well_specified: bool | None = flag("the Bayes predictor belongs to the class (or `approx` bounds its excess risk)")

    def printed(self) -> Variants:
        inputs = self.as_inputs()
        return printed_one_layer(**inputs)

    def sound(self) -> Variants:
        inputs = self.as_inputs()
        return sound_one_layer(**inputs)
