import math

from certiformer.theory.core import Quantity, Status, Variants, printed_value, upper_bound, verified
from certiformer.theory.theorems.arda._setting import Projected, Transported


class Equation11(Projected, Transported):
    r"""Transportation maps and the class F_nu.

    A target is f*(X) = E<psi(X; u, W), v(u, W)> with |v_c| <= nu_c, ||v_u|| <= nu_u, ||v_w||_F <= nu_w. At (u_i, W_i)
    the parameters move to

    .. math:: \bar c_i=c_i+v_c/\sqrt m,\quad\bar u_i=u_i+c_iv_u/\sqrt m,\quad\bar W_i=W_i+c_iv_w/\sqrt m.

    Printed: ||phibar - phi_0|| <= sqrt(nu_c^2 + nu_u^2 + nu_w^2); phibar lies in Omega_rho when rho >= nu
    .. math:: \|\bar\phi-\phi_0\|^2\le\nu_c^2+\nu_u^2+\nu_w^2
    Sound: The same (Remark 7 has the norm of f*); one head moves by at most 1/sqrt(m) of it.
    .. math:: \|\bar\phi-\phi_0\|^2\le\nu_c^2+\nu_u^2+\nu_w^2
    Because: the displays are lost in our copy; the sign c_i is forced by c_i^2 = 1 (confidence high)
    Assumes:
    - v is a fixed measurable function of (u, W) with the stated bounds
    Defects:
    - A kernel section K(., X') has the canonical representer psi(X'), whose W-block is unbounded in general: it
      must be clipped, and the target is then the clipped one. (It is bounded for one token, for instance.)
    - The released teacher repeats an index of W, so that only diag(W) enters: that teacher is not in F_nu.
    """

    id = "arda.eq11"
    place = "Section 5.4, equations (10) and (11), Remark 10"
    bounds, status = Quantity.CONSTANT, Status.RECONSTRUCTED

    def printed(self) -> Variants:
        feasible = verified(
            "nu <= rho block by block",
            self.rho.contains(self.nu),
        )
        value = math.hypot(self.nu_c, self.nu_u, self.nu_w)
        return {"distance": printed_value(value, hypotheses=(feasible,), note="reconstructed, confidence high")}

    def sound(self) -> Variants:
        nu = self.nu
        feasible = verified("nu <= rho block by block: phibar lies in Omega_rho", self.rho.contains(nu))
        distance = math.hypot(self.nu_c, self.nu_u, self.nu_w)
        return {
            "distance": upper_bound(distance, hypotheses=(feasible,)),
            "per_head": upper_bound(distance / math.sqrt(self.m), hypotheses=(feasible,)),
        }
