from certiformer.theory.theorems._dudley import EntropyIntegral
from certiformer.theory.theorems.trauger import TRAUGER


class Section24(EntropyIntegral):
    r"""Dudley's entropy integral.

    Printed: Rad <= c inf_delta (delta + int_delta^D sqrt(log N(eps)/n) deps), c unnamed (1 here), log N = C/eps^2
    .. math:: \mathrm{Rad}_n\le c\inf_{\delta\ge0}\Bigl(\delta+\int_\delta^\infty\sqrt{\tfrac{\log
       N_\infty}{n}}\,d\varepsilon\Bigr)
    Because: false with c = 1 (the cube {-1,1}^n has Rad = 1, the right side is below 1); c = 12 is enough
    """

    id = "trauger.dudley"
    paper, place = TRAUGER, "Section 2.4"
