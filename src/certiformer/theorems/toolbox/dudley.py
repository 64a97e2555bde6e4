from __future__ import annotations

from certiformer.calculus import dudley
from certiformer.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theorems.toolbox import TOOLBOX


class Dudley(Result):
    r"""Dudley's entropy integral.

    The classical form with its constants (4 and 12), and chains of covers with optimised scales. The cube {-1, 1}^n has
    Rad = 1 while the printed value at c = 1 is sqrt(ln 2): the constant matters.

    Printed: Rad <= c inf_delta (delta + int_delta^D sqrt(C/n)/eps deps), c unnamed (1 here)
    .. math:: \mathrm{Rad}\le
       c\inf_{\delta}\Bigl(\delta+\int_\delta^D\sqrt{C/n}\,\frac{d\varepsilon}{\varepsilon}\Bigr)
    Sound: closed: min(D, 12 s (1 + ln(D/3s))), s = sqrt(C/n); closed_half: 12 s (1 + ln(D/6s)); chain (proper
    covers): eps_K + sum eps_{j-1} sqrt(2 ln N(eps_j)/n); chain_external: eps_{j-1} + eps_j instead.
    .. math:: \mathrm{Rad}\le\min\Bigl(D,\ 12s\bigl(1+\ln\tfrac{D}{3s}\bigr)\Bigr),\ s=\sqrt{C/n};\qquad
       \mathrm{Rad}\le\varepsilon_K+\sum_{j=1}^{K}\varepsilon_{j-1}\sqrt{\frac{2\ln N(\varepsilon_j)}{n}}
    Because: false with c = 1 (the cube: Rad = 1, right side 0.8326); 12 is enough
    Assumes:
    - scalar-valued class, sup-norm (or L2) covers on the sample
    Defects:
    - The constant c is not named; c = 1 is false.
    - For C > n D^2 e^2 the closed form is negative.
    """

    id = "dudley"
    paper, place = TOOLBOX, "T8; Trauger & Tewari, Section 2.4; Mwigo & Dasgupta, Section 3.3"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.CONSTANT
    monotone = "+C +D -n"
    proof = "docs/proofs/chaining.md"

    C: float = real("log N(eps) <= C/eps^2", example=2)
    D: float = real("radius: |f - f0| <= D on the sample")
    n: int = count("sample size", example=10_000, aliases=("m", "N"))
    proper: bool | None = flag("the covers are proper")

    def printed(self) -> Variants:
        return dudley.printed(self.C, self.D, self.n, "sqrt(C/n) <= D")

    def sound(self) -> Variants:
        return dudley.sound(self.C, self.D, self.n, self.proper)
