from __future__ import annotations

from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.li import LI
from certiformer.theorems.li._corollary import printed_variants, sound_variants


class Corollary413(Result):
    r"""Excess risk by covering numbers, several layers.

    S1, S2, S4 of Corollary 4.5 with |f| <= rho B_w; rho = 1 for the projection on the unit ball,
    sqrt(d) max|gain| + ||bias||_2 for LayerNorm.

    Printed: excess <= (4 kappa (B + Bw)/n)(1 + log E N(radius)) + 8 kappa radius + inf
    .. math:: \frac{4\kappa(B+B_w)}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Sound: With D = rho Bw >= |f|: S2 (squared loss, sub-Gaussian noise), b = (B + D)^2; S4 (no condition): inf + 2
    kappa D sqrt(log N/2n) + 2 kappa delta; S1 (given V): Bernstein with M = kappa (B + D).
    Because: one layer with an inactive projection is Corollary 4.5 and has its counterexamples
    Assumes:
    - logN is that of a proper cover of the whole domain at the given radius, fixed before the data
    - the predictor minimises the empirical risk over the whole class (else add the optimisation error)
    - normalisation: the projection on the unit ball (rho = xi = 1), or LayerNorm with its rho and xi
    Defects:
    - Inherits Theorem 4.4: the noise is lost, kappa may ignore it, no Bernstein condition; counterexamples 1 to 4
      apply.
    - log E N is for covers of the sample; the proved forms need a cover fixed before the data.
    - The 1 + is superfluous.
    - LayerNorm does not map into the unit ball: the printed bound needs the projection.
    """

    paper, place = LI, "Corollary 4.13"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +logN +radius +B +Bw +rho"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    kappa: float = real("Lipschitz constant of the loss l(y, .), for every label y", example=2, symbol="κ")
    B: float = real("bound on the Bayes predictor |f0(X)|")
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
    rho: float = real("norm bound after normalisation; LayerNorm: sqrt(d) max|gain| + ||bias||_2", default=1.0)

    def printed(self) -> Variants:
        rest = {name: value for name, value in self.as_inputs().items() if name not in ("Bw", "kappa", "B", "rho")}
        return printed_variants(M=2.0 * self.kappa * (self.B + self.Bw), kappa=self.kappa, **rest)

    def sound(self) -> Variants:
        rest = {name: value for name, value in self.as_inputs().items() if name not in ("Bw", "rho")}
        return sound_variants(output_bound=self.rho * self.Bw, **rest)
