import math

from certiformer.theory.calculus.rademacher import gap_bounds, of_loss
from certiformer.theory.core import Quantity, Result, Status, Variants, count, flag, printed_value, real
from certiformer.theory.theorems.mwigo import MWIGO


class Section32(Result):
    r"""Rademacher complexity bounds the generalization gap.

    Printed: sup (L_D - L_S) <= 2 rho R_S(F) + 3 c sqrt(log(2/delta)/2N) with probability 1 - delta
    .. math:: \sup_{f\in F}\{L_D(f)-L_S(f)\}\le2\rho R_S(F)+3c\sqrt{\log(2/\delta)/2N}
    Sound: data: 2 min(rho R_S, c/2) + 3c sqrt(ln(1/delta)/2N); uniform (rad valid for every sample): c instead of
    3c.
    .. math:: \sup_{f\in F}\{L_D(f)-L_S(f)\}\le2\min\bigl(\rho R_S,\tfrac{c}{2}\bigr)+3c\sqrt{\frac{\ln(1/\delta)}{2N}}
    Because: the standard theorem; its constants can be sharpened
    Assumes:
    - the sample is i.i.d. and the class is fixed before it is seen
    - the loss is bounded on the support (clip it); a range read off the sample proves nothing
    Defects:
    - The letter rho is used again later for sqrt(N) d_s^{3/2} R_X.
    """

    id = "mwigo.rad2gap"
    paper, place = MWIGO, "Section 3.2"
    bounds, status = Quantity.GAP, Status.TRUE
    monotone = "+rho +rad +c -delta -n"
    proof = "docs/proofs/chaining.md"

    rho: float = real("Lipschitz constant of the loss in the prediction", symbol="ρ")
    rad: float = real("Rademacher complexity of the class of predictors", low_open=False, example=0.1, symbol="R_S")
    c: float = real("range of the loss on the whole support: loss in [0, c]")
    delta: float = real("failure probability", high=1, example=0.05, symbol="δ")
    n: int = count("sample size", example=400, aliases=("N", "m"))
    every_sample: bool | None = flag("rad holds for every sample of the support, not only for this one")

    def printed(self) -> Variants:
        return {
            "value": printed_value(
                2 * self.rho * self.rad + 3 * self.c * math.sqrt(math.log(2 / self.delta) / (2 * self.n))
            )
        }

    def sound(self) -> Variants:
        losses = of_loss(self.rad, self.rho, self.c)
        return gap_bounds(losses, self.c, -math.log(self.delta), self.n, self.every_sample)
