from __future__ import annotations

from certiformer.calculus.coordinate_covers import cross_polytope_nats
from certiformer.core import Variants
from certiformer.theorems.certificates._covers import SumForm


class SoftCover(SumForm):
    r"""Soft cover.

    The cover is replaced by prior mass near the network; nothing is drawn, nothing is lost. V holds the parameters
    whose network differs by at most gamma/2 anywhere. For all z with |z_j| <= R_j at once.

    .. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k_\gamma) \ge \delta\,\pi\,P(V)\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = ln D! + sum ln(1 + 2 L R/gamma)
    .. math:: R(z)\le U(k_\gamma,n,\delta\pi P(V)),\ -\ln P(V)=\ln D!+\sum_j\ln(1+2L_jR_j/\gamma)
    Because: about one nat per coordinate below the cover of coordinates
    """

    id, place = "cover.soft", "certificate MS"

    def sound(self) -> Variants:
        return self.certified(cross_polytope_nats(self.L, self.R, self.gamma))
