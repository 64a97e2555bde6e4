import math

from certiformer.theory.core import Quantity, Status, Variants, printed_value, upper_bound
from certiformer.theory.theorems.arda._setting import Transported


class Remark7(Transported):
    r"""The norm of a target in the space of the tangent kernel.

    A target f(X) = E<psi(X; u, W), v(u, W)> lies in the reproducing kernel Hilbert space of the kernel of Lemma 4,
    E<psi(X), psi(X')>, and its norm is the least root mean square of a transportation map that gives it. nu is
    therefore a budget for the norm; Remark 10 speaks of it as such.

    Printed: ||f||^2 = min E||v||^2 <= nu_c^2 + nu_u^2 + nu_w^2 for f in F_nu
    .. math:: \|f\|_{\mathcal H}^2=\min_v E\|v(u,W)\|^2\le\nu_c^2+\nu_u^2+\nu_w^2
    Sound: The same.
    .. math:: \|f\|_{\mathcal H}\le\sqrt{\nu_c^2+\nu_u^2+\nu_w^2}
    Because: the displays are lost in our copy; the norm follows from (10), whose inner product makes v -> f a
    projection (confidence high)
    Assumes:
    - v is a fixed measurable function of (u, W) with |v_c| <= nu_c, ||v_u|| <= nu_u, ||v_w||_F <= nu_w
    """

    place = "Remark 7"
    bounds, status = Quantity.CONSTANT, Status.RECONSTRUCTED
    monotone = "+nu_c +nu_u +nu_w"

    @property
    def norm(self) -> float:
        return math.hypot(self.nu_c, self.nu_u, self.nu_w)

    def printed(self) -> Variants:
        return {"rkhs_norm": printed_value(self.norm, note="reconstructed, confidence high")}

    def sound(self) -> Variants:
        return {"rkhs_norm": upper_bound(self.norm)}
