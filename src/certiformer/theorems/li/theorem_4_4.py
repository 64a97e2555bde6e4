from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, derived, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._architecture import growth
from certiformer.theorems.li._offset_theorem import (
    printed_variants,
    sound_variants,
)


class Theorem44(Result):
    r"""Excess risk by offset complexity, one head.

    Three forms, none with the printed right-hand side; see `sound_statement`.

    Printed: excess <= 4 R_off(G, 1/M_SH) + inf, M_SH = 2 kappa (B + Bw Bc Bv L_sigma BX)
    .. math:: 4R^{off}_n(G,1/M_{SH})+\inf_f\mathcal E(f),\; M_{SH}=2\kappa B+2\kappa B_wB_cB_vL_\sigma B_X
    Sound: A (any loss in [0, M], any class): E R(fhat) <= 2(1+a) R_off(losses, a/((1+a)M)) + (1+2a) E R_n(fhat). B
    (squared loss, N functions): (4b + 24 sigma^2) log N/n + 6 inf, with the noise's own offset term. C (noise-free
    labels, f* Bayes): 4 R_off(G, 1/M) + 3 inf. A fast rate relative to the best in a non-convex class needs another
    estimator than ERM.
    Because: drops the label noise; four counterexamples; true with 3 inf when labels are a function of the inputs
    Assumes:
    - Roff is the expectation over samples; one sample gives an estimate, a search in a network a lower bound
    - the predictor minimises the empirical risk over the whole class
    Defects:
    - The proof has 3 inf, the theorem 1 inf.
    - 0 <= g is asserted; it fails for g(X, Y; f) once labels are noisy, and for its conditional mean unless f* is
      Bayes.
    - The proof replaces g(X, Y; f) by its conditional mean inside a supremum: the noise process is lost. Assumption
      4.3 thereby lets kappa ignore the noise altogether.
    - Counterexample 1: squared loss, f in [-1, 1], Y ~ N(0, 100^2), n = 100: excess 0.947, 4 R_off = 0.040.
    - Counterexample 2: absolute loss, Y ~ N(0, n), n = 10^10 + 1: excess 2.4e-6, Corollary 4.5 gives 2.0e-8; it
      decays like n^(-1/2).
    - Counterexample 3: squared loss, bounded labels, a cross {(s,0)} u {(0,s)} that misses the target: n^(-1/2)
      again.
    - Counterexample 4: squared loss, well specified, Y = +-1000: the scale is (f - f0)^2 + 4 Var(Y|x), not M.
    - M is defined with and without the factor 2; the softmax matrix has norm up to sqrt(T), only its rows are
      probabilities; ||X||_{2->2} may be replaced by the largest token norm.
    """

    paper, place = LI, "Theorem 4.4"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "+Roff"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    B: float = real("bound on the Bayes predictor |f0(X)|")
    BX: float = real("bound on ||X||_{2->2} (enters the printed side only)", example=1.5, symbol="B_X")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x", factory=derived("BX", lambda x: x.BX))
    Roff: float = real("offset complexity of the excess losses at 1/M", low=-1e300, low_open=False, example=0.02)
    approx: float = real(
        "excess risk of the best predictor in the class over Bayes", low_open=False, example=0.0, default=0.0
    )
    Roff_loss: float | None = real(
        "offset complexity of the *losses* at a/((1+a) M)", low=-1e300, default=None, otherwise="A left out"
    )
    emp: float | None = real(
        "expected empirical risk of the minimiser", low_open=False, default=None, otherwise="A left out"
    )
    a: float = real("parameter of variant A", default=1.0)
    n: int | None = count(
        "sample size (finite class)", aliases=("m", "N"), default=None, otherwise="finite-class forms left out"
    )
    logN: float | None = real(
        "log of the number of functions (finite class)", low_open=False, default=None, otherwise="left out"
    )
    M: float | None = real("the loss lies in [0, M]", default=None, otherwise="A_finite left out")
    sigma: float | None = real("sub-Gaussian parameter of the noise", symbol="σ", default=None, otherwise="B left out")
    noise_free: bool | None = flag("the label is a function of the input and f* is the Bayes predictor")
    squared_loss: bool | None = flag("squared loss, f0(X) = E[Y|X], noise sub-Gaussian with parameter sigma")

    def printed(self) -> Variants:
        M_SH = 2.0 * self.kappa * (self.B + growth(self.Bw, self.Bc, self.Bv, self.L_sigma) * self.BX)
        return printed_variants("M_SH", M_SH, self.Roff, self.approx)

    def sound(self) -> Variants:
        options = {
            name: value
            for name, value in self.as_inputs().items()
            if name not in ("Bw", "Bc", "Bv", "L_sigma", "kappa", "B", "BX", "Bx")
        }
        distance = self.B + growth(self.Bw, self.Bc, self.Bv, self.L_sigma) * (
            self.BX if self.Bx is None else min(self.Bx, self.BX)
        )
        return sound_variants("M_SH", honest_M=2.0 * self.kappa * distance, distance=distance, **options)
