from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._heavy import printed_one_layer, sound_one_layer


class Theorem69(Result):
    r"""Heavy-tailed inputs, one head, rank based.

    S7, S8 where inputs are truncated; S7clip where outputs are confined, with no loss of rate for any tail
    index.

    Printed: excess <= 4 kappa (B + Bw Bc Bv L_sigma M)/n (1 + log N_rank) + C_beta M^(2-beta) + 8 kappa radius +
    inf, N_rank of Theorem B.4 with M for the input bounds, C_beta = kappa C beta/(beta-2)
    .. math:: \frac{4\kappa(B+B_wB_cB_vL_\sigma M)}{n}(1+\log\mathcal N_{rank})+C_\beta
       M^{2-\beta}+8\kappa\delta+\inf
    Sound: P(b(X) > t) <= C t^-beta. S7 (Lipschitz): bias kappa K' C (2beta-1)/(beta-1) M^(1-beta), beta > 1, best
    V' >= V; S8 (squared): K'^2 C (4 + 2/(beta-2) + 2/(beta-1)) M^(2-beta), beta > 2; S7clip (outputs clipped at B):
    only P(b > M) = C M^-beta, every beta > 0, D log n/n at M = n^(1/beta); S4 without condition; S9: log-truncated
    ERM for heavy-tailed labels.
    Because: bounded inputs are a special case and refute Theorem B.4; the dominant bias term of the proof is
    dropped
    Assumes:
    - spectral norms and ranks bounded
    - the tail bound is for b(X), the largest token norm (or any norm above it), and known in advance
    - S7, S8: the predictor is fhat o T_M, trained and deployed on truncated inputs; else add kappa K' m1
    - norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    - no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK
    Defects:
    - Assumption 5.7 is false: r = 1, 2 x 2 matrices e_1 a^T already form a disc, N >= 1/eps^2; the count must grow
      with (d + k) r, not with r.
    - The proof ends with C1 M^(1-beta/2) + C2 M^(2-beta); the theorem keeps only the smaller second term (beta = 3,
      M = 100: 0.01 of 0.11).
    - The proof assumes tails of the entries, with constant C (Td)^(1+beta/2); the assumption is about ||X||_F with
      constant C.
    - The estimator minimises the robust loss, the risk bounded is that of the base loss; the scale of the robust
      loss never appears.
    - The base loss is already assumed Lipschitz, so the robust loss does nothing; psi' <= 1 holds for Catoni's
      function but reaches 1.76 for the generalized one.
    - M^(2-beta) rests on a network Lipschitz constant O(||X||) that is really O(1 + ||X||^2); by growth alone the
      bias of a Lipschitz loss is of order M^(1-beta).
    - Counterexample: bounded inputs satisfy the assumption for every beta; d = 200, n = 4*10^5, beta = 100, M =
      1.5: excess 5.2e-4, printed 3.2e-4.
    - Says multi-head where it means single-head, and has an unmatched bracket.
    """

    paper, place = LI, "Theorem 6.9"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +d +k +rv +rqk"

    d: int = count("token dimension", example=4)
    k: int = count("width of the value matrix", example=3)
    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    BQK: float = real("bound on the norm of W_QK", example=0.7, symbol="B_QK")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    B: float = real("bound on the Bayes predictor |f0(X)|")
    sigma: float = real("the label noise Y - E[Y|X] is sub-Gaussian with this parameter", example=0.5, symbol="σ")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    radius: float = real("cover radius", example=0.001, symbol="δ", aliases=("cover_radius",))
    M: float = real("truncation threshold of the token norm (for clipped outputs an analysis parameter)", example=6)
    C: float = real("P(b(X) > t) <= C t^-beta")
    beta: float = real("tail index", example=3, symbol="β")
    rw: int = count("rank of w (one; enters the printed side only)", example=1, symbol="r_w")
    rc: int = count("bound on the rank of W_c", example=2, symbol="r_c")
    rv: int = count("bound on the rank of W_v", example=2, symbol="r_v")
    rqk: int = count("bound on the rank of W_QK", example=1, symbol="r_QK")
    approx: float = real(
        "excess risk of the best predictor in the class over Bayes", low_open=False, example=0.0, default=0.0
    )
    V: float | None = real("Bernstein constant", example=5, default=None, otherwise="S7 and S7clip_lip are left out")
    tilt: float | None = real("a in (0, 1/(2 sigma^2)) for S8 and S7clip_sq", default=None, otherwise="1/(4 sigma^2)")
    eta: float | None = real(
        "failure probability of the observable form", high=1.0, example=0.05, default=None, otherwise="form left out"
    )
    fraction: float | None = real(
        "observed fraction of inputs with b(X) > M",
        high=1.0,
        low_open=False,
        high_open=False,
        example=0.0,
        default=None,
        otherwise="form left out",
    )
    honest_kappa: bool | None = flag("kappa holds for every label y, not only for the conditional risk")
    bernstein: bool | None = flag("the Bernstein condition holds with the constant V")
    squared_loss: bool | None = flag("squared loss, f0(X) = E[Y|X], noise sub-Gaussian with parameter sigma")
    well_specified: bool | None = flag("the Bayes predictor belongs to the class")
    clipped: bool | None = flag("outputs are clipped to [-B, B] inside the training objective, and |f0| <= B")
    moment: float | None = real(
        "sup_f E l^alpha of the loss", example=4, symbol="V_α", default=None, otherwise="S9 is left out"
    )
    alpha: float = real("order of that moment", low=1.0, high=2.0, high_open=False, example=2.0, default=2.0)

    def printed(self) -> Variants:
        inputs = self.as_inputs()
        return printed_one_layer(H=1, **inputs)

    def sound(self) -> Variants:
        inputs = self.as_inputs()
        return sound_one_layer(H=1, **inputs)
