import math

from certiformer.theory.calculus.rademacher import gap_bounds
from certiformer.theory.core import Quantity, Result, Status, Variants, count, flag, printed_value, real
from certiformer.theory.theorems.trauger import TRAUGER


class Section23(Result):
    r"""Rademacher complexity bounds the generalization gap.

    For a loss in [0, c] on the whole support and a class fixed before the sample (docs/proofs/chaining.md, T9).

    One McDiarmid inequality each. The uniform form needs a complexity bound that holds for every sample.

    Printed: |L_D - L_S| <= 2 Rad + 4 c sqrt(2 ln(4/delta)/n) with probability 1 - delta, |loss| <= c
    .. math:: |L_D-L_S|\le 2\,\mathrm{Rad}_n+4c\sqrt{2\log(4/\delta)/n}
    Sound: Loss in [0, c], one-sided: data 2 Rad_S + 3c sqrt(ln(1/delta)/2n); uniform (rad valid for every sample) 2
    Rad + c sqrt(ln(1/delta)/2n); two-sided with delta/2.
    .. math:: 2\,\mathrm{Rad}_S + 3c\sqrt{\ln(1/\delta)/2n} \quad\text{(data)},\qquad 2\,\overline{\mathrm{Rad}} +
       c\sqrt{\ln(1/\delta)/2n} \quad\text{(uniform)}
    Because: holds, two-sided; the constants are loose by a factor of about two
    Assumes:
    - the sample is i.i.d. and the class is fixed before it is seen
    - the loss is bounded on the support (clip it); a range read off the sample proves nothing
    Defects:
    - n and m stand for the same number.
    - The cited theorem is one-sided; the two-sided form is true because its constants are loose.
    - Cross-entropy is not bounded: the statement needs a clipped loss.
    """

    id = "trauger.rad2gap"
    paper, place = TRAUGER, "Section 2.3"
    bounds, status = Quantity.GAP, Status.TRUE
    monotone = "+rad +c -delta -n"
    proof = "docs/proofs/chaining.md"

    rad: float = real("Rademacher complexity of the loss class", low_open=False, example=0.1)
    c: float = real("range of the loss on the whole support: loss in [0, c]")
    delta: float = real("failure probability", high=1, example=0.05, symbol="δ")
    n: int = count("sample size", example=1000, aliases=("m", "N"))
    every_sample: bool | None = flag("rad holds for every sample of the support, not only for this one")

    def printed(self) -> Variants:
        return {"value": printed_value(2 * self.rad + 4 * self.c * math.sqrt(2 * math.log(4 / self.delta) / self.n))}

    def sound(self) -> Variants:
        ln_inverse = -math.log(self.delta)
        one_sided = gap_bounds(self.rad, self.c, ln_inverse, self.n, self.every_sample)
        # Both directions at once: two events, half of delta each.
        both = gap_bounds(self.rad, self.c, ln_inverse + math.log(2.0), self.n, self.every_sample)
        return {**one_sided, "two_sided": both["uniform"], "two_sided_data": both["data"]}
