from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._norm_based import printed_one_layer, sound_one_layer


class TheoremB1(Result):
    r"""Excess risk of one head, norm based.

    gamma^3/delta^2 *is* the log covering number, with gamma over the weights u = W_c w, W_v, W_QK. Without
    any
    condition it gives a chained n^{-1/2} log n (S4chain); with sub-Gaussian noise and squared loss the volume gives
    P log n/n with P = k + dk + d^2 parameters (S2). No bound in the norms alone can be polylog/n.

    Printed: excess <= 4 kappa (B + Bw Bc Bv L_sigma BX)/n (1 + log(gamma^3/radius^2)) + 8 kappa radius + inf, gamma
    = C1^(1/3) Bx^(2/3) [(Bw L_sigma)^(2/3) + 2 (Bw L_sigma Bc Bv)^(2/3) + 1], C1 = log(2dk+1)
    .. math:: \frac{4\kappa(B+B_wB_cB_vL_\sigma
       B_X)}{n}\Bigl(1+\log\frac{\gamma_{SH}^3}{\delta^2}\Bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Sound: log N(delta) <= gamma^3/delta^2 (not its log), gamma = sum_j (B_j^2 log(2m_j+1))^(1/3) beta_j^(2/3) over
    u = W_c w, W_v, W_QK. S4chain (kappa-Lipschitz loss, nothing else): 2 kappa times the best chain, at most 2
    kappa e sqrt(2 gamma^3/n) (1 + log(...)). S4_opt: 2 kappa D sqrt(log N/2n) + 2 kappa delta. S2 (squared loss,
    sub-Gaussian noise): log N/(n lambda) + discretisation. S1 (given V): the same under a Bernstein condition.
    Because: takes the logarithm of a log covering number; d-dimensional regression inside the l1 ball refutes it
    Assumes:
    - ||W||_{1,1} bounds on W_c, W_v, W_QK; ||w||_2 <= Bw
    - every token has norm at most Bx
    - norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    - no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK
    Defects:
    - The log covering number of the class is gamma^3/delta^2; the theorem puts log(gamma^3/delta^2) in its place.
      One head, k = 1, all norms 1, d = 10, delta = 0.05: log N is at least 20.8, the printed logarithm is 11.3.
    - gamma lacks B_QK altogether, B_c in the W_c term, B_w in the w term and the 2^(2/3) of the paper's own
      constraint.
    - The constraint on the radii drops B_X (one line above it is there), B_v at W_c and B_x^2 at W_QK: the output
      moves up to 27 times further than allowed for.
    - The readout is bounded in l2 while the cover is for l1 balls.
    - Only the CLS token is assumed bounded, all tokens are used; B_X = ||X||_{2->2} grows like sqrt(T), so the
      bound is not free of the sequence length.
    - Inherits Corollary 4.5: no Bernstein condition, and a Lipschitz constant that ignores the label noise.
    - The value can be negative (small n, large radius).
    - Counterexample: one token x = e_J uniform on d coordinates, Y = +-1, class {theta.x : ||theta||_1 <= 1}, kappa
      = 4: at d = 1000, n = 10^10 the excess risk is 9.9e-8, the printed bound 8.8e-8; for d = 0.8 n^(1/3) it is
      n^(-2/3).
    """

    paper, place = LI, "Theorem B.1"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n"

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
