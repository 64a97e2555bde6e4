from __future__ import annotations

from certiformer.calculus.coordinate_covers import box_nats
from certiformer.core import Variants
from certiformer.theorems.certificates._covers import SumForm


class CoverOfCoordinates(SumForm):
    r"""Cover of coordinates.

    M for a network with few real parameters, for all z with |z_j| <= R_j at once; `errors` counts the examples with
    margin at most gamma.

    .. math:: R(z) \le \max\{p : P(\mathrm{Bin}(n,p)\le k_\gamma) \ge \delta\,\pi\,/N\}

    Sound: risk <= max{p : P(Bin(n, p) <= errors) >= delta exp(-nats - paid)}, nats = sum_j ln ceil(2 D L_j R_j/gamma)
    .. math:: R(z)\le U(k_\gamma,n,\delta\pi/N),\ \ln N=\sum_j\ln\lceil 2DL_jR_j/\gamma\rceil
    Because: a covering certificate of a trained network that says something
    """

    id, place = "cover.coordinates", "certificate M, in coordinates"

    def sound(self) -> Variants:
        return self.certified(box_nats(self.L, self.R, self.gamma))
