from certiformer.theory.theorems._dudley import EntropyIntegral
from certiformer.theory.theorems.toolbox import TOOLBOX


class Dudley(EntropyIntegral):
    r"""Dudley's entropy integral.

    The classical form with its constants (4 and 12), and chains of covers with optimised scales. The cube {-1, 1}^n has
    Rad = 1 while the printed value at c = 1 is sqrt(ln 2): the constant matters.

    Printed: Rad <= c inf_delta (delta + int_delta^D sqrt(C/n)/eps deps), c unnamed (1 here)
    .. math:: \mathrm{Rad}\le
       c\inf_{\delta}\Bigl(\delta+\int_\delta^D\sqrt{C/n}\,\frac{d\varepsilon}{\varepsilon}\Bigr)
    Because: false with c = 1 (the cube: Rad = 1, right side 0.8326); 12 is enough
    """

    id = "dudley"
    paper, place = TOOLBOX, "T8; Trauger & Tewari, Section 2.4; Mwigo & Dasgupta, Section 3.3"
