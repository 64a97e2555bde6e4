from certiformer.theory.core import Quantity, Status, Variants, count, real
from certiformer.theory.theorems.li._architecture import growth
from certiformer.theory.theorems.li._corollary import GivenCover


class Corollary48(GivenCover):
    r"""Excess risk by covering numbers, H heads.

    S1, S2, S4 of Corollary 4.5 with |f| <= H K B_x.

    Printed: excess <= (2 M_MH/n)(1 + log E N(radius)) + 8 kappa radius + inf, M_MH = 2 kappa (B + H Bw Bc Bv
    L_sigma BX)
    .. math:: \frac{2M_{MH}}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Quoted: \frac{2M_{\mathrm{MH}}}{n}\left(1+\log\mathbb{E}_{\mathbb{X}}{\left[N_{\infty}(\delta,\mathcal{F}_{
    \mathrm{MH}},\mathbb{X})\right]}\right)
    Sound: With D = H K Bx >= |f|: S2 (squared loss, sub-Gaussian noise), b = (B + D)^2; S4 (no condition): inf + 2
    kappa D sqrt(log N/2n) + 2 kappa delta; S1 (given V): Bernstein with M = kappa (B + D).
    .. math:: \inf_f\mathcal E(f)+2\kappa D\sqrt{\frac{\log N}{2n}}+2\kappa\delta,\quad D=HKB_x
    Because: H = 1 is Corollary 4.5 and has its counterexamples
    Defects:
    - No proof is given (only 4.5, 4.7 and 4.13 have one).
    """

    place = "Corollary 4.8"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +logN +radius +Bx +B +H"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    Bc: float = real("bound on the norm of W_c", example=1.2, symbol="B_c")
    Bv: float = real("bound on the norm of W_v", example=0.9, symbol="B_v")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    BX: float = real("bound on ||X||_{2->2} (enters the printed side only)", example=1.5, symbol="B_X")
    H: int = count("number of heads, summed before the readout", example=2)

    def printed(self) -> Variants:
        return self.printed_form(
            2.0 * self.kappa * (self.B + growth(self.Bw, self.Bc, self.Bv, self.L_sigma, self.H) * self.BX)
        )

    def sound(self) -> Variants:
        return self.forms(growth(self.Bw, self.Bc, self.Bv, self.L_sigma, self.H) * self.Bx)
