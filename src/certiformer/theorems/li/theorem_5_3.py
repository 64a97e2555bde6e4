from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._norm_based import printed_many_layers, sound_many_layers


class Theorem53(Result):
    r"""Excess risk of a multi-layer Transformer, norm based.

    The sum gamma over w, W_c^l, W_v^l, W_QK^l with the sensitivities of eq. (5); gamma^3/delta^2 is the
    log covering
    number itself. The readout, an l2 ball, is covered inside the l1 ball of radius sqrt(d) B_w and projected back.

    Printed: excess <= 4 kappa (B + Bw)/n (1 + log((gamma_ML + eta_ML)^3/radius^2)) + 8 kappa radius + inf, gammas
    from alpha_i = prod_{j>=i} L_sigma Bc Bv (1 + 4 BQK), C1 = log(2dk+1)
    .. math:: \frac{4\kappa(B+B_w)}{n}\Bigl(1+\log\frac{(\gamma_{ML}+\eta_{ML})^3}{\delta^2}\Bigr)
       +8\kappa\delta+\inf_f\mathcal E(f)
    Sound: log N(delta) <= gamma^3/delta^2 over w and the W_c, W_v, W_QK of every layer, Lambda = xi^2 L_sigma^2 Bc
    Bv (1 + 2 rho^2 BQK) per layer above; sup|f| = rho Bw. Then S4chain, S4_opt (no condition), S2 (squared loss),
    S1 (given V).
    Because: takes the logarithm of a log covering number; one layer is refuted by d-dimensional regression
    Assumes:
    - ||W||_{1,1} bounds in every layer; ||w||_2 <= Bw; input tokens of norm at most Bx
    - normalisation: the projection on the unit ball (rho = xi = 1), or LayerNorm with its rho and xi
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
    - alpha starts at layer i in the theorem and at i + 1 in its proof; with layer constants below one the printed
      one is smaller.
    - The third term of tau_i has B_v where the proof's own inequality has B_c; B_c, B_v, B_QK are missing from the
      costs.
    - Eq. (5) applies the activation twice per block (L_sigma^2), the first layer sees tokens of norm B_x (B_x^3 at
      W_QK), and W_c reads inputs of norm L_sigma B_v b, not 1.
    - Counterexample with one layer: d = 5000, n = 10^12: excess 4.98e-9, printed 1.04e-9.
    """

    paper, place = LI, "Theorem 5.3"
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
    layers: int = count("depth", example=2, symbol="L")
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
