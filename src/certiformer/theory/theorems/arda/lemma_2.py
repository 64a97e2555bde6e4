import math

from certiformer.theory.core import Quantity, Status, Variants, printed_value, real, upper_bound
from certiformer.theory.theorems.arda._heads import lipschitz, smoothness
from certiformer.theory.theorems.arda._setting import UNIT_BALL, Activated


class Lemma2(Activated):
    r"""Lipschitz and smoothness constants of a head.

    Lipschitz constants of a head and of its gradient, free of the sequence length and of the dimension. L1 is attained;
    L2 is approached as B grows.

    Printed: h is L1-Lipschitz and L2-smooth in (u, W) for ||u|| <= B; L1 = s1 sqrt(1 + B^2), L2 is lost in our copy
    .. math:: L_1=\sigma_1\sqrt{1+B^2}
    Sound: L1 = s1 max(1, B), L2 = s2 max(1, B)^2 + (s1/2)(C3 B + sqrt(C3^2 B^2 + 4)), C3 = 4/(3 sqrt 3), for tokens
    and query in the unit ball.
    .. math:: L_1=s_1\max(1,B),\qquad L_2=s_2\max(1,B)^2+\tfrac{s_1}2\bigl(C_3B+\sqrt{C_3^2B^2+4}\bigr)
    Because: L1 rebuilt from the proof (confidence medium) and valid; L2 could not be rebuilt
    Assumes:
    - tokens and query in the unit ball
    - ||u|| <= B along the whole segment
    Defects:
    - Bounding the blocks u and W separately costs up to a factor sqrt 2 in L1: they cannot both be extreme.
    """

    place = "Lemma 2"
    bounds, status = Quantity.SMOOTHNESS, Status.RECONSTRUCTED
    monotone = "+B"

    B: float = real("bound on ||u||", example=2)

    def printed(self) -> Variants:
        L1 = self.sigma.s1 * math.hypot(1.0, self.B)
        return {"L1": printed_value(L1, bounds=Quantity.LIPSCHITZ_CONSTANT, note="reconstructed, confidence medium")}

    def sound(self) -> Variants:
        sigma = self.sigma
        hypotheses = (UNIT_BALL,)
        return {
            "L1": upper_bound(lipschitz(sigma, self.B), hypotheses=hypotheses, bounds=Quantity.LIPSCHITZ_CONSTANT),
            "L2": upper_bound(smoothness(sigma, self.B), hypotheses=hypotheses),
        }
