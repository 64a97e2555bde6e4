from certiformer.theory.core import Quantity, Result, Status, Variants, real, upper_bound
from certiformer.theory.theorems.deora import DEORA
from certiformer.theory.theorems.deora._attention import KAPPA_3


class Kappa3(Result):
    r"""Third mixed cumulant of bounded variables.

    The paper does not state it; it bounds the same derivative term by term and loses a factor 6 d.

    .. math:: |E (y-Ey)(s-Es)^2| \le \frac{4}{3\sqrt3}\, Y S^2 \qquad (|y|\le Y,\ |s|\le S),\ \text{attained.}

    Sound: |E (y - Ey)(s - Es)^2| <= 4/(3 sqrt 3) Y S^2 when |y| <= Y and |s| <= S; attained
    .. math:: |E(y-Ey)(s-Es)^2| \le \tfrac{4}{3\sqrt3} Y S^2
    Because: a lemma of ours
    Assumes:
    - y and s are random variables on the same finite probability space
    """

    id = "deora.kappa3"
    paper, place = DEORA, "used for Proposition 1 (not stated there)"
    bounds, status = Quantity.SMOOTHNESS, Status.NONE
    monotone = "+Y +S"

    Y: float = real("bound on |y|", low_open=False)
    S: float = real("bound on |s|", low_open=False)

    def sound(self) -> Variants:
        return {"value": upper_bound(KAPPA_3 * self.Y * self.S * self.S)}
