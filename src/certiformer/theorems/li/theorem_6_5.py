from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._subgaussian import printed_one_layer, sound_one_layer


class Theorem65(Result):
    r"""Sub-Gaussian inputs, H heads, norm based.

    Three tail functionals of b(X), the largest token norm, replace T_err; S7 (Lipschitz), S8 (squared),
    S7clip
    (clipped outputs: no truncation at all), S4 (no condition).

    Printed: excess <= 4 kappa (B + H Bw Bc Bv L_sigma M)/n (1 + log(gamma^3/radius^2)) + T_err + 8 kappa radius +
    inf, T_err = O(kappa nu (T+d) exp(-M^2/(2 nu^2))), gamma of Theorem B.2 with M for the input bounds
    .. math:: \frac{4\kappa(B+HB_wB_cB_vL_\sigma M)}{n}\Bigl(1+\log\frac{\gamma^3}{\delta^2}\Bigr)+\mathcal
       T_{err}(M)+8\kappa\delta+\inf
    Sound: P(b(X) > t) <= a exp(-t^2/2v) gives p, m1, m2 beyond M. S7 (Lipschitz loss, Bernstein): log N/(n lambda)
    + (1+A) kappa delta + (A-1)(M_g + M_g^2/V')p + kappa K' m1, best V' >= V. S8 (squared loss): (sqrt Q + sqrt(K'^2
    m2))^2. S7clip (outputs clipped at B): S1 or S2 with delta + 2Bp for delta, no truncation. S4: no condition,
    slow.
    Because: bounded inputs are a special case and refute Theorem B.2; the truncation error drops (M^2 + 2 nu^2)/nu
    Assumes:
    - entrywise l1 norms bounded (or ranks, once given)
    - the tail bound is for b(X), the largest token norm (or any norm above it), and known in advance
    - S7, S8: the predictor is fhat o T_M, trained and deployed on truncated inputs; else add kappa K' m1
    - norms, ranks and the cover radius are fixed before the data are seen (or paid for: `strata`)
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    - no residual stream, no MLP, no biases; a 1/sqrt(d_head) factor is part of W_QK
    Defects:
    - The log covering number of the class is gamma^3/delta^2; the theorem puts log(gamma^3/delta^2) in its place.
      One head, k = 1, all norms 1, d = 10, delta = 0.05: log N is at least 20.8, the printed logarithm is 11.3.
    - The proof arrives at (M^2 + 2 nu^2) exp(-M^2/2nu^2) and then prints nu exp(-M^2/2nu^2): the ratio (M^2 + 2
      nu^2)/nu is unbounded (11 at nu = 1, M = 3), and the network's constant is dropped.
    - The network is said to be locally Lipschitz in X with constant O(||X||); it is of order 1 + ||X||^2.
    - Assumption 6.2 measures nu in units of X^2 and squares it again; it is not scale equivariant and fails for
      Gaussian matrices.
    - A Lipschitz constant independent of M is impossible for the squared loss.
    - The theorem is about f_n, the estimator is f_n^(M); the proof has 3 inf, the theorem 1 inf.
    - H = 1 on bounded inputs is refuted as Theorem 6.4 is.
    """

    paper, place = LI, "Theorem 6.5"
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
    sigma: float = real("the label noise Y - E[Y|X] is sub-Gaussian with this parameter", example=0.5, symbol="σ")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    radius: float = real("cover radius", example=0.001, symbol="δ", aliases=("cover_radius",))
    H: int = count("number of heads, summed before the readout", example=2)
    M: float = real("truncation threshold of the token norm (for clipped outputs an analysis parameter)", example=6)
    T: int = count("sequence length", example=5)
    nu: float = real("the paper's variance proxy max(||E X^T X||, ||E X X^T||)", symbol="ν")
    a: float | None = real("P(b(X) > t) <= a exp(-t^2/2v)", default=None, otherwise="T + d, as in Lemma 6.1")
    v: float | None = real("in units of the inputs squared", default=None, otherwise="nu, as in Lemma 6.1")
    rv: int | None = count("bound on the rank of W_v", default=None, otherwise="norm cover, ranks unused")
    rqk: int | None = count("bound on the rank of W_QK", default=None, otherwise="norm cover, ranks unused")
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

    def printed(self) -> Variants:
        inputs = self.as_inputs()
        return printed_one_layer(**inputs)

    def sound(self) -> Variants:
        inputs = self.as_inputs()
        return sound_one_layer(**inputs)
