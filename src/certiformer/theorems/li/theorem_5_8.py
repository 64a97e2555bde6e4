from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._rank_based import printed_many_layers, sound_many_layers


class Theorem58(Result):
    r"""Excess risk of a multi-layer Transformer, rank based.

    (squared loss, sub-Gaussian noise): the form of Theorem B.4 with the sensitivities of eq. (5),
    D = d + sum_l [(d+k) r_c + (d+k) r_v + 2 d r_QK] and b = (B + B_w)^2.

    Printed: excess <= 4 kappa (B + Bw)/n (1 + sum_i r_i C_i log(b_i^2/radius^2)) + 8 kappa radius + inf, b_i by
    Corollary 5.6, C_i = 1/2
    .. math:: \frac{4\kappa(B+B_w)}{n}\Bigl(1+\sum_i
       r_iC_i\log\frac{b_i^2}{\delta^2}\Bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Sound: log N counts parameters: D = d + sum_l [(d+k) rc + (d+k) rv + 2d rqk]. S2 (squared loss, sub-Gaussian
    noise): log N/(n lambda) + 2 delta (sqrt b + A (sqrt b + sigma)), b = (B + Bw)^2, 1/lambda <= b + 8 sigma^2;
    S2_opt: best delta and a; S1 (given V): Bernstein; S4chain, S4_opt: no condition, slow.
    Because: ranks in place of (d + k) r parameters; sigma^2 d/n is the truth inside its rank-one class
    Assumes:
    - spectral norms and ranks bounded in every layer; ||w||_2 <= Bw; input tokens of norm at most Bx
    - normalisation: the projection on the unit ball (rho = xi = 1), or LayerNorm with its rho and xi
    - norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    - no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK
    Defects:
    - Assumption 5.7 is false: r = 1, 2 x 2 matrices e_1 a^T already form a disc, N >= 1/eps^2; the count must grow
      with (d + k) r, not with r.
    - Counterexample: one token, identity activation, all ranks 1, class {theta.x : ||theta||_2 <= 1}, Y = +-1. The
      excess risk is sigma^2 d/n, so no bound in ranks and norms alone can hold.
    - One layer, d = 5000, n = 10^8: excess 5.0e-5, printed 1.3e-5. The remark that ranks control the risk is
      therefore false.
    - b_i of Corollary 5.6 is not the minimiser's; alpha is off by one layer; B_v and B_c are exchanged at W_v;
      L_sigma^2 per block, B_x^3 in layer one and B_W are missing; C_i is undefined.
    - Inherits Corollary 4.13: no Bernstein condition, kappa may ignore the noise.
    """

    paper, place = LI, "Theorem 5.8"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +Bx +B +d +k +rc +rv +rqk"

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
    layers: int = count("depth", example=2, symbol="L")
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
    rho: float = real("norm bound after normalisation; LayerNorm: sqrt(d) max|gain| + ||bias||_2", default=1.0)
    xi: float = real("Lipschitz constant of the normalisation; LayerNorm: max|gain|/sqrt(eps)", default=1.0)

    def printed(self) -> Variants:
        inputs = self.as_inputs()
        return printed_many_layers(**inputs)

    def sound(self) -> Variants:
        inputs = self.as_inputs()
        return sound_many_layers(**inputs)
