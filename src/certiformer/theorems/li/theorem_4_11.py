from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._offset_theorem import (
    printed_variants,
    sound_variants,
)


class Theorem411(Result):
    r"""Excess risk by offset complexity, several layers.

    The forms of Theorem 4.4 with |f| <= rho B_w, rho = 1 for the projection on the unit ball and
    sqrt(d) max|gain| + ||bias||_2 for LayerNorm.

    Printed: excess <= 4 R_off(G, 1/(2 kappa (B + Bw))) + inf
    .. math:: 4R^{off}_n\bigl(G,\tfrac1{2\kappa(B+B_w)}\bigr)+\inf_f\mathcal E(f)
    Sound: A (any loss in [0, M], any class): E R(fhat) <= 2(1+a) R_off(losses, a/((1+a)M)) + (1+2a) E R_n(fhat). B
    (squared loss, N functions): (4b + 24 sigma^2) log N/n + 6 inf, with the noise's own offset term. C (noise-free
    labels, f* Bayes): 4 R_off(G, 1/M) + 3 inf. A fast rate relative to the best in a non-convex class needs another
    estimator than ERM.
    Because: drops the label noise; one layer with an inactive projection has the counterexamples of Theorem 4.4
    Assumes:
    - normalisation: the projection on the unit ball (rho = xi = 1), or LayerNorm with its rho and xi
    - Roff is the expectation over samples; one sample gives an estimate, a search in a network a lower bound
    - the predictor minimises the empirical risk over the whole class
    Defects:
    - One layer with Bc Bv Bx <= 1 leaves the projection inactive, so the counterexamples of Theorem 4.4 apply.
    - LayerNorm maps into a ball of radius sqrt(d) max|gain| + ||bias||, not into the unit ball; x/||x|| is not
      Lipschitz at 0.
    - Eqs. (4)-(5) apply the activation twice per block; the proofs quoted from Trauger and Tewari are for another
      block.
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

    paper, place = LI, "Theorem 4.11"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "+Roff"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    B: float = real("bound on the Bayes predictor |f0(X)|")
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
    rho: float = real("norm bound after normalisation; LayerNorm: sqrt(d) max|gain| + ||bias||_2", default=1.0)

    def printed(self) -> Variants:
        return printed_variants("M_ML", 2.0 * self.kappa * (self.B + self.Bw), self.Roff, self.approx)

    def sound(self) -> Variants:
        options = {name: value for name, value in self.as_inputs().items() if name not in ("Bw", "kappa", "B", "rho")}
        distance = self.B + self.rho * self.Bw
        return sound_variants("M_ML", honest_M=2.0 * self.kappa * distance, distance=distance, **options)
