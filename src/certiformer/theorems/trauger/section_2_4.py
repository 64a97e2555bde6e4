from __future__ import annotations

from certiformer.calculus import dudley
from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.trauger import TRAUGER


class Section24(Result):
    r"""Dudley's entropy integral.

    Printed: Rad <= c inf_delta (delta + int_delta^D sqrt(log N(eps)/n) deps), c unnamed (1 here), log N = C/eps^2
    .. math:: \mathrm{Rad}_n\le c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^\infty\sqrt{\tfrac{\log
       N_\infty}{n}}\,d\varepsilon\Bigr)
    Sound: closed: min(D, 12 s (1 + ln(D/3s))), s = sqrt(C/n); closed_half: 12 s (1 + ln(D/6s)); chain: eps_K + sum
    eps_{j-1} sqrt(2 ln N(eps_j)/n); chain_external: eps_{j-1} + eps_j instead of eps_{j-1}.
    .. math:: \mathrm{Rad}\le\min\Bigl(D,\ 12s\bigl(1+\ln\tfrac{D}{3s}\bigr)\Bigr),\ s=\sqrt{C/n};\qquad
       \mathrm{Rad}\le\varepsilon_K+\sum_{j=1}^{K}\varepsilon_{j-1}\sqrt{\frac{2\ln N(\varepsilon_j)}{n}}
    Because: false with c = 1 (the cube {-1,1}^n has Rad = 1, the right side is below 1); c = 12 is enough
    Assumes:
    - scalar-valued class; covers in the sup norm (or in L2) on the sample
    Defects:
    - The constant c is not named, and 1 is too small: for the cube {-1,1}^n the complexity is 1 and the right side
      is sqrt(ln 2) = 0.8326.
    - Without a clip at D the closed form falls and turns negative for large C.
    """

    id = "trauger.dudley"
    paper, place = TRAUGER, "Section 2.4"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.CONSTANT
    monotone = "+C +D -n"
    proof = "docs/proofs/chaining.md"

    C: float = real("log N(eps) <= C/eps^2", example=2)
    D: float = real("radius: |f - f0| <= D on the sample, f0 fixed")
    n: int = count("sample size", example=10_000, aliases=("m", "N"))
    proper: bool | None = flag("the covers are proper, as the paper defines them")

    def printed(self) -> Variants:
        return dudley.printed(self.C, self.D, self.n, "sqrt(C/n) <= D")

    def sound(self) -> Variants:
        return dudley.sound(self.C, self.D, self.n, self.proper)
