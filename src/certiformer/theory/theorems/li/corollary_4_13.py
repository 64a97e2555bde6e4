from certiformer.theory.core import Quantity, Status, Variants, real
from certiformer.theory.theorems.li._corollary import GivenCover


class Corollary413(GivenCover):
    r"""Excess risk by covering numbers, several layers.

    S1, S2, S4 of Corollary 4.5 with |f| <= rho B_w; rho = 1 for the projection on the unit ball, sqrt(d) max|gain| +
    ||bias||_2 for LayerNorm.

    Printed: excess <= (4 kappa (B + Bw)/n)(1 + log E N(radius)) + 8 kappa radius + inf
    .. math:: \frac{4\kappa(B+B_w)}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)
    Quoted: \left(1+\log\mathbb{E}_{\mathbb{X}}{\left[N_{\infty}(\delta,\mathcal{F}_{\mathrm{ML}},\mathbb{X})\right]}
    \right)+8\kappa\delta
    Sound: With D = rho Bw >= |f|: S2 (squared loss, sub-Gaussian noise), b = (B + D)^2; S4 (no condition): inf + 2
    kappa D sqrt(log N/2n) + 2 kappa delta; S1 (given V): Bernstein with M = kappa (B + D).
    .. math:: \inf_f\mathcal E(f)+2\kappa D\sqrt{\frac{\log N}{2n}}+2\kappa\delta,\quad D=\rho B_w
    Because: one layer with an inactive projection is Corollary 4.5 and has its counterexamples
    Assumes:
    - tokens have norm at most rho after the last normalisation; rho = 1 is that of the projection on the unit ball
    Defects:
    - LayerNorm does not map into the unit ball: the printed bound needs the projection.
    """

    place = "Corollary 4.13"
    bounds, status = Quantity.EXCESS_RISK, Status.FALSE
    monotone = "-n +logN +radius +B +Bw +rho"

    Bw: float = real("bound on ||w||_2, the readout", symbol="B_w")
    rho: float = real("norm bound after normalisation; LayerNorm: sqrt(d) max|gain| + ||bias||_2", default=1.0)

    def printed(self) -> Variants:
        return self.printed_form(2.0 * self.kappa * (self.B + self.Bw))

    def sound(self) -> Variants:
        return self.forms(self.rho * self.Bw)
