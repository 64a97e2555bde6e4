from certiformer.theory.core import Quantity, Status, Variants, assumed, printed_value, real, upper_bound
from certiformer.theory.theorems.deora._attention import Attention
from certiformer.theory.theorems.deora._setting import Tokens


class Equation12(Tokens):
    r"""Heads for a target far from zero.

    (12) drops ||theta||_{2,inf} and the constant from (3). Here is the heads condition of Theorem 1's own proof, with
    the sharp beta3 of Corollary 1, in closed form; deora.thm1 solves for the least H instead.

    Printed: sqrt(H) >~ S^5 ||theta||^3
    .. math:: H^{1/2}\gtrsim S^5\|\tilde\theta\|^3
    Sound: sqrt(H) >= 18 beta3(b + 3D) D^2 with the sharp beta3 gives avg L <= 2 Lt + 5 D^2/(4 eta K) if eta <=
    D^2/(K Lt), eta <= D^2/L0 and eta beta2(b + 3D + eta sqrt(T) R min(1, L0)/sqrt(H)) <= 1
    .. math:: \sqrt H\ge18\,\beta_3(b+3D)\,D^2.
    Because: the constant and the factor max_h ||theta_h|| of (3) are missing
    Defects:
    - (12) drops max_h ||theta_h|| and T from (3).
    - The exponent in the conclusion H^{p-1/4} <~ C/log^{5/2}(n) should be p - 3/4; that no p, C works is unchanged,
      for log(n) > 1 and up to constants.
    """

    id = "deora.eq12"
    place = "(12), Section 5.3"
    bounds, status = Quantity.WIDTH, Status.CONSTANT
    monotone = "+D +b +T +R"

    D: float = real("||theta - theta_0||", low_open=False, example=2)
    b: float = real("max_h ||U_h||_F of the parameters", low_open=False, symbol="||θ||_{2,∞}")

    def printed(self) -> Variants:
        root = self.R**5 * self.D * self.D * self.D
        return {"H_needed": printed_value(root * root, note="constant 1 where none is given; R stands for S")}

    def sound(self) -> Variants:
        # mutants: same-for-every-value
        root = 18.0 * float(Attention(self.T, self.R, 1.0).beta3(self.b + 3.0 * self.D)) * self.D * self.D
        hypotheses = (
            assumed("eta beta2(b + 3D + eta sqrt(T) R min(1, L0)/sqrt(H)) <= 1 and eta <= D^2/(K Lt) ^ D^2/L0"),
            assumed("every token has norm at most R"),
        )
        return {"H_needed": upper_bound(root * root, hypotheses=hypotheses)}
