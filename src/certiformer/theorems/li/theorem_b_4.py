from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._rank_based import printed_one_layer, sound_one_layer


class TheoremB4(Result):
    r"""Excess risk of one head, rank based.

    (squared loss, sub-Gaussian noise), D_j = (d_j + k_j) r_j, D = sum D_j, b = (B + K B_x)^2.

    Printed: excess <= 4 kappa (B + Bw Bc Bv L_sigma BX)/n (1 + log N_rank) + 8 kappa radius + inf, N_rank = 1 +
    sum_j r_j C1 log(r_j Bx^2/eps_j^2), C1 = 1/2
    .. math:: \frac{4\kappa(B+B_wB_cB_vL_\sigma B_X)}{n}(1+\log\mathcal N_{rank})+8\kappa\delta+\inf_f\mathcal
       E(f),\;\mathcal N_{rank}=1+\sum_j r_jC_1\log(r_jB_x^2/\varepsilon_j^2)
    Sound: log N(delta) = k log(1+2..) + (d+k) rv log(1+4..) + 2d rqk log(1+4..): parameters, not ranks. S2 (squared
    loss, sub-Gaussian noise, a = 1/(4 sigma^2)): log N/(n lambda) + 2 delta (sqrt b + A (sqrt b + sigma)), 1/lambda
    <= b + 8 sigma^2, b = (B + K Bx)^2; S2_opt the same at the best a and delta; S1 (given V) under Bernstein;
    S4chain, S4_opt without.
    .. math:: \frac{b+8\sigma^2}{n}\sum_j D_j\log\Bigl(1+\frac{4B_j\beta_jDn}{D_j}\Bigr) + \frac2n\Bigl[\sqrt
       b+\Bigl(2+\frac{b}{4\sigma^2}\Bigr)(\sqrt b+\sigma)\Bigr]
    Because: the complexity must grow with (d + k) r, not with r; the formula even takes the log of a log
    Assumes:
    - spectral norms and ranks of W_v, W_QK bounded; ||W_c||_2 <= Bc, ||w||_2 <= Bw
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
    - At d = 200, n = 4*10^5 the excess of that example is 4.9e-4, the printed bound 2.1e-4; without the second
      logarithm and with the right b_i it still fails at d = 5000, n = 10^8.
    - beta_w = B_c is neither the output norm L_sigma B_c B_v b nor the 1 of the norm-based proof; beta_c lacks B_v,
      beta_QK lacks b^2; B_W of Assumption 5.7 is dropped.
    - Assumption 5.5 bounds ranks only, the proof needs the norms too.
    - For large radius N_rank is negative and has no logarithm.
    """

    paper, place = LI, "Theorem B.4"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +Bx +B +d +k +rv +rqk"

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
        return printed_one_layer(H=1, **inputs)

    def sound(self) -> Variants:
        inputs = self.as_inputs()
        return sound_one_layer(H=1, **inputs)
