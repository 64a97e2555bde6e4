r"""Dudley's entropy integral for ln N(eps) <= C/eps^2, as the papers print it and as it holds.

Printed with an unnamed constant c (1 here), delta at its best:

.. math:: R \le s\,(1 + \ln(D/s)),\qquad s = \sqrt{C/n},

and sound as closed forms and as optimised chains (`calculus.chaining`, T8).
"""

from __future__ import annotations

import math

from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.covers import quadratic_cover
from certiformer.theory.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theory.core.bound import Bound, printed_value, upper_bound
from certiformer.theory.core.hypothesis import stated, verified


class EntropyIntegral(Result):
    r"""What every statement of Dudley's integral for ln N(eps) <= C/eps^2 shares.

    Sound: closed: min(D, 12 s (1 + ln(D/3s))), s = sqrt(C/n); closed_half: 12 s (1 + ln(D/6s)); chain (proper
    covers): eps_K + sum eps_{j-1} sqrt(2 ln N(eps_j)/n); chain_external: eps_{j-1} + eps_j instead of eps_{j-1}.
    .. math:: \mathrm{Rad}\le\min\Bigl(D,\ 12s\bigl(1+\ln\tfrac{D}{3s}\bigr)\Bigr),\ s=\sqrt{C/n};\qquad
       \mathrm{Rad}\le\varepsilon_K+\sum_{j=1}^{K}\varepsilon_{j-1}\sqrt{\frac{2\ln N(\varepsilon_j)}{n}}
    Assumes:
    - scalar-valued class; covers in the sup norm (or in L2) on the sample
    Defects:
    - The constant c is not named, and 1 is too small: for the cube {-1, 1}^n the complexity is 1 and the right side
      is sqrt(ln 2) = 0.8326.
    - Without a clip at D the closed form falls and turns negative for large C.
    """

    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.CONSTANT
    monotone = "+C +D -n"
    proof = "docs/proofs/chaining.md"

    C: float = real("log N(eps) <= C/eps^2", example=2)
    D: float = real("radius: |f - f0| <= D on the sample, f0 fixed")
    n: int = count("sample size", example=10_000, aliases=("m", "N"))
    proper: bool | None = flag("the covers are proper: their members belong to the class")

    def printed(self) -> Variants:
        return printed(self.C, self.D, self.n, "sqrt(C/n) <= D")

    def sound(self) -> Variants:
        return sound(self.C, self.D, self.n, self.proper)


def printed(constant: float, radius: float, n: int, in_range: str) -> dict[str, Bound]:
    """s (1 + ln(D/s)); beyond s = D the integral is empty and the formula falls below its own infimum D."""
    s = math.sqrt(constant / n)
    value = s * (1.0 + math.log(radius / s))
    return {"value": printed_value(value, hypotheses=(verified(in_range, s <= radius, s),))}


def sound(constant: float, radius: float, n: int, proper: bool | None) -> dict[str, Bound]:
    """Both closed forms (any covers), the best proper chain (if the caller says so), the best external chain."""
    cover = quadratic_cover(constant)
    words = "the covers are proper: their members belong to the class"
    in_class = stated(words, proper, "proper=1", id="proper-covers")
    return {
        "closed": upper_bound(chaining.dudley_closed(constant, radius, n), clip=radius),
        "closed_half": upper_bound(chaining.dudley_closed_half(constant, radius, n), clip=radius),
        "chain": upper_bound(chaining.proper_chain(cover, radius, n), clip=radius, hypotheses=(in_class,)),
        "chain_external": upper_bound(chaining.external_chain(cover, radius, n), clip=radius),
    }
