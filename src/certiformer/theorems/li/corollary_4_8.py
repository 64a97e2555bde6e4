from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._architecture import growth
from certiformer.theorems.li._corollary import printed_variants, sound_variants


class Corollary48(Result):
    r"""Excess risk by covering numbers, H heads.

    S1, S2, S4 of Corollary 4.5 with |f| <= H K B_x.

    Printed: excess <= (2 M_MH/n)(1 + log E N(radius)) + 8 kappa radius + inf, M_MH = 2 kappa (B + H Bw Bc Bv
    L_sigma BX)
    .. math:: \frac{2M_{MH}}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Sound: With D = H K Bx >= |f|: S2 (squared loss, sub-Gaussian noise), b = (B + D)^2; S4 (no condition): inf + 2
    kappa D sqrt(log N/2n) + 2 kappa delta; S1 (given V): Bernstein with M = kappa (B + D).
    Because: H = 1 is Corollary 4.5 and has its counterexamples
    Assumes:
    - logN is that of a proper cover of the whole domain at the given radius, fixed before the data
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    - heads are summed before one readout, without 1/sqrt(H)
    Defects:
    - Inherits Theorem 4.4: the noise is lost, kappa may ignore it, no Bernstein condition; counterexamples 1 to 4
      apply.
    - log E N is for covers of the sample; the proved forms need a cover fixed before the data.
    - The 1 + is superfluous.
    - No proof is given (only 4.5, 4.7 and 4.13 have one).
    """

    paper, place = LI, "Corollary 4.8"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +logN +radius +Bx +B +H"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    B: float = real("bound on the Bayes predictor |f0(X)|")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    BX: float = real("bound on ||X||_{2->2} (enters the printed side only)", example=1.5, symbol="B_X")
    H: int = count("number of heads, summed before the readout", example=2)
    sigma: float = real("the label noise Y - E[Y|X] is sub-Gaussian with this parameter", example=0.5, symbol="σ")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    radius: float = real("cover radius", example=0.001, symbol="δ", aliases=("cover_radius",))
    logN: float = real("log covering number at the radius", low_open=False, example=200)
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
        rest = {
            name: value
            for name, value in self.as_inputs().items()
            if name not in ("Bw", "Bc", "Bv", "L_sigma", "kappa", "B", "Bx", "BX", "H")
        }
        M_MH = 2.0 * self.kappa * (self.B + growth(self.Bw, self.Bc, self.Bv, self.L_sigma, self.H) * self.BX)
        return printed_variants(M=M_MH, kappa=self.kappa, **rest)

    def sound(self) -> Variants:
        rest = {
            name: value
            for name, value in self.as_inputs().items()
            if name not in ("Bw", "Bc", "Bv", "L_sigma", "Bx", "BX", "H")
        }
        return sound_variants(output_bound=growth(self.Bw, self.Bc, self.Bv, self.L_sigma, self.H) * self.Bx, **rest)
