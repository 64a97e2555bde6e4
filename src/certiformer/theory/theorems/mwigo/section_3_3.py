from certiformer.theory.core import Quantity, Result, Status, Variants, count, flag, real
from certiformer.theory.theorems import _dudley
from certiformer.theory.theorems.mwigo import MWIGO


class Section33(Result):
    r"""Dudley's entropy integral.

    Printed: R_S <= c inf_delta (delta + int_delta^A sqrt(log N(eps)/N) deps), c unnamed (1 here), log N = P/eps^2
    .. math:: R_S\le c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^A\sqrt{\tfrac{\log N_\infty}{N}}\,d\varepsilon\Bigr)
    Sound: closed: min(A, 12 s (1 + ln(A/3s))), s = sqrt(P/N); closed_half: 12 s (1 + ln(A/6s)); chain: eps_K + sum
    eps_{j-1} sqrt(2 ln N(eps_j)/N); chain_external: eps_{j-1} + eps_j instead of eps_{j-1}.
    .. math:: R_S\le\min\Bigl(A,\ 12s\bigl(1+\ln\tfrac{A}{3s}\bigr)\Bigr),\ s=\sqrt{P/N};\qquad
       R_S\le\varepsilon_K+\sum_{j=1}^{K}\varepsilon_{j-1}\sqrt{\frac{2\ln N(\varepsilon_j)}{N}}
    Because: false with c = 1 (the cube {-1,1}^N has complexity 1, the right side is below 1); c = 12 is enough
    Assumes:
    - scalar-valued class; covers in the sup norm (or in L2) on the sample
    Defects:
    - The constant c is not named, and 1 is too small.
    - Without a clip at A the closed form falls and turns negative for large P.
    """

    id = "mwigo.dudley"
    paper, place = MWIGO, "Section 3.3"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.CONSTANT
    monotone = "+P +A -n"
    proof = "docs/proofs/chaining.md"

    P: float = real("log N(eps) <= P/eps^2", example=3)
    A: float = real("bound on |f|", example=2)
    n: int = count("sample size", example=100_000, aliases=("N", "m"))
    proper: bool | None = flag("the covers are proper, as the paper defines them")

    def printed(self) -> Variants:
        return _dudley.printed(self.P, self.A, self.n, "sqrt(P/N) <= A")

    def sound(self) -> Variants:
        return _dudley.sound(self.P, self.A, self.n, self.proper)
