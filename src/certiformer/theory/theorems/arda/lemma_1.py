import math

from certiformer.theory.core import Quantity, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theory.theorems.arda._heads import lipschitz
from certiformer.theory.theorems.arda._setting import UNIT_BALL, Activated


class Lemma1(Activated):
    r"""Gradient of one head.

    .. math:: \partial_{c_i}f=\frac{h_i}{\sqrt m},\quad\nabla_{u_i}f=\frac{c_i\sigma'(s_i)}{\sqrt m}a_i,\quad
       \nabla_{W_i}f=\frac{c_i\sigma'(s_i)}{\sqrt m}M_iu_iq^\top

    The blocks cannot be large together: ||a||^2 + tr M <= 1.

    Printed: df/dc = h/sqrt(m), grad_u f = c sigma'(s) a/sqrt(m), grad_W f = c sigma'(s) M u q^T/sqrt(m), M = X J
    X^T; norms at most s0/sqrt(m), |c| s1/sqrt(m), |c| s1 B/sqrt(m)
    .. math:: \partial_cf=\tfrac{h}{\sqrt m},\ \nabla_uf=\tfrac{c\,\sigma'(s)}{\sqrt m}a,\
       \nabla_Wf=\tfrac{c\,\sigma'(s)}{\sqrt m}Mu\,q^\top
    Sound: The same identities; the norm over one head is at most sqrt((s0^2 + c^2 s1^2 max(1, B)^2)/m).
    .. math:: \|\nabla_i f\|\le\sqrt{\bigl(s_0^2+c^2s_1^2\max(1,B)^2\bigr)/m}.
    Because: the identities are lost in our copy; the released code and differentiation agree on them (confidence
    high)
    Assumes:
    - tokens and query in the unit ball
    - ||u_i|| <= B
    """

    place = "Lemma 1, Remarks 3 and 4"
    bounds, status = Quantity.LIPSCHITZ_CONSTANT, Status.RECONSTRUCTED
    monotone = "-m +c +B"

    m: int = count("width: the number of heads, even", low=2, example=1_000_000)
    c: float = real("|c_i|")
    B: float = real("bound on ||u_i||", example=8)

    def printed(self) -> Variants:
        sigma = self.sigma
        value = math.hypot(sigma.s0, self.c * sigma.s1, self.c * sigma.s1 * self.B) / math.sqrt(self.m)
        return {"value": printed_value(value, note="reconstructed from Remarks 3 and 4, confidence medium")}

    def sound(self) -> Variants:
        sigma = self.sigma
        root = math.sqrt(self.m)
        hypotheses = (UNIT_BALL,)
        return {
            "value": upper_bound(math.hypot(sigma.s0, self.c * lipschitz(sigma, self.B)) / root, hypotheses=hypotheses),
            "c_block": upper_bound(sigma.s0 / root, hypotheses=hypotheses, bounds=Quantity.SMOOTHNESS),
            "u_block": upper_bound(self.c * sigma.s1 / root, hypotheses=hypotheses, bounds=Quantity.SMOOTHNESS),
            "W_block": upper_bound(
                self.c * sigma.s1 * self.B / root, hypotheses=hypotheses, bounds=Quantity.SMOOTHNESS
            ),
        }
