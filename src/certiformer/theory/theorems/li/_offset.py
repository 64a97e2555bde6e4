"""What Theorems 4.4, 4.7 and 4.11 share: excess risk by offset complexity, printed and in its three sound forms."""

from __future__ import annotations

from certiformer.theory.calculus import excess_risk
from certiformer.theory.core import Bound, Quantity, Variants, assumed, printed_value, side_number, stated, upper_bound
from certiformer.theory.core.inputs import count, derived, flag, real
from certiformer.theory.theorems.li._architecture import growth
from certiformer.theory.theorems.li._setting import SquaredLoss


class OffsetComplexity(SquaredLoss):
    r"""Excess risk by offset complexity.

    Sound: A (any loss in [0, M], any class): E R(fhat) <= 2(1+a) R_off(losses, a/((1+a)M)) + (1+2a) E R_n(fhat). B
    (squared loss, N functions): (4b + 24 sigma^2) log N/n + 6 inf, with the noise's own offset term. C (noise-free
    labels, f* Bayes): 4 R_off(G, 1/(2 range)) + 3 inf, twice the range being M_SH, M_MH or M_ML. A fast rate relative
    to the best in a non-convex class needs another estimator than ERM.
    .. math:: E\,R(\hat f)\le 2(1+a)\,R^{off}_n\Bigl(\ell\circ F,\tfrac{a}{(1+a)M}\Bigr)+(1+2a)\,E\,R_n(\hat f)
    Assumes:
    - Roff is the expectation over samples; one sample gives an estimate, a search in a network a lower bound
    - the predictor minimises the empirical risk over the whole class
    Defects:
    - The proof has 3 inf, the theorem 1 inf.
    - 0 <= g is asserted; it fails for g(X, Y; f) once labels are noisy, and for its conditional mean unless f* is
      Bayes.
    - The proof replaces g(X, Y; f) by its conditional mean inside a supremum: the noise process is lost.
      Assumption 4.3 thereby lets kappa ignore the noise altogether.
    - Counterexample 1: squared loss, f in [-1, 1], Y ~ N(0, 100^2), n = 100: excess 0.947, 4 R_off = 0.040.
    - Counterexample 2: absolute loss, Y ~ N(0, n), n = 10^10 + 1: excess 2.4e-6, Corollary 4.5 gives 2.0e-8; it
      decays like n^(-1/2).
    - Counterexample 3: squared loss, bounded labels, a cross {(s,0)} u {(0,s)} that misses the target: n^(-1/2)
      again.
    - Counterexample 4: squared loss, well specified, Y = +-1000: the scale is (f - f0)^2 + 4 Var(Y|x), not M.
    """

    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    B: float = real("bound on the Bayes predictor |f0(X)|")
    Roff: float = real(
        "offset complexity of the excess losses at 1/(2 range), twice the range being what `sound` calls by its name "
        "(M_SH, M_MH or M_ML), not the input M",
        low=-1e300,
        low_open=False,
        example=0.02,
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

    def printed_form(self, name: str, output: float) -> Variants:
        """4 R_off + inf, and the printed M = 2 kappa (B + sup|f|)."""
        scale = 2.0 * self.kappa * (self.B + output)
        return {name: side_number(scale), "value": printed_value(4.0 * self.Roff + self.approx)}

    def forms(self, name: str, output: float) -> Variants:
        """4.4-A, 4.4-B (finite class, a' = 1 and a = 5/2) and 4.4-C, for |f| <= output."""
        distance = self.B + output
        exact_labels = stated(
            "labels are a function of the inputs (or 0 <= g <= M almost surely), f* is Bayes",
            self.noise_free,
            "noise_free=1",
            id="noise-free",
        )
        variants: dict[str, Bound] = {
            name: side_number(2.0 * self.kappa * distance, "with the token norm, and kappa honest"),
            "C": upper_bound(excess_risk.offset_c(self.Roff, self.approx), hypotheses=(exact_labels, self.reference)),
        }
        in_range = assumed("the loss lies in [0, M]")
        if self.emp is not None and self.Roff_loss is not None:
            value = excess_risk.offset_a(self.a, self.Roff_loss, self.emp)
            variants["A"] = upper_bound(value, clip=self.M, bounds=Quantity.RISK, hypotheses=(in_range,))
        if self.n is None or self.logN is None:
            return variants
        if self.emp is not None and self.M is not None:
            value = excess_risk.offset_sample_cover(
                # mutants: same-for-every-value
                self.a,
                self.logN,
                self.n,
                M=self.M,
                kappa=0.0,
                radius=0.0,
                empirical=self.emp,
            )
            variants["A_finite"] = upper_bound(value, clip=self.M, bounds=Quantity.RISK, hypotheses=(in_range,))
        if self.sigma is not None:
            value = excess_risk.offset_b_finite(
                2.5, 1.0, self.logN, self.n, b_h=distance**2, sigma=self.sigma, approximation=self.approx
            )
            variants["B"] = self.squared(value, distance**2)
        return variants


class OneLayerOffset(OffsetComplexity):
    """One layer: |f| <= H Bw Bc Bv L_sigma times the largest token."""

    monotone = "+Roff"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    BX: float = real("bound on ||X||_{2->2} (enters the printed side only)", example=1.5, symbol="B_X")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x", factory=derived("BX", lambda x: x.BX))

    @property
    def scale(self) -> str:
        """The paper's name for twice the range."""
        raise NotImplementedError

    @property
    def heads(self) -> int:
        return 1

    def printed(self) -> Variants:
        return self.printed_form(self.scale, growth(self.Bw, self.Bc, self.Bv, self.L_sigma, self.heads) * self.BX)

    def sound(self) -> Variants:
        largest = min(self.Bx, self.BX)
        return self.forms(self.scale, growth(self.Bw, self.Bc, self.Bv, self.L_sigma, self.heads) * largest)
